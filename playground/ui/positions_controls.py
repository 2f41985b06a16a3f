"""What a visitor chooses with on the page about positions: its own widgets, their keys among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from playground.i18n import Translate
from playground.ui.link import PICKS
from playground.ui.session import Session

ASPECTS: tuple[str, ...] = PICKS["aspect"]  # type: ignore[assignment]  # a tuple there
MOST_DRAWS = 999


def pick_aspect(state: Session, t: Translate) -> str:
    """Let the visitor choose what to look at."""
    with st.container(key="positions_aspect_row"):
        return _segments("aspect", ASPECTS, ASPECTS[0], state, t, hidden=True)


def pick_rule(state: Session, t: Translate, rules: Sequence[str], default: str) -> str:
    """Let the visitor choose a position rule; the subject's own is marked."""
    own = state.run.config.model.positions

    def words(rule: str) -> str:
        name = t(f"positions.rule.{rule}")
        return t("positions.own_rule", rule=name) if rule == own else name

    return _segments("rule", rules, default, state, t, words=words)


def pick_rows(state: Session, t: Translate, rows: Sequence[str]) -> str:
    """Let the visitor choose how many places there are."""
    return _segments("rows", rows, rows[0], state, t)


def pick_width(state: Session, t: Translate) -> int:
    """Let the visitor choose the width of the table: the model's own or another, an odd one among them."""
    own = state.run.config.model.d_model
    widths: tuple[str, ...] = PICKS["width"]  # type: ignore[assignment]  # a tuple there

    def words(width: str) -> str:
        return t("positions.width.model", d_model=own) if width == "model" else width

    offered = [width for width in widths if width != str(own)]
    width = _segments("width", offered, "model", state, t, words=words)
    return own if width == "model" else int(width)


def pick_place(state: Session, t: Translate, most: int) -> int:
    """Let the visitor choose a place, from 0 to `most`."""
    return _slider("place", 2, most, state, t)


def pick_shift(state: Session, t: Translate, most: int) -> int:
    """Let the visitor choose how many places further on."""
    return _slider("shift", 3, most, state, t)


def pick_pair(state: Session, t: Translate, n_pairs: int) -> int:
    """Let the visitor choose a pair of columns; nothing is drawn where there is only one."""
    return _slider("pair", (n_pairs - 1) // 4, n_pairs - 1, state, t) if n_pairs > 1 else 0


def pick_order(state: Session, t: Translate) -> tuple[str, int]:
    """Let the visitor choose how the words are put out of order, and draw another order; returns (how, draw)."""
    how = _segments("order", ("random", "reversed"), "random", state, t)
    chosen = state.picks.get("draw")
    draw = min(chosen, MOST_DRAWS) if isinstance(chosen, int) else 0
    st.button(
        t("positions.again"),
        icon=":material/shuffle:",
        key="positions_draw",
        disabled=how == "reversed",
        on_click=lambda: state.choose(draw=(draw + 1) % (MOST_DRAWS + 1)),
    )
    return how, draw


def controls() -> Any:
    """Return the line that the controls under a picture stand in."""
    return st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="positions_controls")


def _segments(
    name: str,
    options: Sequence[str],
    default: str,
    state: Session,
    t: Translate,
    *,
    words: Callable[[str], str] | None = None,
    hidden: bool = False,
) -> str:
    chosen = str(state.picks.get(name))
    shown = chosen if chosen in options else default
    key = f"positions_{name}"
    st.session_state[key] = shown
    st.segmented_control(
        t(f"positions.pick.{name}"),
        list(options),
        format_func=words or (lambda option: t(f"positions.{name}.{option}")),
        key=key,
        required=True,
        label_visibility="collapsed" if hidden else "visible",
        on_change=lambda: state.choose(**{name: st.session_state[key]}),
    )
    return shown


def _slider(name: str, default: int, most: int, state: Session, t: Translate) -> int:
    chosen = state.picks.get(name)
    shown = min(chosen if isinstance(chosen, int) else default, most)
    key = f"positions_{name}"
    st.session_state[key] = shown
    st.slider(
        t(f"positions.pick.{name}"),
        0,
        most,
        key=key,
        width=300,
        on_change=lambda: state.choose(**{name: int(st.session_state[key])}),
    )
    return shown
