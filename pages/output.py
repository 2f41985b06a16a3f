"""The next word: from the last row of numbers to a choice among all words."""

import streamlit as st

from playground.home import turning_word
from playground.measures import likeliest
from playground.ui.components.matrix import matrices
from playground.ui.depth import dig
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
blocks = output(reading, config, t)
clicked = matrices(
    blocks,
    start="probs",
    alt=t("output.alt"),
    filename="next_word",
    key="output_chain",
    picks=True,
    t=t,
    theme=state.theme,
)

column = blocks[-1].array.axis("vocab").labels.index(word)
depth = dig(state, t, blocks, clicked, named=("probs", position, column))
if depth == "formula":
    st.latex(r"P(\text{word}) = \frac{e^{\text{logit}(\text{word})}}{\sum_{w} e^{\text{logit}(w)}}")
    st.caption(t.markdown("output.source.text"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("output.means.heading"), t.markdown("output.means.text"))
    note(attempt, t("output.try.heading"), t.markdown("output.try.text", vocab_size=config.vocab_size))
