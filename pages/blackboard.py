"""On the blackboard: all of attention in numbers small enough to be worked out by hand."""

import streamlit as st

from playground.ui.blackboard import chain, written_out
from playground.ui.blackboard_controls import board, line, pick_line, write_numbers
from playground.ui.components.matrix import matrices
from playground.ui.depth import descend
from playground.ui.frame import open_page
from playground.ui.notes import note
from playground.ui.steps import equation

state, t = open_page("blackboard")
numbers, row = board(state), line(state)
first, second = (f"{weight:.3f}" for weight in numbers["weights"].values[row])

st.markdown(t.markdown("blackboard.look", row=row, first=first, second=second))
picture, arithmetic = st.columns([58, 42], gap="medium")
with picture:
    matrices(
        chain(numbers, t),
        start="weights",
        named=("weights", row, *numbers["weights"].select(query=row).argmax()),
        alt=t("blackboard.alt"),
        filename=t("blackboard.file"),
        key="blackboard_chain",
        t=t,
        theme=state.theme,
    )
    write_numbers(state, t)
with arithmetic:
    pick_line(state, t)
    st.latex(written_out(numbers, row, state.theme))

depth = descend(state, t, None)
if depth == "formula":
    st.latex(equation(state.theme))
    st.caption(t.markdown("blackboard.source"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("blackboard.means.heading"), t.markdown("blackboard.means.text"))
    note(attempt, t("blackboard.try.heading"), t.markdown("blackboard.try.text"))
