"""English to French: adjectives move behind their nouns, and gender and number spread over the sentence.

The grammar is this project's own. Each sentence has one right translation; what French leaves open is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from playground.tasks import english
from playground.tasks.english import Clause, Lexicon, NounPhrase
from playground.tasks.example import Example, Marked, aligned
from playground.tasks.task import Task, without_specials

_VOWELS = "aeiouhéêœ"
_N_DRAWN = 9_000
_LONGEST = 12


@dataclass(frozen=True)
class Noun:
    """A French noun.

    Attributes:
        one: The singular.
        many: The plural; the same as the singular for what is not counted.
        feminine: Its gender.
    """

    one: str
    many: str
    feminine: bool = False


@dataclass(frozen=True)
class Adjective:
    """A French adjective.

    Attributes:
        forms: Masculine, feminine, masculine plural, feminine plural.
        before: Whether it stands before the noun.
        liaison: The masculine before a vowel: `un vieil homme`.
    """

    forms: tuple[str, str, str, str]
    before: bool = False
    liaison: str = ""


def _regular(masculine: str, feminine: str = "") -> tuple[str, str, str, str]:
    feminine = feminine or masculine + "e"
    return masculine, feminine, masculine + "s", feminine + "s"


NOUNS = {
    "apple": Noun("pomme", "pommes", feminine=True),
    "bird": Noun("oiseau", "oiseaux"),
    "book": Noun("livre", "livres"),
    "boy": Noun("garçon", "garçons"),
    "car": Noun("voiture", "voitures", feminine=True),
    "cat": Noun("chat", "chats"),
    "child": Noun("enfant", "enfants"),
    "dog": Noun("chien", "chiens"),
    "egg": Noun("œuf", "œufs"),
    "fish": Noun("poisson", "poissons"),
    "flower": Noun("fleur", "fleurs", feminine=True),
    "garden": Noun("jardin", "jardins"),
    "girl": Noun("fille", "filles", feminine=True),
    "horse": Noun("cheval", "chevaux"),
    "house": Noun("maison", "maisons", feminine=True),
    "kitchen": Noun("cuisine", "cuisines", feminine=True),
    "letter": Noun("lettre", "lettres", feminine=True),
    "man": Noun("homme", "hommes"),
    "milk": Noun("lait", "lait"),
    "newspaper": Noun("journal", "journaux"),
    "park": Noun("parc", "parcs"),
    "school": Noun("école", "écoles", feminine=True),
    "student": Noun("étudiant", "étudiants"),
    "teacher": Noun("professeur", "professeurs"),
    "water": Noun("eau", "eau", feminine=True),
    "woman": Noun("femme", "femmes", feminine=True),
}
ADJECTIVES = {
    "beautiful": Adjective(("beau", "belle", "beaux", "belles"), before=True, liaison="bel"),
    "big": Adjective(_regular("grand"), before=True),
    "black": Adjective(_regular("noir")),
    "old": Adjective(("vieux", "vieille", "vieux", "vieilles"), before=True, liaison="vieil"),
    "red": Adjective(_regular("rouge", "rouge")),
    "small": Adjective(_regular("petit"), before=True),
    "tired": Adjective(_regular("fatigué")),
    "white": Adjective(_regular("blanc", "blanche")),
    "young": Adjective(_regular("jeune", "jeune"), before=True),
}
# Third person, singular and plural.
VERBS = {
    "be": ("est", "sont"),
    "buy": ("achète", "achètent"),
    "chase": ("poursuit", "poursuivent"),
    "drink": ("boit", "boivent"),
    "eat": ("mange", "mangent"),
    "like": ("aime", "aiment"),
    "listen": ("écoute", "écoutent"),
    "look": ("cherche", "cherchent"),
    "read": ("lit", "lisent"),
    "see": ("voit", "voient"),
    "sing": ("chante", "chantent"),
    "sleep": ("dort", "dorment"),
}
# With "my" these are family: "ma femme" is my wife, "ma fille" my daughter.
_RELATED = frozenset({"boy", "girl", "man", "woman"})
# Where "does not … a" is plainly "ne … pas de".
_WITHOUT = frozenset({"buy", "eat", "read", "see"})
_ADVERBS = {"always": "toujours", "often": "souvent"}
# Masculine, feminine, plural.
_DETERMINERS = {
    "a": ("un", "une", ""),
    "my": ("mon", "ma", "mes"),
    "the": ("le", "la", "les"),
    "these": ("", "", "ces"),
    "this": ("ce", "cette", ""),
    "three": ("", "", "trois"),
    "two": ("", "", "deux"),
}
# What they become before a vowel: the first two are the elision, the others keep vowels apart.
_BEFORE_VOWEL = {"le": "l'", "la": "l'", "ce": "cet", "ma": "mon", "de": "d'", "ne": "n'"}

LEXICON = Lexicon(
    nouns=frozenset(NOUNS),
    adjectives=frozenset(ADJECTIVES),
    verbs={verb: {"listen": "to", "look": "for"}.get(verb, "") for verb in VERBS if verb != "be"},
)


def translate(clause: Clause) -> Example | None:
    """Return a clause in both languages with its alignment; None if this French has no one right way to say it."""
    if not _covered(clause):
        return None
    feminine, many = NOUNS[clause.subject.noun].feminine, clause.subject.plural
    tgt = list(_noun_phrase(clause.subject, "subject", False))
    verb: Marked = (VERBS[clause.verb][many], ("verb", "auxiliary"))
    denied = clause.negated or clause.adverb == "never"
    if denied:
        reason = "negation" if clause.negated else "adverb"
        tgt += [(_elided("ne", verb[0]), (reason,)), verb, ("pas" if clause.negated else "jamais", (reason,))]
    else:
        tgt.append(verb)
    if clause.adverb in _ADVERBS:
        tgt.append((_ADVERBS[clause.adverb], ("adverb",)))
    if clause.predicate:
        tgt.append((ADJECTIVES[clause.predicate].forms[feminine + 2 * many], ("predicate",)))
    if clause.object is not None:
        tgt += _noun_phrase(clause.object, "object", denied)
    if clause.place is not None:
        tgt += [("dans", ("preposition",)), *_noun_phrase(clause.place, "place", False)]
    return aligned(english.clause_words(clause, LEXICON), tgt)


def reference(src: Sequence[str]) -> Example | None:
    """Return the grammar's own translation of English tokens; None if they are no sentence of this English."""
    for clause in english.read(src, LEXICON):
        if example := translate(clause):
            return example
    return None


def detokenize(tokens: Sequence[str]) -> str:
    """Write French tokens as one writes them: a word that ends in an apostrophe joins the next."""
    return " ".join(without_specials(tokens)).replace("' ", "'")


def _covered(clause: Clause) -> bool:
    thing = clause.object
    if thing is not None and thing.determiner in ("a", "two", "three"):
        # "Aime" wants "les", and few verbs leave a plain "pas de".
        plain = clause.negated and not clause.adverb and thing.determiner == "a" and clause.verb in _WITHOUT
        if clause.verb == "like" or ((clause.negated or clause.adverb == "never") and not plain):
            return False
    phrases = [phrase for phrase in (clause.subject, clause.object, clause.place) if phrase is not None]
    return (
        clause.tense == "present"
        and not (clause.modal or clause.time or clause.very)
        and clause.preposition == "in"
        and not any(phrase.determiner == "my" and phrase.noun in _RELATED for phrase in phrases)
        and all(phrase.determiner in _DETERMINERS and phrase.noun in NOUNS for phrase in phrases)
        # One adjective on each side of the noun at most: two on one side need an "et".
        and all(len({ADJECTIVES[a].before for a in phrase.adjectives}) == len(phrase.adjectives) for phrase in phrases)
    )


def _elided(word: str, following: str) -> str:
    return _BEFORE_VOWEL[word] if word in _BEFORE_VOWEL and following[0] in _VOWELS else word


@cache
def _noun_phrase(phrase: NounPhrase, role: str, denied: bool) -> tuple[Marked, ...]:
    """Return a noun phrase in French; after a negation `a` is `de`: `il ne mange pas de pomme`."""
    noun = NOUNS[phrase.noun]
    shown = noun.many if phrase.plural else noun.one
    before: list[Marked] = []
    after: list[Marked] = []
    for name in phrase.adjectives:
        adjective = ADJECTIVES[name]
        form = adjective.forms[noun.feminine + 2 * phrase.plural]
        if adjective.liaison and not (noun.feminine or phrase.plural) and shown[0] in _VOWELS:
            form = adjective.liaison
        (before if adjective.before else after).append((form, (f"{role}.{name}",)))
    rest: list[Marked] = [*before, (shown, (f"{role}.noun",)), *after]
    determiner = _DETERMINERS[phrase.determiner][2 if phrase.plural else noun.feminine]
    if denied and phrase.determiner == "a":
        determiner = "de"
    return ((_elided(determiner, rest[0][0]), (f"{role}.determiner",)), *rest)


# What goes together, so that every sentence makes sense.
_CHILDREN = ("boy", "child", "girl")
_PEOPLE = (*_CHILDREN, "man", "student", "teacher", "woman")
_ANIMALS = ("bird", "cat", "dog", "horse")
_OUTSIDE = ("bird", "horse")
_DRINKS = ("milk", "water")
_PRINTED = ("book", "letter", "newspaper")
_PLACES = ("garden", "house", "kitchen", "park", "school")
_UNCOUNTED = frozenset({"fish", *_DRINKS})
_DESCRIBED = {
    **dict.fromkeys(_ANIMALS, ("small", "old", "young", "beautiful", "black", "white")),
    **dict.fromkeys(_PEOPLE, ("young", "old", "tired")),
    **dict.fromkeys(_CHILDREN, ("small", "beautiful", "tired")),
    "apple": ("small", "beautiful", "red"),
    "book": ("small", "old", "beautiful", "red", "black"),
    "car": ("small", "big", "old", "beautiful", "black", "black", "red", "white"),
    "dog": ("small", "big", "old", "young", "beautiful", "black", "white"),
    "egg": ("small", "white"),
    "fish": ("small", "beautiful", "red", "black", "white"),
    "flower": ("small", "big", "beautiful", "red", "white"),
    "horse": ("small", "big", "old", "young", "beautiful", "black", "white"),
    "house": ("small", "big", "old", "beautiful", "white"),
    "letter": ("old", "beautiful"),
    "man": ("old", "tired"),
    "newspaper": ("old", "small"),
    "student": ("old", "tired"),
    "woman": ("young", "old", "beautiful", "tired"),
}
# "The young man is old": not on a slide.
_EXCLUSIVE = (("big", "small"), ("old", "young"), ("black", "red", "white"))


@dataclass(frozen=True)
class _Use:
    """Who does what to whom, and where."""

    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    adverbs: bool = True


# A noun that stands here twice is drawn twice as often: rare words would take long to learn.
_USES = (
    (
        "buy",
        _Use(_PEOPLE, ("apple", "egg", "egg", *_DRINKS, *_PRINTED, "letter", "flower", "car", "car", "house")),
    ),
    ("chase", _Use(("cat", "dog"), ("bird", "cat"), ("garden", "house", "kitchen", "park"))),
    ("drink", _Use((*_PEOPLE, "cat", "dog"), _DRINKS, ("garden", "kitchen"))),
    ("drink", _Use(_OUTSIDE, ("water",), ("garden", "park"))),
    ("eat", _Use(_PEOPLE, ("apple", "apple", "egg", "egg", "fish"), ("garden", "kitchen", "park", "school"))),
    ("eat", _Use(("cat", "dog"), ("egg", "fish"), ("garden", "kitchen"))),
    ("eat", _Use(_OUTSIDE, ("apple",), ("garden", "park"))),
    (
        "like",
        _Use(_PEOPLE, (*_CHILDREN, *_ANIMALS, "woman", "apple", "letter", *["car", "flower", "house"] * 2), (), False),
    ),
    ("listen", _Use(_PEOPLE, ("child", "girl", "man", "student", "woman", "bird"), ("garden", "park", "school"))),
    ("look", _Use(_PEOPLE, (*_PEOPLE, "cat", "dog", *_PRINTED, "letter"), ("garden", "house", "school"), False)),
    ("read", _Use(_PEOPLE, (*_PRINTED, "letter"), _PLACES)),
    (
        "see",
        _Use(
            (*_PEOPLE, "cat", "dog"),
            ("child", "girl", "man", "student", *_ANIMALS, "bird", *["flower"] * 4),
            ("garden", "park"),
            False,
        ),
    ),
    ("see", _Use(_PEOPLE + _ANIMALS, ("car", "house"), (), False)),
    ("sing", _Use((*_PEOPLE, "bird"), (), ("garden", "house", "park", "school"))),
    ("sleep", _Use((*_PEOPLE, "cat", "dog"), (), ("garden", "house", "kitchen", "park"))),
)
_TALKED_ABOUT = (
    *_PEOPLE,
    *_ANIMALS,
    "book",
    "egg",
    *["apple", "car", "car", "flower", "house", "letter", "girl", "woman"] * 2,
)
_SUBJECT_DETERMINERS = ("the", "the", "the", "the", "a", "this", "this", "these", "my", "two", "three")
_OBJECT_DETERMINERS = ("the", "the", "the", "a", "a", "a", "this", "this", "these", "my", "two", "three")
_DEFINITE = ("the", "the", "the", "this", "these", "my")
# One or many does not show in these, or one says them of what cannot be counted only.
_UNCOUNTED_DETERMINERS = ("the", "the", "this", "my")


class _Drawer:
    """Draws sensible clauses; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        # random() alone keeps its sequence from one Python to the next.
        self._random = random.Random(seed).random

    def clause(self) -> Clause:
        """Draw one clause."""
        if self._chance(0.2):
            return self._property()
        verb, use = _USES[int(self._random() * len(_USES))]
        subject = self._phrase(self._one_of(use.subjects), _SUBJECT_DETERMINERS)
        negated = self._chance(0.35)
        adverb = self._one_of(("always", "often", "never")) if use.adverbs and self._chance(0.3) else ""
        if adverb == "never":
            negated = False
        others = tuple(noun for noun in use.objects if noun != subject.noun)
        determiners: tuple[str, ...] = _OBJECT_DETERMINERS
        if negated and verb in _WITHOUT and not adverb:
            determiners = ("a", "a", "a", "a", "the", "the", "this", "these", "my")
        elif verb == "like" or negated or adverb == "never":
            determiners = ("the", "the", "the", "this", "these", "my")
        thing = self._phrase(self._one_of(others), determiners) if others else None
        place = None
        if use.places and self._chance(0.5 if others else 0.8):
            places = tuple(noun for noun in use.places if thing is None or noun != thing.noun)
            place = self._phrase(self._one_of(places), ("the",), described=0.0)
        return Clause(subject, verb, thing, negated=negated, adverb=adverb, place=place)

    def _property(self) -> Clause:
        noun = self._one_of(_TALKED_ABOUT)
        said = self._one_of(_DESCRIBED[noun])
        subject = self._phrase(noun, _DEFINITE, unsaid=said)
        return Clause(subject, "be", predicate=said, negated=self._chance(0.3))

    def _phrase(self, noun: str, determiners: tuple[str, ...], described: float = 0.6, unsaid: str = "") -> NounPhrase:
        counted = noun not in _UNCOUNTED
        if noun in _RELATED:
            determiners = tuple(word for word in determiners if word != "my")
        determiner = self._one_of(determiners if counted else _UNCOUNTED_DETERMINERS)
        many = counted and (
            determiner in english.PLURAL_DETERMINERS
            or (determiner in ("the", "my") and noun not in _PLACES and self._chance(0.35))
        )
        adjectives: tuple[str, ...] = ()
        if self._chance(described):
            against = next((kind for kind in _EXCLUSIVE if unsaid in kind), (unsaid,))
            known = tuple(word for word in _DESCRIBED.get(noun, ()) if word not in against)
            before = tuple(word for word in known if ADJECTIVES[word].before)
            after = tuple(word for word in known if not ADJECTIVES[word].before)
            kind = self._one_of(("before", "before", "before", "after", "after", "both"))
            if before and (kind != "after" or not after):
                adjectives += (self._one_of(before),)
            if after and (kind != "before" or not before):
                adjectives += (self._one_of(after),)
        return NounPhrase(noun, determiner, adjectives, many)

    def _chance(self, p: float) -> bool:
        return self._random() < p

    def _one_of(self, choices: Sequence[str]) -> str:
        return choices[int(self._random() * len(choices))]


def _pairs() -> Iterator[Example]:
    drawer = _Drawer(seed=1)
    for _ in range(_N_DRAWN):
        example = translate(drawer.clause())
        if example is not None and len(example.tgt) <= _LONGEST:
            yield example


ENGLISH_FRENCH = Task(
    name="english-french",
    src_language="tasks.languages.english",
    tgt_language="tasks.languages.french",
    examples=(
        "the black cat does not eat the fish",
        "the student reads an old book in the garden",
        "these small girls are not tired",
        "the old man never listens to the birds",
        "my beautiful flowers are red",
        "two young girls look for the black dog",
        "the child does not eat an apple",
        "this teacher often buys an old newspaper",
    ),
    pairs=_pairs,
    reference=reference,
    words=english.words,
    spell=english.spell,
    detokenize=detokenize,
)
