"""What a visitor is just typing or moving is not taken back by a run of the page that knows nothing of it yet."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

PAGE = """
import streamlit as st
from playground.ui.controls import mirror
from playground.ui.session import Session

state = st.session_state.setdefault("held", Session())
asked = st.session_state.setdefault("asked", {"value": "a", "words": ("a", "b", "c"), "is_folded": False})
mirror(state, "box", asked["value"], asked["words"], is_folded=asked["is_folded"])
# A browser is told a value when the script sets one; else the widget's own stands.
from streamlit.runtime.scriptrunner import get_script_run_ctx
told = "box" in get_script_run_ctx().session_state._state._new_session_state
st.selectbox("box", asked["words"], key="box")
st.text(str(told))
"""


def page() -> AppTest:
    visitor = AppTest.from_string(PAGE, default_timeout=60)
    return visitor.run()


def was_told(visitor: AppTest) -> bool:
    return visitor.text[0].value == "True"


def ask(visitor: AppTest, **asked: object) -> AppTest:
    visitor.session_state["asked"] = {**visitor.session_state["asked"], **asked}
    return visitor.run()


def test_a_widget_is_told_what_it_shows_and_once_more_and_then_left_alone():
    visitor = page()
    assert was_told(visitor)
    assert was_told(visitor.run())
    assert not was_told(visitor.run())
    assert not was_told(visitor.run())
    assert visitor.selectbox(key="box").value == "a"


def test_what_the_visitor_chose_is_not_said_back():
    visitor = page()
    visitor.run()
    visitor.run()
    visitor.session_state["asked"] = {**visitor.session_state["asked"], "value": "b"}
    visitor.selectbox(key="box").set_value("b").run()
    assert not was_told(visitor)
    assert visitor.selectbox(key="box").value == "b"


def test_what_others_changed_is_told_twice():
    """A visitor may have been moving it just then: what the browser shows is right again in the next run."""
    visitor = page()
    visitor.run()
    visitor.run()
    assert was_told(ask(visitor, value="c"))
    assert visitor.selectbox(key="box").value == "c"
    assert was_told(visitor.run())
    assert not was_told(visitor.run())


def test_with_other_options_it_is_another_widget():
    visitor = page()
    visitor.run()
    visitor.run()
    assert was_told(ask(visitor, words=("x", "a")))
    assert visitor.selectbox(key="box").value == "a"


def test_one_in_a_menu_is_told_each_time():
    """A browser makes it only when the menu is opened, and has missed what was told before."""
    visitor = page()
    ask(visitor, is_folded=True)
    for _ in range(3):
        assert was_told(visitor.run())


STEPS = """
import streamlit as st
from playground.ui.controls import is_late, mirror
from playground.ui.session import Session

state = st.session_state.setdefault("held", Session())
asked = st.session_state.setdefault("asked", {"value": 160, "words": ("80", "160")})
told = st.session_state.setdefault("told", [])
mirror(state, "step", asked["value"], asked["words"])

def chose():
    if is_late(state, "step"):
        told.append("late")
    else:
        asked["value"] = st.session_state["step"]
        told.append(asked["value"])

st.select_slider("step", [int(each) for each in asked["words"]], key="step", on_change=chose)
"""


def test_a_browser_that_has_not_heard_of_a_new_step_does_not_choose_the_old_one(monkeypatch):
    """A training records another step, and a click sends along where the slider stood before."""
    visitor = AppTest.from_string(STEPS, default_timeout=60).run()
    visitor.session_state["asked"] = {"value": 320, "words": ("80", "160", "320")}
    visitor.run()
    assert visitor.select_slider(key="step").value == 320
    visitor.select_slider(key="step").set_value(160).run()
    assert visitor.session_state["told"] == ["late"]
    # A hand on the slider chooses: another step at once, and the same one as soon as the new one must have been seen.
    visitor.select_slider(key="step").set_value(80).run()
    assert visitor.session_state["told"][-1] == 80
    monkeypatch.setattr("playground.ui.controls.HEARD", -1.0)
    visitor.select_slider(key="step").set_value(320).run()
    visitor.select_slider(key="step").set_value(160).run()
    assert visitor.session_state["told"][-1] == 160


def test_a_visitor_may_go_back_at_once_to_where_the_slider_stood():
    visitor = AppTest.from_string(STEPS, default_timeout=60).run()
    visitor.select_slider(key="step").set_value(80).run()
    visitor.select_slider(key="step").set_value(160).run()
    assert visitor.session_state["told"] == [80, 160]
