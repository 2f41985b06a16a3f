"""Copy: write the letters as they came. Attention grows along the diagonal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.tasks import symbols
from playground.tasks.example import Example
from playground.tasks.task import Task


def copied(src: Sequence[str]) -> Example | None:
    """Return `src` and itself, position by position; None if it is not a sequence of the task's letters."""
    if not symbols.in_language(src):
        return None
    return Example(tuple(src), tuple(src), tuple((i, i) for i in range(len(src))))


def _pairs() -> Iterator[Example]:
    for src in symbols.sequences(seed=2):
        yield Example(src, src, tuple((i, i) for i in range(len(src))))


COPY = Task(
    name="copy",
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
    reference=copied,
    words=symbols.letters,
    spell=symbols.spell,
    detokenize=symbols.spaced,
)
