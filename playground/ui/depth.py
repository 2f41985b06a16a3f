"""How deep a page goes: a story, the numbers behind a cell, the formula, or the code. One switch for the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from playground.head import Head
from playground.i18n import Translate
from playground.provenance import Origin, can_explain, explain
from playground.reading import Reading
from playground.snippets import snippet
from playground.ui.components.matrix import Block, matrices
from playground.ui.controls import pick_depth
from playground.ui.session import Session
from playground.variant import Variant


@dataclass(frozen=True)
class Cell:
    """One number on screen.

    Attributes:
        name: Its tensor.
        at: Its position on each axis.
        variant: The pass that it is of; the subject's own if None.
    """

    name: str
    at: Mapping[str, int]
    variant: Variant | None = None

    def reading(self, state: Session) -> Reading:
        """Return the pass that it is of."""
        return state.reading if self.variant is None else self.variant.reading


def cell(
    state: Session,
    blocks: Sequence[Block],
    where: tuple[str, int, int] | Mapping[str, Any] | None,
    head: int = 0,
    variant: Variant | None = None,
) -> Cell | None:
    """Return the number that a cell of a picture shows, or None where there is none to be taken apart.

    Args:
        state: The session.
        blocks: The matrices of the picture.
        where: Id of a block, row and column; or what `matrices` says was clicked.
        head: The head that the picture is about.
        variant: The pass that the picture is of; the subject's own if None.
    """
    if not where:
        return None
    block_id, row, col = (where["id"], where["row"], where["col"]) if isinstance(where, Mapping) else where
    block = next((block for block in blocks if block.id == block_id), None)
    if block is None or not all(0 <= i < n for i, n in zip((row, col), block.array.shape, strict=True)):
        return None  # pinned in a picture of another sentence or model
    name = block.array.name
    reading = state.reading if variant is None else variant.reading
    if name not in reading or not can_explain(name):
        return None
    whole = reading[name]
    found: dict[str, int] = {}
    for axis, position in zip(block.array.axes, (row, col), strict=True):
        found[axis.name] = position
        if axis.name == "vocab":  # only some of the words are drawn, and one column may stand for all others
            words = whole.axis("vocab").labels
            if axis.labels[position] not in words:
                return None
            found["vocab"] = words.index(axis.labels[position])
    for axis in whole.axes:
        if axis.name not in found:
            found[axis.name] = head * len(axis) // state.run.config.model.n_heads
    return Cell(name, found, variant)


def of_head(head: Head, name: str = "weights") -> Cell:
    """Return the number of a head that stands where its weight is largest, between words if there are any."""
    query, key = head.sharpest()
    return Cell(f"{head.sublayer}.{name}", {"head": head.index, "query": query, "key": key})


def dig(
    state: Session,
    t: Translate,
    blocks: Sequence[Block],
    clicked: Mapping[str, Any],
    *,
    named: tuple[str, int, int],
    head: int = 0,
) -> str:
    """Draw the switch of depths, and what lies under the cell that was clicked, or that the text names.

    Args:
        state: The session.
        t: Words.
        blocks: The matrices of the picture.
        clicked: What `matrices(…, picks=True)` returned.
        named: Block, row and column of the cell that is meant until another is clicked.
        head: The head that the picture is about.

    Returns:
        The depth, so that the page draws its story or its formula; empty in a hall, where only the picture stands.
    """
    pinned = cell(state, blocks, clicked["pick"], head)
    return descend(state, t, pinned or cell(state, blocks, named, head), is_pinned=pinned is not None)


def descend(state: Session, t: Translate, shown: Cell | None, *, is_pinned: bool = False) -> str:
    """Draw the switch of depths, and what lies under one number.

    Args:
        state: The session.
        t: Words.
        shown: The number; None for a laboratory whose numbers are not those of a pass.
        is_pinned: Whether the visitor clicked it, and so asked for its origin at any depth.

    Returns:
        The depth, so that the page draws its story or its formula: the story where there is no number to go down to;
        empty in a hall, where only the picture stands.
    """
    depth = "" if state.present else pick_depth(state, t)
    if shown is None:
        return "story" if depth in ("numbers", "code") else depth
    if depth == "numbers" or (is_pinned and depth != "code"):
        numbers(state, t, shown)
    if depth == "numbers":
        st.caption(t.markdown("depth.click"))
    if depth == "code":
        code(state, t, shown)
    return depth


def numbers(state: Session, t: Translate, shown: Cell) -> None:
    """Draw where a number comes from: operands, arithmetic, shapes, the line of code, and the recomputation."""
    reading = shown.reading(state)
    origin = explain(state.subject.model, reading, shown.name, **shown.at)
    with st.container(border=True, key="origin"):
        st.markdown(
            t.markdown("depth.origin", name=origin.name, place=_place(reading, origin, t), value=_text(origin.value))
        )
        if origin.hidden:
            st.markdown(t.markdown(f"depth.hidden.{origin.hidden}"))
        if origin.table is not None:
            _table(origin, state, t)
        arithmetic, check = st.columns([3, 2], gap="large")
        with arithmetic:
            st.code("\n".join(origin.steps), language=None, wrap_lines=True)
            st.code(origin.line.text, language="python", wrap_lines=True)
            st.caption(t.markdown("depth.line", file=origin.line.file, number=origin.line.number))
        with check:
            st.markdown(
                t.markdown("depth.check", again=_text(origin.recomputed), difference=f"{origin.difference:.1e}")
            )
            for name, shape in origin.shapes:
                st.caption(t.markdown("depth.shape", name=name, shape=" × ".join(map(str, shape))))


def code(state: Session, t: Translate, shown: Cell) -> None:
    """Write a short program that prints a number of the picture."""
    value = float(shown.reading(state)[shown.name].select(**shown.at).values)
    st.markdown(t.markdown("depth.code", value=_text(value)))
    st.code(snippet(state.subject, shown.name, shown.at, shown.variant), language="python")


def _table(origin: Origin, state: Session, t: Translate) -> None:
    assert origin.table is not None
    nothing = np.isnan(origin.table.values)
    block = Block(
        origin.table,
        id="operands",
        title=t("depth.operands"),
        formula=origin.formula,
        hidden=np.where(nothing, "causal", "") if nothing.any() else None,
    )
    alt = t("depth.operands_alt", name=origin.name)
    matrices([block], layout="row", alt=alt, key="origin_table", t=t, theme=state.theme)


def _place(reading: Reading, origin: Origin, t: Translate) -> str:
    axes = reading[origin.name].axes
    return " · ".join(f"{t(f'axis.short.{axis.name}')} {axis.labels[origin.at[axis.name]]}" for axis in axes)


def _text(value: float) -> str:
    return "−∞" if np.isneginf(value) else f"{value:.6g}".replace("-", "−")
