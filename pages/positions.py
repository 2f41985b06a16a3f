"""Positions: how a model that sees all words at once knows which came first."""

import streamlit as st

from playground.ui.depth import Cell, descend
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.positions import show_aspect
from playground.ui.positions_controls import pick_aspect

state, t = open_page("positions")
aspect = pick_aspect(state, t)
formula, source = show_aspect(aspect, state, t)

table = f"{'decoder' if state.run.config.model.architecture == 'decoder-only' else 'encoder'}.pos_embed"
own = aspect == "table" and table in state.reading
depth = descend(state, t, Cell(table, {"pos": 1, "d_model": 0}) if own else None)
if depth == "formula":
    st.latex(formula)
    st.caption(t.markdown(f"positions.source.{source}"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("positions.means.heading"), t.markdown(f"positions.means.{aspect}"))
    note(attempt, t("positions.try.heading"), t.markdown(f"positions.try.{aspect}"))
