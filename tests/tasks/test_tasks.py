"""What holds for every task: its sentences, its split, the way from text to tokens and back."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
import torch

from playground.i18n import LANGUAGES, Translate
from playground.tasks import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    TASKS,
    EmptyText,
    Example,
    Task,
    TextRefused,
    TextTooLong,
    UnknownWord,
    Vocabulary,
    encode_batch,
    english_chinese,
    english_french,
)
from playground.tasks.english import read

# Rule 22: what a visitor may type and what must never be taken for markup.
HOSTILE = [
    "<b>cat</b>",
    "<script>alert(1)</script>",
    "&amp;",
    '"; DROP TABLE',
    "$x^2$",
    ":material/home:",
    ":red[cat]",
    "_cat_",
    "**cat**",
    "[cat](x)",
    "{word}",
    "{0.__class__}",
    "%s",
    "\\frac",
    "`cat`",
    "cat\x00",
    "\x1b[31mcat",
    "\u202ecat",
    "c\u200bat",
    "猫",
    "🐈",
    "e\u0301",
    "⟨eos⟩",
    "⟨pad⟩",
    "a" * 100_000,
]

TRANSLATIONS = ("english-french", "english-chinese")

# There are so many numerals up to 3,999, and so many names, and no more.
FEW = {"roman": (3_999, 300), "names": (900, 60)}
# A Roman numeral may have 15 letters, a pattern goes on, a name is not translated.
LONG = {"roman": 15, "induction": 16, "chinese-english": 14}
# Where signs are digits, marks or Chinese, some of what is hostile elsewhere is a word.
KNOWN = (("chinese-english", "猫"), ("masked", "_cat_"))
READ_BY_SIGN = (
    "copy",
    "reverse",
    "sort",
    "addition",
    "roman",
    "dates",
    "chinese-numbers",
    "induction",
    "names",
    "masked",
)


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return TASKS[request.param]


def test_there_are_enough_sentences(task: Task) -> None:
    least, heldout = FEW.get(task.name, (5_000, 500))
    assert len(task.train) + len(task.heldout) >= least
    assert len(task.heldout) >= heldout


def test_no_sentence_stands_there_twice_or_on_both_sides(task: Task) -> None:
    train, heldout = ({_whole(example, task) for example in part} for part in (task.train, task.heldout))
    assert len(train) == len(task.train)
    assert len(heldout) == len(task.heldout)
    assert not train & heldout


def test_heldout_sentences_have_no_new_word(task: Task) -> None:
    known = [{word for example in task.train for word in side(example)} for side in (_src, _tgt)]
    for example in task.heldout:
        assert set(example.src) <= known[0]
        assert set(example.tgt) <= known[1]


def test_alignments_point_into_both_sentences(task: Task) -> None:
    for example in (*task.train, *task.heldout):
        assert list(example.alignment) == sorted(set(example.alignment))
        assert {i for i, _ in example.alignment} <= set(range(len(example.tgt)))
        assert {j for _, j in example.alignment} <= set(range(len(example.src)))


def test_sentences_fit_and_are_short_enough_to_read(task: Task) -> None:
    for example in (*task.train, *task.heldout):
        together = task.architecture == "decoder-only"
        longest = len(example.src) + len(example.tgt) if together else max(len(example.src), len(example.tgt))
        assert longest + 2 <= task.max_len
        assert len(example.tgt) <= LONG.get(task.name, 12)


def test_the_grammar_translates_its_own_sentences_the_same_way(task: Task) -> None:
    for example in (*task.train, *task.heldout):
        assert task.reference(example.src) == (None if task.whole else example)


def test_text_and_tokens_are_two_ways_to_write_one_sentence(task: Task) -> None:
    for example in task.heldout:
        assert task.tokenize(" ".join(example.src)) == task.tokenize(task.join(example.src)) == example.src
        assert task.vocabulary.decode(task.vocabulary.encode(example.tgt)) == example.tgt


def test_detokenize_stops_at_the_end_of_the_sentence(task: Task) -> None:
    tgt = task.heldout[0].tgt
    assert task.detokenize(("⟨bos⟩", *tgt, "⟨eos⟩", "⟨pad⟩", *tgt)) == task.detokenize(tgt)


def test_examples_are_held_out_and_in_the_language(task: Task) -> None:
    heldout = {example.src for example in task.heldout}
    assert len(task.examples) == 8
    for text in task.examples:
        # Of what may go on in several ways a beginning is offered.
        assert task.whole or task.tokenize(text) in heldout
        assert task.whole or not task.trained_on(task.tokenize(text))
    assert task.trained_on(task.train[0].src)


def test_the_same_sentences_come_in_every_process() -> None:
    code = (
        "import hashlib; from playground.tasks import TASKS;"
        "print(hashlib.sha256(repr([(t.train, t.heldout, t.vocabulary.tokens) for t in TASKS.values()]).encode())"
        ".hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_batches_come_from_the_callers_own_generator(task: Task) -> None:
    assert task.batch(np.random.default_rng(3), 5) == task.batch(np.random.default_rng(3), 5)
    before = torch.random.get_rng_state()
    first, second = (task.batch(torch.Generator().manual_seed(3), 5) for _ in range(2))
    assert first == second
    assert torch.equal(before, torch.random.get_rng_state())
    assert set(map(_src, first)) <= set(map(_src, task.train))
    with pytest.raises(ValueError, match="at least 1 example, not 0"):
        task.batch(np.random.default_rng(3), 0)


def test_a_batch_is_shifted_and_padded() -> None:
    vocabulary = Vocabulary(["a", "b", "x", "y", "z"])
    examples = [Example(("a",), ("x", "y", "z"), ()), Example(("b", "a"), ("y",), ())]
    src, tgt_in, tgt_out = encode_batch(examples, vocabulary)
    np.testing.assert_array_equal(src, [[3, EOS, PAD], [4, 3, EOS]])
    np.testing.assert_array_equal(tgt_in, [[BOS, 5, 6, 7], [BOS, 6, PAD, PAD]])
    np.testing.assert_array_equal(tgt_out, [[5, 6, 7, EOS], [6, EOS, PAD, PAD]])
    assert src.dtype == tgt_in.dtype == tgt_out.dtype == np.int64
    with pytest.raises(ValueError, match="at least one example"):
        encode_batch([], vocabulary)


def test_the_vocabulary_begins_with_the_specials_and_holds_each_word_once(task: Task) -> None:
    tokens = task.vocabulary.tokens
    assert tokens[:3] == SPECIALS
    assert (tokens[PAD], tokens[BOS], tokens[EOS]) == SPECIALS
    assert len(set(tokens)) == len(tokens) <= 256
    assert {word for example in task.train for word in (*example.src, *example.tgt)} == set(tokens[3:])


def test_ids_outside_the_vocabulary_are_refused() -> None:
    vocabulary = Vocabulary(["a"])
    for i in (-1, 4):
        with pytest.raises(IndexError, match=f"4 tokens, so no id {i}"):
            vocabulary.decode([i])
    with pytest.raises(KeyError, match="b"):
        vocabulary.encode(["b"])
    with pytest.raises(ValueError, match="1 repeat"):
        Vocabulary(["a", "a"])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", TASKS)
def test_hostile_words_are_refused_by_name_in_every_language(name: str, text: str) -> None:
    if (name, text) in KNOWN:
        pytest.skip("a word of this task")
    with pytest.raises(TextRefused) as refused:
        TASKS[name].tokenize(text)
    refusal = refused.value
    for language in LANGUAGES:
        assert Translate(language).markdown(refusal.key, **refusal.values)
        assert Translate(language)(refusal.key, **refusal.values)
    if isinstance(refusal, UnknownWord):
        assert refusal.word.rstrip("…") in unicodedata.normalize("NFKC", text) + text
        assert len(refusal.word) <= 41


@pytest.mark.parametrize("name", TRANSLATIONS)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_word_among_known_ones_is_the_one_named(name: str, text: str) -> None:
    with pytest.raises(UnknownWord) as refused:
        TASKS[name].tokenize(f"the {text.replace(' ', '')} sleeps")
    assert refused.value.word.rstrip("…") in text.replace(" ", "")


@pytest.mark.parametrize("text", ["", " ", "\n\t", "...", "?!", "　", "。", "-" * 0])
def test_a_text_without_a_word_is_empty(task: Task, text: str) -> None:
    try:
        tokens = task.tokenize(text)
    except EmptyText:
        return
    except UnknownWord:
        tokens = ()
    if not tokens:
        assert task.name in READ_BY_SIGN
        return
    # A full stop stands in dates, and a question mark for a hidden word.
    assert task.name in ("dates", "masked") and tokens


def test_ten_thousand_words_are_too_long(task: Task) -> None:
    word = task.train[0].src[0]
    with pytest.raises(TextTooLong) as refused:
        task.tokenize(" ".join([word] * 10_000))
    assert (refused.value.n, refused.value.limit) == (10_000, task.max_len - 2)


def test_the_longest_text_that_fits_is_taken_and_one_more_is_not(task: Task) -> None:
    word = task.train[0].src[0]
    limit = task.max_len - 2
    assert task.tokenize(" ".join([word] * limit)) == (word,) * limit
    with pytest.raises(TextTooLong):
        task.tokenize(" ".join([word] * (limit + 1)))


@pytest.mark.parametrize(
    "text",
    [
        "The black cat sleeps.",
        "  the   BLACK cat\tsleeps ",
        "the black cat, sleeps!",
        "“the black cat sleeps”",
        "ｔｈｅ ｂｌａｃｋ ｃａｔ ｓｌｅｅｐｓ。",
        "the\u3000black\u00a0cat\nsleeps…",
    ],
)
def test_case_blanks_punctuation_and_width_do_not_matter(text: str) -> None:
    assert TASKS["english-french"].tokenize(text) == ("the", "black", "cat", "sleeps")


def test_short_forms_are_two_words() -> None:
    tokens = ("the", "cat", "does", "not", "eat", "the", "fish")
    for text in ("The cat doesn't eat the fish.", "the cat doesn’t eat the fish"):
        assert TASKS["english-french"].tokenize(text) == tokens


def test_known_words_may_come_in_any_order() -> None:
    assert TASKS["english-french"].tokenize("fish the the eats") == ("fish", "the", "the", "eats")
    assert TASKS["english-french"].reference(("fish", "the", "the", "eats")) is None


def test_an_unknown_word_is_answered_with_known_ones_that_look_like_it() -> None:
    for text, nearest in [("caat", "cat"), ("Eatting", "eating"), ("techer", "teacher"), ("libary", "library")]:
        with pytest.raises(UnknownWord) as refused:
            TASKS["english-chinese"].tokenize(text)
        assert refused.value.nearest[0] == nearest
        assert refused.value.word == text
    with pytest.raises(UnknownWord) as refused:
        TASKS["english-chinese"].tokenize("xyzzyx")
    assert refused.value.nearest == ()
    assert refused.value.key == "tasks.refused.unknown_word_alone"


def test_target_words_are_not_source_words() -> None:
    with pytest.raises(UnknownWord):
        TASKS["english-french"].tokenize("le chat")


@pytest.mark.parametrize("module", [english_french, english_chinese])
def test_no_english_sentence_has_two_right_translations(module: object) -> None:
    task = TASKS["english-french" if module is english_french else "english-chinese"]
    for example in (*task.train, *task.heldout):
        found = {translated for clause in read(example.src, module.LEXICON) if (translated := module.translate(clause))}
        assert found == {example}


def test_copy_and_reverse_align_along_the_diagonals() -> None:
    assert TASKS["copy"].reference(tuple("bad")) == Example(tuple("bad"), tuple("bad"), ((0, 0), (1, 1), (2, 2)))
    assert TASKS["reverse"].reference(tuple("bad")) == Example(tuple("bad"), tuple("dab"), ((0, 2), (1, 1), (2, 0)))
    for name in ("copy", "reverse"):
        assert TASKS[name].reference(("z",)) is None
        assert TASKS[name].reference(()) is None
        assert TASKS[name].reference(tuple("abcdefghija")) is None
        assert TASKS[name].tokenize("Head, bad") == tuple("headbad")
        assert {len(example.src) for example in TASKS[name].train} == set(range(3, 11))


def test_every_task_is_described_in_every_language(task: Task) -> None:
    for language in LANGUAGES:
        t = Translate(language)
        for key in ("title", "sentence", "attention"):
            assert t(f"tasks.{task.name}.{key}")
        assert t(task.src_language)
        assert t(task.tgt_language)
        assert t("tasks.heldout")


def _src(example: Example) -> tuple[str, ...]:
    return example.src


def _tgt(example: Example) -> tuple[str, ...]:
    return example.tgt


def _whole(example: Example, task: Task) -> tuple[str, ...]:
    return (*example.src, *example.tgt) if task.whole else example.src
