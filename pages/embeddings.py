"""Tokens and embeddings: words become rows of numbers, and a place in the sentence is added to each."""

import streamlit as st

from playground.measures import mean_length
from playground.ui.controls import pick_table
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import embedding
from playground.ui.table_views import draw, tokens

state, t = open_page("embeddings")
picture = st.container()
view, stack = pick_table(state, t)
with picture:
    draw(view, state, stack, t)

lengths = {block.id: f"{mean_length(block.array):.2f}" for block in embedding(state.subject, stack, t)}
said = "embeddings.said.added" if "pos_embed" in lengths else "embeddings.said.alone"
means, numbers, attempt = st.columns([5, 4, 4], gap="large")
note(means, t("embeddings.means.heading"), t.markdown("embeddings.means.text"), tokens(state, t))
with numbers:
    st.markdown(t.markdown(said, rows=lengths["rows"], embed=lengths["embed"], pos=lengths.get("pos_embed", "")))
    st.caption(t.markdown("embeddings.source.text"))
note(attempt, t("embeddings.try.heading"), t.markdown(f"embeddings.try.{view}"))
