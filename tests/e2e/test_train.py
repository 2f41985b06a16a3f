"""Train, in a browser: a model is trained by pressing a button, watched without a blink, paused, stopped, and kept."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

Visit = Callable[..., Page]

# Soon done, and what is never done while a test looks at it.
TINY = {"v": "1", "task": "copy", "d_model": "16", "n_heads": "2", "n_layers": "1", "d_ff": "64", "steps": "50"}
LONG = TINY | {"steps": "4000", "batch_size": "8"}

RANGE = "plot => plot.layout.xaxis.range.slice()"


def opened(visit: Visit, **query: str) -> Page:
    """Open the page and wait until both pictures are drawn."""
    page = visit("train", **query)
    drawn(page, 1)
    expect(page.locator(".attention-grid .base")).to_be_visible()
    return page


def drawn(page: Page, times: int) -> None:
    """Wait until the curves were drawn at least so often."""
    page.wait_for_function("n => Number(document.querySelector('.plot-live')?.dataset.drawn) >= n", arg=times)


def times_drawn(page: Page) -> int:
    return int(page.locator(".plot-live").get_attribute("data-drawn") or 0)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def says(page: Page) -> Locator:
    return page.locator(".st-key-train_strip")


def step_of(page: Page) -> int:
    found = re.search(r"step (\d+)", says(page).inner_text())
    assert found
    return int(found[1])


def begun(visit: Visit, **query: str) -> Page:
    """Open the page, press Train, and wait until the run is the subject."""
    page = opened(visit, **query)
    press(page, "Train")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    page.wait_for_url("**run=**")
    return page


def test_one_press_trains_a_model_that_then_is_the_model_of_every_page(visit):
    page = opened(visit, **TINY)
    press(page, "Train")
    expect(page.locator(".st-key-train_line")).to_contain_text("held-out sentences")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    expect(page.locator(".st-key-frame_bar")).to_contain_text("your run · step 50 of 50")
    page.wait_for_url("**run=**")
    expect(page.locator(".st-key-frame_bar .st-key-pick_step")).to_be_visible()
    page.locator('[data-testid="stSidebarNavLink"]').filter(has_text="One head").click()
    expect(page.get_by_role("heading", name="One head, step by step")).to_be_visible()
    expect(page.locator(".st-key-frame_bar")).to_contain_text("your run · step 50 of 50")


def test_nothing_is_mounted_again_and_the_zoom_stays_while_numbers_change(visit):
    page = opened(visit, **LONG)
    places = [page.locator(each).element_handle() for each in (".plot-live", ".attention-grid .base")]
    press(page, "Train")
    page.wait_for_url("**run=**")
    drawn(page, times_drawn(page) + 1)
    mounted = [*places, page.locator(".plot-live .main-svg").first.element_handle()]
    plot = page.locator(".plot-live .plot")
    box = plot.bounding_box()
    assert box
    plot.hover(position={"x": 200, "y": 100})
    page.locator('.plot-live .modebar-btn[data-val="zoom"]').click()
    page.mouse.move(box["x"] + 120, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 240, box["y"] + 110, steps=5)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('.plot-live .plot').layout.xaxis.range[0] > 1")
    zoomed = plot.evaluate(RANGE)
    drawn(page, times_drawn(page) + 10)
    assert plot.evaluate(RANGE) == zoomed
    for each in mounted:
        assert each is not None
        assert each.evaluate("node => node.isConnected")
    press(page, "Stop")
    expect(page.locator(".st-key-train_line")).to_contain_text("ended at step")


def test_it_pauses_makes_one_step_goes_on_and_stops(visit):
    page = begun(visit, **LONG)
    press(page, "Pause")
    expect(says(page)).to_contain_text("Paused at step")
    before = step_of(page)
    press(page, "One step")
    expect(says(page)).to_contain_text(f"Paused at step {before + 1:,} of")
    press(page, "One step")
    expect(says(page)).to_contain_text(f"Paused at step {before + 2:,} of")
    press(page, "Go on")
    expect(says(page)).to_contain_text("steps/s")
    press(page, "Stop")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    expect(page.locator(".st-key-train_line")).to_contain_text("ended at step")


def test_a_reload_finds_the_training_and_a_link_only_watches_it(visit):
    page = begun(visit, **LONG)
    page.reload()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    found = re.search(r"run=([\w-]+)", page.url)
    assert found
    guest = visit("train", v="1", run=found[1])
    expect(guest.locator(".st-key-train_line")).to_contain_text("Somebody's training")
    drawn(guest, 2)
    expect(guest.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    press(page, "Stop")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    expect(guest.get_by_role("button", name="Train", exact=True)).to_be_visible()


def test_a_model_that_learns_nothing_is_told_what_to_change_by_a_button(visit):
    page = opened(visit, **TINY | {"steps": "100"}, factor="20", warmup="10")
    press(page, "Train")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    expect(page.locator(".st-key-train_line")).to_contain_text("guessing gives")
    page.locator(".st-key-train_remedy_factor button").click()
    page.wait_for_url("**factor=0.5**")


def test_what_is_typed_or_half_chosen_stays_while_the_page_learns_of_more_steps(visit):
    page = begun(visit, **LONG)
    text = page.locator(".st-key-type_text input")
    bar = page.locator(".st-key-frame_state")
    expect(bar).to_contain_text("your run")
    text.fill("a b")  # and no Enter
    before = bar.inner_text()
    expect(bar).not_to_have_text(before)
    assert text.input_value() == "a b"
    press(page, "Stop")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()


def test_looking_back_shows_that_step_in_every_picture_and_leads_back(visit):
    page = begun(visit, **LONG)
    expect(page.locator(".st-key-frame_state")).to_contain_text(re.compile("step [2-9]0 of"))
    slider = page.locator('.st-key-pick_step input[type="range"]')
    slider.focus()
    slider.press("Home")
    expect(page.locator(".st-key-train_line")).to_contain_text("You look back at step 0")
    expect(page.locator(".st-key-train_samples")).to_contain_text("at step 0")
    expect(page.locator(".grid-note")).to_contain_text("at step 0")
    press(page, "Follow it again")
    expect(page.locator(".st-key-train_line")).not_to_contain_text("You look back")
    press(page, "Stop")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()


def test_a_change_on_the_way_holds_from_the_next_step_on(visit):
    page = begun(visit, **LONG)
    press(page, "Pause")
    expect(says(page)).to_contain_text("Paused at step")
    page.locator(".st-key-train_change button").click()
    box = page.get_by_role("combobox", name="Factor")
    expect(box).to_have_value("0.5")
    box.click()
    page.get_by_role("option", name="0.1", exact=True).click()
    expect(box).to_have_value("0.1")
    page.keyboard.press("Escape")
    before, step = last_rate(page), step_of(page)
    press(page, "One step")
    expect(says(page)).to_contain_text(f"Paused at step {step + 1:,} of")
    page.wait_for_function(f"before => ({LAST_RATE})() < before / 3", arg=before)
    press(page, "Stop")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()


LAST_RATE = """() => {
  const rates = document.querySelector(".plot-live .plot")._fullData.filter((trace) => trace.yaxis === "y3");
  return [...rates.at(-1).y].at(-1);
}"""


def last_rate(page: Page) -> float:
    """Return the last learning rate that is drawn."""
    return float(page.evaluate(LAST_RATE))


# --- The film --------------------------------------------------------------------------------------------------------


def at(page: Page, place: str | re.Pattern[str]) -> None:
    """Wait until the film shows the picture of a place among the recorded steps."""
    expect(page.locator(".film")).to_have_attribute("data-place", place)


def place(page: Page) -> int:
    return int(page.locator(".film").get_attribute("data-place") or -1)


def test_the_film_plays_without_the_server_and_takes_every_page_to_where_it_rests(visit):
    page = visit("train", v="1", panel="film", step="0")
    expect(page.locator(".film .grid")).to_be_visible()
    assert place(page) == 0
    sent: list[str] = []
    page.on("websocket", lambda socket: sent.append(socket.url))
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_role("button", name="Play", exact=True).click()
    at(page, re.compile("[3-9]"))
    assert sent == []
    assert "step=0" in page.url
    page.get_by_role("button", name="Pause", exact=True).click()
    rests = place(page)
    expect(page.locator(".film .frame.now")).to_have_attribute("data-place", str(rests))
    page.wait_for_url(re.compile(r"step=(?!0)\d+"))
    page.locator('[data-testid="stSidebarNavLink"]').filter(has_text="One head").click()
    expect(page.get_by_role("heading", name="One head, step by step")).to_be_visible()
    assert re.search(r"step=(?!0)\d+", page.url)


def test_the_film_goes_by_keys_follows_the_bar_and_hands_on_its_head(visit):
    page = visit("train", v="1", panel="film")
    last = place(page)
    page.locator(".film .reach").focus()
    page.keyboard.press("ArrowLeft")
    at(page, str(last - 1))
    page.wait_for_url("**step=**")
    slider = page.locator('.st-key-pick_step input[type="range"]')
    slider.focus()
    slider.press("Home")
    at(page, "0")
    page.locator(".film .grid").click(position={"x": 10, "y": 32})
    page.wait_for_url("**where=encoder**")
    expect(page.locator(".film .large")).to_contain_text("layer 0 · head 0")


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("panel", ["layers", "film", "patterns", "words"])
def test_each_large_picture_fits_and_is_first_on_the_page(visit, panel, size):
    page = visit("train", size=size, v="1", panel=panel, lang="zh")
    box = page.locator(".film" if panel == "film" else ".plot-live").first.bounding_box()
    window = page.viewport_size
    assert box
    assert window
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= window["width"]
    if size == "laptop":
        assert box["y"] < 260


def test_the_step_slider_scrubs_the_curves_the_words_and_the_maps(visit):
    page = opened(visit, v="1", step="0")
    expect(page.locator(".st-key-train_samples")).to_contain_text("at step 0")
    expect(page.locator(".grid-note")).to_contain_text("at step 0")
    assert page.locator(".plot-live .plot").evaluate(
        "plot => plot.layout.shapes.some((shape) => shape.x0 === 0 && shape.x1 === 0)"
    )


def test_a_picture_offers_zoom_and_files_and_nothing_that_leaves_the_machine(visit):
    page = opened(visit, v="1")
    buttons = page.locator(".plot-live .modebar-btn")
    assert sorted(buttons.evaluate_all("all => all.map((b) => b.dataset.val)")) == ["pan", "reset", "zoom"]


# --- The grid --------------------------------------------------------------------------------------------------------


def over(page: Page, x: float, y: float) -> None:
    page.locator(".attention-grid .stage").hover(position={"x": x, "y": y})


def test_hover_says_words_and_weight_and_asks_nobody(visit):
    page = opened(visit, v="1")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    over(page, 10, 55)
    tip = page.locator(".attention-grid .tip")
    expect(tip).to_contain_text("Encoder")
    expect(tip).to_contain_text("layer 0 · head 0")
    expect(tip).to_contain_text("weight")
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
    assert sent == []


def test_a_click_enlarges_a_head_in_its_place_and_escape_closes_it(visit):
    page = opened(visit, v="1")
    card = page.locator(".attention-grid .card")
    over(page, 10, 55)
    page.mouse.down()
    page.mouse.up()
    expect(card).to_be_visible()
    expect(card).to_contain_text("layer 0 · head 0")
    expect(card.locator("[data-row]").first).to_be_visible()
    box, window = card.bounding_box(), page.viewport_size
    assert box
    assert window
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= window["height"]
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_keys_walk_through_heads_and_cells_and_say_where_they_are(visit):
    page = opened(visit, v="1", lang="en")
    page.locator(".attention-grid .stage").focus()
    heard = page.locator(".attention-grid .heard")
    page.keyboard.press("ArrowRight")
    expect(heard).to_contain_text("layer 0 · head 0")
    page.keyboard.press("ArrowRight")
    expect(heard).to_contain_text("layer 0 · head 1")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(heard).to_contain_text("weight")
    page.keyboard.press("Escape")
    expect(page.locator(".attention-grid .card")).to_be_hidden()


def test_every_file_is_made_in_the_browser_and_the_numbers_are_those_of_the_pass(visit, tmp_path: Path):
    page = opened(visit, v="1")
    starts = {"png": b"\x89PNG", "svg": (b"<?xml", b"<svg"), "csv": "\ufeff".encode()}
    for picture, name in ((".attention-grid", "attention"), (".plot-live", "training")):
        for ending, begins in starts.items():
            page.locator(f"{picture} .save").click()
            with page.expect_download() as saved:
                page.locator(f'{picture} [data-file="{ending}"]').click()
            assert saved.value.suggested_filename == f"{name}.{ending}"
            saved.value.save_as(tmp_path / f"{name}.{ending}")
            assert (tmp_path / f"{name}.{ending}").read_bytes().startswith(begins)
    text = (tmp_path / "attention.csv").read_text(encoding="utf-8-sig")
    sums: dict[tuple[str, ...], float] = {}
    for attention, layer, head, query, _, weight in list(csv.reader(io.StringIO(text)))[1:]:
        if not weight.startswith("hidden"):
            place = (attention, layer, head, query)
            sums[place] = sums.get(place, 0.0) + float(weight)
    assert sums
    assert all(total == pytest.approx(1, abs=1e-5) for total in sums.values())


@pytest.mark.parametrize("size", ["laptop", "projector", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pictures_fit_their_window(visit, size, theme):
    page = opened(visit, size=size, theme=theme, v="1", lang="zh")
    for picture in (".plot-live", ".attention-grid"):
        box, window = page.locator(picture).bounding_box(), page.viewport_size
        assert box
        assert window
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= window["width"]


def test_the_picture_begins_above_260_pixels(visit):
    box = opened(visit, v="1").locator(".plot-live").bounding_box()
    assert box
    assert box["y"] < 260
