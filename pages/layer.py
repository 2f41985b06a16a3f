"""Inside a layer: the residual stream, and what each sublayer adds to it."""

import streamlit as st

from playground.measures import share_above_zero
from playground.ui.components.matrix import matrices
from playground.ui.controls import pick_layer
from playground.ui.depth import dig
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import entrance, laws, layer, layer_weights

state, t = open_page("layer")
config = state.subject.run.config.model
picture = st.container()
stack, index = pick_layer(state, t)
blocks = layer(state.reading, config, stack, index, t)
start = entrance(blocks, state.picks.get("part"))

with picture:
    clicked = matrices(
        blocks,
        start=start,
        alt=t("layer.alt", layer=index, stack=t(f"frame.where.{stack}")),
        filename="layer",
        key=f"layer_chain_{start}",
        picks=True,
        t=t,
        theme=state.theme,
    )

largest = next(block for block in blocks if block.id == start).array.argmax()
depth = dig(state, t, blocks, clicked, named=(start, *largest))
if depth == "formula":
    for law in laws(config):
        st.latex(law)
    st.caption(t.markdown("layer.source.text"))
elif depth == "story":
    means, counts, attempt = st.columns([5, 4, 4], gap="large")
    joins = "adds" if config.residual else "replaces"
    said = [t.markdown(f"layer.means.{about}") for about in (stack, joins, config.norm_placement)]
    note(means, t("layer.means.heading"), *said)
    with counts:
        weights = layer_weights(state.subject.model, stack)
        st.markdown(t.markdown("layer.wide", d_model=config.d_model, d_ff=config.d_ff, **weights))
        if config.n_experts > 1:
            st.markdown(t.markdown("layer.experts", n=config.n_experts, k=config.n_active))
        elif config.activation == "relu":
            share = share_above_zero(state.reading[f"{stack}.{index}.ffn.hidden"])
            st.markdown(t.markdown("layer.active", share=f"{share:.0%}", d_ff=config.d_ff))
    note(attempt, t("layer.try.heading"), t.markdown(f"layer.try.{'text' if config.n_experts == 1 else 'experts'}"))
