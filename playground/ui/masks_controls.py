"""What is chosen on the page on masks: its widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.i18n import Translate
from playground.masking import VIEWS, WINDOWS, Mask, flips_in, kinds, written
from playground.ui.link import PICKS
from playground.ui.session import Session

SAMPLES = ("shorter", "longer")


def pick_view(state: Session, t: Translate) -> str:
    """Let the visitor choose what is looked at: one of `playground.masking.VIEWS`."""
    return _segments("masks", VIEWS, VIEWS[0], state, t("masks.view.label"), lambda each: t(f"masks.view.{each}"))


def chosen_mask(state: Session) -> tuple[str, int, str]:
    """Return what is chosen for the batch: the mask, the window's width, and which sentence."""
    chosen = str(state.picks.get("mask"))
    return (
        chosen if chosen in kinds(state.run.config.model) else default_mask(state),
        int(state.picks.get("window", WINDOWS[1])),
        str(state.picks.get("sample", SAMPLES[0])),
    )


def default_mask(state: Session) -> str:
    """Return the mask that is shown first: the decoder's, or that of an encoder alone."""
    has = kinds(state.run.config.model)
    return "both" if "both" in has else has[0]


def pick_mask(state: Session, t: Translate) -> None:
    """Let the visitor choose the mask, which sentence of the batch is shown, and the width of a window."""
    kind, _, _ = chosen_mask(state)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="masks_row"):
        _segments(
            "mask",
            kinds(state.run.config.model),
            default_mask(state),
            state,
            t("masks.kind.label"),
            lambda each: t(f"masks.kind.{each}"),
        )
        _segments("sample", SAMPLES, SAMPLES[0], state, t("masks.sample.label"), lambda each: t(f"masks.sample.{each}"))
        if kind == "window":
            _segments("window", WINDOWS, WINDOWS[1], state, t("masks.window"), str)


def pick_layer_and_head(state: Session, t: Translate) -> tuple[int, int]:
    """Let the visitor choose whose scores the batch shows."""
    model = state.run.config.model
    layer, head = state.layer_and_head(0, 0)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="masks_head_row"):
        for name, count, shown in (("layer", model.n_layers, layer), ("head", model.n_heads, head)):
            options = [str(i) for i in range(count)]
            st.session_state[f"masks_{name}"] = str(shown)
            st.selectbox(
                t(f"frame.pick.{name}"),
                options,
                key=f"masks_{name}",
                on_change=_chose_number,
                args=(state, name),
                width=110,
            )
    return layer, head


def chosen_flips(state: Session, sublayer: str, shape: tuple[int, ...]) -> Mask:
    """Return which cells of a mask are painted over."""
    return flips_in(str(state.picks.get("paint", "")), sublayer, (shape[0], shape[1]))


def take_down(state: Session, sublayer: str, own: Mask) -> Callable[[npt.NDArray[np.bool_]], None]:
    """Return what remembers a painted mask."""

    def remember(painted: npt.NDArray[np.bool_]) -> None:
        state.choose(paint=written(sublayer, painted ^ own))

    return remember


def wipe(state: Session, t: Translate, sublayer: str, own: Mask, *, is_painted: bool) -> None:
    """Offer to begin anew, to open everything, and to hide a whole row."""
    last = np.zeros_like(own)
    last[-1] = own[-1]
    offers = (("wipe", np.zeros_like(own)), ("open", ~own), ("nowhere", last))
    with st.container(horizontal=True, gap="small", key="masks_wipe_row"):
        for name, flips in offers:
            st.button(
                t(f"masks.paint.{name}"),
                key=f"masks_{name}",
                on_click=_paint,
                args=(state, written(sublayer, flips)),
                disabled=(name == "wipe" and not is_painted) or (name == "open" and bool(own.all())),
            )


def begin_leak(state: Session, t: Translate) -> bool:
    """Offer the two trainings, and return whether they were asked for."""
    asked = state.picks.get("leak") == "yes"
    if not asked:
        st.button(t("masks.leak.begin"), type="primary", key="masks_leak", on_click=_begin, args=(state,))
    return asked


def _paint(state: Session, text: str) -> None:
    state.choose(paint=text)


def _begin(state: Session) -> None:
    state.choose(leak="yes")


def _segments(
    name: str, options: Sequence[str], default: str, state: Session, label: str, words: Callable[[str], str]
) -> str:
    assert name in PICKS
    shown = str(state.picks.get(name, default))
    key = f"masks_pick_{name}"
    st.session_state[key] = shown
    st.segmented_control(
        label, options, format_func=words, key=key, on_change=_chose, args=(state, name, key), required=True
    )
    return shown


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _chose_number(state: Session, name: str) -> None:
    value = st.session_state.get(f"masks_{name}")
    if value is not None:
        state.choose(**{name: int(value)})
