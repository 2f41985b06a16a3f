"""How deep the page on training goes: its story, the numbers of a step, the formula, a program that measures again."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from playground.figures.sheet import percent
from playground.i18n import Translate
from playground.measured import Line, lines_at, program
from playground.ui.controls import pick_depth
from playground.ui.notes import note
from playground.ui.session import Session

FORMULAS: Mapping[str, str] = {
    "together": r"\text{rate} = \text{factor} \cdot d_\text{model}^{-1/2} \min(n^{-1/2},\, n\, w^{-3/2}) \qquad"
    r" \text{loss} = -\sum_{v} \left((1-\varepsilon)\,[v = \text{right}] + \tfrac{\varepsilon}{V}\right) \ln p_v",
    "layers": r"\|g\| = \sqrt{\textstyle\sum_i g_i^2} \qquad \frac{\|\Delta w\|}{\|w\|}",
    "film": r"A^{(n)} = \mathrm{softmax}\!\left(\frac{Q^{(n)} K^{(n)\top}}{\sqrt{d_k}}\right)",
    "patterns": r"\frac{1}{|I|}\sum_{i \in I}\ \sum_{j \in S_i} A_{ij} \;>\; \max_{\pi}"
    r"\ \frac{1}{|I|}\sum_{i \in I}\ \sum_{j \in S_i} A_{i\,\pi_i(j)}",
    "words": r"\left(E^{(n)} - \overline{E^{(n)}}\right) P, \qquad P \in \mathbb{R}^{d_\text{model} \times 2}",
}


def descend(panel: str, state: Session, t: Translate) -> None:
    """Draw the switch of depths, and what is chosen with it.

    Args:
        panel: The large picture of the page.
        state: The session.
        t: Words.
    """
    depth = pick_depth(state, t)
    if depth == "numbers":
        _numbers(state, t)
    elif depth == "formula":
        st.latex(FORMULAS[panel])
        st.caption(t.markdown(f"train.formula.{panel}"))
    elif depth == "code":
        st.markdown(t.markdown("train.number.code"))
        st.code(program(state.run, state.step), language="python")
    else:
        means, attempt = st.columns([5, 4], gap="large")
        note(means, t("train.means.heading"), t.markdown(f"train.means.{panel}"))
        note(attempt, t("train.try.heading"), t.markdown(f"train.try.{panel}"))


def _numbers(state: Session, t: Translate) -> None:
    with st.container(border=True, key="train_numbers", gap="small"):
        st.markdown(f"**{t('train.number.heading', step=f'{state.step:,}')}**")
        for line in lines_at(state.run, state.step):
            words, arithmetic = st.columns([4, 5], gap="medium")
            shown = percent(line.value) if line.name == "exact_match" else _digits(line.value)
            words.markdown(f"{t(f'train.number.{line.name}')}: **{shown}**")
            with arithmetic:
                _arithmetic(line, t)


def _arithmetic(line: Line, t: Translate) -> None:
    if line.again is None:
        return
    st.code(f"{line.arithmetic} = {_digits(line.again)}", language=None, wrap_lines=True)
    apart = abs(line.again - line.value)
    difference = f"{apart:.1e}" if apart else "0"
    st.caption(t.markdown("train.number.again", again=_digits(line.again), difference=difference))


def _digits(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
