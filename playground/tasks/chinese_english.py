"""Chinese to English: the same sentences the other way. Chinese, written without blanks, is parted by longest match."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from playground.tasks import english, english_chinese
from playground.tasks.english_chinese import ENGLISH_CHINESE, LEXICON
from playground.tasks.example import Example
from playground.tasks.task import Task, without_specials

_MARKS = frozenset(".,;:!?\"'“”‘’()…。、《》-")


def reference(src: Sequence[str]) -> Example | None:
    """Return the English of Chinese words; None if they are no sentence of the task."""
    return _by_chinese().get(tuple(src))


def segmented(text: str) -> list[str]:
    """Part a Chinese text into words: always the longest one that the task knows, from the left.

    What no word begins with is a word of its own, up to where one does.
    """
    words: list[str] = []
    for piece in unicodedata.normalize("NFKC", text).split():
        place = unknown = 0
        while place < len(piece):
            length = next((n for n in range(_longest(), 0, -1) if piece[place : place + n] in _known()), 0)
            if length and unknown < place:
                words.append(piece[unknown:place])
            place += length or 1
            if length:
                words.append(piece[place - length : place])
                unknown = place
        if unknown < place:
            words.append(piece[unknown:])
    return words


def spell(word: str) -> tuple[str, ...]:
    """Return the token that a word stands for: none for punctuation."""
    return () if set(word) <= _MARKS else (word,)


def detokenize(tokens: Sequence[str]) -> str:
    """Write English tokens with blanks."""
    return " ".join(without_specials(tokens))


@cache
def _by_chinese() -> dict[tuple[str, ...], Example]:
    """Return each sentence by its Chinese words."""
    found: dict[tuple[str, ...], Example] = {}
    for example in (*ENGLISH_CHINESE.heldout, *ENGLISH_CHINESE.train):
        if not _also_going_on(example):
            pairs = tuple(sorted((j, i) for i, j in example.alignment))
            found.setdefault(example.tgt, Example(example.tgt, example.src, pairs))
    return found


def _also_going_on(example: Example) -> bool:
    """Say whether its Chinese is also what is going on: 在厨房里吃 is "eats" and "is eating", and here the latter."""
    for clause in english.read(example.src, LEXICON):
        if clause.tense == "present" and not clause.predicate and english_chinese.translate(clause) == example:
            other = english_chinese.translate(replace(clause, tense="progressive"))
            return other is not None and other.tgt == example.tgt
    return False


@cache
def _known() -> frozenset[str]:
    return frozenset(word for example in (*ENGLISH_CHINESE.train, *ENGLISH_CHINESE.heldout) for word in example.tgt)


@cache
def _longest() -> int:
    return max(map(len, _known()))


def _pairs() -> Iterator[Example]:
    return iter(_by_chinese().values())


CHINESE_ENGLISH = Task(
    name="chinese-english",
    src_language="tasks.languages.chinese",
    tgt_language="tasks.languages.english",
    examples=(
        "两只小黑猫在花园里睡觉",
        "她昨天买了一条漂亮的红裙子",
        "学生在图书馆里看一本有趣的书",
        "他每天喝一杯茶",
        "小白狗喜欢在桌子下面睡觉",
        "这辆旧车不贵",
        "他们昨天没看那封信",
        "我的朋友想买两顶新帽子",
    ),
    pairs=_pairs,
    reference=reference,
    words=segmented,
    spell=spell,
    detokenize=detokenize,
    join="".join,
)
