"""English to Chinese: the noun chooses its measure word, time and place move before the verb, articles go.

The grammar is this project's own. Each sentence has one right translation; what Chinese leaves open, or would say in
another way, is left out: `translate` gives None for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from playground.tasks import english
from playground.tasks.english import PRONOUNS, Clause, Lexicon, NounPhrase
from playground.tasks.example import Example, Marked, aligned
from playground.tasks.task import Task, without_specials

_N_DRAWN = 12_000
_LONGEST = 12

# Each noun with its measure word; empty for what is not counted but measured out in cups.
NOUNS = {
    "apple": ("苹果", "个"),
    "bird": ("鸟", "只"),
    "book": ("书", "本"),
    "boy": ("男孩", "个"),
    "cake": ("蛋糕", "个"),
    "car": ("车", "辆"),
    "cat": ("猫", "只"),
    "chair": ("椅子", "把"),
    "child": ("孩子", "个"),
    "coffee": ("咖啡", ""),
    "doctor": ("医生", "位"),
    "dog": ("狗", "只"),
    "dress": ("裙子", "条"),
    "egg": ("鸡蛋", "个"),
    "fish": ("鱼", "条"),
    "flower": ("花", "朵"),
    "friend": ("朋友", "个"),
    "garden": ("花园", "个"),
    "girl": ("女孩", "个"),
    "hat": ("帽子", "顶"),
    "home": ("家", ""),
    "horse": ("马", "匹"),
    "kitchen": ("厨房", "个"),
    "letter": ("信", "封"),
    "library": ("图书馆", "个"),
    "park": ("公园", "个"),
    "school": ("学校", "所"),
    "shop": ("商店", "家"),
    "student": ("学生", "个"),
    "table": ("桌子", "张"),
    "tea": ("茶", ""),
    "teacher": ("老师", "位"),
    "tree": ("树", "棵"),
    "umbrella": ("雨伞", "把"),
    "water": ("水", ""),
}
_PRONOUNS = {"he": "他", "she": "她", "they": "他们", "we": "我们"}
# "old" is 老 of what lives and 旧 of what is used.
ADJECTIVES = {
    "beautiful": "漂亮",
    "big": "大",
    "black": "黑",
    "clever": "聪明",
    "cute": "可爱",
    "expensive": "贵",
    "good": "好",
    "interesting": "有趣",
    "new": "新",
    "old": "旧",
    "red": "红",
    "small": "小",
    "white": "白",
    "young": "年轻",
}
VERBS = {
    "buy": "买",
    "dance": "跳舞",
    "drink": "喝",
    "eat": "吃",
    "have": "有",
    "like": "喜欢",
    "read": "看",
    "run": "跑步",
    "sing": "唱歌",
    "sleep": "睡觉",
    "work": "工作",
    "write": "写",
}
_MODALS = {"like": "喜欢", "want": "想"}
_TIMES = {"every day": "每天", "yesterday": "昨天"}
_DETERMINERS = {
    "a": "一",
    "my": "我的",
    "that": "那",
    "these": "这些",
    "this": "这",
    "those": "那些",
    "three": "三",
    "two": "两",
}
# Where one can be: the preposition and the noun, and what Chinese puts behind it.
_PLACES = {
    ("at", "home"): "",
    ("at", "school"): "",
    ("in", "garden"): "里",
    ("in", "kitchen"): "里",
    ("in", "library"): "里",
    ("in", "park"): "里",
    ("in", "shop"): "里",
    ("on", "chair"): "上",
    ("under", "table"): "下面",
    ("under", "tree"): "下面",
}

_CHILDREN = ("boy", "child", "girl")
_PEOPLE = (*_CHILDREN, "doctor", "friend", "student", "teacher")
_ANIMALS = ("bird", "cat", "dog", "fish", "horse")
_DRINKS = ("coffee", "tea", "water")
_UNCOUNTED = frozenset({*_DRINKS, "home"})
_POINTING = frozenset({"this", "that", "these", "those"})
_COUNTING = frozenset({"a", "two", "three"})

LEXICON = Lexicon(
    nouns=frozenset(NOUNS),
    adjectives=frozenset(ADJECTIVES),
    verbs=dict.fromkeys(VERBS, ""),
)


def translate(clause: Clause) -> Example | None:
    """Return a clause in both languages with its alignment; None if this Chinese has no one right way to say it."""
    if not _covered(clause):
        return None
    tgt = list(_noun_phrase(clause.subject, "subject"))
    if clause.predicate:
        degree: Marked = ("不", ("negation",)) if clause.negated else ("很", ("very",))
        tgt += [degree, (_adjective(clause.predicate, clause.subject.noun), ("predicate",))]
        return aligned(english.clause_words(clause, LEXICON), tgt)
    if clause.time:
        tgt.append((_TIMES[clause.time], ("time",)))
    if clause.adverb:
        tgt.append(("常常", ("adverb",)))
    has_not = clause.negated and clause.verb == "have"
    if has_not:
        tgt.append(("没有", ("negation", "auxiliary", "verb")))
    elif clause.negated:
        tgt.append(("没" if clause.tense == "past" else "不", ("negation", "auxiliary")))
    if clause.modal:
        tgt.append((_MODALS[clause.modal], ("modal",)))
    if clause.place is not None:
        # One 在 says both where and that it is going on.
        going_on = ("auxiliary",) if clause.tense == "progressive" else ()
        tgt += [("在", ("preposition", *going_on)), *_noun_phrase(clause.place, "place")]
        if side := _PLACES[clause.preposition, clause.place.noun]:
            tgt.append((side, ("preposition",)))
    elif clause.tense == "progressive":
        tgt.append(("在", ("auxiliary",)))
    if not has_not:
        tgt.append((VERBS[clause.verb], ("verb",)))
    if clause.tense == "past" and not clause.negated:
        tgt.append(("了", ("verb",)))
    if clause.object is not None:
        thing = clause.object
        if has_not:
            thing = NounPhrase(thing.noun, "", thing.adjectives, thing.plural)
        tgt += _noun_phrase(thing, "object")
    return aligned(english.clause_words(clause, LEXICON), tgt)


def reference(src: Sequence[str]) -> Example | None:
    """Return the grammar's own translation of English tokens; None if they are no sentence of this English."""
    for clause in english.read(src, LEXICON):
        if example := translate(clause):
            return example
    return None


def detokenize(tokens: Sequence[str]) -> str:
    """Write Chinese tokens as one writes them: without blanks."""
    return "".join(without_specials(tokens))


def _adjective(name: str, noun: str) -> str:
    return "老" if name == "old" and noun in (*_PEOPLE, *_ANIMALS, *PRONOUNS) else ADJECTIVES[name]


@cache
def _noun_phrase(phrase: NounPhrase, role: str) -> tuple[Marked, ...]:
    """Return a noun phrase in Chinese: number or pronoun, measure word, adjectives, noun."""
    if phrase.noun in PRONOUNS:
        return ((_PRONOUNS[phrase.noun], (f"{role}.noun",)),)
    noun, measure = NOUNS[phrase.noun]
    words: list[Marked] = []
    if phrase.determiner in _DETERMINERS:
        words.append((_DETERMINERS[phrase.determiner], (f"{role}.determiner",)))
    if phrase.determiner in ("a", "two", "three", "this", "that"):
        # The noun decides which measure word, unless English too measures in cups.
        words.append(("杯", (f"{role}.measure",)) if phrase.measure else (measure, (f"{role}.noun",)))
    for name in phrase.adjectives:
        adjective = _adjective(name, phrase.noun)
        words.append((adjective, (f"{role}.{name}",)))
        if len(adjective) > 1:
            words.append(("的", (f"{role}.{name}",)))
    return (*words, (noun, (f"{role}.noun",)))


def _covered(clause: Clause) -> bool:
    subject, thing = clause.subject, clause.object
    if not (_is_good(subject) and (subject.determiner or subject.noun in PRONOUNS)):
        return False
    if thing is not None and not (_is_good(thing) and thing.determiner != "the" and thing.noun not in PRONOUNS):
        return False
    if clause.place is not None:
        place = clause.place
        article = "" if clause.preposition == "at" else "the"
        if (clause.preposition, place.noun) not in _PLACES or place.adjectives or place.plural:
            return False
        # "Eats the fish under the table": the fish may be there, not the eater.
        if place.determiner != article or (thing is not None and clause.preposition in ("on", "under")):
            return False
    definite = subject.determiner not in _COUNTING
    if clause.verb == "be":
        said = ADJECTIVES[clause.predicate]
        # "Not interesting" is 没意思, "old" is said in several ways, "the student is clever" is all students.
        wrong = (clause.negated and said == "有趣") or said in ("好", "旧")
        return (
            definite
            and subject.determiner != "the"
            and clause.negated != clause.very
            and not wrong
            and thing is None
            and clause.place is None
            and not clause.time
        )
    return (definite or not clause.negated) and _is_said_so(clause, definite)


def _is_said_so(clause: Clause, definite: bool) -> bool:
    """Say whether tense, negation, object and time are ones for which Chinese has one plain way."""
    thing, time = clause.object, clause.time
    transitive = clause.verb in ("buy", "drink", "eat", "have", "like", "read", "write")
    if transitive != (thing is not None) or clause.adverb not in ("", "often") or clause.very:
        return False
    generic = thing is None or thing.determiner == ""
    pointed = thing is not None and thing.determiner in _POINTING
    counted = thing is not None and thing.determiner in _COUNTING
    if clause.verb in ("have", "like") or clause.modal:
        if clause.tense != "present" or time or clause.adverb or not definite:
            return False
        if clause.modal == "like":
            return generic and clause.verb not in ("have", "like")
        if clause.modal == "want":
            return clause.verb not in ("have", "like") and (generic or pointed or (counted and not clause.negated))
        if clause.place is not None:
            return False
        if clause.verb == "have":
            return counted and (not clause.negated or (thing is not None and thing.determiner == "a"))
        return (
            pointed
            or (thing is not None and generic and thing.plural)
            or (thing is not None and thing.determiner == "my")
        )
    if clause.tense == "progressive":
        return not (clause.negated or time or clause.adverb)
    if clause.tense == "past":
        if time == "every day" or clause.adverb:
            return False
        if clause.negated:
            # 没工作 also says "has no work".
            return clause.place is None and (generic or pointed) and clause.verb != "work"
        return pointed or counted
    if not definite or time == "yesterday":
        return False
    if clause.negated:
        return (
            generic
            and clause.verb != "buy"
            and not (time or clause.adverb)
            and (thing is not None or clause.place is not None)
        )
    if time or clause.adverb:
        return not (time and clause.adverb) and (generic or (counted and time != ""))
    # "They read books" may be past as well.
    unclear = clause.verb == "read" and clause.subject.plural
    return generic and not unclear and clause.verb in ("eat", "drink", "read")


def _is_good(phrase: NounPhrase) -> bool:
    """Say whether a noun phrase has one plain way in Chinese."""
    if phrase.noun in PRONOUNS:
        return True
    uncounted = phrase.noun in _UNCOUNTED
    if phrase.measure:
        if not uncounted or phrase.determiner not in (*_COUNTING, "this", "that"):
            return False
    elif uncounted and (phrase.determiner or phrase.plural):
        return False
    # Bare nouns do not show number: "the cats" would be "the cat". Only kinds may: "likes cats".
    if phrase.determiner in ("the", "my") and phrase.plural:
        return False
    if phrase.determiner == "" and not phrase.plural and not uncounted and phrase.noun != "fish":
        return False
    said = [_adjective(name, phrase.noun) for name in phrase.adjectives]
    # 我的 and a second 的 jar; 老老师 nobody says; 贵 wants 很 or a 的 of its own.
    return not (
        (phrase.determiner == "my" and any(len(word) > 1 for word in said))
        or ("老" in said and phrase.noun in ("teacher", "student", *_CHILDREN))
        or "贵" in said
    )


_SMALL = (("small", "black"), ("small", "white"))
# What goes together, so that every sentence makes sense.
_DESCRIBED: dict[str, tuple[tuple[str, ...], ...]] = {
    "apple": (("big",), ("small",), ("red",)),
    "bird": (("small",), ("white",), ("black",), ("beautiful",)),
    "book": (("new",), ("old",), ("good",), ("interesting",)),
    "boy": (("small",), ("clever",), ("cute",)),
    "cake": (("big",), ("small",)),
    "car": (("new",), ("old",), ("old",), ("beautiful",)),
    "cat": (("small",), ("big",), ("black",), ("white",), ("old",), ("cute",), *_SMALL, *_SMALL),
    "child": (("clever",), ("cute",)),
    "doctor": (("old",), ("new",), ("good",), ("young",)),
    "dog": (("small",), ("big",), ("black",), ("white",), ("old",), ("clever",), *_SMALL, *_SMALL),
    "dress": (
        ("new",),
        ("old",),
        ("old",),
        ("red",),
        ("white",),
        ("black",),
        ("beautiful",),
        *[("beautiful", "red")] * 2,
    ),
    "egg": (("big",), ("small",)),
    "fish": (("big",), ("small",)),
    "flower": (("red",), ("white",), ("beautiful",)),
    "friend": (("new",), ("old",), ("good",)),
    "girl": (("small",), ("clever",), ("beautiful",), ("young",)),
    "hat": (
        ("new",),
        ("old",),
        ("red",),
        ("white",),
        ("black",),
        ("big",),
        ("beautiful",),
        *[("beautiful", "red")] * 2,
    ),
    "horse": (("small",), ("white",), ("black",), ("old",), ("beautiful",)),
    "student": (("new",), ("good",), ("clever",), ("young",)),
    "teacher": (("new",), ("good",), ("young",)),
    "umbrella": (("new",), ("old",), ("old",), ("red",), ("black",), ("big",), ("small",)),
}
_SAID = {
    "bird": ("small", "beautiful", "cute"),
    "book": ("new", "expensive", "interesting", "interesting"),
    "boy": ("clever", "cute"),
    "cake": ("big", "small", "expensive"),
    "car": ("new", "expensive", "beautiful"),
    "cat": ("big", "small", "cute", "clever"),
    "child": ("clever", "cute"),
    "doctor": ("young",),
    "dog": ("big", "small", "cute", "clever"),
    "dress": ("new", "expensive", "beautiful"),
    "flower": ("expensive", "beautiful"),
    "girl": ("clever", "cute", "beautiful", "young"),
    "hat": ("new", "big", "expensive", "beautiful"),
    "horse": ("big", "beautiful", "clever"),
    "she": ("clever", "beautiful", "young"),
    "he": ("clever", "young"),
    "student": ("clever", "young"),
    "teacher": ("young",),
    "they": ("clever", "young"),
    "umbrella": ("new", "big", "expensive", "beautiful"),
}
_THINGS = ("book", "car", "dress", "flower", "hat", "umbrella")
_INSIDE = (("at", "home"), ("at", "school"), ("in", "garden"), ("in", "library"), ("in", "park"))
_RESTING = (("on", "chair"), ("on", "chair"), ("under", "table"), ("under", "table"), ("under", "tree"), ("at", "home"))
_EATING = (("at", "home"), ("at", "school"), ("in", "garden"), ("in", "kitchen"), ("in", "park"))


@dataclass(frozen=True)
class _Use:
    """Who does what to what, and where."""

    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    places: tuple[tuple[str, str], ...]


_SUBJECTS = (*_PEOPLE, *_PEOPLE, *PRONOUNS, *PRONOUNS)
_USES = (
    ("buy", _Use(_SUBJECTS, (*_THINGS, "apple", "cake", "fish"), (("in", "shop"),))),
    ("drink", _Use(_SUBJECTS, _DRINKS, _EATING)),
    ("drink", _Use(("cat", "dog", "horse"), ("water",), (("in", "garden"), ("in", "kitchen")))),
    ("eat", _Use(_SUBJECTS, ("apple", "cake", "egg", "fish"), _EATING)),
    ("eat", _Use(("cat",), ("fish",), (("in", "kitchen"), ("in", "garden")))),
    ("read", _Use(_SUBJECTS, ("book", "book", "letter"), _INSIDE)),
    ("write", _Use(_SUBJECTS, ("letter",), (("at", "home"), ("at", "school"), ("in", "library")))),
    ("dance", _Use(_SUBJECTS, (), (("at", "home"), ("at", "school"), ("in", "garden"), ("in", "park")))),
    ("run", _Use(_SUBJECTS, (), (("at", "school"), ("in", "park")))),
    ("sing", _Use((*_SUBJECTS, "bird"), (), (("in", "garden"), ("in", "park"), ("under", "tree")))),
    ("sleep", _Use(("cat", "dog"), (), _RESTING)),
    ("sleep", _Use(("cat", "dog", "horse", *_CHILDREN), (), (("under", "tree"), ("in", "garden"), ("at", "home")))),
    ("work", _Use(("doctor", "teacher", "friend", *PRONOUNS), (), _INSIDE[:-1])),
)
_ALL = ("the", "the", "the", "a", "this", "that", "my", "these", "those", "two", "three")
_DEFINITE = ("the", "the", "the", "this", "that", "my", "these", "those")


class _Drawer:
    """Draws sensible clauses; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        # random() alone keeps its sequence from one Python to the next.
        self._random = random.Random(seed).random

    def clause(self) -> Clause:
        """Draw one clause; some are of a kind that `translate` refuses."""
        kind = self._random()
        if kind < 0.16:
            return self._property()
        if kind < 0.24:
            return self._having()
        if kind < 0.32:
            return self._liking()
        verb, use = _USES[int(self._random() * len(_USES))]
        kind = self._random()
        tense, modal, time, adverb, negated = "present", "", "", "", False
        if kind < 0.35:
            tense = "progressive"
        elif (kind < 0.65 and use.objects) or kind < 0.42:
            tense, negated = "past", not use.objects or self._chance(0.4)
            time = "yesterday" if self._chance(0.5) else ""
        elif kind < 0.85:
            modal = "want" if verb == "buy" else self._one_of(("like", "want"))
            negated = self._chance(0.35)
        elif kind < 0.95:
            time, adverb = ("every day", "") if self._chance(0.5) else ("", "often")
        else:
            negated = self._chance(0.6)
        settled = negated or modal or tense == "present"
        subject = self._phrase(self._one_of(use.subjects), _DEFINITE if settled else _ALL)
        determiners: tuple[str, ...] = ("a", "two", "three", "this", "that", "these", "those")
        if tense == "progressive":
            determiners = ("", "", "a", "a", "this", "that")
        elif modal == "want" and not negated:
            determiners = ("", "", "a", "a", "a", "two", "this", "that", "these", "those")
        elif (tense == "past" and negated) or (modal == "want"):
            determiners = ("", "", "", "this", "that", "these", "those")
        elif tense == "present":
            determiners = ("",)
            if time and verb in ("eat", "drink"):
                determiners = ("", "a", "two")
        if verb == "write":
            determiners = tuple(word for word in determiners if word not in _POINTING)
        thing = self._phrase(self._one_of(use.objects), determiners) if use.objects else None
        preposition, place = "in", None
        if not (negated and tense == "past") and self._chance(0.7):
            preposition, noun = use.places[int(self._random() * len(use.places))]
            place = NounPhrase(noun, "" if preposition == "at" else "the")
        return Clause(
            subject,
            verb,
            thing,
            tense=tense,
            negated=negated,
            modal=modal,
            adverb=adverb,
            preposition=preposition,
            place=place,
            time=time,
        )

    def _property(self) -> Clause:
        noun = self._one_of(tuple(_SAID))
        said = self._one_of(_SAID[noun])
        subject = self._phrase(noun, ("this", "that", "these", "those", "my"), described=0.0)
        negated = said != "interesting" and self._chance(0.4)
        return Clause(subject, "be", predicate=said, very=not negated, negated=negated)

    def _having(self) -> Clause:
        subject = self._phrase(self._one_of(_SUBJECTS), _DEFINITE, described=0.3)
        negated = self._chance(0.35)
        noun = self._one_of((*_THINGS, "bird", "cat", "dog", "horse"))
        thing = self._phrase(noun, ("a",) if negated else ("a", "a", "two", "three"))
        return Clause(subject, "have", thing, negated=negated)

    def _liking(self) -> Clause:
        subject = self._phrase(self._one_of(_SUBJECTS), _DEFINITE, described=0.3)
        noun = self._one_of((*_THINGS, "bird", "cat", "dog", "horse"))
        thing = self._phrase(noun, ("", "", "this", "that", "these", "those"))
        return Clause(subject, "like", thing, negated=self._chance(0.4))

    def _phrase(self, noun: str, determiners: tuple[str, ...], described: float = 0.55) -> NounPhrase:
        if noun in PRONOUNS:
            return NounPhrase(noun, "", (), PRONOUNS[noun])
        determiner = self._one_of(determiners)
        if noun in _DRINKS:
            if determiner in _COUNTING:
                return NounPhrase(noun, determiner, (), determiner != "a", "cup")
            return NounPhrase(noun, "")
        if noun == "friend" and determiner not in ("two", "three"):
            determiner = "my"
        if noun in _CHILDREN and determiner == "my":
            determiner = "the"
        adjectives: tuple[str, ...] = ()
        if noun in _DESCRIBED and self._chance(described if determiner else described / 3):
            choices = _DESCRIBED[noun]
            adjectives = choices[int(self._random() * len(choices))]
        many = determiner in english.PLURAL_DETERMINERS or (determiner == "" and noun != "fish")
        return NounPhrase(noun, determiner, adjectives, many)

    def _chance(self, p: float) -> bool:
        return self._random() < p

    def _one_of(self, choices: Sequence[str]) -> str:
        return choices[int(self._random() * len(choices))]


def _pairs() -> Iterator[Example]:
    drawer = _Drawer(seed=4)
    for _ in range(_N_DRAWN):
        example = translate(drawer.clause())
        if example is not None and len(example.tgt) <= _LONGEST:
            yield example


ENGLISH_CHINESE = Task(
    name="english-chinese",
    src_language="tasks.languages.english",
    tgt_language="tasks.languages.chinese",
    examples=(
        "two small black cats are sleeping in the garden",
        "she bought a beautiful red dress yesterday",
        "the student is reading an interesting book in the library",
        "he drinks a cup of tea every day",
        "the small white dog likes to sleep under the table",
        "this old car is not expensive",
        "they did not read that letter yesterday",
        "my friend wants to buy two new hats",
    ),
    pairs=_pairs,
    reference=reference,
    words=english.words,
    spell=english.spell,
    detokenize=detokenize,
)
