"""English numbers: digits into words and words into digits. What is read decides which way it goes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from playground.tasks import digits
from playground.tasks.example import Example, Marked, aligned
from playground.tasks.task import Task, without_specials

_LARGEST = 99_999
_SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_ROUND = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES = tuple(_SMALL.split())
TENS = ("", "", *_ROUND.split())
_WORDS = frozenset([*ONES, *TENS[2:], "hundred", "thousand"])
_MARKS = frozenset("-,.;:?!‐–。、")
_PARTS = re.compile(r"\d|[^\W\d_]+|[^\w\s]|_")


def said(number: int) -> list[Marked]:
    """Return the words of a number from 1 to 99,999, each marked by the places of its digits, the ones 0."""
    words: list[Marked] = []
    for above, rest in ((3, number // 1_000), (0, number % 1_000)):
        hundreds, below = divmod(rest, 100)
        if hundreds:
            words += [(ONES[hundreds], (str(above + 2),)), ("hundred", (str(above + 2),))]
        if below >= 20:
            words.append((TENS[below // 10], (str(above + 1),)))
            if below % 10:
                words.append((ONES[below % 10], (str(above),)))
        elif below >= 10:
            words.append((ONES[below], (str(above), str(above + 1))))
        elif below:
            words.append((ONES[below], (str(above),)))
        if above and rest:
            words.append(("thousand", (str(above),)))
    return words


def both_ways(src: Sequence[str]) -> Example | None:
    """Return a number in digits and in words, or in words and in digits; None if it is neither, or above 99,999."""
    number = digits.number(src)
    if number is None:
        number = _heard(tuple(src))
        return None if number is None else aligned(said(number), written(number))
    return aligned(written(number), said(number)) if 1 <= number <= _LARGEST else None


def written(number: int) -> list[Marked]:
    """Return the digits of a number, each marked by its place."""
    text = str(number)
    return [(digit, (str(len(text) - 1 - place),)) for place, digit in enumerate(text)]


def join(tokens: Sequence[str]) -> str:
    """Write digits without blanks, and words with them; tens and ones have a hyphen."""
    kept = without_specials(tokens)
    if all(token in digits.DIGITS for token in kept):
        return "".join(kept)
    return re.sub(rf"\b({'|'.join(TENS[2:])}) ({'|'.join(ONES[1:10])})\b", r"\1-\2", " ".join(kept))


def words(text: str) -> list[str]:
    """Split a text into digits, words and signs."""
    return _PARTS.findall(unicodedata.normalize("NFKC", text))


def spell(word: str) -> tuple[str, ...]:
    """Return the token that a typed word stands for: none for the "and" that some say, and what parts a number."""
    return () if word.lower() == "and" or word in _MARKS else (word.lower(),)


def _heard(src: tuple[str, ...]) -> int | None:
    """Return the number that words say; None if nobody would say it so."""
    if not src or not set(src) <= _WORDS or len(src) > 12:
        return None
    total = group = 0
    for word in src:
        if word == "thousand":
            total, group = 1_000 * group, 0
        elif word == "hundred":
            group *= 100
        else:
            group += ONES.index(word) if word in ONES else 10 * TENS.index(word)
    number = total + group
    return number if 1 <= number <= _LARGEST and tuple(word for word, _ in said(number)) == src else None


def _pairs() -> Iterator[Example]:
    for number in digits.numbers(seed=8, most_digits=5, n=4_000):
        yield aligned(written(number), said(number))
        yield aligned(said(number), written(number))


ENGLISH_NUMBERS = Task(
    name="english-numbers",
    src_language="tasks.languages.numbers",
    tgt_language="tasks.languages.numbers",
    examples=(
        "342",
        "seven hundred nineteen",
        "2,026",
        "ninety-nine thousand nine hundred ninety-nine",
        "10,504",
        "six thousand eight",
        "13",
        "forty thousand two hundred",
    ),
    pairs=_pairs,
    reference=both_ways,
    words=words,
    spell=spell,
    detokenize=join,
    join=join,
)
