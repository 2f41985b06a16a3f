"""The next word: from the last row of numbers to a choice among all words."""

import streamlit as st

from playground.home import turning_word
from playground.measures import likeliest
from playground.ui.components.matrix import matrices
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.stream import output

state, t = open_page("output")
config = state.subject.run.config.model
reading = state.reading
position = turning_word(state.subject)
best = likeliest(reading["probs"].select(pos=position), 2)
word, second = best.axes[0].labels
probability, runner_up = (f"{value:.3f}" for value in best.values)

st.markdown(
    t.markdown(
        "output.look",
        read=reading.read[position],
        word=word,
        probability=probability,
        second=second,
        runner_up=runner_up,
    )
)
matrices(
    output(reading, config, t),
    start="probs",
    alt=t("output.alt"),
    filename=t("output.file"),
    key="output_chain",
    t=t,
    theme=state.theme,
)

means, source, attempt = st.columns([5, 4, 4], gap="large")
note(means, t("output.means.heading"), t.markdown("output.means.text"))
with source:
    st.latex(r"P(\text{word}) = \frac{e^{\text{logit}}}{\sum e^{\text{logit}}}")
    st.caption(t.markdown("output.source.text"))
note(attempt, t("output.try.heading"), t.markdown("output.try.text", vocab_size=config.vocab_size))
