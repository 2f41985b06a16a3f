"""Addition: the sum of two numbers, digit by digit. Attention looks at a column, and right of it for the carry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from playground.tasks import digits
from playground.tasks.example import Example
from playground.tasks.task import Task

_LARGEST = 99
_SUM = re.compile(r"(0|[1-9][0-9]?)\+(0|[1-9][0-9]?)")


def added(src: Sequence[str]) -> Example | None:
    """Return a sum such as `38+47` and its value; None if it is not two numbers up to 99.

    A digit of the value belongs to the two of its column; a 1 carried beyond both, to the column that it came from.
    """
    found = _SUM.fullmatch("".join(src)) if all(len(token) == 1 for token in src) else None
    return _sum(found[1], found[2]) if found else None


def _sum(first: str, second: str) -> Example:
    src = (*first, "+", *second)
    tgt = str(int(first) + int(second))
    # Where each number's digits stand, the ones first.
    columns = [range(len(first) - 1, -1, -1), range(len(src) - 1, len(first), -1)]
    longest = max(len(first), len(second))
    pairs = []
    for place, column in enumerate(reversed(range(len(tgt)))):
        column = min(column, longest - 1)
        pairs += sorted((place, where[column]) for where in columns if column < len(where))
    return Example(src, tuple(tgt), tuple(pairs))


def _pairs() -> Iterator[Example]:
    for first in range(_LARGEST + 1):
        for second in range(_LARGEST + 1):
            yield _sum(str(first), str(second))


ADDITION = Task(
    name="addition",
    src_language="tasks.languages.sums",
    tgt_language="tasks.languages.digits",
    examples=("38+47", "20+22", "7+5", "99+1", "64+36", "50+25", "81+9", "12+30"),
    pairs=_pairs,
    reference=added,
    words=digits.signs,
    spell=digits.spell,
    detokenize=digits.unspaced,
    join="".join,
)
