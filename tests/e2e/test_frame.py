"""The frame in a browser: links, Back, the menu, presenting; slim and never clipped, in every language and size."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from playground.figures.theme import THEMES
from playground.i18n import LANGUAGES, Translate
from playground.runs import RunStore
from playground.tasks import TASKS
from playground.ui.frame import PAGES

UI = Path(__file__).parents[2] / "playground/ui"
NAMES = [page.name for page in PAGES]
EN, ZH = Translate("en"), Translate("zh")

Visit = Callable[..., Page]


@pytest.fixture
def visit(visit: Visit) -> Visit:
    """Return what opens a page and waits until it wears our style sheet, which the browser loads on its own time."""

    def open_page(*args: str, **query: str) -> Page:
        page = visit(*args, **query)
        page.wait_for_function(
            """() => getComputedStyle(document.querySelector('[data-testid="stToolbar"]')).pointerEvents === "none" """
        )
        return page

    return open_page


def at(name: str) -> str:
    """Return the path of a page: the first is opened without its name."""
    return "" if name == PAGES[0].name else name


def params(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def heading(page: Page) -> Locator:
    return page.locator('[data-testid="stMain"] h1')


def menu(page: Page, title: str) -> Locator:
    return page.locator('[data-testid="stSidebarNav"]').get_by_role("link", name=title)


def text_input(page: Page) -> Locator:
    return page.locator(".st-key-type_text input")


def step_slider(page: Page) -> Locator:
    return page.locator('.st-key-pick_step input[type="range"]')


def shown_step(page: Page) -> Locator:
    return page.locator('.st-key-pick_step [data-testid="stSliderThumbValue"]')


def wait_for_params(page: Page, **wanted: str) -> None:
    page.wait_for_function(
        "wanted => JSON.stringify([...new URLSearchParams(location.search)].sort()) === JSON.stringify(wanted)",
        arg=[[name, value] for name, value in sorted(wanted.items())],
    )


def rest(page: Page) -> None:
    """Wait until the script has come to rest after something was done."""
    page.wait_for_timeout(300)
    page.wait_for_function(
        """() => document.querySelector('[data-testid="stApp"]').dataset.testScriptState === "notRunning" """
    )


# --- Links -----------------------------------------------------------------------------------------------------------


def test_the_first_request_may_be_a_deep_link(visit):
    page = visit("one_head", v="1", step="40", lang="zh", where="encoder", layer="0", head="3")
    expect(heading(page)).to_have_text(ZH("one_head.title"))
    expect(shown_step(page)).to_have_text("40")
    expect(page.locator(".st-key-pick_head [aria-checked=true], .st-key-pick_head [aria-pressed=true]")).to_have_text(
        "3"
    )
    assert params(page) == {"v": "1", "step": "40", "lang": "zh", "where": "encoder", "layer": "0", "head": "3"}


def test_a_copied_link_opens_the_same_view_for_somebody_else(visit, server):
    page = visit("one_head", v="1", step="40")
    text_input(page).fill("the small dog sleeps")
    text_input(page).press("Enter")
    page.wait_for_function("() => location.search.includes('text=')")
    rest(page)
    page.get_by_role("button", name=EN("frame.link.label")).click()
    address = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert urlsplit(address).path == "/one_head"
    assert {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()} == params(page)
    other = visit("one_head", **params(page))
    expect(text_input(other)).to_have_value("the small dog sleeps")
    expect(shown_step(other)).to_have_text("40")


def test_back_and_the_menu(visit):
    page = visit("one_head", v="1", step="40")
    step_slider(page).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => !location.search.includes('step=40')")
    later = params(page)["step"]
    rest(page)
    page.go_back()
    expect(shown_step(page)).to_have_text("40")
    page.go_forward()
    expect(shown_step(page)).to_have_text(later)
    # The menu drops the address; the subject stays, and the address follows it.
    menu(page, EN("home.title")).click()
    expect(page.locator(".st-key-frame_line")).to_be_visible()
    wait_for_params(page, v="1", step=later)
    expect(shown_step(page)).to_have_text(later)
    page.go_back()
    rest(page)
    # A slow browser keeps the bare address that the menu led to as a place of its own: nothing is lost there either.
    expect(shown_step(page)).to_have_text(later)
    if urlsplit(page.url).path == "/":
        page.go_back()
    expect(heading(page)).to_have_text(EN("one_head.title"))
    expect(shown_step(page)).to_have_text(later)


def test_a_reload_keeps_the_view(visit):
    page = visit("one_head", v="1", step="40", head="2", lang="zh")
    before = page.url
    page.reload()
    expect(shown_step(page)).to_have_text("40")
    expect(heading(page)).to_have_text(ZH("one_head.title"))
    assert page.url == before


def test_quick_changes_are_not_taken_back(visit):
    """A control that is used again before the browser shows the first change still has the last word."""
    page = visit("one_head", v="1", step="0")
    step_slider(page).focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(40)
    rest(page)
    page.wait_for_timeout(500)
    rest(page)
    fifth = str(RunStore().open("english-french").steps[5])
    expect(shown_step(page)).to_have_text(fifth)
    wait_for_params(page, v="1", step=fifth)


def test_selections_stay_through_pages(visit):
    page = visit("one_head")
    other = page.locator(".st-key-pick_head").get_by_role("radio", checked=False).first
    head = other.inner_text()
    other.click()
    wait_for_params(page, v="1", head=head)
    rest(page)
    menu(page, EN("home.title")).click()
    expect(page.locator(".st-key-frame_line")).to_be_visible()
    rest(page)
    menu(page, EN("one_head.title")).click()
    expect(heading(page)).to_have_text(EN("one_head.title"))
    wait_for_params(page, v="1", head=head)


# --- What is typed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["the zebra", "<img src=x onerror=alert(1)>", "$x$ **b** :red[c]"])
def test_a_refused_text_is_answered_under_the_input(visit, typed):
    page = visit("one_head")
    good = TASKS["english-french"].examples[0]
    expect(text_input(page)).to_have_value(good)
    text_input(page).fill(typed)
    text_input(page).press("Enter")
    said = page.locator('.st-key-frame_bar [data-testid="stAlert"]')
    expect(said).to_be_visible()
    expect(said).to_contain_text(typed.split()[0] if typed != "the zebra" else "zebra")
    expect(text_input(page)).to_have_value(typed)
    below = said.bounding_box()["y"] - text_input(page).bounding_box()["y"]
    assert 0 < below < 80
    assert not page.locator('[data-testid="stMain"] img[src="x"]').count()
    text_input(page).fill(good)
    text_input(page).press("Enter")
    expect(said).to_have_count(0)


def test_an_example_is_picked_from_the_bar(visit):
    page = visit("one_head")
    before = TASKS["english-french"].examples[0]
    expect(text_input(page)).to_have_value(before)
    page.locator(".st-key-pick_from_examples button").first.click()
    page.get_by_role("menuitem").nth(2).click()
    page.wait_for_function("() => location.search.includes('text=')")
    expect(text_input(page)).not_to_have_value(before)


# --- Language and theme ----------------------------------------------------------------------------------------------


def test_the_language_is_switched_and_nothing_else(visit):
    page = visit("one_head", v="1", step="40", head="2")
    page.get_by_text(LANGUAGES["zh"]).click()
    expect(heading(page)).to_have_text(ZH("one_head.title"))
    expect(page.locator('[data-testid="stSidebarNav"]')).to_contain_text(ZH("home.title"))
    wait_for_params(page, v="1", step="40", head="2", lang="zh")
    expect(page).to_have_title(ZH("one_head.title"))


@pytest.mark.parametrize("theme", THEMES)
def test_page_and_bar_have_the_themes_colours(visit, theme):
    page = visit("one_head", theme=theme)
    for place in ('[data-testid="stApp"]', '[data-testid="stLayoutWrapper"]:has(> .st-key-frame_bar)'):
        colour = page.locator(place).evaluate("element => getComputedStyle(element).backgroundColor")
        red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
        assert f"#{red:02X}{green:02X}{blue:02X}" == THEMES[theme].background


# --- Slim, and never clipped -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_picture_begins_above_260_pixels(visit, name, lang):
    page = visit(at(name), lang=lang)
    bottom = page.locator(".st-key-frame_title, .st-key-frame_line").bounding_box()
    assert bottom["y"] + bottom["height"] <= 180


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_the_bar_is_one_slim_row_that_stays_in_sight(visit, size, lang):
    page = visit("one_head", size=size, lang=lang)
    bar = page.locator('[data-testid="stLayoutWrapper"]:has(> .st-key-frame_bar)')
    box = bar.bounding_box()
    assert box["y"] == 0
    assert box["height"] <= 84
    page.locator('[data-testid="stMain"]').evaluate("main => main.scrollTo(0, 600)")
    page.wait_for_timeout(200)
    assert bar.bounding_box()["y"] == 0


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
def test_nothing_in_the_bar_is_clipped_or_covered(visit, size, lang):
    page = visit("one_head", v="1", size=size, lang=lang, step="0")
    boxes = {
        key: page.locator(f".st-key-frame_bar .st-key-{key}").bounding_box()
        for key in ("pick_run", "pick_step", "type_text", "pick_from_examples", "present_begin")
    }
    width = page.viewport_size["width"]
    for key, box in boxes.items():
        assert box["x"] >= 0, key
        assert box["x"] + box["width"] <= width, key
    parts = list(boxes.items())
    for i, (one, a) in enumerate(parts):
        for other, b in parts[i + 1 :]:
            apart = (
                a["x"] + a["width"] <= b["x"] + 1
                or b["x"] + b["width"] <= a["x"] + 1
                or a["y"] + a["height"] <= b["y"] + 1
                or b["y"] + b["height"] <= a["y"] + 1
            )
            assert apart, f"{one} and {other}"
    # Each button, the menu among them, is what a click on its middle reaches.
    for place in (
        ".st-key-present_begin button",
        ".st-key-pick_from_examples button",
        '[data-testid="stMainMenuButton"]',
    ):
        covered = page.locator(place).first.evaluate(
            """element => { const box = element.getBoundingClientRect();
            const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return !(element.contains(hit) || hit?.contains(element)); }"""
        )
        assert not covered, place


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_menu_entry_is_cut_short(visit, lang):
    page = visit("one_head", lang=lang)
    cut = page.locator('[data-testid="stSidebarNavLink"] [data-testid="stMarkdownContainer"]').evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
    )
    assert cut == []


# --- Presenting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_presenting_shows_no_chrome_and_large_type(visit, name, lang):
    page = visit(at(name), v="1", lang=lang, present="1", size="projector")
    for place in ("stHeader", "stSidebar", "stExpandSidebarButton", "stSidebarNav"):
        expect(page.locator(f'[data-testid="{place}"]:visible')).to_have_count(0)
    expect(page.locator(".st-key-frame_bar")).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "22px"
    title, out = (page.locator(place).bounding_box() for place in ("h1", ".st-key-frame_out"))
    assert title["y"] < 60
    words = page.locator("h1, .st-key-frame_title p").evaluate_all(
        """all => all.map(each => { const range = document.createRange(); range.selectNodeContents(each);
        const box = range.getBoundingClientRect(); return [box.right, box.top, box.bottom]; })"""
    )
    for right, top, bottom in words:
        beside = right <= out["x"] or top >= out["y"] + out["height"] or bottom <= out["y"]
        assert beside, "the way out lies on the words"


def test_escape_ends_presenting(visit):
    page = visit("one_head", v="1", step="40")
    page.locator(".st-key-present_begin button").click()
    expect(page.locator(".st-key-frame_bar")).to_have_count(0)
    wait_for_params(page, v="1", step="40", present="1")
    rest(page)
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-frame_bar")).to_be_visible()
    expect(page.locator('[data-testid="stSidebar"]')).to_be_visible()
    wait_for_params(page, v="1", step="40")


# --- What our style sheets rely on -----------------------------------------------------------------------------------


def test_every_name_that_the_styles_rely_on_exists(visit):
    """An upgrade of Streamlit that renames a part must not pass unseen."""
    names = set()
    for path in (UI / "frame.css", UI / "present.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        names |= set(re.findall(r'data-testid="(\w+)"', text)) | set(re.findall(r"\.(st-key-\w+)", text))
    seen = set()
    for where in (
        visit("one_head"),
        visit(""),
        visit("one_head", v="1", present="1"),
        visit("one_head", size="phone"),
    ):
        if where.viewport_size["width"] > 1000 and where.locator('[data-testid="stSidebarCollapseButton"]').count():
            seen |= found(where, names)
            where.locator('[data-testid="stSidebar"]').hover()
            where.locator('[data-testid="stSidebarCollapseButton"] button').click()
            expect(where.locator('[data-testid="stExpandSidebarButton"]')).to_be_visible()
        seen |= found(where, names)
    assert names - seen == set()


def found(page: Page, names: set[str]) -> set[str]:
    return {
        name
        for name in names
        if page.locator(f".{name}" if name.startswith("st-key-") else f'[data-testid="{name}"]').count()
    }


def test_a_collapsed_menu_leaves_room_for_its_button(visit):
    page = visit("one_head")
    page.locator('[data-testid="stSidebar"]').hover()
    page.locator('[data-testid="stSidebarCollapseButton"] button').click()
    button = page.locator('[data-testid="stExpandSidebarButton"]')
    expect(button).to_be_visible()
    page.wait_for_timeout(500)
    box, picker = button.bounding_box(), page.locator(".st-key-pick_run").bounding_box()
    assert box["x"] + box["width"] <= picker["x"]
    button.click()
    expect(menu(page, EN("home.title"))).to_be_in_viewport()


def test_a_visitors_token_comes_back_with_the_page(visit):
    page = visit("")
    [cookie] = [each for each in page.context.cookies() if each["name"].startswith("attention")]
    assert cookie["httpOnly"]
    assert page.evaluate("document.cookie").find("attention") == -1
    page.reload()
    assert cookie in page.context.cookies()


# --- A visitor's own training ----------------------------------------------------------------------------------------


def test_ones_own_training_is_told_on_every_page_and_found_after_a_reload(visit):
    page = visit("train")
    told = page.locator(".st-key-own_run")
    expect(told).to_have_count(0)
    page.locator(".st-key-train_start button").click()
    page.wait_for_function("() => location.search.includes('run=')")
    expect(told).to_contain_text(EN("frame.own.yours"))
    menu(page, EN("home.title")).click()
    expect(page.locator(".st-key-frame_line")).to_be_visible()
    expect(page.locator(".st-key-frame_bar")).to_contain_text(EN("frame.badge.yours"))
    page.reload()
    expect(told).to_contain_text(EN("frame.own.yours"))
    # Whose link is opened by somebody else is theirs to watch, and to leave alone.
    other = visit("train", **params(page))
    expect(other.locator(".st-key-frame_bar")).to_contain_text(EN("frame.badge.shared"))
    expect(other.locator(".st-key-train_stop")).to_have_count(0)
    menu(page, EN("train.title")).click()
    page.locator(".st-key-train_stop button").click()
    expect(told).to_contain_text(re.compile(f"{EN('frame.own.stopped', step='', steps='').split()[0]}|Finished"))
    menu(page, EN("home.title")).click()
    expect(told).to_have_count(0)
