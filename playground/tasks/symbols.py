"""Sequences of letters: the language of the tasks that only move symbols."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator, Sequence

from playground.tasks.task import without_specials

LETTERS = "abcdefghij"
SHORTEST, LONGEST = 3, 10
_N_SEQUENCES = 9_000


def sequences(seed: int) -> Iterator[tuple[str, ...]]:
    """Draw sequences of 3 to 10 different letters, each length as often; the same ones for the same seed.

    A letter that came twice would have to be told apart by its position alone: that takes far longer to learn.
    """
    # random() alone keeps its sequence from one Python to the next.
    draw = random.Random(seed).random
    for _ in range(_N_SEQUENCES):
        length = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
        left = list(LETTERS)
        yield tuple(left.pop(int(draw() * len(left))) for _ in range(length))


def in_language(src: Sequence[str]) -> bool:
    """Say whether `src` is a sequence of these letters, and not too long."""
    return 0 < len(src) <= LONGEST and all(len(symbol) == 1 and symbol in LETTERS for symbol in src)


def letters(text: str) -> list[str]:
    """Split a text into its characters; blanks, commas and full stops only separate."""
    return [
        symbol for symbol in unicodedata.normalize("NFKC", text) if not symbol.isspace() and symbol not in ",.;、。"
    ]


def spell(symbol: str) -> tuple[str, ...]:
    """Return the token that a typed character stands for."""
    return (symbol.lower(),)


def spaced(tokens: Sequence[str]) -> str:
    """Write symbols with blanks between them."""
    return " ".join(without_specials(tokens))
