"""What a visitor chooses with: every widget of more than one page, and every widget's key.

A widget only shows what the session says and tells it what was chosen. So nothing is lost when a page that had a
widget is left, what a link restores appears in it, and it never offers what the model does not have: what is chosen
is clamped before the widget is drawn, and where there is nothing to choose there is text instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from playground.head import PLACES
from playground.home import best_head
from playground.i18n import LANGUAGES, Translate, literal
from playground.prepared import RECORDED, experiment_name
from playground.runs import Run
from playground.ui.link import PICKS
from playground.ui.session import Session, Shown

T = TypeVar("T", str, int)

# Which attentions a model of each architecture has.
ATTENTIONS: Mapping[str, tuple[str, ...]] = {
    "encoder-decoder": ("encoder", "decoder", "cross"),
    "encoder-only": ("encoder",),
    "decoder-only": ("decoder",),
}

# Seconds within which a browser has surely heard of a value that the page has put in a widget.
HEARD = 3.0

# A segmented control of more choices would fill the line, and a list is then easier to read.
MOST_SEGMENTS = 8


def pick_head(state: Session, t: Translate) -> tuple[str, int, int]:
    """Let the visitor choose an attention head, one after the other: where, layer, head.

    Returns:
        A key of `playground.head.PLACES`, the layer, the head; all of them exist in this model.
    """
    model = state.run.config.model
    places = [place for place in PLACES if place in ATTENTIONS[model.architecture]]
    with _row("row_head"):
        where = _pick(
            "where",
            places,
            state.place(places, places[-1]),
            state,
            t("frame.pick.where"),
            lambda x: t(f"frame.where.{x}"),
        )
        default = best_head(state.subject) if where == "cross" else (0, 0)
        layer, head = _pick_layer_and_head(state, t, default)
    return where, layer, head


def pick_cross_head(state: Session, t: Translate) -> tuple[int, int]:
    """Let the visitor choose a cross-attention head; returns (layer, head). At first the one that aligns best."""
    with _row("row_cross_head"):
        return _pick_layer_and_head(state, t, best_head(state.subject))


def pick_table(state: Session, t: Translate) -> tuple[str, str]:
    """Let the visitor choose how the embeddings of which stack are looked at; returns (view, stack)."""
    views = PICKS["table"]
    assert isinstance(views, tuple)
    with _row("pick_table_row"):
        chosen = str(state.picks.get("table", views[0]))
        view = _pick(
            "table", views, chosen, state, t("embeddings.view.label"), lambda each: t(f"embeddings.view.{each}")
        )
        return view, _pick_stack(state, t)


def pick_layer(state: Session, t: Translate) -> tuple[str, int]:
    """Let the visitor choose a layer; returns (stack, layer), both of which this model has."""
    model = state.run.config.model
    with _row("pick_layer_row"):
        stack = _pick_stack(state, t)
        layer, _ = state.layer_and_head(0, 0)
        return stack, _pick("layer", range(model.n_layers), layer, state, t("frame.pick.layer"), str)


def pick_depth(state: Session, t: Translate) -> str:
    """Let the visitor choose how deep every page goes: story, numbers, formula or code."""
    depths = PICKS["depth"]
    assert isinstance(depths, tuple)
    with _row("pick_depth_row"):
        chosen = str(state.picks.get("depth", depths[0]))
        return _pick("depth", depths, chosen, state, t("depth.label"), lambda each: t(f"depth.view.{each}"))


def pick_example(state: Session, t: Translate) -> None:
    """Offer the task's example sentences, each a button."""
    st.caption(t("home.examples"))
    with st.container(horizontal=True, gap="small", key="row_examples"):
        for number, example in enumerate(state.task.examples):
            st.button(
                literal(example),
                key=f"pick_example_{number}",
                on_click=state.say,
                args=(example,),
                disabled=example == state.text,
            )


def pick_run(state: Session, t: Translate) -> None:
    """Let the visitor choose the model: a recording, or a run of one's own."""
    titles = {run.id: run_title(state, t, run.id) for run in state.runs}
    mirror(state, "pick_run", state.run_id, titles.values())
    st.selectbox(
        t("frame.model"),
        list(titles),
        format_func=titles.__getitem__,
        key="pick_run",
        on_change=_tell,
        args=(state.choose_run, "pick_run"),
        filter_mode=None,
    )


def pick_step(state: Session, t: Translate) -> None:
    """Let the visitor choose a recorded training step; plain text where there is only one."""
    steps = state.run.steps
    if len(steps) == 1:
        st.text(t("frame.step.only", step=f"{steps[0]:,}"))
        return
    mirror(state, "pick_step", state.step, map(str, steps))
    st.select_slider(
        t("frame.step.label"),
        steps,
        format_func=lambda step: f"{step:,}",
        key="pick_step",
        on_change=_choose_step,
        args=(state,),
    )


def _choose_step(state: Session) -> None:
    if not is_late(state, "pick_step"):
        _tell(state.choose_step, "pick_step")


def type_text(state: Session, t: Translate) -> None:
    """Let the visitor type what the model reads, with examples beside it."""
    mirror(state, "type_text", state.typed)
    st.text_input(
        t("frame.text.label", language=t(state.task.src_language)),
        key="type_text",
        on_change=_tell,
        args=(state.say, "type_text"),
        autocomplete="off",
    )


def pick_from_examples(state: Session, t: Translate) -> None:
    """Offer the task's example sentences in a menu."""
    st.menu_button(
        t("frame.examples"),
        state.task.examples,
        format_func=literal,
        icon=":material/format_list_bulleted:",
        key="pick_from_examples",
        type="tertiary",
        on_click=_tell,
        args=(state.say, "pick_from_examples"),
    )


def pick_language(state: Session, t: Translate) -> None:
    """Let the visitor choose the language of the words."""
    mirror(state, "pick_language", state.lang, is_folded=True)
    st.segmented_control(
        t("frame.language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key="pick_language",
        on_change=_tell,
        args=(state.choose_language, "pick_language"),
        required=True,
        label_visibility="collapsed",
    )


def run_title(state: Session, t: Translate, run_id: str) -> str:
    """Return what a run is called where one is chosen: its task for a recording, else what its maker called it."""
    run = next(each for each in state.runs if each.id == run_id)
    task = t(f"tasks.{run.task}.title")
    if run.id in RECORDED:
        return t("compare.recorded", name=experiment_name(run.id, t))
    if run.is_recording:
        return task
    return t(f"frame.run.{whose_run(state, run)}", title=run.title or task)


def whose_run(state: Session, run: Run) -> str:
    """Return `recorded`, `imported`, `yours` or `shared`: words of `frame.badge`; all but the first, of `frame.run`."""
    if run.is_recording:
        return "recorded"
    if run.id not in state.own_runs:
        return "shared"
    return "imported" if run.label.is_imported else "yours"


def _pick_stack(state: Session, t: Translate) -> str:
    places = ATTENTIONS[state.run.config.model.architecture]
    stacks = [place for place in ("encoder", "decoder") if place in places]
    chosen = state.picks.get("stack")
    shown = str(chosen) if chosen in stacks else stacks[0]
    return _pick("stack", stacks, shown, state, t("frame.pick.stack"), lambda stack: t(f"frame.where.{stack}"))


def _pick_layer_and_head(state: Session, t: Translate, default: tuple[int, int]) -> tuple[int, int]:
    model = state.run.config.model
    layer, head = state.layer_and_head(*default)
    layer = _pick("layer", range(model.n_layers), layer, state, t("frame.pick.layer"), str)
    head = _pick("head", range(model.n_heads), head, state, t("frame.pick.head"), str)
    return layer, head


def _pick(name: str, options: Sequence[T], shown: T, state: Session, label: str, words: Callable[[T], str]) -> T:
    """Draw the widget of one pick, or text if there is one option only, and return what is chosen."""

    def choose(value: T) -> None:
        state.choose(**{name: value})

    key = f"pick_{name}"
    if len(options) == 1:
        st.text(f"{label} {words(options[0])}")
    elif len(options) <= MOST_SEGMENTS:
        _segments(state, key, options, shown, choose, label, words)
    else:
        mirror(state, key, shown, map(words, options))
        st.selectbox(label, options, format_func=words, key=key, on_change=_tell, args=(choose, key), width=110)
    return shown


def _segments(
    state: Session,
    key: str,
    options: Sequence[T],
    shown: T,
    choose: Callable[[T], None],
    label: str,
    words: Callable[[T], str],
) -> None:
    mirror(state, key, shown, map(words, options))
    st.segmented_control(label, options, format_func=words, key=key, on_change=_tell, args=(choose, key), required=True)


def _row(key: str) -> Any:
    return st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key=key)


def mirror(state: Session, key: str, value: object, words: Iterable[str] = (), *, is_folded: bool = False) -> None:
    """Make the widget that is drawn next show `value`.

    It is told so only if it shows something else. What a browser is told replaces what stands there: a text half typed,
    a slider already a step further. A value that was changed by others than the visitor is told twice, for the visitor
    may have been moving the widget just when it came.

    Args:
        state: The session.
        key: The widget's.
        value: What it is to show.
        words: What its options are called; with others it is another widget.
        is_folded: Whether it stands where a browser makes it only when that is opened, as a menu: then it has missed
            what it was told before, and is told each time.
    """
    named = tuple(words)
    before = state.widgets.get(key)
    is_there = before is not None and before.words == named and key in st.session_state
    is_same = is_there and st.session_state[key] == value
    replaced, at = (before.replaced, before.replaced_at) if before else (None, float("-inf"))
    if before is not None and before.value != value and st.session_state.get(key) != value:
        replaced, at = before.value, time.monotonic()
    if not is_same or is_folded or before is None or before.was_told:
        st.session_state[key] = value
    state.widgets[key] = Shown(named, not is_same, value, replaced, at)


def is_late(state: Session, key: str) -> bool:
    """Say whether what a widget reports is what it showed before the page put something else there a moment ago.

    A browser that has not heard of the new value yet sends the old one along with the next click, wherever that is.
    """
    shown = state.widgets.get(key)
    if shown is None or time.monotonic() - shown.replaced_at > HEARD:
        return False
    return shown.replaced is not None and st.session_state.get(key) == shown.replaced


def _tell(choose: Callable[[Any], None], key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        choose(value)
