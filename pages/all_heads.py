"""All heads: every attention map of the model at once, what sets each apart, and what becomes of it without some."""

import streamlit as st

from playground.ui.all_heads_controls import pick_all_heads
from playground.ui.all_heads_views import FORMULAS, below, draw
from playground.ui.frame import open_page
from playground.ui.notes import note

state, t = open_page("all_heads")
picture = st.container()
choice = pick_all_heads(state, t)
with picture:
    draw(choice, state, t)
below(choice, state, t)

if not state.present:
    means, source, attempt = st.columns([5, 4, 4], gap="large")
    note(
        means,
        t("all_heads.means.heading"),
        t.markdown(f"all_heads.means.{choice.view}"),
        t.markdown("all_heads.honest"),
    )
    with source:
        st.latex(FORMULAS[choice.view])
        st.caption(t.markdown(f"all_heads.source.{choice.view}"))
    note(attempt, t("all_heads.try.heading"), t.markdown(f"all_heads.try.{choice.view}"))
