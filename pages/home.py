"""The whole model at work on one sentence: figure 1 of the paper, drawn for this model, each block a door."""

import streamlit as st

from playground.head import Head
from playground.home import best_head, cross_attention, shown_as, turning_word, verdict
from playground.ui.components.architecture import architecture, attention_lines
from playground.ui.components.matrix import Block, matrices
from playground.ui.controls import pick_cross_head, pick_example
from playground.ui.depth import descend, of_head
from playground.ui.frame import open_page
from playground.ui.steps import equation

state, t = open_page("home")
subject = state.subject
config = subject.run.config.model
crosses = config.architecture == "encoder-decoder"
layer, head = state.layer_and_head(*best_head(subject))

drawing, words = st.columns([62, 38], gap="medium")
with drawing:
    door = architecture(
        config,
        subject.reading,
        theme=state.theme,
        t=t,
        key="home_architecture",
        layer=layer,
        head=head,
        at=turning_word(subject),
    )
    if door:
        state.open(*door)
    if not state.present:
        st.markdown(t.markdown("home.try"))
        pick_example(state, t)
        st.caption(" ".join((t.markdown(f"tasks.{subject.task.name}.sentence"), t.markdown("tasks.heldout"))))

with words:
    with st.container(gap=None):
        key, wanted = verdict(subject)
        st.markdown(t.markdown("home.written", text=subject.translation))
        st.markdown(t.markdown(key, wanted=wanted))
    if crosses:
        shown = cross_attention(subject, layer, head)
        attention_lines(shown.weights, theme=state.theme, t=t, key="home_lines", layer=layer, head=head, group="home")
        matrices(
            [Block(shown.weights, id="cross_attention", title=t("home.map"), scale="weights", role="weights")],
            layout="single",
            key="home_map",
            alt=t("home.map_alt", layer=layer, head=head),
            t=t,
            theme=state.theme,
            group="home",
        )
        pick_cross_head(state, t)
        st.markdown(t.markdown(f"tasks.{subject.task.name}.attention"))
        key, share = shown_as(shown)
        said = (
            t.markdown(key, layer=layer, head=head, share=share),
            t.markdown("home.rows"),
            t.markdown("home.caution"),
        )
        st.caption(" ".join(said))
    else:
        st.markdown(t.markdown(f"tasks.{subject.task.name}.attention"))

if crosses and not state.present:
    depth = descend(state, t, of_head(Head(state.reading, "cross", layer, head)))
    if depth == "formula":
        st.latex(equation(state.theme))
        st.caption(t.markdown("one_head.source"))
