"""The frame: the menu, the badge, the link, presenting, and the one place where colours and keys stand."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from playground.figures.theme import DARK, LIGHT, THEMES
from playground.i18n import LANGUAGES, Translate
from playground.ui.frame import PAGES, badge
from playground.ui.link import PICKS
from playground.ui.session import Session

ROOT = Path(__file__).parents[2]
UI = ROOT / "playground/ui"
CONFIG = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))


def session(visitor) -> Session:
    return visitor.session_state["session"]


def words(visitor):
    return "\n".join(element.value for kind in (visitor.markdown, visitor.caption) for element in kind)


# --- Colours ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THEMES)
def test_the_apps_colours_are_the_pictures_colours(name):
    theme, said = THEMES[name], CONFIG["theme"][name]
    assert {key: value for key, value in said.items() if isinstance(value, str)} == {
        "primaryColor": theme.query,
        "backgroundColor": theme.background,
        "secondaryBackgroundColor": theme.surface,
        "textColor": theme.text,
        "borderColor": theme.line,
        "linkColor": theme.query,
        "grayTextColor": theme.muted,
        "grayBackgroundColor": theme.surface,
    }
    assert said["sidebar"] == {"backgroundColor": theme.surface, "secondaryBackgroundColor": theme.background}


def test_the_frames_own_styles_use_the_same_colours():
    """Each pair in `light-dark(…)` is one colour of the theme, light and dark."""
    pairs = {(getattr(LIGHT, name), getattr(DARK, name)) for name in ("background", "surface", "line", "text", "muted")}
    for path in (UI / "frame.css", UI / "present.css"):
        text = path.read_text(encoding="utf-8")
        assert {(light, dark) for light, dark in re.findall(r"light-dark\((#\w+), (#\w+)\)", text)} <= pairs
        assert not re.findall(r"#[0-9A-Fa-f]{3,8}\b", re.sub(r"light-dark\([^)]*\)", "", text)), path.name


# --- Menu ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_has_a_title_a_sentence_and_a_section(language):
    t = Translate(language)
    for page in PAGES:
        assert t(f"{page.name}.title")
        assert t(f"{page.name}.sentence")
        assert t(f"frame.section.{page.section}")


def test_sections_stand_together():
    sections = [page.section for page in PAGES]
    assert sections == sorted(sections, key=sections.index)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_title_is_too_long_for_the_menu(language):
    """232 pixels hold about 24 Latin letters or 12 characters at 14 pixels beside the icon."""
    t = Translate(language)
    for page in PAGES:
        title = t(f"{page.name}.title")
        width = sum(2 if ord(letter) > 0x2E80 else 1 for letter in title)
        assert width <= 24, title


# --- Badge and link --------------------------------------------------------------------------------------------------


def test_the_badge_says_whose_numbers_these_are(app):
    assert "recorded run · step 40 of" in words(app(v="1", step="40"))
    assert "recorded run · untrained" in words(app(v="1", step="0"))


def test_the_badge_knows_ones_own_run(app, make_run):
    run = make_run(steps=(0, 4))
    visitor = app(v="1", run=run)
    assert "somebody's run · step 4 of 4" in words(visitor)
    state = session(visitor)
    state.began(run)
    assert badge(state, Translate("en")) == "your run · step 4 of 4"


def test_the_link_holds_the_view(app):
    visitor = app("one_head", v="1", step="40", head="2", lang="zh")
    [address] = [code.value for code in visitor.code]
    assert address.endswith("?v=1&lang=zh&step=40&head=2")


# --- Presenting ------------------------------------------------------------------------------------------------------


def test_presenting_folds_everything_away_and_back(app):
    visitor = app("one_head")
    keys = {element.key for kind in (visitor.selectbox, visitor.select_slider, visitor.text_input) for element in kind}
    assert {"pick_run", "pick_step", "type_text"} <= keys
    visitor.button(key="present_begin").click()
    visitor.run()
    assert not visitor.exception
    assert not visitor.text_input
    assert not visitor.sidebar.children
    assert "recorded run" in words(visitor)  # whose numbers these are is said in the hall, too
    assert visitor.query_params["present"] in ("1", ["1"])
    assert session(visitor).theme.presenting
    visitor.button(key="present_end").click()
    visitor.run()
    assert not visitor.exception
    assert visitor.text_input
    assert "present" not in visitor.query_params


# --- Controls --------------------------------------------------------------------------------------------------------


def test_every_key_of_a_shared_widget_stands_in_one_file():
    """Pages give keys to pictures only, so that no two widgets clash and what a link sets is known."""
    widgets = {
        *("button", "selectbox", "select_slider", "slider", "segmented_control", "pills", "text_input", "number_input"),
        *("radio", "toggle", "checkbox", "multiselect", "text_area", "menu_button"),
    }
    for path in (ROOT / "pages").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in widgets:
                pytest.fail(f"{path.name}:{node.lineno} draws a {node.func.attr}: it belongs in playground/ui")


def test_a_model_of_one_layer_and_one_head_leaves_nothing_to_choose(app, make_run):
    run = make_run("english-french", d_model=4, n_heads=1, d_ff=4, n_layers=1)
    visitor = app("one_head", v="1", run=run, layer="5", head="5")
    assert not visitor.exception
    chosen = {group.key for group in visitor.get("button_group")}
    assert "pick_where" in chosen
    assert not {"pick_layer", "pick_head"} & chosen


def test_a_choice_of_many_is_a_list(app, make_run):
    run = make_run("english-french", d_model=32, n_heads=16, d_ff=4, n_layers=1)
    visitor = app("one_head", v="1", run=run, head="12")
    assert not visitor.exception
    assert visitor.selectbox(key="pick_head").value == 12


def test_an_example_is_one_click_away(app):
    visitor = app()
    state = session(visitor)
    visitor.button(key="pick_example_1").click()
    visitor.run()
    assert state.text == state.task.examples[1]


def test_picks_of_links_are_symbols():
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in PICKS)
    assert not {"v", "lang", "present", "run", "step", "text"} & PICKS.keys()


# --- A visitor's own run ---------------------------------------------------------------------------------------------


def test_an_idle_page_polls_nothing(app):
    """No fragment is drawn in the menu while there is no training to speak of."""
    assert "own_run" not in str(app())
