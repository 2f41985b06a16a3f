"""Tokens and embeddings: words become rows of numbers, and a place in the sentence is added to each."""

import streamlit as st

from playground.measures import mean_length
from playground.ui.components.matrix import matrices
from playground.ui.controls import pick_stack
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import embedding

state, t = open_page("embeddings")
picture = st.container()
stack = pick_stack(state, t)
blocks = embedding(state.subject, stack, t)

with picture:
    matrices(
        blocks,
        start="resid_pre",
        alt=t("embeddings.alt", stack=t(f"frame.where.{stack}")),
        filename=t("embeddings.file"),
        key="embeddings_chain",
        t=t,
        theme=state.theme,
    )

lengths = {block.id: f"{mean_length(block.array):.2f}" for block in blocks if block.id != "resid_pre"}
said = "embeddings.lengths" if "pos_embed" in lengths else "embeddings.lengths_alone"
means, source, attempt = st.columns([5, 4, 4], gap="large")
note(means, t("embeddings.means.heading"), t.markdown("embeddings.means.text"))
with source:
    st.markdown(t.markdown(said, rows=lengths["rows"], embed=lengths["embed"], pos=lengths.get("pos_embed", "")))
    st.caption(t.markdown("embeddings.source.text"))
note(attempt, t("embeddings.try.heading"), t.markdown("embeddings.try.text"))
