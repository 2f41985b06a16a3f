"""What is chosen on the page on scaling, and the door to a training without it: its widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from playground.i18n import Translate
from playground.plan import repeated
from playground.scaling import ROOT, SIZES, VIEWS, chosen_temperature, temperatures
from playground.ui.link import PICKS
from playground.ui.session import Session

# Where the drawn vectors begin: d_k of the paper's base model.
PAPER_D_K = 64


def pick_view(state: Session, t: Translate) -> str:
    """Let the visitor choose what is looked at: one of `playground.scaling.VIEWS`."""
    shown = str(state.picks.get("scaling", VIEWS[0]))
    st.session_state["scaling_view"] = shown
    st.segmented_control(
        t("scaling.view.label"),
        VIEWS,
        format_func=lambda view: t(f"scaling.view.{view}"),
        key="scaling_view",
        on_change=_chose,
        args=(state, "scaling", "scaling_view"),
        required=True,
    )
    return shown


def chosen_draw(state: Session) -> tuple[int, int]:
    """Return what is chosen of the drawn vectors: (d_k, seed)."""
    return int(state.picks.get("d_k", PAPER_D_K)), _number(state.picks.get("draw", 0))


def pick_draw(state: Session, t: Translate) -> None:
    """Let the visitor choose d_k, and the seed that vectors are drawn with."""
    d_k, seed = chosen_draw(state)
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom", key="scaling_draw_row"):
        _slide("d_k", [*map(str, SIZES)], str(d_k), state, t("scaling.d_k"), lambda size: f"{int(size):,}")
        st.session_state["scaling_draw"] = seed
        st.number_input(
            t("scaling.seed"),
            min_value=0,
            max_value=_number(PICKS["draw"]),
            step=1,
            key="scaling_draw",
            on_change=_chose,
            args=(state, "draw", "scaling_draw"),
            width=150,
        )


def temperature_of(state: Session) -> tuple[str, float]:
    """Return the chosen temperature: its name in a link, and its value for the subject's heads."""
    d_k = state.run.config.model.d_head
    name = chosen_temperature(state.picks.get("tau"), d_k)
    return name, temperatures(d_k)[name]


def pick_temperature(state: Session, t: Translate) -> None:
    """Let the visitor choose a temperature, √d_k among them."""
    d_k = state.run.config.model.d_head
    name, _ = temperature_of(state)
    with st.container(key="scaling_tau_row"):
        _slide("tau", [*temperatures(d_k)], name, state, t("scaling.tau"), lambda each: said(each, d_k))


def said(name: str, d_k: int) -> str:
    """Return a temperature as it is written: `8`, or `√16 = 4`."""
    value = temperatures(d_k)[name]
    return f"√{d_k} = {value:.3g}" if name == ROOT else f"{value:g}"


def open_training(state: Session, t: Translate) -> None:
    """Offer a training of the subject's model with the division left out, or with it if the subject has none."""
    run = state.run
    other = "no" if run.config.model.scale_scores else "yes"
    if st.button(t(f"scaling.door.{other}"), icon=":material/model_training:", key="scaling_door"):
        picks = {"task": run.task, **state.picks}
        state.open("train", repeated(run.config, picks, scale_scores=other))


def _slide(
    name: str, options: Sequence[str], shown: str, state: Session, label: str, words: Callable[[str], str]
) -> None:
    key = f"scaling_{name}"
    st.session_state[key] = shown
    st.select_slider(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name, key), width="stretch"
    )


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
