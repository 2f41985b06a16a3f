"""The runs on a shelf: a card a run with its small curve; one of them is picked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("shelf")

WORDS = ("guessing", "on_every_page", "matched")


@dataclass(frozen=True)
class Card:
    """What is said of one run.

    Attributes:
        id: Of the run.
        title: Plain text.
        whose: Recorded, yours, imported or shared, in words.
        facts: Lines about the model and the run.
        curve: Pairs of step and loss.
        steps: The curve's width.
        chance: Loss of guessing.
        share: Of held-out sentences exactly right, in words; empty if it was never measured.
        is_subject: Whether every page shows it.
        problem: Why there is no curve, in words; empty if there is one.
    """

    id: str
    title: str
    whose: str
    facts: tuple[str, ...]
    curve: Sequence[tuple[int, float]]
    steps: int
    chance: float
    share: str = ""
    is_subject: bool = False
    problem: str = ""

    def plain(self) -> Mapping[str, Any]:
        """Return it as plain data; the loss as a share of that of guessing, as far as a small curve can show it."""
        return {
            "id": self.id,
            "title": self.title,
            "whose": self.whose,
            "facts": list(self.facts),
            "curve": [[step / max(1, self.steps), min(loss / self.chance, 1.25)] for step, loss in self.curve],
            "share": self.share,
            "subject": self.is_subject,
            "problem": self.problem,
        }


def shelf(
    cards: Sequence[Card],
    chosen: str,
    *,
    key: str,
    on_choose: Callable[[str], None],
    alt: str,
    empty: str,
    t: Translate,
    theme: Theme,
) -> None:
    """Draw the cards; a click, or Enter on one, picks it out.

    Args:
        cards: In their order.
        chosen: Id of the one that is picked out.
        key: The element's own name on the page.
        on_choose: Called with an id that is among the cards, before the script runs again.
        alt: What a screen reader says the picture is.
        empty: What to do where there is none of the visitor's own; empty if there is one.
        t: Words.
        theme: Colours and type.
    """

    def heard() -> None:
        value = st.session_state[key].get("chosen")
        if value in [card.id for card in cards]:
            on_choose(value)

    words = {word: t(f"models.shelf.{word}") for word in WORDS}
    data = {
        **common(theme, t, alt=alt, filename=key, **words),
        "cards": [card.plain() for card in cards],
        "chosen": chosen,
        "empty": empty,
    }
    _MOUNT(key=key, data=data, on_chosen_change=heard)
