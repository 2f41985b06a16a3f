"""Masks from four sides: on a padded batch, under the visitor's brush, with nothing left to see, and left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.figures.leak import leak_curves
from playground.figures.sheet import percent
from playground.head import PLACES, Head
from playground.home import best_head
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.leak import CHANCE, LEAST, LENGTH, LETTERS, SEED, STEPS, TESTED, Learnt, leak
from playground.masking import LARGE, batch_under, companion, nowhere
from playground.masking import paint as painted_pass
from playground.ui.components.matrix import Block, Operand, largest, matrices
from playground.ui.components.paint import paint
from playground.ui.controls import ATTENTIONS, pick_head
from playground.ui.depth import Cell, cell
from playground.ui.masks_controls import (
    begin_leak,
    chosen_flips,
    chosen_mask,
    pick_layer_and_head,
    pick_mask,
    take_down,
    wipe,
)
from playground.ui.session import Session
from playground.ui.show import show

# The number that was clicked, and the one that stands for a view until then.
Cells = tuple[Cell | None, Cell | None]

# What a view is about, in KaTeX.
FORMULAS: Mapping[str, str] = {
    "batch": r"M=M_{\text{padding}}\wedge M_{\text{causal}}\qquad"
    r"w_{ij}=\frac{[M_{ij}]\,e^{s_{ij}}}{\sum_{k}[M_{ik}]\,e^{s_{ik}}}",
    "paint": r"s'_{ij}=\begin{cases}s_{ij}&M_{ij}\\-\infty&\text{otherwise}\end{cases}\qquad w=\mathrm{softmax}(s')",
    "nowhere": r"\mathrm{softmax}(-\infty,\dots,-\infty)=\frac{e^{-\infty-(-\infty)}}{\cdots}=\mathrm{NaN}\qquad"
    r"\mathrm{softmax}(c,\dots,c)=\tfrac1n",
    "leak": r"\mathcal{L}_{\text{masked}}\geq\ln V\qquad\mathcal{L}_{\text{open}}\geq\frac{\ln V}{n}",
}


def draw(view: str, state: Session, t: Translate) -> tuple[Cell | None, bool]:
    """Draw one of `playground.masking.VIEWS`.

    Returns:
        The number that the visitor clicked, or else one worth going down to; and whether it was clicked.
    """
    pinned, named = PICTURES[view](state, t)
    return pinned or named, pinned is not None


def control(view: str, state: Session, t: Translate) -> None:
    """Draw what is chosen in a view."""
    if view == "batch":
        pick_mask(state, t)
        pick_layer_and_head(state, t)
    elif view in ("paint", "nowhere"):
        pick_head(state, t)


def _batch(state: Session, t: Translate) -> Cells:
    """Draw three pictures of one mask: allowed, scores after, weights after."""
    kind, size, sample = chosen_mask(state)
    own = state.subject
    pair = (own, companion(own))
    shorter = min((0, 1), key=lambda i: len(pair[i].src))
    row = shorter if sample == "shorter" else 1 - shorter
    layer, index = state.layer_and_head(0, 0)
    found = batch_under(pair, row, kind, layer, index, size)
    mask = found.head["mask"].values
    blind = int((~mask.any(axis=1)).sum())
    sentences = [own.task.join(each.src) for each in pair]
    said = t.markdown("masks.look.batch", first=sentences[shorter], second=sentences[1 - shorter])
    if blind:
        said += " " + t.markdown("masks.look.blind", n=blind)
    st.markdown(said)
    masked = found.head["masked_scores"]
    blocks = [
        Block(
            found.allowed,
            id="allowed",
            title=t("masks.picture.allowed"),
            formula=t("masks.picture.allowed_law"),
            scale="weights",
            hidden=found.reasons,
        ),
        *_after(masked, found.head["weights"], found.reasons, t, operand="allowed"),
    ]
    clicked = matrices(
        blocks,
        layout="row",
        alt=t("masks.alt.batch", kind=t(f"masks.kind.{kind}"), layer=layer, head=index),
        filename=t("masks.file"),
        key="masks_batch",
        picks=True,
        t=t,
        theme=state.theme,
    )
    st.caption(t.markdown(f"masks.kind_says.{kind}"))
    named = Cell(masked.name, {"head": index, **_first_hidden(found.reasons)}, found.variant)
    return cell(state, blocks, clicked["pick"], index, found.variant), named


def _first_hidden(reasons: npt.NDArray[Any]) -> dict[str, int]:
    """Return the first cell that a mask hides, the very first if it hides none."""
    row, col = np.unravel_index(int((reasons != "").argmax()), reasons.shape)
    return {"query": int(row), "key": int(col)}


def _paint(state: Session, t: Translate) -> Cells:
    """Draw the mask under the brush, and what becomes of scores, weights and output."""
    head = chosen_head(state)
    own = head["mask"]
    flips = chosen_flips(state, head.sublayer, own.shape)
    found = painted_pass(state.subject, head.sublayer, flips)
    after = Head(found.after, head.where, head.layer, head.index)
    changed = found.changed_words
    if not flips.any():
        st.markdown(t.markdown("masks.look.paint"))
    else:
        pairs = (f"{found.before.predicted[i]} → {found.after.predicted[i]}" for i in changed[:4])
        said = t.markdown("masks.look.changed", words=", ".join(pairs)) if changed else t("masks.look.unchanged")
        st.markdown(t.markdown("masks.look.painted", n=found.n_changed) + " " + said)
    board, results = st.columns([36, 64], gap="medium")
    with board:
        paint(
            own,
            found.reasons,
            key="masks_paint",
            on_stroke=take_down(state, head.sublayer, own.values),
            alt=t("masks.alt.paint", name=head.sublayer),
            t=t,
            theme=state.theme,
        )
        wipe(state, t, head.sublayer, own.values, is_painted=bool(flips.any()))
    blocks = _after(after["masked_scores"], after["weights"], found.reasons, t)
    with results:
        clicked = matrices(
            blocks,
            layout="row",
            alt=t("masks.alt.after", layer=head.layer, head=head.index),
            filename=t("masks.file"),
            key="masks_after",
            picks=True,
            t=t,
            theme=state.theme,
        )
    parts = [t(f"masks.part.{name}") for name in found.certainty.axes[0].labels]
    matrices(
        [
            Block(
                found.certainty.relabelled({"part": parts}),
                id="certainty",
                title=t("masks.picture.certainty"),
                role="weights",
                scale="weights",
            ),
            Block(after["z"], id="z", title=t("masks.picture.z"), role="value", limit=largest(head["z"], after["z"])),
        ],
        layout="row",
        alt=t("masks.alt.output"),
        filename=t("masks.file"),
        key="masks_output",
        t=t,
        theme=state.theme,
    )
    st.caption(t.markdown("masks.paint.says", name=f"{head.sublayer}.mask"))
    query, key = (int(i) for i in np.argwhere(flips)[0]) if flips.any() else after.sharpest()
    named = Cell(f"{head.sublayer}.weights", {"head": head.index, "query": query, "key": key}, found.variant)
    return cell(state, blocks, clicked["pick"], head.index, found.variant), named


def _after(
    scores: LabelledArray, weights: LabelledArray, reasons: npt.NDArray[Any], t: Translate, operand: str | None = None
) -> list[Block]:
    same = (Operand(operand, row="row", col="col"),) if operand else ()
    return [
        Block(
            scores,
            id="scores",
            title=t("masks.picture.scores"),
            formula="{query:Q} {key:K}^T / √d_k + M",
            hidden=reasons,
            operands=same,
        ),
        Block(
            weights,
            id="weights",
            title=t("masks.picture.weights"),
            formula="softmax( {query:Q} {key:K}^T / √d_k + M )",
            role="weights",
            scale="weights",
            hidden=reasons,
            operands=(Operand("scores", row="row"),),
        ),
    ]


def _nowhere(state: Session, t: Translate) -> Cells:
    """Draw what four ways to attend make of a query whose keys are all hidden."""
    head = chosen_head(state)
    row = min(1, len(head["q"].axes[0]) - 1)
    weights, z = nowhere(head, row)
    names = weights.axes[0].labels
    ways = [t(f"masks.way.{name}") for name in names]
    each = {
        name: f"{shares.mean():.3g}".replace("nan", "NaN") for name, shares in zip(names, weights.values, strict=True)
    }
    st.markdown(t.markdown("masks.look.nowhere", word=head["q"].axes[0].labels[row], **each))
    matrices(
        [
            Block(
                weights.relabelled({"way": ways}),
                id="weights",
                title=t("masks.picture.weights"),
                role="weights",
                scale="weights",
            ),
            Block(
                z.relabelled({"way": ways}),
                id="z",
                title=t("masks.picture.z"),
                formula="w {value:V}",
                role="value",
                operands=(Operand("weights", row="row"),),
            ),
        ],
        layout="row",
        alt=t("masks.alt.nowhere"),
        filename=t("masks.file"),
        key="masks_nowhere",
        t=t,
        theme=state.theme,
    )
    st.caption(t.markdown("masks.way_says", large=f"{LARGE:.0e}".replace("e+0", "e")))
    return None, None


def _leak(state: Session, t: Translate) -> Cells:
    """Draw both trainings, when they are asked for."""
    if not begin_leak(state, t):
        st.markdown(t.markdown("masks.look.leak_before", n=len(LETTERS), steps=STEPS))
        return None, None
    with st.spinner(t("masks.leak.running")):
        both = leak()
    st.markdown(
        t.markdown(
            "masks.look.leak",
            last=f"{both.open.loss[-10:].mean():.2f}",
            chance=f"{CHANCE:.2f}",
            along=percent(both.open.along),
            alone=percent(both.open.alone),
        )
    )
    picture, samples = st.columns([58, 42], gap="medium")
    with picture:
        show(
            leak_curves(
                both.masked.loss.tolist(),
                both.open.loss.tolist(),
                CHANCE,
                LEAST,
                state.theme,
                names=(
                    t("masks.leak.masked"),
                    t("masks.leak.open"),
                    t("masks.leak.chance", value=f"{CHANCE:.2f}"),
                    t("masks.leak.least", value=f"{LEAST:.2f}"),
                ),
                titles=(t("masks.leak.step"), t("masks.leak.loss")),
                height=460 if state.present else 390,
            ),
            key="masks_leak_curves",
            alt=t("masks.alt.leak"),
            t=t,
            theme=state.theme,
        )
    with samples:
        st.markdown(_table(both.masked, both.open, both.wanted, t))
    st.caption(t.markdown("masks.leak.says", v=len(LETTERS), n=LENGTH, steps=STEPS, seed=SEED, tested=TESTED))
    return None, None


def _table(masked: Learnt, opened: Learnt, wanted: tuple[str, ...], t: Translate) -> str:
    lines = [f"| | {t('masks.leak.masked')} | {t('masks.leak.open')} |", "|---|---|---|"]
    for name in ("along", "alone"):
        shares = [percent(getattr(each, name)) for each in (masked, opened)]
        lines.append(f"| {t(f'masks.leak.{name}')} | {' | '.join(shares)} |")
    lines.append(f"| {t('masks.leak.honest')} | {masked.honest:.2f} | {opened.honest:.2f} |")
    for i, text in enumerate(wanted):
        lines.append(f"| {t('masks.leak.wanted', text=text)} | | |")
        for part, name in (("read", "along"), ("written", "alone")):
            said = (f"`{getattr(each, part)[i]}`" for each in (masked, opened))
            lines.append(f"| {t(f'masks.leak.sample_{name}')} | {' | '.join(said)} |")
    return "\n".join(lines)


def chosen_head(state: Session) -> Head:
    """Return the head that is chosen, as `pick_head` shows it."""
    places = [place for place in PLACES if place in ATTENTIONS[state.run.config.model.architecture]]
    where = state.place(places, places[-1])
    layer, index = state.layer_and_head(*(best_head(state.subject) if where == "cross" else (0, 0)))
    return Head(state.reading, where, layer, index)


PICTURES: Mapping[str, Callable[[Session, Translate], Cells]] = {
    "batch": _batch,
    "paint": _paint,
    "nowhere": _nowhere,
    "leak": _leak,
}
