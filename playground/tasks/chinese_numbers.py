"""Chinese numbers: digits into characters and characters into digits. Zeros are said once inside, not at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playground.tasks import digits
from playground.tasks.english_numbers import written
from playground.tasks.example import Example, Marked, aligned
from playground.tasks.task import Task

_LARGEST = 99_999
FIGURES = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千", "万")
_CHARACTERS = frozenset([*FIGURES, *UNITS[1:], "两"])


def said(number: int) -> list[Marked]:
    """Return the characters of a number from 1 to 99,999, each marked by the places of its digits, the ones 0.

    Ten to nineteen begin with 十; two is 两 where a number begins with 千 or 万, else 二.
    """
    text = str(number)
    characters: list[Marked] = []
    zeros: tuple[str, ...] = ()
    for index, figure in enumerate(text):
        place = len(text) - 1 - index
        if figure == "0":
            zeros = (*zeros, str(place))
            continue
        if zeros:
            characters.append(("零", zeros))
            zeros = ()
        begins = index == 0
        if not (begins and figure == "1" and place == 1):
            two = begins and figure == "2" and place >= 3
            characters.append(("两" if two else FIGURES[int(figure)], (str(place),)))
        if place:
            characters.append((UNITS[place], (str(place),)))
    return characters


def both_ways(src: Sequence[str]) -> Example | None:
    """Return a number in digits and in characters, or the other way; None if it is neither, or above 99,999."""
    number = digits.number(src)
    if number is None:
        number = _heard(tuple(src))
        return None if number is None else aligned(said(number), written(number))
    return aligned(written(number), said(number)) if 1 <= number <= _LARGEST else None


def _heard(src: tuple[str, ...]) -> int | None:
    """Return the number that characters say; None if nobody would say it so."""
    if not src or not set(src) <= _CHARACTERS or len(src) > 12:
        return None
    number = figure = 0
    for character in src:
        if character in UNITS:
            number += (figure or 1) * 10 ** UNITS.index(character)
            figure = 0
        else:
            figure = 2 if character == "两" else FIGURES.index(character)
    number += figure
    return number if 1 <= number <= _LARGEST and tuple(character for character, _ in said(number)) == src else None


def _pairs() -> Iterator[Example]:
    for number in digits.numbers(seed=9, most_digits=5, n=4_000):
        yield aligned(written(number), said(number))
        yield aligned(said(number), written(number))


CHINESE_NUMBERS = Task(
    name="chinese-numbers",
    src_language="tasks.languages.numbers",
    tgt_language="tasks.languages.chinese_numbers",
    examples=("342", "七百一十九", "2026", "九万九千九百九十九", "10504", "六千零八", "13", "四万零二百"),
    pairs=_pairs,
    reference=both_ways,
    words=digits.signs,
    spell=digits.spell,
    detokenize=digits.unspaced,
    join="".join,
)
