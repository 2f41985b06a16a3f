"""What stands on the blackboard: twelve numbers, the mask, the row that is worked out. Its widgets and their keys."""

from __future__ import annotations

import streamlit as st

from playground.blackboard import LARGEST, START, Board, N, read, written
from playground.figures.theme import Role
from playground.i18n import Translate
from playground.ui.session import Session

# Each matrix and the role whose colour its letter wears.
MATRICES: tuple[tuple[str, Role], ...] = (("q", "query"), ("k", "key"), ("v", "value"))

INPUT = 60  # pixels


def board(state: Session) -> Board:
    """Return the numbers that are written, and whether the mask is on."""
    numbers = {name: read(state.picks.get(f"board_{name}"), START[name]) for name in START}
    return Board(**numbers, is_causal=state.picks.get("causal") == "yes")


def line(state: Session) -> int:
    """Return the query that is worked out."""
    return int(state.picks.get("line", 0))


def write_numbers(state: Session, t: Translate) -> None:
    """Let the visitor change each number of Q, K and V, or go back to the first; each change answers at once."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="blackboard_numbers"):
        for name, role in MATRICES:
            numbers = getattr(board(state), name)
            with st.container(horizontal=True, gap="small", vertical_alignment="center", width="content"):
                st.latex(rf"\textcolor{{{state.theme.role(role)}}}{{{name.upper()}}}=", width="content")
                with st.container(width="content", gap="xsmall", key=f"blackboard_{name}"):
                    for row in range(N):
                        with st.container(horizontal=True, gap="xsmall", width="content"):
                            for col in range(N):
                                _number(name, row, col, numbers, state, t)
        st.button(
            t("blackboard.again"),
            icon=":material/restart_alt:",
            type="tertiary",
            key="blackboard_again",
            on_click=_begin_again,
            args=(state,),
            disabled=board(state) == Board(is_causal=board(state).is_causal),
        )


def pick_line(state: Session, t: Translate) -> None:
    """Let the visitor choose the query that is worked out, and put the mask on."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="blackboard_line_row"):
        st.session_state["blackboard_line"] = line(state)
        st.segmented_control(
            t("blackboard.line"),
            range(N),
            format_func=lambda row: f"$q_{row}$",
            key="blackboard_line",
            on_change=_chose_line,
            args=(state,),
            required=True,
        )
        st.session_state["blackboard_causal"] = board(state).is_causal
        st.toggle(t("blackboard.causal"), key="blackboard_causal", on_change=_chose_mask, args=(state,))


def _number(name: str, row: int, col: int, numbers: tuple[int, ...], state: Session, t: Translate) -> None:
    key = f"blackboard_{name}_{row}_{col}"
    st.session_state[key] = numbers[N * row + col]
    st.number_input(
        t("blackboard.cell", matrix=name.upper(), row=row, col=col),
        min_value=-LARGEST,
        max_value=LARGEST,
        step=1,
        key=key,
        on_change=_chose_number,
        args=(state, name, N * row + col, key),
        label_visibility="collapsed",
        width=INPUT,
    )


def _chose_number(state: Session, name: str, at: int, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        numbers = list(getattr(board(state), name))
        numbers[at] = int(value)
        state.choose(**{f"board_{name}": written(tuple(numbers))})


def _chose_line(state: Session) -> None:
    value = st.session_state.get("blackboard_line")
    if value is not None:
        state.choose(line=int(value))


def _chose_mask(state: Session) -> None:
    state.choose(causal="yes" if st.session_state.get("blackboard_causal") else "no")


def _begin_again(state: Session) -> None:
    state.choose(**{f"board_{name}": written(numbers) for name, numbers in START.items()})
