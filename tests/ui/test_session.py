"""A visitor's session: the link, the controls and the pages say the same; nothing typed or chosen is lost."""

from __future__ import annotations

import pytest

from playground.tasks import TASKS
from playground.ui.session import Session

FRENCH = TASKS["english-french"]


def words(visitor):
    """Return all Markdown, captions, errors and warnings of the page."""
    kinds = (visitor.markdown, visitor.caption, visitor.error, visitor.warning)
    return "\n".join(element.value for kind in kinds for element in kind)


def params(visitor):
    return {name: values[0] if isinstance(values, list) else values for name, values in visitor.query_params.items()}


def session(visitor) -> Session:
    return visitor.session_state["session"]


def used(visitor):
    """Run the script after a control was used, and check that it came through."""
    visitor.run()
    assert not visitor.exception
    return visitor


def test_a_bare_visit_shows_the_first_recording_at_its_end_with_its_first_example(app):
    state = session(app())
    assert state.run_id == "english-french"
    assert state.run.is_recording
    assert state.step == state.run.steps[-1]
    assert state.text == FRENCH.examples[0]


def test_a_bare_visit_has_a_bare_link(app):
    assert params(app()) == {}


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh"), ("zh", "zh"), ("en-GB", "en"), ("fr-FR", "en"), ("", "en")]
)
def test_the_browsers_language_is_spoken_if_we_can(app, locale, language):
    visitor = app(locale=locale)
    assert session(visitor).lang == language
    assert params(visitor).get("lang", "en") == language


def test_a_control_writes_the_link(app):
    visitor = app("one_head")
    visitor.select_slider(key="pick_step").set_value(0)
    used(visitor)
    assert params(visitor) == {"v": "1", "step": "0"}
    assert session(visitor).subject.step == 0
    visitor.select_slider(key="pick_step").set_value(session(visitor).run.steps[-1])
    used(visitor)
    assert params(visitor) == {}


def test_a_link_sets_the_controls(app):
    text = FRENCH.examples[1]
    visitor = app("one_head", v="1", step="40", text=text, where="decoder", layer="0", head="2")
    assert visitor.select_slider(key="pick_step").value == 40
    assert visitor.text_input(key="type_text").value == text
    chosen = {group.key: group.value for group in visitor.get("button_group")}
    assert {name: chosen[name] for name in ("pick_where", "pick_layer", "pick_head")} == {
        "pick_where": "decoder",
        "pick_layer": 0,
        "pick_head": 2,
    }


def test_a_step_that_was_not_recorded_shows_the_nearest(app):
    state = session(app(v="1", step="9"))
    assert state.step == min(state.run.steps, key=lambda step: abs(step - 9))


def test_what_a_link_asks_too_much_of_is_clamped_to_the_model(app):
    state = session(app("one_head", v="1", layer="63", head="127"))
    model = state.run.config.model
    assert state.layer_and_head(0, 0) == (model.n_layers - 1, model.n_heads - 1)


def test_going_back_is_followed(app):
    visitor = app("one_head", v="1", step="40")
    visitor.select_slider(key="pick_step").set_value(80)
    used(visitor)
    visitor.query_params["step"] = "40"  # as the browser's Back does
    used(visitor)
    assert session(visitor).step == 40


def test_the_menu_drops_the_link_but_not_what_was_chosen(app):
    from tests.conftest import ROOT

    visitor = app("one_head", v="1", step="40", lang="zh")
    visitor.query_params.clear()  # as the browser's menu does
    visitor.switch_page(str(ROOT / "pages/home.py"))
    used(visitor)
    assert session(visitor).step == 40
    assert params(visitor) == {"v": "1", "step": "40", "lang": "zh"}


# --- What is typed ---------------------------------------------------------------------------------------------------


def test_a_sentence_is_read(app):
    visitor = app()
    visitor.text_input(key="type_text").set_value(f"  {FRENCH.examples[2]}  ")
    used(visitor)
    assert session(visitor).subject.src == FRENCH.tokenize(FRENCH.examples[2])
    assert params(visitor)["text"] == FRENCH.examples[2]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("the black zebrra", "zebrra"),
        ("", "no word"),
        ("   \t ", "no word"),
        ("the " * 10_000, "at most"),
        ("<img src=x onerror=alert(1)>", "does not know"),
        ("$E=mc^2$ :red[x] **b** [a](javascript:alert(1))", "does not know"),
        ("\u202eabc\u0000", "does not know"),
    ],
)
def test_what_is_refused_is_said_and_nothing_is_lost(app, typed, said):
    visitor = app("one_head")
    visitor.text_input(key="type_text").set_value(typed)
    used(visitor)
    assert said in "\n".join(error.value for error in visitor.error)
    assert session(visitor).text == FRENCH.examples[0]  # the last good sentence is still the subject
    # To be mended, not typed again.
    assert visitor.text_input(key="type_text").value == " ".join(typed[:20_000].split())
    assert params(visitor) == {}
    visitor.text_input(key="type_text").set_value(FRENCH.examples[1])
    used(visitor)
    assert not visitor.error
    assert session(visitor).text == FRENCH.examples[1]


def test_a_refused_text_is_said_in_the_visitors_language(app):
    assert "不认识" in "\n".join(error.value for error in app(v="1", lang="zh", text="zebra").error)


def test_a_link_with_a_refused_text_opens_with_the_default(app):
    visitor = app(v="1", text="the zebra", step="40")
    assert "zebra" in visitor.error[0].value
    assert session(visitor).text == FRENCH.examples[0]
    assert params(visitor) == {"v": "1", "step": "40"}


# --- Runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", ["nothere", "reverse-", "..", "a/b", "english-french.", "x" * 64])
def test_a_run_that_is_not_there_is_said_and_a_recording_shown(app, run):
    visitor = app("one_head", v="1", run=run)
    assert not visitor.exception
    assert session(visitor).run_id == "english-french"
    assert bool(visitor.warning) == (run in {"nothere", "reverse-", "x" * 64})


def test_a_damaged_run_is_said_and_a_recording_shown(app, runs, make_run):
    broken = make_run(steps=(0,))
    for file in (runs.root / broken / "weights").iterdir():
        file.write_bytes(file.read_bytes()[:100])
    visitor = app("one_head", v="1", run=broken, lang="zh")
    assert not visitor.exception
    assert "损坏" in visitor.warning[0].value
    assert session(visitor).run_id == "english-french"
    assert params(visitor) == {"v": "1", "lang": "zh"}


def test_a_run_that_has_recorded_nothing_yet_keeps_its_link(app, make_run):
    begun = make_run(steps=())
    visitor = app("one_head", v="1", run=begun)
    assert visitor.warning
    assert session(visitor).run_id == "english-french"
    assert params(visitor)["run"] == begun


def test_a_shared_run_is_opened_by_its_link(app, make_run):
    run = make_run("english-french", steps=(0, 8), title="<b>$mine$</b>")
    visitor = app("one_head", v="1", run=run)
    assert session(visitor).run_id == run
    assert session(visitor).step == 8
    assert "somebody's run" in words(visitor)


def test_a_run_with_one_step_has_no_slider(app, make_run):
    visitor = app("one_head", v="1", run=make_run(steps=(0,)))
    assert not visitor.exception
    assert not visitor.select_slider
    assert "untrained" in words(visitor)


def test_nobodys_run_is_listed_for_others(app, make_run):
    run = make_run(steps=(0,))
    assert run not in [each.id for each in session(app()).runs]


def test_a_sentence_is_kept_through_another_task(app):
    visitor = app()
    visitor.text_input(key="type_text").set_value(FRENCH.examples[2])
    used(visitor)
    visitor.selectbox(key="pick_run").set_value("reverse")
    used(visitor)
    assert session(visitor).text == TASKS["reverse"].examples[0]
    assert not visitor.error
    visitor.selectbox(key="pick_run").set_value("english-french")
    used(visitor)
    assert session(visitor).text == FRENCH.examples[2]


def test_a_step_belongs_to_its_run(app):
    visitor = app(v="1", step="40")
    visitor.selectbox(key="pick_run").set_value("reverse")
    used(visitor)
    assert session(visitor).step == session(visitor).run.steps[-1]
    assert params(visitor) == {"v": "1", "run": "reverse"}


def test_visitors_share_nothing(app):
    one, other = session(app()), session(app())
    assert one is not other
    assert one.owner != other.owner
    assert len(one.owner) >= 32
    one.say(FRENCH.examples[1])
    assert other.text == FRENCH.examples[0]


def test_a_waiting_session_holds_no_tensors(app):
    assert session(app())._subject is None


def test_a_pick_that_links_do_not_know_is_refused(app):
    with pytest.raises(KeyError, match="no pick"):
        session(app()).choose(colour="red")
