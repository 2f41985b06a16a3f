"""The English side of the translation tasks: clauses, their words, and the way back from words to a clause.

English is written by `clause_words` and read by `read`; the two languages put the same `Clause` into their own words.
Every word carries marks, the names of its places in the clause; words of two languages that share one are aligned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
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
        plural: Whether it is more than one.
    """

    noun: str
    determiner: str = "the"
    adjectives: tuple[str, ...] = ()
    plural: bool = False


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
    verbs: tuple[tuple[str, str], ...]


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
    noun = plural(phrase.noun) if phrase.plural and phrase.noun not in PRONOUNS else phrase.noun
    rest = [*phrase.adjectives, noun]
    words: list[Marked] = []
    if phrase.determiner:
        first = "an" if phrase.determiner == "a" and rest[0][0] in "aeiou" else phrase.determiner
        words.append((first, (f"{role}.determiner",)))
    words += [(adjective, (f"{role}.{adjective}",)) for adjective in phrase.adjectives]
    return (*words, (noun, (f"{role}.noun",)))


def clause_words(clause: Clause, lexicon: Lexicon) -> list[Marked]:
    """Return a clause in English."""
    words = list(noun_phrase_words(clause.subject, "subject"))
    words += _verb_words(clause, dict(lexicon.verbs).get(clause.verb, ""))
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
        self.nouns = {noun: (noun, False) for noun in lexicon.nouns}
        self.plurals = {plural(noun): (noun, True) for noun in lexicon.nouns}

    def clauses(self) -> Iterator[Clause]:
        """Yield what the sentence may say, agreement unchecked."""
        subject = self._noun_phrase()
        if subject is None:
            return
        parts: dict[str, object] = {}
        auxiliary = self._take("is", "are", "does", "do", "did")
        parts["negated"] = bool(self._take("not"))
        if auxiliary in ("is", "are"):
            verbs = self._after_be()
        else:
            verbs = self._after_subject(past=auxiliary == "did")
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
        for verb, particle in self.lexicon.verbs:
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
        for verb, particle in self.lexicon.verbs:
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
        determiner = self._take("an", *DETERMINERS).replace("an", "a")
        adjectives = []
        while adjective := self._take(*self.lexicon.adjectives):
            adjectives.append(adjective)
        if noun := self._take(*self.nouns, *self.plurals):
            many = determiner in PLURAL_DETERMINERS or (
                determiner not in SINGULAR_DETERMINERS and noun not in self.nouns
            )
            return NounPhrase((self.plurals if many else self.nouns).get(noun, ("", False))[0] or noun, determiner,
                              tuple(adjectives), many)
        self.left = before
        return None


def words(text: str) -> list[str]:
    """Split a text at its blanks, each word as it was typed."""
    return text.split()


def spell(word: str) -> tuple[str, ...]:
    """Return the tokens of a typed word: lower case, full-width letters made plain, no punctuation around it."""
    plain = _AROUND.sub("", unicodedata.normalize("NFKC", word).replace("’", "'")).lower()
    return _CONTRACTIONS.get(plain, (plain,)) if plain else ()
