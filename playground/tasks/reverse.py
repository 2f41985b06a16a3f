"""Reverse: write the letters backwards. Attention grows along the other diagonal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.tasks import symbols
from playground.tasks.example import Example
from playground.tasks.task import Task


def reversed_(src: Sequence[str]) -> Example | None:
    """Return `src` and its letters backwards; None if it is not a sequence of the task's letters."""
    return _backwards(tuple(src)) if symbols.in_language(src) else None


def _backwards(src: tuple[str, ...]) -> Example:
    last = len(src) - 1
    return Example(src, src[::-1], tuple((i, last - i) for i in range(len(src))))


def _pairs() -> Iterator[Example]:
    return map(_backwards, symbols.sequences(seed=3))


REVERSE = Task(
    name="reverse",
    src_language="tasks.languages.letters",
    tgt_language="tasks.languages.letters",
    examples=(
        "a b c d e f g",
        "h e a d",
        "f a c e",
        "j a d e",
        "b a d g e",
        "c a b i h",
        "j i h g f e d c b a",
        "j i b e d",
    ),
    pairs=_pairs,
    reference=reversed_,
    words=symbols.letters,
    spell=symbols.spell,
    detokenize=symbols.spaced,
)
