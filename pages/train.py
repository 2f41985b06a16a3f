"""Train: a fresh model learns before one's eyes, and then is the model of every page."""

import streamlit as st

from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.training import show_training

state, t = open_page("train")
show_training(state, t)

if not state.present:
    means, source, attempt = st.columns([5, 4, 4], gap="large")
    note(means, t("train.means.heading"), t.markdown("train.means.text"), t.markdown("train.means.heldout"))
    with source:
        st.latex(r"\small \text{factor} \cdot d_\text{model}^{-1/2} \min(n^{-1/2},\, n\, w^{-3/2})")
        st.caption(t.markdown("train.source"))
    note(attempt, t("train.try.heading"), t.markdown("train.try.text"))
