"""Masks: who may look at whom, painted by hand, with nothing left to see, and what comes of leaving one out."""

import streamlit as st

from playground.ui.depth import Cell, descend
from playground.ui.frame import open_page
from playground.ui.masks_controls import pick_view
from playground.ui.masks_views import FORMULAS, control, draw
from playground.ui.notes import note

state, t = open_page("masks")
picture = st.container()
view = pick_view(state, t)
control(view, state, t)
with picture:
    draw(view, state, t)

layer, head = state.layer_and_head(0, 0)
later = {"head": head, "query": 0, "key": 1}  # a word that is still to come
covered = view == "batch" and len(state.reading.tgt) > 1
depth = descend(state, t, Cell(f"decoder.{layer}.self_attn.masked_scores", later) if covered else None)
if depth == "formula":
    st.latex(FORMULAS[view])
    st.caption(t.markdown(f"masks.source.{view}"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("masks.means.heading"), t.markdown(f"masks.means.{view}"))
    note(attempt, t("masks.try.heading"), t.markdown(f"masks.try.{view}"))
