"""Dates: written in one of several ways, into year, month and day (ISO 8601). Attention jumps to the part it needs."""

from __future__ import annotations

import calendar
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from playground.tasks import digits
from playground.tasks.example import Example, Marked, aligned
from playground.tasks.task import Task

_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_N_DRAWN = 9_000

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_KNOWN = {month.lower(): month for month in MONTHS} | {month[:3].lower(): month[:3] for month in MONTHS}
_KNOWN |= {"of": "of", "st": "st", "nd": "nd", "rd": "rd", "th": "th"}
_WORDS = re.compile(r"[A-Za-z]+|\S")


@dataclass(frozen=True)
class Date:
    """A day of the calendar."""

    year: int
    month: int
    day: int


def _ordinal(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _marked(part: str, number: int) -> list[Marked]:
    return [(digit, (part,)) for digit in str(number)]


def _year(date: Date) -> list[Marked]:
    return [(digit, (f"year{place}",)) for place, digit in enumerate(str(date.year))]


def _sign(sign: str) -> list[Marked]:
    return [(sign, ("",))]


# The ways to write a date. In none of them can day and month be taken for one another.
FORMATS: tuple[Callable[[Date], list[Marked]], ...] = (
    # 5 March 2021
    lambda date: [*_marked("day", date.day), (MONTHS[date.month - 1], ("month",)), *_year(date)],
    # March 5, 2021
    lambda date: [(MONTHS[date.month - 1], ("month",)), *_marked("day", date.day), *_sign(","), *_year(date)],
    # 5 Mar 2021
    lambda date: [*_marked("day", date.day), (MONTHS[date.month - 1][:3], ("month",)), *_year(date)],
    # 5th of March 2021
    lambda date: [
        *_marked("day", date.day),
        (_ordinal(date.day), ("day",)),
        *_sign("of"),
        (MONTHS[date.month - 1], ("month",)),
        *_year(date),
    ],
    # 5.3.2021
    lambda date: [
        *_marked("day", date.day),
        *_sign("."),
        *_marked("month", date.month),
        *_sign("."),
        *_year(date),
    ],
    # 2021/3/5
    lambda date: [
        *_year(date),
        *_sign("/"),
        *_marked("month", date.month),
        *_sign("/"),
        *_marked("day", date.day),
    ],
    # 2021年3月5日
    lambda date: [
        *_year(date),
        *_sign("年"),
        *_marked("month", date.month),
        *_sign("月"),
        *_marked("day", date.day),
        *_sign("日"),
    ],
)

# The same, to be read: named parts of what `write` makes.
_MONTH = "|".join(sorted(set(_KNOWN.values()) - {"of", "st", "nd", "rd", "th"}, key=len, reverse=True))
_READ = (
    rf"(?P<day>\d{{1,2}}) (?P<name>{_MONTH}) (?P<year>\d{{4}})",
    rf"(?P<name>{_MONTH}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}})",
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th) of (?P<name>{_MONTH}) (?P<year>\d{{4}})",
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
    r"(?P<year>\d{4})年(?P<month>\d{1,2})月(?P<day>\d{1,2})日",
)


def iso(src: Sequence[str]) -> Example | None:
    """Return a date and the same as year-month-day; None if it is not a day, or not written in one of `FORMATS`."""
    text = write(src)
    for pattern in _READ:
        if found := re.fullmatch(pattern, text):
            parts = found.groupdict()
            name = parts.get("name")
            month = 1 + [each[:3] for each in MONTHS].index(name[:3]) if name else int(parts["month"])
            date = Date(int(parts["year"]), month, int(parts["day"]))
            return next((each for each in _written(date) if each.src == tuple(src)), None) if _is_day(date) else None
    return None


def write(tokens: Sequence[str]) -> str:
    """Write the tokens of a date as one writes it: `March 5, 2021`."""
    # Between day and year there always stands something else, so digits side by side are of one number.
    close = r"(?<=\d) (?=\d)|(?<=\d) (?=[.,/年月日]|st|nd|rd|th)|(?<=[./年月]) (?=\d)"
    return re.sub(close, "", " ".join(tokens))


def words(text: str) -> list[str]:
    """Split a text into words, digits and signs; `5th` is two."""
    return _WORDS.findall(" ".join(unicodedata.normalize("NFKC", text).split()))


def spell(word: str) -> tuple[str, ...]:
    """Return the token that a typed word stands for: month names as they are written, whatever the case."""
    return (_KNOWN.get(word.lower(), word),)


def _is_day(date: Date) -> bool:
    if not (_FIRST_YEAR <= date.year <= _LAST_YEAR and 1 <= date.month <= 12):
        return False
    return 1 <= date.day <= calendar.monthrange(date.year, date.month)[1]


def _written(date: Date) -> Iterator[Example]:
    month, day = f"{date.month:02d}", f"{date.day:02d}"
    tgt: list[Marked] = _year(date)
    for part, number in (("month", month), ("day", day)):
        tgt += [("-", ("-",)), *((digit, (part,)) for digit in number)]
    for style in FORMATS:
        yield aligned(style(date), tgt)


def _pairs() -> Iterator[Example]:
    draw = random.Random(7).random
    for _ in range(_N_DRAWN):
        year = _FIRST_YEAR + int(draw() * (_LAST_YEAR - _FIRST_YEAR + 1))
        month = 1 + int(draw() * 12)
        date = Date(year, month, 1 + int(draw() * calendar.monthrange(year, month)[1]))
        yield list(_written(date))[int(draw() * len(FORMATS))]


DATES = Task(
    name="dates",
    src_language="tasks.languages.dates",
    tgt_language="tasks.languages.iso",
    examples=(
        "March 5, 2021",
        "17 October 1961",
        "2nd of August 2048",
        "29.2.2024",
        "2017/6/12",
        "2008年8月8日",
        "1 Jan 2000",
        "July 20, 1969",
    ),
    pairs=_pairs,
    reference=iso,
    words=words,
    spell=spell,
    detokenize=digits.unspaced,
    join=write,
)
