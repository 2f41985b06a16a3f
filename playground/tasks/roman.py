"""Roman: decimal numbers in Roman numerals. Attention goes along the digits, and stays where one needs more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.tasks import digits
from playground.tasks.example import Example
from playground.tasks.task import Task

_LARGEST = 3_999
# One, five and ten of each place, the ones first.
_LETTERS = (("I", "V", "X"), ("X", "L", "C"), ("C", "D", "M"), ("M", "", ""))
# How a digit is written with them.
_WRITTEN = ((), (0,), (0, 0), (0, 0, 0), (0, 1), (1,), (1, 0), (1, 0, 0), (1, 0, 0, 0), (0, 2))


def roman(src: Sequence[str]) -> Example | None:
    """Return a number's digits and its numeral, each letter with the digit that it comes from.

    None if it is not a number from 1 to 3,999.
    """
    number = digits.number(src)
    if number is None or not 1 <= number <= _LARGEST:
        return None
    tgt: list[str] = []
    pairs: list[tuple[int, int]] = []
    for place, digit in enumerate(src):
        letters = _LETTERS[len(src) - 1 - place]
        for letter in _WRITTEN[int(digit)]:
            pairs.append((len(tgt), place))
            tgt.append(letters[letter])
    return Example(tuple(src), tuple(tgt), tuple(pairs))


def _pairs() -> Iterator[Example]:
    for number in range(1, _LARGEST + 1):
        example = roman(tuple(str(number)))
        assert example is not None
        yield example


ROMAN = Task(
    name="roman",
    src_language="tasks.languages.digits",
    tgt_language="tasks.languages.numerals",
    examples=("1994", "2026", "49", "1888", "12", "400", "3999", "944"),
    pairs=_pairs,
    reference=roman,
    words=digits.signs,
    spell=digits.spell,
    detokenize=digits.unspaced,
    join="".join,
)
