"""Sort: write the letters in the order of the alphabet. Attention looks for the next letter, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.tasks import symbols
from playground.tasks.example import Example
from playground.tasks.task import Task


def sorted_(src: Sequence[str]) -> Example | None:
    """Return `src` and its letters in order; None if it is not a sequence of the task's letters.

    Equal letters keep their order, so that each has one place to come from.
    """
    return _in_order(tuple(src)) if symbols.in_language(src) else None


def _in_order(src: tuple[str, ...]) -> Example:
    places = sorted(range(len(src)), key=lambda place: src[place])
    return Example(src, tuple(src[place] for place in places), tuple(enumerate(places)))


def _pairs() -> Iterator[Example]:
    return map(_in_order, symbols.sequences(seed=6))


SORT = Task(
    name="sort",
    src_language="tasks.languages.letters",
    tgt_language="tasks.languages.letters",
    examples=(
        "d a h c f",
        "h e a d",
        "f a c e",
        "j a d e",
        "b a d g e",
        "c a b i h",
        "j i h g f e d c b a",
        "j i b e d",
    ),
    pairs=_pairs,
    reference=sorted_,
    words=symbols.letters,
    spell=symbols.spell,
    detokenize=symbols.spaced,
)
