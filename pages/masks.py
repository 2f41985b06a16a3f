"""Masks: who may look at whom, painted by hand, with nothing left to see, and what comes of leaving one out."""

import streamlit as st

from playground.ui.depth import descend
from playground.ui.frame import open_page
from playground.ui.masks_controls import pick_view
from playground.ui.masks_views import FORMULAS, control, draw
from playground.ui.notes import note

state, t = open_page("masks")
picture = st.container()
view = pick_view(state, t)
control(view, state, t)
with picture:
    shown, is_pinned = draw(view, state, t)

depth = descend(state, t, shown, is_pinned=is_pinned)
if depth == "formula":
    st.latex(FORMULAS[view])
    st.caption(t.markdown(f"masks.source.{view}"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("masks.means.heading"), t.markdown(f"masks.means.{view}"))
    note(attempt, t("masks.try.heading"), t.markdown(f"masks.try.{view}"))
