"""All heads from six sides: as a grid, as lines, weighted by their values, rolled out, switched off, sharing keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from models import ModelConfig
from playground.ablation import Ablated, HeadAt, ablated, places
from playground.figures.sharing import sharing
from playground.grouping import grouping
from playground.head import PLACES, Head
from playground.i18n import Translate, literal
from playground.labelled import Axis, LabelledArray
from playground.patterns import (
    DRAWS,
    MOST_WORDS,
    SEED,
    cover,
    first_words,
    head_scores,
    head_w_o,
    mean_over_heads,
    moved,
    pattern_of,
    rollout,
    value_lengths,
    value_weighted,
)
from playground.reading import Reading
from playground.ui.all_heads_controls import Choice, kind_of, name_of
from playground.ui.components.attention_grid import MOST_CELLS, HeadMaps, attention_grid
from playground.ui.components.head_lines import HeadLines, head_lines
from playground.ui.components.matrix import Block, Operand, matrices
from playground.ui.depth import Cell, cell
from playground.ui.session import Session
from playground.ui.show import show
from playground.variant import Variant

# Pixels that the grid may fill on a laptop, so that its last map still stands in the window.
TALL = 715

# What changes less than this is not worth a word.
LEAST_MOVED = 0.005

# The law of each view, in KaTeX.
FORMULAS: Mapping[str, str] = {
    "grid": (
        r"\begin{aligned}s_h&=\frac{1}{n}\sum_{i}\sum_{j\in S_i}A^h_{ij}\\"
        r"s_{\text{uniform}}&=\frac{1}{n}\sum_i\frac{|S_i|}{n_i}\end{aligned}"
    ),
    "lines": r"\min |S|\;:\;\sum_{(i,j)\in S}A_{ij}\ge p\sum_{i,j}A_{ij}",
    "values": r"\lVert A^h_{ij}\,v^h_j W_O^h\rVert",
    "rollout": r"R_l=\left(\tfrac12\bar A_l+\tfrac12 I\right)R_{l-1},\quad R_{-1}=I",
    "off": r"z_h\leftarrow 0\quad\text{or}\quad z_h\leftarrow\overline{z}_h",
    "shared": (
        r"\begin{aligned}\text{head}_h&=\mathrm{softmax}\!\left(\tfrac{Q_hK_g^{\top}}{\sqrt{d_k}}\right)V_g\\"
        r"g&=\lfloor h\,n_{kv}/n\rfloor\end{aligned}"
    ),
}

Labels = Mapping[tuple[str, int, int], str]


def nothing() -> None:
    """Draw nothing more."""


@dataclass(frozen=True)
class Drawn:
    """What is left of a view when its picture stands.

    Attributes:
        rest: Draws what comes under the controls.
        pinned: The number that the visitor clicked.
        variant: The pass that the picture is of, if it is not the subject's own.
    """

    rest: Callable[[], None] = nothing
    pinned: Cell | None = None
    variant: Variant | None = None


def draw(choice: Choice, state: Session, t: Translate) -> Drawn:
    """Draw one of `VIEWS`."""
    return VIEWS[choice.view](choice, state, t)


def maps_of(
    reading: Reading, config: ModelConfig, t: Translate, *, labels: Labels, off: Iterable[HeadAt] = (), keep: str
) -> tuple[list[HeadMaps], str]:
    """Return every head of a pass as maps, and in words what was left out because it would be too much to draw.

    Args:
        reading: The pass.
        config: Its model's.
        t: Words.
        labels: What there is to say of heads, by attention, layer and head.
        off: Heads that are switched off.
        keep: The attention that is kept where all of them would be too many cells.
    """
    silent = set(off)
    groups = []
    for where in places(config):
        first = Head(reading, where, 0, 0)
        words = first.between_words("weights").axes
        layers = []
        for layer in range(config.n_layers):
            whole = Head(reading, where, layer, 0).whole("weights")
            layers.append(first_words(whole.relabelled({axis.name: axis.labels for axis in words})))
        hidden = first.hidden[:MOST_WORDS, :MOST_WORDS]
        groups.append(
            HeadMaps(
                where,
                t(f"all_heads.group.{where}"),
                tuple(layers),
                hidden if (hidden != "").any() else None,
                {(layer, head): label for (place, layer, head), label in labels.items() if place == where},
                frozenset((each.layer, each.head) for each in silent if each.where == where),
            )
        )
    longest = max(len(reading.src), len(reading.tgt))
    limit = t("all_heads.limit.words", most=MOST_WORDS, words=longest) if longest > MOST_WORDS else ""
    if sum(layer.values.size for group in groups for layer in group.layers) > MOST_CELLS:
        groups = [group for group in groups if group.id == keep] or groups[-1:]
        limit = " ".join(filter(None, (limit, t("all_heads.limit.one", most=f"{MOST_CELLS:,}"))))
    return groups, limit


def _grid(choice: Choice, state: Session, t: Translate) -> Drawn:
    config = state.run.config.model
    labels = {
        (where, layer, head): t(f"all_heads.pattern.{pattern}")
        for where in places(config)
        for layer in range(config.n_layers)
        for found in [head_scores(state.subject, where, layer)]
        for head in range(config.n_heads)
        if (pattern := pattern_of(found, head)) is not None
    }
    groups, limit = maps_of(state.reading, config, t, labels=labels, keep=choice.where)
    clicked = attention_grid(
        groups,
        key="all_heads_grid",
        picks=True,
        alt=t("all_heads.grid.alt", n=sum(len(group.layers) * config.n_heads for group in groups)),
        note=limit or t("all_heads.grid.note", text=state.text, translation=state.subject.translation),
        own_range=choice.own_range,
        tall=TALL,
        filename=t("all_heads.file"),
        t=t,
        theme=state.theme,
    )
    return Drawn(partial(measures, choice, state, t), _picked(clicked, state.reading))


def measures(choice: Choice, state: Session, t: Translate) -> None:
    """Write the measures of one head, each beside what a uniform head and chance come to."""
    found = head_scores(state.subject, choice.where, choice.layer)
    who = name_of(HeadAt(choice.where, choice.layer, choice.head), t)
    pattern = pattern_of(found, choice.head)
    key = "all_heads.measures.named" if pattern else "all_heads.measures.unnamed"
    named = t(f"all_heads.pattern.{pattern}") if pattern else ""
    st.markdown(t.markdown(key, who=who, pattern=named))
    heads = [
        t.markdown(f"all_heads.measures.{column}", draws=DRAWS) for column in ("what", "head", "uniform", "chance")
    ]
    rows = [heads, ["---", "---:", "---:", "---:"]]
    for name, all_scores in found.items():
        score = all_scores[choice.head]
        told = [told_as(name, value) for value in (score.value, score.uniform, score.low, score.high)]
        own, uniform, low, high = (literal(text) for text in told)
        own = f"**{own}**" if pattern == name else own
        rows.append(
            [t.markdown(f"all_heads.measure.{name}"), own, uniform, f"{low} {t('all_heads.measures.to')} {high}"]
        )
    st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))
    if choice.where == "cross" and "alignment" not in found:
        st.caption(t.markdown("all_heads.measures.no_gold"))
    st.caption(t.markdown("all_heads.measures.says", draws=DRAWS, seed=SEED))


def told_as(name: str, value: float) -> str:
    """Return a measure's value with its digits: nats and positions as they are, shares in per cent."""
    return f"{value:.2f}" if name in ("entropy", "distance") else f"{100 * value:.0f} %"


def _lines(choice: Choice, state: Session, t: Translate) -> Drawn:
    if not choice.lines:
        st.info(t.markdown("all_heads.lines.choose"), icon=":material/touch_app:")
        return Drawn()
    panels = []
    for each in choice.lines:
        head = Head(state.reading, each.where, each.layer, each.head)
        weights = head.between_words("weights")
        kept = cover(weights, choice.share)
        said = t(
            "all_heads.lines.said",
            n=int(kept.sum()),
            all=int((head.hidden == "").sum()),
            share=f"{100 * float(weights.values[kept].sum()) / max(float(weights.values.sum()), 1e-9):.1f} %",
        )
        panels.append(HeadLines(each.where, name_of(each, t), said, weights, kept))
    head_lines(
        panels,
        key="all_heads_lines",
        alt=t("all_heads.lines.alt", n=len(panels), share=f"{choice.share:.0%}"),
        filename=t("all_heads.file"),
        t=t,
        theme=state.theme,
    )
    return Drawn()


def _values(choice: Choice, state: Session, t: Translate) -> Drawn:
    head = Head(state.reading, choice.where, choice.layer, choice.head)
    lengths = value_lengths(head["v"], head_w_o(state.subject.model, head))
    weights = head.between_words("weights")
    product = value_weighted(weights, lengths)
    row = LabelledArray(
        lengths.name, lengths.values[None], (Axis("part", (t("all_heads.values.length"),)), lengths.axes[0])
    )
    most, adds = weights.values.argmax(axis=1), product.values.argmax(axis=1)
    differ = np.flatnonzero(most != adds)
    if len(differ):
        keys = lengths.axes[0].labels
        at = int(differ[np.argmax(weights.values[differ, most[differ]])])
        said = t.markdown(
            "all_heads.values.differ",
            n=len(differ),
            all=len(most),
            word=head.asking(at),
            looks=keys[most[at]],
            weight=f"{weights.values[at, most[at]]:.2f}",
            short=f"{lengths.values[most[at]]:.2f}",
            takes=keys[adds[at]],
            long=f"{lengths.values[adds[at]]:.2f}",
        )
    else:
        said = t.markdown("all_heads.values.agree", all=len(most))
    st.markdown(said)
    hidden = head.hidden
    blocks = [
        Block(
            weights,
            id="weights",
            title=t("all_heads.values.weights"),
            symbol="A",
            formula="softmax({query:Q} {key:K}^T / √d_k)",
            role="weights",
            scale="weights",
            hidden=hidden,
        ),
        Block(
            row,
            id="lengths",
            title=t("all_heads.values.lengths"),
            symbol="‖v W_O‖",
            formula="‖{value:v} W_O‖",
            role="value",
        ),
        Block(
            product,
            id="value_weighted",
            title=t("all_heads.values.product"),
            symbol="‖A v W_O‖",
            formula="‖A {value:v} W_O‖",
            role="residual",
            hidden=hidden,
            operands=(Operand("weights", row="row", col="col"), Operand("lengths", col="col")),
        ),
    ]
    clicked = _matrices(
        blocks, "values", state, t, picks=True, who=name_of(HeadAt(choice.where, choice.layer, choice.head), t)
    )
    st.caption(t.markdown("all_heads.values.says"))
    return Drawn(pinned=cell(state, blocks[:1], clicked["pick"], choice.head))


def _rollout(choice: Choice, state: Session, t: Translate) -> Drawn:
    layers = [
        Head(state.reading, choice.stack, layer, 0).whole("weights") for layer in range(state.run.config.model.n_layers)
    ]
    hidden = Head(state.reading, choice.stack, 0, 0).hidden
    rolled = rollout(layers)[choice.layer]
    mean = mean_over_heads(layers[choice.layer])
    blocks = [
        Block(
            mean,
            id="mean",
            title=t("all_heads.rollout.mean", layer=choice.layer),
            symbol="Ā",
            formula="Σ A_h / h",
            role="weights",
            scale="weights",
            hidden=hidden,
        ),
        Block(
            rolled,
            id="rollout",
            title=t("all_heads.rollout.rolled", layer=choice.layer),
            symbol="R",
            formula="(½ Ā + ½ I) R",
            role="weights",
            scale="weights",
            hidden=hidden,
        ),
    ]
    _matrices(blocks, "rollout", state, t, stack=t(f"frame.where.{choice.stack}"), layer=choice.layer)
    st.caption(t.markdown("all_heads.rollout.says"))
    return Drawn()


def _off(choice: Choice, state: Session, t: Translate) -> Drawn:
    config = state.run.config.model
    found = ablated(state.subject, choice.off, choice.way)
    silent = set(choice.off)
    far = {
        HeadAt(where, layer, head): float(share)
        for where in places(config)
        for layer in range(config.n_layers)
        for before, after in [[Head(each, where, layer, 0).whole("weights") for each in (state.reading, found.reading)]]
        for head, share in enumerate(moved(before, after))
        if share >= LEAST_MOVED
    }
    far = {each: share for each, share in far.items() if each not in silent}
    labels = {(each.where, each.layer, each.head): f"Δ {share:.2f}" for each, share in far.items()}
    groups, limit = maps_of(found.reading, config, t, labels=labels, off=choice.off, keep=places(config)[-1])
    most = max(far, key=far.__getitem__, default=None)
    other = (
        t.markdown("all_heads.off.still" if choice.off else "all_heads.off.empty_says")
        if most is None
        else t.markdown("all_heads.off.most", who=name_of(most, t), share=f"{far[most]:.2f}")
    )
    written, right = sentences(found, state, t)
    st.markdown(f"{written}  \n{right} {other}")
    clicked = attention_grid(
        groups,
        key="all_heads_off",
        picks=True,
        alt=t("all_heads.off.alt", n=len(choice.off)),
        note=limit or t("all_heads.off.note" if choice.off else "all_heads.off.none", n=len(choice.off)),
        filename=t("all_heads.file"),
        t=t,
        theme=state.theme,
    )
    picked = _picked(clicked, found.reading, found.variant)
    return Drawn(partial(right_words, found, state, t), picked, found.variant)


def sentences(found: Ablated, state: Session, t: Translate) -> tuple[str, str]:
    """Return what is written with all heads and without some, and how sure the model is of the right words."""
    subject = state.subject
    same = (found.output, found.finished) == (subject.output, subject.finished)
    before, after = (f"{value:.2f}" for value in found.right.values.mean(axis=1))
    key = "gold" if found.is_gold else "own"
    return (
        t.markdown(
            "all_heads.off.same" if same else "all_heads.off.written",
            before=subject.translation,
            after=subject.task.detokenize(found.output) or "–",
        ),
        t.markdown(f"all_heads.off.right_{key}", before=before, after=after),
    )


def right_words(found: Ablated, state: Session, t: Translate) -> None:
    """Draw the probability of each right word, with all heads and with some off."""
    labels = [t(f"all_heads.off.rows.{part}") for part in found.right.axis("head").labels]
    block = Block(
        found.right.relabelled({"head": labels}),
        id="right",
        title=t("all_heads.off.right"),
        role="weights",
        scale="weights",
    )
    _matrices([block], "off.right_picture", state, t)
    st.caption(t.markdown("all_heads.off.note_gold" if found.is_gold else "all_heads.off.note_own"))


def _shared(choice: Choice, state: Session, t: Translate) -> Drawn:
    config = state.run.config.model
    found = grouping(state.subject, choice.n_kv_heads)
    kind = kind_of(choice.n_kv_heads, config.n_heads)
    whose = "laboratory" if found.is_laboratory else "subject"
    st.markdown(
        t.markdown(
            f"all_heads.shared.{kind}",
            n_heads=config.n_heads,
            n=choice.n_kv_heads,
            each=config.n_heads // choice.n_kv_heads,
        )
        + "  \n"
        + t.markdown(f"all_heads.shared.{whose}", seed=SEED)
    )
    show(
        sharing(
            found.readers,
            titles=(t("all_heads.shared.queries"), t("all_heads.shared.keys")),
            theme=state.theme,
        ),
        key="all_heads_shared",
        alt=t("all_heads.shared.alt", n_heads=config.n_heads, n=choice.n_kv_heads),
        caption=t.markdown(
            "all_heads.shared.caption",
            shape=" × ".join(map(str, found.k_shape)),
            bytes=f"{found.word_bytes:,}",
            full=f"{2 * config.n_heads * config.d_head * 4:,}",
            off=f"{found.off:.1e}",
        ),
        filename=t("all_heads.file"),
        t=t,
        theme=state.theme,
    )
    return Drawn()


def _picked(clicked: Mapping[str, Any], reading: Reading, variant: Variant | None = None) -> Cell | None:
    """Return the weight that was clicked in a grid, or None if there is no such in the pass."""
    pick = clicked["pick"]
    if not pick or pick["group"] not in PLACES:
        return None
    name = f"{Head(reading, pick['group'], pick['layer'], 0).sublayer}.weights"
    at = {"head": pick["head"], "query": pick["row"], "key": pick["col"]}
    if name not in reading or not all(0 <= at[axis.name] < len(axis) for axis in reading[name].axes):
        return None  # picked in the picture of another sentence or model
    return Cell(name, at, variant)


def _matrices(
    blocks: list[Block], area: str, state: Session, t: Translate, *, picks: bool = False, **values: object
) -> Mapping[str, Any]:
    return matrices(
        blocks,
        picks=picks,
        layout="row",
        alt=t(f"all_heads.{area}.alt", **values),
        filename=t("all_heads.file"),
        key=f"all_heads_{area.replace('.', '_')}",
        t=t,
        theme=state.theme,
    )


VIEWS: Mapping[str, Callable[[Choice, Session, Translate], Drawn]] = {
    "grid": _grid,
    "lines": _lines,
    "values": _values,
    "rollout": _rollout,
    "off": _off,
    "shared": _shared,
}
