"""Masked words: find the words that are hidden, from those on both sides of them. Attention goes to what decides them.

Each sentence says when somebody does something to a thing of theirs: `yesterday the queen drank her tea`. What is
hidden follows from what is left: the form of the verb from time and subject, the verb from the thing, whose it is from
the subject. A sentence in which more than one word would do is not among the task's; a visitor may try it all the same.

Source: Devlin et al. 2019, BERT, section 3.1, task 1; there whatever is hidden may be open.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

from playground.tasks.example import Example
from playground.tasks.task import Task, without_specials
from playground.tasks.vocabulary import HIDDEN

_N_DRAWN = 16_000

# Who, and whose the thing is.
SUBJECTS = {
    "boy": "his",
    "king": "his",
    "father": "his",
    "uncle": "his",
    "man": "his",
    "girl": "her",
    "queen": "her",
    "mother": "her",
    "aunt": "her",
    "woman": "her",
    "boys": "their",
    "girls": "their",
    "kings": "their",
    "parents": "their",
    "children": "their",
}
# What is done, in its forms, and to what.
VERBS = {
    ("drink", "drinks", "drank", "drinking"): ("tea", "milk", "coffee"),
    ("eat", "eats", "ate", "eating"): ("bread", "soup", "lunch"),
    ("sing", "sings", "sang", "singing"): ("song", "songs"),
    ("write", "writes", "wrote", "writing"): ("letter", "letters"),
    ("wash", "washes", "washed", "washing"): ("hands", "face"),
    ("open", "opens", "opened", "opening"): ("door", "window"),
    ("ride", "rides", "rode", "riding"): ("bike", "horse"),
    ("feed", "feeds", "fed", "feeding"): ("cat", "dog"),
    ("wear", "wears", "wore", "wearing"): ("hat", "coat"),
    ("play", "plays", "played", "playing"): ("piano", "violin"),
}
TIMES = ("usually", "now", "yesterday", "tomorrow")
# What a subject may be besides.
ADJECTIVES = {
    "old": ("king", "uncle", "man", "queen", "aunt", "woman", "kings"),
    "young": ("man", "woman", "father", "mother", "king", "queen", "parents"),
    "little": ("boy", "girl", "boys", "girls", "children"),
}

# How a hidden word may be typed.
_TYPED = re.compile(r"⟨mask⟩|\[mask\]|<mask>|_+|\?+|…", re.IGNORECASE)
_WORDS = re.compile(r"⟨mask⟩|[^\W\d_]+|\d|[^\w\s]")


@cache
def sentences() -> tuple[tuple[str, ...], ...]:
    """Return every sentence that there is."""
    return tuple(
        _said(time, adjective, who, forms, thing)
        for time, who, (forms, things) in product(TIMES, SUBJECTS, VERBS.items())
        for adjective in ("", *(each for each, fits in ADJECTIVES.items() if who in fits))
        for thing in things
    )


def _said(time: str, adjective: str, who: str, forms: tuple[str, ...], thing: str) -> tuple[str, ...]:
    several = SUBJECTS[who] == "their"
    base, third, past, going_on = forms
    verb = {
        "usually": (base if several else third,),
        "now": ("are" if several else "is", going_on),
        "yesterday": (past,),
        "tomorrow": ("will", base),
    }[time]
    return (time, "the", *([adjective] if adjective else []), who, *verb, SUBJECTS[who], thing)


def found(src: Sequence[str]) -> Example | None:
    """Return a sentence with hidden words and the whole of it, if there is exactly one that fits.

    Each hidden word belongs to the words that are seen and that it follows from.
    """
    src = tuple(src)
    fitting = _fitting(src)
    if HIDDEN not in src or len(fitting) != 1:
        return None
    (tgt,) = fitting
    pairs = [
        (place, other)
        for place, word in enumerate(src)
        if word == HIDDEN
        for other in _deciding(tgt, place)
        if src[other] != HIDDEN
    ]
    return Example(src, tgt, tuple(sorted(pairs)))


def write(tokens: Sequence[str]) -> str:
    """Write words with blanks between them."""
    return " ".join(without_specials(tokens))


def words(text: str) -> list[str]:
    """Split a text into words; a hidden one may be typed as `_`, `?`, `[MASK]` or `⟨mask⟩`."""
    return _WORDS.findall(_TYPED.sub(f" {HIDDEN} ", unicodedata.normalize("NFKC", text)))


def spell(word: str) -> tuple[str, ...]:
    """Return the token that a typed word stands for: none for punctuation."""
    return () if word in ".,;:!\"'“”‘’()。,、" else (word.lower(),)


def _fitting(src: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the sentences that have the words of `src` at their places."""
    seen = [(place, word) for place, word in enumerate(src) if word != HIDDEN]
    if not seen:
        return []
    sets = [_having().get((len(src), place, word), frozenset()) for place, word in seen]
    return sorted(frozenset.intersection(*sets))


@cache
def _having() -> dict[tuple[int, int, str], frozenset[tuple[str, ...]]]:
    """Return the sentences of a length with a word at a place."""
    held: dict[tuple[int, int, str], set[tuple[str, ...]]] = {}
    for sentence in sentences():
        for place, word in enumerate(sentence):
            held.setdefault((len(sentence), place, word), set()).add(sentence)
    return {key: frozenset(value) for key, value in held.items()}


def _deciding(sentence: tuple[str, ...], place: int) -> tuple[int, ...]:
    """Return the places of the words that the one at `place` follows from."""
    last = len(sentence) - 1
    who = next(i for i, word in enumerate(sentence) if word in SUBJECTS)
    word = sentence[place]
    if place == 0:
        return tuple(range(who + 1, last - 1))  # the verb and what stands before it tell the time
    if word == "will":
        return (0,)
    if word in ("is", "are"):
        return (0, who)
    if place == last - 1:
        return (who,)
    if place == last - 2:
        # After "is" or "will" the number of the subject is said already.
        return (0, last) if who < place - 1 else (0, who, last)
    return ()


def _pairs() -> Iterator[Example]:
    draw = random.Random(12).random
    everything = sentences()
    for _ in range(_N_DRAWN):
        sentence = everything[int(draw() * len(everything))]
        places = [place for place in range(len(sentence)) if _deciding(sentence, place)]
        hidden = places[int(draw() * len(places))], places[int(draw() * len(places))]
        example = found([HIDDEN if place in hidden else word for place, word in enumerate(sentence)])
        if example is not None:
            yield example


MASKED = Task(
    name="masked",
    src_language="tasks.languages.hidden",
    tgt_language="tasks.languages.english",
    examples=(
        "yesterday the queen ⟨mask⟩ her tea",
        "tomorrow the old king will ⟨mask⟩ ⟨mask⟩ bike",
        "now the children ⟨mask⟩ singing their song",
        "⟨mask⟩ the girl washed her hands",
        "usually the little boys ⟨mask⟩ their dog",
        "now the woman is ⟨mask⟩ her letter",
        "yesterday the father ⟨mask⟩ ⟨mask⟩ coat",
        "⟨mask⟩ the parents ⟨mask⟩ eating their lunch",
    ),
    pairs=_pairs,
    reference=found,
    words=words,
    spell=spell,
    detokenize=write,
    architecture="encoder-only",
)
