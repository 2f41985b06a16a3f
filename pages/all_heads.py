"""All heads: every attention map of the model at once, what sets each apart, and what becomes of it without some."""

import streamlit as st

from playground.head import Head
from playground.ui.all_heads_controls import pick_all_heads
from playground.ui.all_heads_views import FORMULAS, draw
from playground.ui.depth import descend, of_head
from playground.ui.frame import open_page
from playground.ui.notes import note

state, t = open_page("all_heads")
picture = st.container()
choice = pick_all_heads(state, t)
with picture:
    drawn = draw(choice, state, t)
drawn.rest()

named = of_head(Head(state.reading, choice.where, choice.layer, choice.head))
depth = descend(state, t, drawn.pinned or named, is_pinned=drawn.pinned is not None)
if depth == "formula":
    st.latex(FORMULAS[choice.view])
    st.caption(t.markdown(f"all_heads.source.{choice.view}"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    about = t.markdown(f"all_heads.means.{choice.view}")
    note(means, t("all_heads.means.heading"), about, t.markdown("all_heads.honest"))
    note(attempt, t("all_heads.try.heading"), t.markdown(f"all_heads.try.{choice.view}"))
