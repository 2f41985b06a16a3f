"""Decoding: a text written word by word, and what decides each word."""

import streamlit as st

from playground.ui.decode_controls import views_of
from playground.ui.decode_views import FORMULAS, control, draw, program, topic
from playground.ui.depth import descend
from playground.ui.frame import open_page
from playground.ui.notes import note

state, t = open_page("decode")
if not views_of(state):
    st.info(t.markdown("decode.no_decoder"), icon=":material/info:")
    st.stop()

picture = st.container()
control(state, t)
with picture:
    cell, is_pinned = draw(state, t)

subject = topic(state)
depth = descend(state, t, cell, is_pinned=is_pinned)
if depth == "formula":
    st.latex(FORMULAS[subject])
    st.caption(t.markdown(f"decode.source.{subject}"))
elif depth == "code":
    st.markdown(t.markdown("decode.program"))
    st.code(program(state), language="python")
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("decode.means.heading"), t.markdown(f"decode.means.{subject}"))
    note(attempt, t("decode.try.heading"), t.markdown(f"decode.try.{subject}"))
