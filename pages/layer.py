"""Inside a layer: the residual stream, and what each sublayer adds to it."""

import streamlit as st

from playground.measures import share_above_zero
from playground.ui.components.matrix import matrices
from playground.ui.controls import pick_layer
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import entrance, layer, layer_weights

state, t = open_page("layer")
config = state.subject.run.config.model
picture = st.container()
stack, index = pick_layer(state, t)
blocks = layer(state.reading, config, stack, index, t)
start = entrance(blocks, state.picks.get("part"))

with picture:
    matrices(
        blocks,
        start=start,
        alt=t("layer.alt", layer=index, stack=t(f"frame.where.{stack}")),
        filename=t("layer.file"),
        key=f"layer_chain_{start}",
        t=t,
        theme=state.theme,
    )

means, numbers, attempt = st.columns([5, 4, 4], gap="large")
note(
    means,
    t("layer.means.heading"),
    t.markdown(f"layer.means.{stack}"),
    t.markdown(f"layer.means.{config.norm_placement}"),
)
with numbers:
    st.markdown(
        t.markdown("layer.wide", d_model=config.d_model, d_ff=config.d_ff, **layer_weights(state.subject.model, stack))
    )
    if config.activation == "relu":
        share = share_above_zero(state.reading[f"{stack}.{index}.ffn.hidden"])
        st.markdown(t.markdown("layer.active", share=f"{share:.0%}", d_ff=config.d_ff))
    st.caption(t.markdown("layer.source.text"))
note(attempt, t("layer.try.heading"), t.markdown("layer.try.text"))
