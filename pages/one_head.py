"""One head, step by step: from what it reads to what it hands on, every matrix on the way, every number real."""

import streamlit as st

from playground.head import Head, largest_weight
from playground.ui.components.matrix import matrices
from playground.ui.controls import pick_head
from playground.ui.depth import dig
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.steps import beside, chain, equation, look

state, t = open_page("one_head")
config = state.run.config.model

picture = st.container()
where, layer, index = pick_head(state, t)
head = Head(state.reading, where, layer, index)
row, col = head.sharpest()

blocks = chain(head, config, t)

with picture:
    st.markdown(look(head, t))
    clicked = matrices(
        blocks,
        start="weights",
        named=("weights", row, col),
        alt=t("one_head.alt", layer=layer, head=index),
        filename="one_head",
        key="one_head_chain",
        picks=True,
        t=t,
        theme=state.theme,
    )

depth = dig(state, t, blocks, clicked, named=("weights", row, col), head=index)
if depth == "formula":
    st.latex(equation(state.theme))
    st.caption(t.markdown("one_head.source"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("one_head.means.heading"), t.markdown(f"one_head.means.{where}"))
    means.caption(t.markdown("one_head.means.caution"))
    note(attempt, t("one_head.try.heading"), t.markdown(f"one_head.try.{where}", word=head.asking(row)))

compared = beside(head, config, t)
scaled, unscaled = (f"{largest_weight(block.array):.2f}" for block in compared)
st.subheader(t("one_head.scaling.heading", d_head=config.d_head), anchor=False)
st.markdown(t.markdown("one_head.scaling.text", d_head=config.d_head, scaled=scaled, unscaled=unscaled))
matrices(
    compared,
    layout="row",
    alt=t("one_head.beside_alt"),
    filename="scaling",
    group="one_head_chain",
    key="one_head_beside",
    t=t,
    theme=state.theme,
)
st.caption(t.markdown("one_head.scaling.trained" if config.scale_scores else "one_head.scaling.untrained"))
