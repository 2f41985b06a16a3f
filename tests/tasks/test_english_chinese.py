"""English to Chinese: sentences known to be right, one for each thing the grammar does."""

from __future__ import annotations

import pytest

from playground.tasks import TASKS
from playground.tasks.english_chinese import NOUNS

TASK = TASKS["english-chinese"]

RIGHT = [
    # The measure word is chosen by the noun.
    ("a cat is sleeping", "一只猫在睡觉"),
    ("two cats are sleeping", "两只猫在睡觉"),
    ("she has two books", "她有两本书"),
    ("he has three cars", "他有三辆车"),
    ("we have a horse", "我们有一匹马"),
    ("they have two umbrellas", "他们有两把雨伞"),
    ("this dress is very beautiful", "这条裙子很漂亮"),
    ("that hat is very expensive", "那顶帽子很贵"),
    ("that flower is very beautiful", "那朵花很漂亮"),
    ("this teacher is very young", "这位老师很年轻"),
    ("this student is very clever", "这个学生很聪明"),
    ("he wrote two letters yesterday", "他昨天写了两封信"),
    # English measures drinks in cups as well.
    ("she drank three cups of coffee yesterday", "她昨天喝了三杯咖啡"),
    ("the doctor drinks a cup of tea every day", "医生每天喝一杯茶"),
    # No measure word after 这些 and 那些, no mark of number but there.
    ("these books are very interesting", "这些书很有趣"),
    ("those cats are eating fish", "那些猫在吃鱼"),
    # Adjectives: one syllable without 的, two with it.
    ("the black cat is sleeping", "黑猫在睡觉"),
    ("a clever girl is singing", "一个聪明的女孩在唱歌"),
    ("two small black dogs are sleeping", "两只小黑狗在睡觉"),
    ("she bought a beautiful red dress", "她买了一条漂亮的红裙子"),
    ("my good friend has a new car", "我的好朋友有一辆新车"),
    # "old" is 老 of what lives, 旧 of what is used.
    ("the old dog is sleeping", "老狗在睡觉"),
    ("she likes this old hat", "她喜欢这顶旧帽子"),
    # Place and time come before the verb.
    ("the cat is sleeping in the garden", "猫在花园里睡觉"),
    ("the dog is sleeping on the chair", "狗在椅子上睡觉"),
    ("a dog is sleeping under the table", "一只狗在桌子下面睡觉"),
    ("they are dancing at school", "他们在学校跳舞"),
    ("the student is reading an interesting book in the library", "学生在图书馆里看一本有趣的书"),
    ("she often reads books at home", "她常常在家看书"),
    ("he runs in the park every day", "他每天在公园里跑步"),
    # 不 in the present, 没 in the past, 没有 for having.
    ("the cat does not eat eggs", "猫不吃鸡蛋"),
    ("the girl does not want to eat this cake", "女孩不想吃这个蛋糕"),
    ("they did not read that book yesterday", "他们昨天没看那本书"),
    ("she did not drink tea", "她没喝茶"),
    ("he does not have a new car", "他没有新车"),
    ("this car is not expensive", "这辆车不贵"),
    ("he does not sleep at home", "他不在家睡觉"),
    # Wanting and liking.
    ("my friend wants to buy two new hats", "我的朋友想买两顶新帽子"),
    ("she likes to sing in the park", "她喜欢在公园里唱歌"),
    ("the boy does not like cats", "男孩不喜欢猫"),
    # What Chinese would say otherwise, or English leaves open.
    ("the cats are sleeping", None),
    ("an old teacher is singing", None),
    ("they read books", None),
    ("the cat ate the fish", None),
    ("this book is not interesting", None),
    ("he did not work yesterday", None),
    ("the student is clever", None),
    # Not English.
    ("she have a book", None),
    ("a cats is sleeping", None),
    ("two cat are sleeping", None),
    ("a cups of tea", None),
]


@pytest.mark.parametrize(("english", "chinese"), RIGHT)
def test_the_grammar_says_it_as_one_says_it(english: str, chinese: str | None) -> None:
    example = TASK.reference(tuple(english.split()))
    assert (example and TASK.detokenize(example.tgt)) == chinese


def pairs(english: str) -> set[tuple[str, str]]:
    example = TASK.reference(tuple(english.split()))
    assert example is not None
    return {(example.tgt[i], example.src[j]) for i, j in example.alignment}


def test_alignment_by_hand() -> None:
    assert pairs("a clever girl is reading two books in the library".replace("two books", "a book")) == {
        ("一", "a"),
        ("个", "girl"),
        ("聪明", "clever"),
        ("的", "clever"),
        ("女孩", "girl"),
        ("在", "is"),
        ("在", "in"),
        ("图书馆", "library"),
        ("里", "in"),
        ("看", "reading"),
        ("本", "book"),
        ("书", "book"),
    }


def test_a_cup_is_a_measure_word_of_its_own() -> None:
    assert {("杯", "cups"), ("杯", "of"), ("茶", "tea"), ("两", "two")} <= pairs("she drank two cups of tea")


def test_did_not_is_one_word() -> None:
    assert {("没", "did"), ("没", "not"), ("昨天", "yesterday")} <= pairs("she did not eat fish yesterday")


def test_two_is_always_liang_before_a_measure_word() -> None:
    targets = [example.tgt for example in (*TASK.train, *TASK.heldout)]
    measures = {measure for _, measure in NOUNS.values()} | {"杯"}
    assert not any("二" in tgt for tgt in targets)
    assert all(tgt[i + 1] in measures for tgt in targets for i, word in enumerate(tgt) if word in ("两", "一", "三"))


def test_every_target_word_has_a_source_word() -> None:
    for example in (*TASK.train, *TASK.heldout):
        assert {i for i, _ in example.alignment} == set(range(len(example.tgt)))


def test_source_words_without_a_counterpart_are_those_that_chinese_does_without() -> None:
    for example in (*TASK.train, *TASK.heldout):
        left = set(range(len(example.src))) - {j for _, j in example.alignment}
        assert {example.src[j] for j in left} <= {"the", "a", "an", "is", "are"}
