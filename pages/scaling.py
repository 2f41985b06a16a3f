"""Scaling: why scores are divided by √d_k, on the subject's scores, on drawn vectors, as a temperature."""

import streamlit as st

from playground.ui.depth import descend, dig
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.scaling_controls import open_training, pick_view
from playground.ui.scaling_views import chosen_head, control, draw, formula, measured

state, t = open_page("scaling")
picture = st.container()
view = pick_view(state, t)
control(view, state, t)
with picture:
    drawn = draw(view, state, t)

if drawn is None:
    depth = descend(state, t, None)
else:
    head = chosen_head(state)
    depth = dig(state, t, *drawn, named=("scores_divided", *head.sharpest()), head=head.index)
if depth == "formula":
    st.latex(formula(view, state.theme))
    st.caption(t.markdown(f"scaling.source.{view}"))
elif depth == "story":
    means, numbers, attempt = st.columns([4, 5, 4], gap="large")
    note(means, t("scaling.means.heading"), t.markdown(f"scaling.means.{view}"))
    with numbers:
        st.markdown(measured(state, t)) if view == "subject" else st.latex(formula(view, state.theme))
    note(attempt, t("scaling.try.heading"), t.markdown(f"scaling.try.{view}"))
    with attempt:
        open_training(state, t)
