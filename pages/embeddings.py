"""Tokens and embeddings: words become rows of numbers, and a place in the sentence is added to each."""

import streamlit as st

from playground.measures import mean_length
from playground.ui.controls import pick_table
from playground.ui.depth import dig
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import embedding
from playground.ui.table_views import draw, tokens

state, t = open_page("embeddings")
picture = st.container()
view, stack = pick_table(state, t)
blocks = embedding(state.subject, stack, t)
with picture:
    clicked = draw(view, state, stack, t)

depth = dig(state, t, blocks, clicked, named=("resid_pre", 0, 0))
if depth == "formula":
    st.latex(r"x = E[\text{id}] \cdot \sqrt{d_{\text{model}}} + PE[\text{pos}]")
    st.caption(t.markdown("embeddings.source.text"))
elif depth == "story":
    lengths = {block.id: f"{mean_length(block.array):.2f}" for block in blocks}
    said = "embeddings.said.added" if "pos_embed" in lengths else "embeddings.said.alone"
    means, counts, attempt = st.columns([5, 4, 4], gap="large")
    note(means, t("embeddings.means.heading"), t.markdown("embeddings.means.text"), tokens(state, t))
    with counts:
        st.markdown(t.markdown(said, rows=lengths["rows"], embed=lengths["embed"], pos=lengths.get("pos_embed", "")))
    note(attempt, t("embeddings.try.heading"), t.markdown(f"embeddings.try.{view}"))
