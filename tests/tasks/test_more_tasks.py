"""Pairs known to be right, for each task: written by hand, or found by another way than the task's own."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from playground.i18n import LANGUAGES, Translate
from playground.plan import OPTIONS
from playground.tasks import HIDDEN, TASKS, Example, UnknownWord
from playground.tasks.chinese_english import segmented
from playground.tasks.times import better, conditions, times

PAIRS = {
    "sort": {
        "d a h c f": "a c d f h",
        "b a": "a b",
        "j a": "a j",
        "a b c": "a b c",
        "c b a": "a b c",
        "h e a d": "a d e h",
        "g": "g",
        "b a b a": "a a b b",
    },
    "addition": {
        "0+0": "0",
        "7+5": "12",
        "38+47": "85",
        "99+99": "198",
        "99+1": "100",
        "10+9": "19",
        "5+95": "100",
        "42+0": "42",
    },
    "roman": {
        "1": "I",
        "4": "IV",
        "9": "IX",
        "14": "XIV",
        "40": "XL",
        "90": "XC",
        "400": "CD",
        "1066": "MLXVI",
        "1994": "MCMXCIV",
        "2026": "MMXXVI",
        "3999": "MMMCMXCIX",
    },
    "dates": {
        "5 March 2021": "2021-03-05",
        "March 5, 2021": "2021-03-05",
        "31 Dec 1999": "1999-12-31",
        "5th of March 2021": "2021-03-05",
        "22nd of May 2022": "2022-05-22",
        "29.2.2024": "2024-02-29",
        "2021/3/5": "2021-03-05",
        "2008年8月8日": "2008-08-08",
        "july 20, 1969": "1969-07-20",
    },
    "english-numbers": {
        "13": "thirteen",
        "40": "forty",
        "342": "three hundred forty-two",
        "1,000": "one thousand",
        "10504": "ten thousand five hundred four",
        "three hundred and five": "305",
        "ninety-nine thousand nine hundred ninety-nine": "99999",
        "Twelve": "12",
        "six thousand eight": "6008",
    },
    "chinese-numbers": {
        "10": "十",
        "12": "十二",
        "110": "一百一十",
        "202": "二百零二",
        "2000": "两千",
        "1001": "一千零一",
        "10010": "一万零一十",
        "22222": "两万二千二百二十二",
        "十五": "15",
        "一万零一百": "10100",
        "三百零八": "308",
    },
    "chinese-english": {
        "两只小黑猫在花园里睡觉": "two small black cats are sleeping in the garden",
        "她昨天买了一条漂亮的红裙子。": "she bought a beautiful red dress yesterday",
        "他每天喝一杯茶": "he drinks a cup of tea every day",
        "这辆旧车不贵": "this old car is not expensive",
        "他们昨天没看那封信": "they did not read that letter yesterday",
        "我的朋友想买两顶新帽子": "my friend wants to buy two new hats",
        "老师喜欢猫": "the teacher likes cats",
        "我们有两顶帽子": "we have two hats",
    },
    "induction": {
        "a b c a": "b c a b c a b c a b c a b c a b",
        "k c h a n k": "c h a n k c h a n k c h a n",
        "b a d b": "a d b a d b a d b a d b a d b a",
        "h o m e h o": "m e h o m e h o m e h o m e",
        "d a n c e d": "a n c e d a n c e d a n c e",
        "f l a m i n g o f": "l a m i n g o f l a m",
        "A,B,C,A": "b c a b c a b c a b c a b c a b",
        "p o e m p": "o e m p o e m p o e m p o e m",
    },
    "masked": {
        "yesterday the queen ⟨mask⟩ her tea": "yesterday the queen drank her tea",
        "Usually the boys _ their bike.": "usually the boys ride their bike",
        "usually the boy [MASK] his bike": "usually the boy rides his bike",
        "now the children ? singing their song": "now the children are singing their song",
        "now the woman is ___ her letter": "now the woman is writing her letter",
        "tomorrow the king _ feed _ dog": "tomorrow the king will feed his dog",
        "_ the girl washed her hands": "yesterday the girl washed her hands",
        "_ the parents _ eating their lunch": "now the parents are eating their lunch",
    },
}


@pytest.mark.parametrize(
    ("name", "text", "wanted"), [(n, *pair) for n, pairs in PAIRS.items() for pair in pairs.items()]
)
def test_what_is_known_to_be_right(name, text, wanted):
    task = TASKS[name]
    example = task.reference(task.tokenize(text))
    assert example is not None
    assert task.detokenize(example.tgt) == wanted


WRONG = {
    "sort": ["a b z"],
    "addition": ["100+1", "07+5", "7+", "3+4+5"],
    "roman": ["0", "4000", "007"],
    "dates": ["31 February 2020", "29.2.2023", "2021/13/1", "5rd of March 2021", "3.4.1899"],
    "english-numbers": ["one twenty", "hundred", "thousand one", "0", "100000", "twenty thirteen"],
    "chinese-numbers": ["二千", "一十二", "一百二", "一千一", "零一"],
    "chinese-english": ["猫鱼狗", "在在在"],
    "induction": ["a b c", "a b a b", "a b c a c", "a a b a"],
    "masked": ["yesterday the queen drank her tea", "yesterday the ⟨mask⟩ drank her tea", "⟨mask⟩ ⟨mask⟩"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_what_is_not_of_the_task_has_no_right_answer(name, text):
    task = TASKS[name]
    try:
        tokens = task.tokenize(text)
    except UnknownWord:
        return
    assert task.reference(tokens) is None


def test_every_roman_numeral_is_what_taking_away_the_largest_gives():
    """Another way than the task's: it goes from place to place, this one from value to value."""
    values = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40}
    values |= {"X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}
    for number in range(1, 4000):
        left, wanted = number, ""
        for letters, value in values.items():
            wanted += left // value * letters
            left %= value
        example = TASKS["roman"].reference(tuple(str(number)))
        assert example is not None and "".join(example.tgt) == wanted


def test_every_date_is_what_the_standard_library_reads():
    task = TASKS["dates"]
    formats = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%dst of %B %Y", "%dnd of %B %Y", "%drd of %B %Y", "%dth of %B %Y")
    formats += ("%d.%m.%Y", "%Y/%m/%d", "%Y年%m月%d日")
    for example in (*task.heldout, *task.train[:2000]):
        text = task.join(example.src)
        found = set()
        for each in formats:
            try:
                found.add(datetime.strptime(text, each).date().isoformat())
            except ValueError:
                continue
        assert found == {task.detokenize(example.tgt)}


def test_numbers_in_words_come_back_as_the_same_digits():
    for name in ("english-numbers", "chinese-numbers"):
        task = TASKS[name]
        for example in (*task.heldout, *task.train[:2000]):
            back = task.reference(example.tgt)
            assert back is not None and back.tgt == example.src


def test_sums_are_sums():
    task = TASKS["addition"]
    for example in (*task.train, *task.heldout):
        first, second = "".join(example.src).split("+")
        assert int("".join(example.tgt)) == int(first) + int(second)


def test_the_gold_alignment_of_a_few_by_hand():
    reference = {name: TASKS[name].reference for name in TASKS}
    assert reference["sort"](tuple("cab")) == Example(tuple("cab"), tuple("abc"), ((0, 1), (1, 2), (2, 0)))
    assert reference["addition"](tuple("38+7")).alignment == ((0, 0), (1, 1), (1, 3))
    assert reference["roman"](tuple("904")).alignment == ((0, 0), (1, 0), (2, 2), (3, 2))
    assert reference["induction"](tuple("abca")).alignment[:4] == ((0, 1), (1, 2), (2, 0), (3, 1))
    masked = ("yesterday", "the", "queen", HIDDEN, "her", "tea")
    assert reference["masked"](masked).alignment == ((3, 0), (3, 2), (3, 5))


def test_chinese_is_parted_by_the_longest_word_from_the_left():
    assert segmented("学生在图书馆里看书") == ["学生", "在", "图书馆", "里", "看", "书"]
    assert segmented("小白狗 喜欢火车。") == ["小", "白", "狗", "喜欢", "火", "车", "。"]
    with pytest.raises(UnknownWord) as refused:
        TASKS["chinese-english"].tokenize("猫喜欢飞机")
    assert refused.value.word == "飞机"


def test_a_decoder_alone_is_asked_for_what_follows_and_an_encoder_alone_for_what_is_hidden():
    task = TASKS["induction"]
    batch = task.encode([task.reference(tuple("abca"))])
    assert batch.src.shape == (1, 0)
    assert task.vocabulary.decode(batch.tgt_in[0])[:6] == ("⟨bos⟩", "a", "b", "c", "a", "b")
    assert task.vocabulary.decode(batch.tgt_out[0])[:6] == ("⟨pad⟩",) * 4 + ("b", "c")
    assert task.vocabulary.decode(batch.tgt_out[0])[-1] == "⟨eos⟩"
    assert batch.tgt_in.shape == batch.tgt_out.shape and len(batch.read) == 1
    task = TASKS["masked"]
    batch = task.encode([task.reference(task.tokenize("yesterday the queen _ her tea"))])
    assert batch.tgt_in.shape == (1, 0) and batch.src.shape == batch.tgt_out.shape == (1, 7)
    assert task.vocabulary.decode(batch.tgt_out[0]) == ("⟨pad⟩",) * 3 + ("drank",) + ("⟨pad⟩",) * 3
    batch = TASKS["names"].encode([Example(("a", "d"), ("a",), ())])
    np.testing.assert_array_equal(batch.tgt_out[0, :-1], batch.tgt_in[0, 1:])


def test_each_task_has_a_measured_time_or_none_to_measure():
    assert times().keys() == TASKS.keys()
    assert [name for name, learnt in times().items() if learnt is None] == ["names"]
    for learnt in times().values():
        assert learnt is None or (0 < learnt.steps <= conditions().most_steps and learnt.seconds > 0)


def test_each_task_says_what_it_teaches():
    for language in LANGUAGES:
        for task in TASKS:
            assert Translate(language)(f"tasks.{task}.teaches")


def test_a_task_that_is_not_learnt_at_first_says_what_it_needs():
    short = {name for name, learnt in times().items() if learnt is not None and learnt.reached < 0.99}
    assert better().keys() == short
    for name, needs in better().items():
        assert all(value in OPTIONS[setting] for setting, value in needs.settings.items())
        assert needs.steps <= int(needs.settings["steps"])
        assert all(Translate(language)(f"own_data.better.{name}", seconds="", steps="") for language in LANGUAGES)
