"""A beam search as a tree in the browser: what was kept, what was cut, the path that won."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from playground.decoding import Tree
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui.components import register
from playground.ui.components.shared import common
from playground.ui.components.writing import STEP_WORDS

_MOUNT = register("beam_tree")

WORDS = (
    *("number", "parent", "step_name", "word", "log_prob", "total", "score", "fate"),
    *("kept", "ended", "pruned", "follow", "won", "width_says"),
)


def beam_tree(
    tree: Tree,
    *,
    start: str,
    token: str,
    key: str,
    on_branch: Callable[[int], None],
    alt: str,
    t: Translate,
    theme: Theme,
) -> None:
    """Draw a beam search. Next, Back and play let it grow step by step, without the server.

    Args:
        tree: The search.
        start: What was read before anything was written.
        token: Names the search: another one is shown whole at first.
        key: The element's own name on the page.
        on_branch: Called with the number of a branch that is to be followed.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
    """

    def heard() -> None:
        number = st.session_state[key].get("branch")
        if isinstance(number, (int, float)) and not isinstance(number, bool) and number in tree.branches:
            on_branch(int(number))

    words = {word: t(f"decode.tree.{word}") for word in WORDS}
    words |= {word: t(f"decode.player.{word}") for word in STEP_WORDS}
    words["step"] = t("decode.player.step", at="{at}", n="{n}")
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=t("decode.tree.file"), **words),
        "start": start,
        "token": token,
        "best": [branch.number for branch in tree.best],
        "columns": [
            [
                {
                    "number": branch.number,
                    "parent": branch.parent,
                    "index": branch.index,
                    "word": tree.words[branch.token],
                    "log_prob": branch.log_prob,
                    "total": branch.total,
                    "score": branch.score,
                    "fate": branch.fate,
                }
                for branch in growth.branches
            ]
            for growth in tree.growths
        ],
    }
    _MOUNT(key=key, data=data, on_branch_change=heard)
