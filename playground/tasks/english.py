"""The English side of the translation tasks: clauses, their words, and the way back from words to a clause.

English is written by `clause_words` and read by `read`; the two languages put the same `Clause` into their own words.
Every word carries marks, the names of its places in the clause; words of two languages that share one are aligned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from playground.tasks.example import Marked

PLURAL_DETERMINERS = frozenset({"these", "those", "two", "three"})
SINGULAR_DETERMINERS = frozenset({"a", "this", "that"})
DETERMINERS = frozenset({"the", "my"}) | PLURAL_DETERMINERS | SINGULAR_DETERMINERS
ADVERBS = frozenset({"always", "never", "often"})
TIMES = ("every day", "yesterday")
PREPOSITIONS = frozenset({"in", "on", "under", "at"})
PRONOUNS = {"he": False, "she": False, "we": True, "they": True}

_PLURALS = {
    "child": "children",
    "fish": "fish",
    "man": "men",
    "mouse": "mice",
    "woman": "women",
}
# Third person, -ing and past, where they are not made by adding s, ing and ed.
_VERBS = {
    "buy": ("buys", "buying", "bought"),
    "chase": ("chases", "chasing", "chased"),
    "dance": ("dances", "dancing", "danced"),
    "drink": ("drinks", "drinking", "drank"),
    "eat": ("eats", "eating", "ate"),
    "have": ("has", "having", "had"),
    "like": ("likes", "liking", "liked"),
    "read": ("reads", "reading", "read"),
    "run": ("runs", "running", "ran"),
    "see": ("sees", "seeing", "saw"),
    "sing": ("sings", "singing", "sang"),
    "sleep": ("sleeps", "sleeping", "slept"),
    "swim": ("swims", "swimming", "swam"),
    "write": ("writes", "writing", "wrote"),
}
_CONTRACTIONS = {
    "doesn't": ("does", "not"),
    "don't": ("do", "not"),
    "didn't": ("did", "not"),
    "isn't": ("is", "not"),
    "aren't": ("are", "not"),
}
_AROUND = re.compile(r"^[\s.,;:!?\"'“”‘’«»()…。,、]+|[\s.,;:!?\"'“”‘’«»()…。,、]+$")


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what stands before it, or a pronoun.

    Attributes:
        noun: The noun in the singular, or `he`, `she`, `we`, `they`.
        determiner: `the`, `a`, `this`, …; empty for none.
        adjectives: The adjectives, in English order.
        plural: Whether it is more than one, or for what is measured out, more than one measure.
        measure: `cup`, for what is measured out: `a cup of tea`; empty for none.
    """

    noun: str
    determiner: str = "the"
    adjectives: tuple[str, ...] = ()
    plural: bool = False
    measure: str = ""


@dataclass(frozen=True)
class Clause:
    """What a sentence says, before it is put into words.

    Attributes:
        subject: Who does it.
        verb: What is done, in the base form; `be` where a property is said, which is `predicate`.
        object: What it is done to.
        predicate: The property, with `be`.
        very: Whether the property is strong.
        tense: `present`, `progressive` or `past`.
        negated: Whether it is denied.
        modal: `like` or `want`: `likes to`, `wants to`; empty for none.
        adverb: `often`, `always`, `never`; empty for none.
        preposition: Before the place.
        place: Where it is done.
        time: When: `every day`, `yesterday`; empty for none.
    """

    subject: NounPhrase
    verb: str
    object: NounPhrase | None = None
    predicate: str = ""
    very: bool = False
    tense: str = "present"
    negated: bool = False
    modal: str = ""
    adverb: str = ""
    preposition: str = "in"
    place: NounPhrase | None = None
    time: str = ""


@dataclass(frozen=True)
class Lexicon:
    """The words that a task knows, each in its base form.

    Attributes:
        nouns: The nouns, in the singular.
        adjectives: The adjectives.
        verbs: Each verb with its particle (`look` with `for`), empty for none.
    """

    nouns: frozenset[str]
    adjectives: frozenset[str]
    verbs: Mapping[str, str]


def plural(noun: str) -> str:
    """Return a noun in the plural."""
    if noun in _PLURALS:
        return _PLURALS[noun]
    return noun + "es" if noun.endswith(("s", "sh", "ch", "x")) else noun + "s"


@cache
def verb_forms(verb: str) -> tuple[str, str, str]:
    """Return a verb in the third person, with -ing, and in the past."""
    return _VERBS.get(verb) or (verb + "s", verb + "ing", verb + "ed")


@cache
def noun_phrase_words(phrase: NounPhrase, role: str) -> tuple[Marked, ...]:
    """Return a noun phrase in English; its marks begin with `role`: `object.noun`, `object.determiner`, …"""
    rest: list[Marked] = [(adjective, (f"{role}.{adjective}",)) for adjective in phrase.adjectives]
    counted = phrase.measure or phrase.noun
    if phrase.plural and phrase.noun not in PRONOUNS:
        counted = plural(counted)
    if phrase.measure:
        rest = [(counted, (f"{role}.measure",)), ("of", (f"{role}.measure",)), *rest, (phrase.noun, (f"{role}.noun",))]
    else:
        rest.append((counted, (f"{role}.noun",)))
    if not phrase.determiner:
        return tuple(rest)
    determiner = "an" if phrase.determiner == "a" and rest[0][0][0] in "aeiou" else phrase.determiner
    return ((determiner, (f"{role}.determiner",)), *rest)


def clause_words(clause: Clause, lexicon: Lexicon) -> list[Marked]:
    """Return a clause in English."""
    words = list(noun_phrase_words(clause.subject, "subject"))
    words += _verb_words(clause, lexicon.verbs.get(clause.verb, ""))
    if clause.object is not None:
        words += noun_phrase_words(clause.object, "object")
    if clause.place is not None:
        words.append((clause.preposition, ("preposition",)))
        words += noun_phrase_words(clause.place, "place")
    words += [(word, ("time",)) for word in clause.time.split()]
    return words


@cache
def _verb_group(
    verb: str, particle: str, many: bool, tense: str, negated: bool, modal: str, adverb: str, very: bool, predicate: str
) -> tuple[Marked, ...]:
    words: list[Marked] = []
    be = "are" if many else "is"
    denied: list[Marked] = [("not", ("negation",))] if negated else []
    often: list[Marked] = [(adverb, ("adverb",))] if adverb else []
    if verb == "be":
        strong: list[Marked] = [("very", ("very",))] if very else []
        return ((be, ("verb",)), *denied, *strong, (predicate, ("predicate",)))
    after: list[Marked] = [(particle, ("verb",))] if particle else []
    if tense == "progressive":
        return ((be, ("auxiliary",)), *denied, *often, (verb_forms(verb)[1], ("verb",)), *after)
    finite, mark = (modal, "modal") if modal else (verb, "verb")
    if negated:
        auxiliary = "did" if tense == "past" else "do" if many else "does"
        words += [(auxiliary, ("auxiliary",)), *denied, *often, (finite, (mark,))]
    else:
        third, _, past = verb_forms(finite)
        words += [*often, (past if tense == "past" else finite if many else third, (mark,))]
    if modal:
        words += [("to", ("modal",)), (verb, ("verb",))]
    return (*words, *after)


def _verb_words(clause: Clause, particle: str) -> tuple[Marked, ...]:
    return _verb_group(
        clause.verb,
        particle,
        clause.subject.plural,
        clause.tense,
        clause.negated,
        clause.modal,
        clause.adverb,
        clause.very,
        clause.predicate,
    )


def read(tokens: Sequence[str], lexicon: Lexicon) -> Iterator[Clause]:
    """Yield each clause that says `tokens`; nothing if they are no sentence of this English."""
    for clause in _Reader(tokens, lexicon).clauses():
        # The reader takes words as they come; the writer knows agreement and order.
        if [word for word, _ in clause_words(clause, lexicon)] == list(tokens):
            yield clause


class _Reader:
    """Takes a sentence apart from left to right."""

    def __init__(self, tokens: Sequence[str], lexicon: Lexicon) -> None:
        self.left = list(tokens)
        self.lexicon = lexicon
        self.nouns = {plural(noun): noun for noun in lexicon.nouns} | {noun: noun for noun in lexicon.nouns}

    def clauses(self) -> Iterator[Clause]:
        """Yield what the sentence may say, agreement unchecked."""
        subject = self._noun_phrase()
        if subject is None:
            return
        parts: dict[str, object] = {}
        auxiliary = self._take("is", "are", "does", "do", "did")
        parts["negated"] = bool(self._take("not"))
        verbs = self._after_be() if auxiliary in ("is", "are") else self._after_subject(past=auxiliary == "did")
        if not verbs:
            return
        parts["object"] = self._noun_phrase()
        if preposition := self._take(*PREPOSITIONS):
            parts |= {"preposition": preposition, "place": self._noun_phrase()}
        parts["time"] = " ".join(self.left)
        if parts["time"] not in ("", *TIMES):
            return
        for verb in verbs:
            yield Clause(subject, **{**parts, **verb})  # type: ignore[arg-type]

    def _take(self, *words: str) -> str:
        return self.left.pop(0) if self.left and self.left[0] in words else ""

    def _after_be(self) -> list[dict[str, object]]:
        for verb, particle in self.lexicon.verbs.items():
            if self._take(verb_forms(verb)[1]):
                self._take(particle)
                return [{"verb": verb, "tense": "progressive"}]
        very = bool(self._take("very"))
        predicate = self._take(*self.lexicon.adjectives)
        return [{"verb": "be", "very": very, "predicate": predicate}] if predicate else []

    def _after_subject(self, past: bool) -> list[dict[str, object]]:
        adverb = self._take(*ADVERBS)
        if not self.left:
            return []
        word = self.left.pop(0)
        modal = next((modal for modal in ("like", "want") if word in (modal, verb_forms(modal)[0])), "")
        if modal and self._take("to"):
            word = self.left.pop(0) if self.left else ""
        else:
            modal = ""
        found: list[dict[str, object]] = []
        for verb, particle in self.lexicon.verbs.items():
            third, _, preterite = verb_forms(verb)
            tenses = {"past" if past else "present"} if word in (verb, third) else set()
            if word == preterite and not past:
                tenses.add("past")
            if tenses and particle and not self._take(particle):
                continue
            found += [{"verb": verb, "tense": tense, "modal": modal, "adverb": adverb} for tense in sorted(tenses)]
        return found

    def _noun_phrase(self) -> NounPhrase | None:
        if pronoun := self._take(*PRONOUNS):
            return NounPhrase(pronoun, "", (), PRONOUNS[pronoun])
        before = list(self.left)
        determiner = self._take("an", *DETERMINERS)
        determiner = "a" if determiner == "an" else determiner
        measured = self._take("cup", "cups") if self.left[1:2] == ["of"] else ""
        if measured:
            self._take("of")
        adjectives = []
        while adjective := self._take(*self.lexicon.adjectives):
            adjectives.append(adjective)
        if word := self._take(*self.nouns):
            counted = measured or word
            many = determiner in PLURAL_DETERMINERS or (
                determiner not in SINGULAR_DETERMINERS and counted not in self.lexicon.nouns and counted != "cup"
            )
            return NounPhrase(self.nouns[word], determiner, tuple(adjectives), many, measured and "cup")
        self.left = before
        return None


def words(text: str) -> list[str]:
    """Split a text at its blanks, each word as it was typed."""
    return text.split()


def spell(word: str) -> tuple[str, ...]:
    """Return the tokens of a typed word: lower case, full-width letters made plain, no punctuation around it."""
    plain = _AROUND.sub("", unicodedata.normalize("NFKC", word).replace("’", "'")).lower()
    return _CONTRACTIONS.get(plain, (plain,)) if plain else ()
