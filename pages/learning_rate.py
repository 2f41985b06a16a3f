"""Learning rate and Adam: how fast a model may learn, when, and what Adam makes of a gradient."""

import streamlit as st

from playground.ui.controls import pick_depth
from playground.ui.frame import open_page
from playground.ui.learning_rate_controls import pick_view
from playground.ui.learning_rate_views import FORMULAS, draw, numbers, program
from playground.ui.notes import note

state, t = open_page("learning_rate")
picture = st.container()
view = pick_view(state, t)
with picture:
    draw(view, state, t)

depth = "" if state.present else pick_depth(state, t)
if depth == "numbers":
    st.markdown(numbers(view, state, t))
elif depth == "formula":
    st.latex(FORMULAS[view])
    st.caption(t.markdown(f"learning_rate.source.{view}"))
elif depth == "code":
    st.code(program(view, state), language="python")
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("learning_rate.means.heading"), t.markdown(f"learning_rate.means.{view}"))
    note(attempt, t("learning_rate.try.heading"), t.markdown(f"learning_rate.try.{view}"))
