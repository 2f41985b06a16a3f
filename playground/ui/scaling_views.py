"""Scaling from three sides: the subject's own scores, vectors drawn for every d_k, any temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import streamlit as st

from playground.figures.scaling import Bars, Panel, bars, brief, scaling_curves
from playground.figures.theme import Theme
from playground.head import PLACES, Head, largest_weight
from playground.home import best_head, turning_word
from playground.i18n import Translate
from playground.measures import entropy
from playground.scaling import EVEN, MEASURES, N_KEYS, N_QUERIES, SIZES, drawn, sampled, sharpness
from playground.ui.components.matrix import Block, Operand, largest, matrices
from playground.ui.controls import ATTENTIONS, pick_head
from playground.ui.scaling_controls import chosen_draw, pick_draw, pick_temperature, said, temperature_of
from playground.ui.session import Session
from playground.ui.show import show
from playground.ui.steps import LAW, UNSCALED_LAW, equation

# What a view is about, in KaTeX.
FORMULAS: Mapping[str, str] = {
    "drawn": r"\begin{aligned}&\mathrm{Var}\Big[\sum_{i=1}^{d_k} q_i k_i\Big]=d_k\\[2pt]"
    r"&\frac{\partial p_i}{\partial s_j}=p_i(\delta_{ij}-p_j)\\[2pt]"
    r"&\lVert\mathrm{diag}(p)-pp^{\top}\rVert_F\end{aligned}",
    "temperature": r"p_i=\frac{e^{s_i/T}}{\sum_j e^{s_j/T}}",
}

WORDS = 8  # of the vocabulary that stand alone where the next one is drawn


# The matrices of a picture and what was clicked in them, where their numbers are of the subject's pass.
Drawn = tuple[list[Block], Mapping[str, Any]]


def draw(view: str, state: Session, t: Translate) -> Drawn | None:
    """Draw one of `playground.scaling.VIEWS`; return what can be gone down into, if anything can."""
    return PICTURES[view](state, t)


def control(view: str, state: Session, t: Translate) -> None:
    """Draw what is chosen in a view, beside the view itself."""
    if view == "drawn":
        pick_draw(state, t)
        return
    pick_head(state, t)
    if view == "temperature":
        pick_temperature(state, t)


def formula(view: str, theme: Theme) -> str:
    """Return what a view is about, in KaTeX; its symbols wear the colours of the picture."""
    return FORMULAS.get(view) or equation(theme)


def measured(state: Session, t: Translate) -> str:
    """Return a Markdown table of what is measured on the chosen head, with and without the division."""
    head = chosen_head(state)
    d_head = state.run.config.model.d_head
    allowed = head.hidden == ""
    both = [sharpness(head.rescored(scale), allowed) for scale in (1.0, d_head**-0.5)]
    lines = [
        f"| {t.markdown('scaling.measured', d_k=d_head)} | {t('scaling.undivided')} | ÷ √{d_head} |",
        "|---|---|---|",
    ]
    for name in MEASURES:
        numbers = " | ".join(brief(getattr(each, name)) for each in both)
        lines.append(f"| {t(f'scaling.measure.{name}')} | {numbers} |")
    return "\n".join(lines)


def chosen_head(state: Session) -> Head:
    """Return the head that is chosen, as `pick_head` shows it."""
    places = [place for place in PLACES if place in ATTENTIONS[state.run.config.model.architecture]]
    where = state.place(places, places[-1])
    layer, index = state.layer_and_head(*(best_head(state.subject) if where == "cross" else (0, 0)))
    return Head(state.reading, where, layer, index)


def _subject(state: Session, t: Translate) -> Drawn:
    """Draw the same raw scores through softmax, not divided above, divided below."""
    head, d_head = chosen_head(state), state.run.config.model.d_head
    blocks = []
    limit = largest(head.rescored(1.0))
    # The model's own way is shown as it stands in the pass; the other is worked out from its raw scores.
    own = "divided" if state.run.config.model.scale_scores else "undivided"
    bare = {"undivided"} if "bias" not in head else set()
    for name, scale, law, symbol in (
        ("undivided", 1.0, UNSCALED_LAW, "{query:Q} {key:K}^T"),
        ("divided", d_head**-0.5, LAW, "{query:Q} {key:K}^T / √d_k"),
    ):
        scores = head["scores"] if name == own else head["raw_scores"] if name in bare else None
        if scores is None:
            scores = head.rescored(scale).renamed(f"scaled({head.sublayer}.raw_scores)")
        blocks += [
            Block(
                scores,
                id=f"scores_{name}",
                title=t(f"scaling.scores.{name}"),
                formula=symbol + (" + b" if "bias" in head else ""),
                limit=limit,
                hidden=head.hidden,
            ),
            Block(
                head["weights"] if name == own else head.rescaled(scale),
                id=f"weights_{name}",
                title=t(f"scaling.weights.{name}"),
                formula=law,
                role="weights",
                scale="weights",
                hidden=head.hidden,
                operands=(Operand(f"scores_{name}", row="row"),),
            ),
        ]
    scaled, unscaled = (f"{largest_weight(blocks[i].array):.2f}" for i in (3, 1))
    root = f"√{d_head} = {sqrt(d_head):.3g}"
    st.markdown(t.markdown("scaling.look.subject", root=root, scaled=scaled, unscaled=unscaled))
    clicked = matrices(
        blocks,
        layout="row",
        alt=t("scaling.alt.subject", layer=head.layer, head=head.index),
        filename=t("scaling.file"),
        key="scaling_subject",
        picks=True,
        t=t,
        theme=state.theme,
    )
    return blocks, clicked


def _drawn(state: Session, t: Translate) -> None:
    """Draw one query's weights, and the four measures over all d_k."""
    d_k, seed = chosen_draw(state)
    sample = drawn(seed)
    now = {name: getattr(sample, name)[d_k] for name in ("undivided", "divided")}
    st.markdown(
        t.markdown(
            "scaling.look.drawn",
            seed=seed,
            d_k=f"{d_k:,}",
            n=N_KEYS,
            **{
                f"{measure}_{name}": brief(getattr(each, measure))
                for name, each in now.items()
                for measure in ("variance", "largest")
            },
        )
    )
    height = 470 if state.present else 400
    one, all_of_them = st.columns([30, 70], gap="medium")
    with one:
        show(
            bars(
                [
                    Bars(t("scaling.undivided"), sample.weights(d_k), False),
                    Bars(t("scaling.divided"), sample.weights(d_k, temperature=sqrt(d_k)), True),
                ],
                state.theme,
                height=height,
                title=t("scaling.one", n=N_KEYS),
            ),
            key="scaling_one",
            alt=t("scaling.alt.one", d_k=d_k),
            t=t,
            theme=state.theme,
        )
    panels = _panels(seed, t)
    with all_of_them:
        show(
            scaling_curves(SIZES, panels, d_k, t, state.theme, height=height),
            narrow=scaling_curves(SIZES, panels, d_k, t, state.theme, height=9 * height // 4, is_narrow=True),
            key="scaling_curves",
            alt=t("scaling.alt.drawn", d_k=d_k),
            caption=t.markdown("scaling.caption.drawn", queries=N_QUERIES, keys=N_KEYS, seed=seed),
            t=t,
            theme=state.theme,
        )


def _panels(seed: int, t: Translate) -> list[Panel]:
    sample = drawn(seed)
    return [
        Panel(
            title=t(f"scaling.measure.{name}"),
            undivided=[getattr(sample.undivided[d_k], name) for d_k in SIZES],
            divided=[getattr(sample.divided[d_k], name) for d_k in SIZES],
            expected=SIZES if name == "variance" else [getattr(EVEN, name)] * len(SIZES),
            expected_name=t("scaling.expected" if name == "variance" else "scaling.even", n=N_KEYS),
            is_log=name == "variance",
            top=1.0 if name == "largest" else None,
        )
        for name in MEASURES
    ]


def _temperature(state: Session, t: Translate) -> None:
    """Draw one temperature in its two places: where a head looks, and which word is drawn."""
    head = chosen_head(state)
    (row,) = entropy(head["weights"]).argmax()  # the word that is least decided, for there T says most
    at = row if head.where != "encoder" or not state.reading.tgt else turning_word(state.subject)
    name, value = temperature_of(state)
    d_head = state.run.config.model.d_head
    own = d_head if state.run.config.model.scale_scores else 1
    logits = state.reading["logits"].select(pos=at)
    rest = t("scaling.rest", n=len(logits.axes[0]) - WORDS)
    st.markdown(t.markdown("scaling.look.temperature", tau=said(name, d_head)))
    columns = st.columns(2, gap="large")
    shown = (
        (
            "attention",
            [head.rescaled(scale).select(query=row) for scale in (1.0, 1 / value)],
            t("scaling.attention", word=head.asking(row), own=f"√{own} = {sqrt(own):.3g}" if own > 1 else "1"),
        ),
        (
            "sampling",
            [sampled(logits, each, n=WORDS, rest=rest) for each in (1.0, value)],
            t("scaling.sampling", word=state.reading.read[at]),
        ),
    )
    for column, (place, (before, after), title) in zip(columns, shown, strict=True):
        with column:
            show(
                bars(
                    [Bars("T = 1", before, False), Bars(f"T = {said(name, d_head)}", after, True)],
                    state.theme,
                    height=440 if state.present else 360,
                    title=title,
                ),
                key=f"scaling_{place}",
                alt=t(f"scaling.alt.{place}", tau=f"{value:.3g}"),
                t=t,
                theme=state.theme,
            )


PICTURES: Mapping[str, Callable[[Session, Translate], Drawn | None]] = {
    "subject": _subject,
    "drawn": _drawn,
    "temperature": _temperature,
}
