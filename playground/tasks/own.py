"""A visitor's own data: pairs from a table, or a text that is learnt character by character.

Whatever comes is taken for a stranger's: it is bounded before it is read, what can't be seen is left out, what can't
be text is refused by a message that says where. Nothing in it is ever run or taken for markup; a cell that a
spreadsheet would take for a formula is text like any other (and is quoted where tables are written).
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from playground.tasks.example import Example
from playground.tasks.refusal import TextRefused
from playground.tasks.task import Task, without_specials
from playground.tasks.vocabulary import SPECIALS

Kind = Literal["pairs", "text"]
Unit = Literal["words", "characters"]

MAX_BYTES = 1_000_000  # of a file or of what is pasted
LEAST_PAIRS, MOST_PAIRS = 8, 5_000
MOST_TOKENS = 40  # of one side of a pair
MOST_WORD = 40  # characters of a word
LEAST_TEXT, MOST_TEXT = 200, 100_000  # characters
MOST_SYMBOLS = 800  # different tokens
CONTEXT = 32  # characters of a text that are read together
_BEGINNING = 8  # of them, that are given where the model is asked to go on
_STRIDES = 4, 16  # characters from one piece to the next, of those to learn from and of those held out
_HELD_OUT_ONE_IN = 12

BLANK, LINE_BREAK = "␠", "⏎"

# A first row that only says what the columns are.
_HEADINGS = frozenset({"source", "target", "src", "tgt", "input", "output", "原文", "译文", "输入", "输出"})
_CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_WORDS = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|\d|[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\w\s]|_")


class DataRefused(ValueError):
    """Data that nothing can be learnt from, or that is no data.

    Attributes:
        key: The words, such as `own_data.refused.empty`.
        values: What stands at their placeholders.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key, values)
        self.key = key
        self.values: Mapping[str, object] = values


@dataclass(frozen=True)
class Note:
    """What was done to data so that it could be read: a locale key and what stands at its placeholders."""

    key: str
    values: Mapping[str, object]


@dataclass(frozen=True)
class OwnData:
    """Data as it is kept with a run: canonical, so that it is the same task wherever it is opened.

    Attributes:
        kind: `pairs` or `text`.
        content: Of pairs a line each, tokens between blanks, source and target between a tab. Else the text itself.
        src_unit: What a token of the source is.
        tgt_unit: What one of the target is.

    Raises:
        DataRefused: If the content is not what `read_pairs` or `read_text` make, or is outside the limits.
    """

    kind: Kind
    content: str
    src_unit: Unit = "words"
    tgt_unit: Unit = "words"

    def __post_init__(self) -> None:
        if self.kind not in ("pairs", "text") or {self.src_unit, self.tgt_unit} - {"words", "characters"}:
            raise DataRefused("own_data.refused.field")
        if not isinstance(self.content, str) or len(self.content) > 2 * MAX_BYTES:
            raise DataRefused("own_data.refused.large", limit=MAX_BYTES)
        if self.kind == "text":
            if _visible(self.content)[0] != self.content:
                raise DataRefused("own_data.refused.field")
            _check_text(self.content)
        else:
            _check_pairs(self.pairs)

    @property
    def name(self) -> str:
        """What stands in a run for the name of a task."""
        return f"own-{self.kind}"

    @property
    def pairs(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Source and target of each line, as tokens.

        Raises:
            DataRefused: If a line is no pair.
        """
        found = []
        for number, line in enumerate(self.content.split("\n"), start=1):
            sides = tuple(tuple(side.split(" ")) for side in line.split("\t"))
            if len(sides) != 2:
                raise DataRefused("own_data.refused.columns", row=number, n=len(sides))
            found.append((sides[0], sides[1]))
        return tuple(found)

    def task(self) -> Task:
        """Return the task that this data makes: always the same one for the same data."""
        return _task(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` takes them back."""
        return {"kind": self.kind, "content": self.content, "src_unit": self.src_unit, "tgt_unit": self.tgt_unit}

    @classmethod
    def from_dict(cls, plain: object) -> OwnData:
        """Return the data that `to_dict` wrote.

        Raises:
            DataRefused: If it is not that.
        """
        if not isinstance(plain, dict) or plain.keys() != {"kind", "content", "src_unit", "tgt_unit"}:
            raise DataRefused("own_data.refused.field")
        if not all(isinstance(value, str) for value in plain.values()):
            raise DataRefused("own_data.refused.field")
        return _checked_once(**plain)


@lru_cache(maxsize=32)
def _checked_once(kind: Kind, content: str, src_unit: Unit, tgt_unit: Unit) -> OwnData:
    """Return data that has been checked; a run is opened far more often than it is made."""
    return OwnData(kind, content, src_unit, tgt_unit)


# The names that stand in a run for a task of a visitor's own data.
OWN: Mapping[str, Kind] = MappingProxyType({"own-pairs": "pairs", "own-text": "text"})


@dataclass(frozen=True)
class Read:
    """Data that was read from a file or from what was pasted.

    Attributes:
        data: What a run is made of.
        notes: What was done to it, for the reader.
    """

    data: OwnData
    notes: tuple[Note, ...]


def decoded(data: bytes) -> tuple[str, tuple[Note, ...]]:
    """Return a file's text, by the first encoding that it can be: UTF-8, marked UTF-16, GB 2312, Windows-1252.

    Raises:
        DataRefused: If it is too large or no text.
    """
    if len(data) > MAX_BYTES:
        raise DataRefused("own_data.refused.large", limit=MAX_BYTES)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif b"\x00" in data:
        raise DataRefused("own_data.refused.binary")
    else:
        # Two bytes above 0xA0 a character: letters with accents among others are never that.
        encodings = ["utf-8-sig", "gb2312", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text, () if encoding == "utf-8-sig" else (Note("own_data.note.encoding", {"encoding": encoding}),)
    raise DataRefused("own_data.refused.encoding")


def read_pairs(text: str) -> Read:
    """Return the pairs of a table with two columns, parted by commas, semicolons or tabs.

    Raises:
        DataRefused: If it is no such table, or outside the limits; says in which row.
    """
    text, notes = _checked(text)
    rows = _rows(text)
    if rows and {cell.strip().lower() for cell in rows[0][1]} <= _HEADINGS:
        notes.append(Note("own_data.note.heading", {"source": rows[0][1][0].strip(), "target": rows[0][1][-1].strip()}))
        rows = rows[1:]
    for number, row in rows:
        if len(row) != 2:
            raise DataRefused("own_data.refused.columns", row=number, n=len(row))
        if not row[0].strip() or not row[1].strip():
            raise DataRefused("own_data.refused.cell", row=number)
    if len(rows) > MOST_PAIRS:
        notes.append(Note("own_data.note.cut", {"n": len(rows), "kept": MOST_PAIRS}))
        rows = rows[:MOST_PAIRS]
    units = [_unit([row[side] for _, row in rows]) for side in (0, 1)]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    repeated = other = 0
    for number, row in rows:
        src, tgt = (tokens(cell, unit) for cell, unit in zip(row, units, strict=True))
        for side in (src, tgt):
            if len(side) > MOST_TOKENS:
                raise DataRefused("own_data.refused.long", row=number, n=len(side), limit=MOST_TOKENS)
            if long := next((token for token in side if len(token) > MOST_WORD), None):
                raise DataRefused("own_data.refused.word", row=number, word=f"{long[:MOST_WORD]}…", limit=MOST_WORD)
            if special := next((token for token in side if token in SPECIALS), None):
                raise DataRefused("own_data.refused.special", row=number, word=special)
        if src in found:
            repeated += found[src] == tgt
            other += found[src] != tgt
        found.setdefault(src, tgt)
    if repeated:
        notes.append(Note("own_data.note.repeated", {"n": repeated}))
    if other:
        notes.append(Note("own_data.note.other", {"n": other}))
    lines = "\n".join(f"{' '.join(src)}\t{' '.join(tgt)}" for src, tgt in found.items())
    _check_pairs(tuple(found.items()))
    return Read(OwnData("pairs", lines, *units), tuple(notes))


def read_text(text: str) -> Read:
    """Return a text to be learnt character by character.

    Raises:
        DataRefused: If it is too short, too long, or has too many different characters.
    """
    text, notes = _checked(text)
    text = re.sub(r"[^\S\n]+", " ", text).strip()
    text = re.sub(r" ?\n ?", "\n", re.sub(r"\n{3,}", "\n\n", text))
    _check_text(text)
    return Read(OwnData("text", text, "characters", "characters"), tuple(notes))


def tokens(text: str, unit: Unit) -> tuple[str, ...]:
    """Split a text: into its characters, blanks visible; or into words, digits, signs and Chinese characters."""
    text = " ".join(text.split())
    if unit == "characters":
        return tuple(BLANK if character == " " else character for character in text)
    return tuple(_WORDS.findall(text)) or tuple(text.split())


def written(found: Sequence[str], unit: Unit) -> str:
    """Write tokens as a text again."""
    if unit == "characters":
        return "".join({BLANK: " ", LINE_BREAK: "\n"}.get(token, token) for token in found)
    return " ".join(found)


def _checked(text: str) -> tuple[str, list[Note]]:
    """Return a text without what can't be seen, its line ends alike, and notes about that.

    Raises:
        DataRefused: If it is too large, empty, or has characters that no text has.
    """
    if len(text) > MAX_BYTES:
        raise DataRefused("own_data.refused.large", limit=MAX_BYTES)
    if "\x00" in text:
        raise DataRefused("own_data.refused.binary")
    visible, n = _visible(text)
    if not visible.strip():
        raise DataRefused("own_data.refused.empty")
    return visible, [Note("own_data.note.invisible", {"n": n})] if n else []


def _visible(text: str) -> tuple[str, int]:
    """Return a text without control, direction and other characters that can't be seen, and how many there were."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    kept = [each for each in text if each in "\n\t" or unicodedata.category(each)[0] != "C"]
    return "".join(kept).replace("\u2028", "\n").replace("\u2029", "\n"), len(text) - len(kept)


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, each with its number from 1."""
    comma = max(("\t", ";", ",", "，"), key=lambda sign: _pairs_by(sign, text[:10_000]))
    found = []
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=comma), start=1):
            while len(row) > 2 and not row[-1].strip():
                row.pop()
            if any(cell.strip() for cell in row):
                found.append((number, row))
            if number > 4 * MOST_PAIRS:
                break
    except csv.Error as error:
        raise DataRefused("own_data.refused.table") from error
    return found


def _pairs_by(sign: str, text: str) -> int:
    """Return how many rows have two columns if `sign` parts them."""
    try:
        return sum(len(row) == 2 for row in csv.reader(io.StringIO(text), delimiter=sign))
    except csv.Error:
        return 0


def _unit(cells: Sequence[str]) -> Unit:
    """Return what a token of a column is: words if some cell has several, or is Chinese; else characters."""
    return "words" if any(" " in cell.strip() or _CJK.search(cell) for cell in cells) else "characters"


def _check_pairs(pairs: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    if not LEAST_PAIRS <= len(pairs) <= MOST_PAIRS:
        key = "few" if len(pairs) < LEAST_PAIRS else "many"
        raise DataRefused(f"own_data.refused.{key}", n=len(pairs), least=LEAST_PAIRS, most=MOST_PAIRS)
    known: set[str] = set()
    for src, tgt in pairs:
        if max(len(src), len(tgt)) > MOST_TOKENS or any(
            not token
            or len(token) > MOST_WORD
            or token in SPECIALS
            or _visible(token)[0] != token
            or token.split() != [token]
            for token in (*src, *tgt)
        ):
            raise DataRefused("own_data.refused.field")
        known |= {*src, *tgt}
    if len({src for src, _ in pairs}) != len(pairs):
        raise DataRefused("own_data.refused.field")
    _check_symbols(len(known))


def _check_text(text: str) -> None:
    if not LEAST_TEXT <= len(text) <= MOST_TEXT:
        key = "short" if len(text) < LEAST_TEXT else "text_long"
        raise DataRefused(f"own_data.refused.{key}", n=len(text), least=LEAST_TEXT, most=MOST_TEXT)
    _check_symbols(len(set(text)))


def _check_symbols(n: int) -> None:
    if n > MOST_SYMBOLS:
        raise DataRefused("own_data.refused.symbols", n=n, limit=MOST_SYMBOLS)


@lru_cache(maxsize=16)
def _task(data: OwnData) -> Task:
    return _pairs_task(data) if data.kind == "pairs" else _text_task(data)


def _pairs_task(data: OwnData) -> Task:
    pairs = {src: Example(src, tgt, ()) for src, tgt in data.pairs}
    # At least one pair is held out; which ones, only the pairs themselves decide.
    by_chance = sorted(pairs, key=lambda src: hashlib.blake2b(" ".join(src).encode(), digest_size=8).digest())
    out = set(by_chance[: max(1, len(pairs) // _HELD_OUT_ONE_IN)])
    return Task(
        name=data.name,
        src_language="tasks.languages.own",
        tgt_language="tasks.languages.own",
        examples=tuple(written(src, data.src_unit) for src in by_chance[: min(8, len(out))]),
        pairs=lambda: iter(pairs.values()),
        reference=lambda src: pairs.get(tuple(src)),
        words=lambda text: list(tokens(text, data.src_unit)),
        spell=lambda word: (word,),
        detokenize=lambda found: written(without_specials(found), data.tgt_unit),
        join=lambda found: written(found, data.src_unit),
        split=lambda found: (
            tuple(each for each in found if each.src not in out),
            tuple(each for each in found if each.src in out),
        ),
    )


def _text_task(data: OwnData) -> Task:
    symbols = tuple({" ": BLANK, "\n": LINE_BREAK}.get(each, each) for each in data.content)
    # The end of the text is held out: pieces from among the others would share their characters.
    first_out = len(symbols) - max(2 * CONTEXT, len(symbols) // _HELD_OUT_ONE_IN)

    def pieces(first: int, last: int, stride: int) -> Iterable[Example]:
        for begin in range(first, last - CONTEXT + 1, stride):
            piece = symbols[begin : begin + CONTEXT]
            yield Example(piece[:_BEGINNING], piece[_BEGINNING:], ())

    train = tuple(dict.fromkeys(pieces(0, first_out, _STRIDES[0])))
    heldout = tuple(each for each in dict.fromkeys(pieces(first_out, len(symbols), _STRIDES[1])) if each not in train)
    heldout = heldout or train[-1:]  # a text that only repeats itself has nothing new
    learnt = train if len(train) == 1 else tuple(each for each in train if each not in heldout)
    return Task(
        name=data.name,
        src_language="tasks.languages.own",
        tgt_language="tasks.languages.own",
        examples=tuple(dict.fromkeys(written(each.src, "characters").strip() for each in heldout))[:8],
        pairs=lambda: (*learnt, *heldout),
        reference=lambda src: None,
        words=lambda text: list(tokens(text, "characters")),
        spell=lambda word: (word,),
        detokenize=lambda found: written(without_specials(found), "characters"),
        join=lambda found: written(found, "characters"),
        architecture="decoder-only",
        whole=True,
        ends=False,
        split=lambda found: (learnt, heldout),
    )


__all__ = [
    "CONTEXT",
    "MAX_BYTES",
    "OWN",
    "DataRefused",
    "Note",
    "OwnData",
    "Read",
    "TextRefused",
    "decoded",
    "read_pairs",
    "read_text",
    "tokens",
    "written",
]
