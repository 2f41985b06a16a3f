"""What the tasks on numbers share: a number as its digits, and texts that are read sign by sign."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator, Sequence

from playground.tasks.task import without_specials

DIGITS = "0123456789"


def number(tokens: Sequence[str]) -> int | None:
    """Return the number that digits write; None if there are none, other signs, or zeros in front."""
    if not tokens or any(len(token) != 1 or token not in DIGITS for token in tokens):
        return None
    return None if tokens[0] == "0" and len(tokens) > 1 else int("".join(tokens))


def numbers(seed: int, most_digits: int, n: int) -> Iterator[int]:
    """Give every number from 1 of up to three digits, then draw longer ones, all lengths alike; the same for a seed."""
    yield from range(1, 1_000)
    draw = random.Random(seed).random
    for _ in range(n):
        length = 4 + int(draw() * (most_digits - 3))
        # One in three has zeros inside: they are what is hard to say.
        size = 10 ** (length - 1)
        found = size + int(draw() * 9 * size)
        if draw() < 1 / 3:
            hole = 10 ** (1 + int(draw() * (length - 2)))
            found -= found // hole % 10 * hole
        yield found


def signs(text: str) -> list[str]:
    """Split a text into its characters, wide ones made narrow; blanks and commas only separate."""
    return [sign for sign in unicodedata.normalize("NFKC", text) if not sign.isspace() and sign not in ",;、。"]


def spell(sign: str) -> tuple[str, ...]:
    """Return the token that a typed sign stands for."""
    return (sign,)


def unspaced(tokens: Sequence[str]) -> str:
    """Write tokens without blanks."""
    return "".join(without_specials(tokens))
