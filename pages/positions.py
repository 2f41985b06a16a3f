"""Positions: how a model that sees all words at once knows which came first."""

import streamlit as st

from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.positions import show_aspect
from playground.ui.positions_controls import pick_aspect

state, t = open_page("positions")
aspect = pick_aspect(state, t)
formula, source = show_aspect(aspect, state, t)

if not state.present:
    means, law, attempt = st.columns([5, 4, 4], gap="large")
    note(means, t("positions.means.heading"), t.markdown(f"positions.means.{aspect}"))
    with law:
        st.latex(formula)
        st.caption(t.markdown(f"positions.source.{source}"))
    note(attempt, t("positions.try.heading"), t.markdown(f"positions.try.{aspect}"))
