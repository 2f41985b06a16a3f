"""Induction: go on with a random pattern that repeats itself. Attention finds what followed the last time.

The letters of a pattern are new each time, so nothing of it can be learnt by heart. What can be learnt is to look for
where the present letter stood before, and to write what stood after it: an induction head, which needs a head of an
earlier layer that tells each letter which one it follows.

Source: Olsson et al. 2022, In-context Learning and Induction Heads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from playground.tasks import symbols
from playground.tasks.example import Example
from playground.tasks.task import Task

LETTERS = "abcdefghijklmnop"
SHORTEST, LONGEST = 3, 8
LENGTH = 20  # letters of a text
_N_DRAWN = 12_000


def repeated(src: Sequence[str]) -> Example | None:
    """Return a pattern that has begun again, and how it goes on to the end of the text.

    None if it is not a pattern of different letters, or has not begun again. Each letter that is written belongs to the
    one that stood a pattern's length before it, in the source or, further on, at its place in the pattern.
    """
    src = tuple(src)
    if not (2 < len(src) < LENGTH and all(len(letter) == 1 and letter in LETTERS for letter in src)):
        return None
    size = next((n for n in range(1, len(src)) if src[n] == src[0]), 0)
    pattern = src[:size]
    if not SHORTEST <= size <= LONGEST or len(set(pattern)) != size:
        return None
    text = tuple(pattern[place % size] for place in range(LENGTH))
    if text[: len(src)] != src:
        return None
    pairs = tuple((place - len(src), place % size) for place in range(len(src), LENGTH))
    return Example(src, text[len(src) :], pairs)


def _pairs() -> Iterator[Example]:
    draw = random.Random(10).random
    for _ in range(_N_DRAWN):
        size = SHORTEST + int(draw() * (LONGEST - SHORTEST + 1))
        left = list(LETTERS)
        pattern = tuple(left.pop(int(draw() * len(left))) for _ in range(size))
        example = repeated((*pattern, pattern[0]))
        assert example is not None
        yield example


INDUCTION = Task(
    name="induction",
    src_language="tasks.languages.pattern",
    tgt_language="tasks.languages.going_on",
    examples=(
        "k c h a n k",
        "d a n c e d",
        "h o m e h",
        "b a d b",
        "f l a m i n g o f",
        "p o e m p",
        "m a p l e m",
        "j k f o a c g j",
    ),
    pairs=_pairs,
    reference=repeated,
    words=symbols.letters,
    spell=symbols.spell,
    detokenize=symbols.spaced,
    architecture="decoder-only",
)
