"""English to French: sentences known to be right, one for each thing the grammar does."""

from __future__ import annotations

import pytest

from playground.tasks import TASKS
from playground.tasks.english_french import ADJECTIVES, NOUNS, VERBS

TASK = TASKS["english-french"]

RIGHT = [
    # Adjectives behind the noun, and those that stand before it.
    ("the black cat does not eat the fish", "le chat noir ne mange pas le poisson"),
    ("the student reads an old book", "l'étudiant lit un vieux livre"),
    ("the small white dog sleeps", "le petit chien blanc dort"),
    ("a big black horse sees the girl", "un grand cheval noir voit la fille"),
    ("the tired woman sings", "la femme fatiguée chante"),
    ("the teacher often buys an old newspaper", "le professeur achète souvent un vieux journal"),
    # Gender and number of determiners and adjectives.
    ("the white house is beautiful", "la maison blanche est belle"),
    ("the white houses are beautiful", "les maisons blanches sont belles"),
    ("the book is red", "le livre est rouge"),
    ("these apples are red", "ces pommes sont rouges"),
    ("two old women read the letters", "deux vieilles femmes lisent les lettres"),
    ("the girls are small", "les filles sont petites"),
    ("the boys are small", "les garçons sont petits"),
    ("three young girls drink milk", None),
    ("three young girls drink the milk", "trois jeunes filles boivent le lait"),
    ("the dogs are black", "les chiens sont noirs"),
    ("the black dogs chase two cats", "les chiens noirs poursuivent deux chats"),
    # Irregular plurals.
    ("the horses sleep in the garden", "les chevaux dorment dans le jardin"),
    ("two white birds sing", "deux oiseaux blancs chantent"),
    ("the children buy these newspapers", "les enfants achètent ces journaux"),
    # Elision, and what else vowels do.
    ("the man sees the bird", "l'homme voit l'oiseau"),
    ("the child drinks the water", "l'enfant boit l'eau"),
    ("the teacher listens to the student", "le professeur écoute l'étudiant"),
    ("an old man looks for the school", "un vieil homme cherche l'école"),
    ("this beautiful bird sings", "ce bel oiseau chante"),
    ("this bird is beautiful", "cet oiseau est beau"),
    ("this man likes this house", "cet homme aime cette maison"),
    ("the big old bird sleeps", None),
    # Negation around the verb, with n' before a vowel.
    ("the woman does not like the cats", "la femme n'aime pas les chats"),
    ("the women do not like the cats", "les femmes n'aiment pas les chats"),
    ("the egg is not white", "l'œuf n'est pas blanc"),
    ("the boys do not listen to the teacher", "les garçons n'écoutent pas le professeur"),
    ("the old man never sleeps", "le vieil homme ne dort jamais"),
    ("the girl never listens to my dog", "la fille n'écoute jamais mon chien"),
    # "a" becomes de, or d', under a negation.
    ("the child does not eat an apple", "l'enfant ne mange pas de pomme"),
    ("the dog does not eat an egg", "le chien ne mange pas d'œuf"),
    ("the student does not buy a newspaper", "l'étudiant n'achète pas de journal"),
    ("the woman never reads a letter", None),
    # Adverbs move behind the verb, and pas comes between.
    ("the woman often reads a letter", "la femme lit souvent une lettre"),
    ("the cat always sleeps in the kitchen", "le chat dort toujours dans la cuisine"),
    ("the girls do not always sing in the park", "les filles ne chantent pas toujours dans le parc"),
    # my: mon, ma, mes; mon before a vowel.
    ("my cat eats the fish", "mon chat mange le poisson"),
    ("my house is small", "ma maison est petite"),
    ("my flowers are white", "mes fleurs sont blanches"),
    ("the boy likes my school", "le garçon aime mon école"),
    ("my woman sings", None),
    # Two English words for one French verb.
    ("the girl looks for her cat", None),
    ("the girls look for the cat", "les filles cherchent le chat"),
    # Not English, or not of this grammar.
    ("the cat eat the fish", None),
    ("cat the sleeps", None),
    ("the cat", None),
    ("a apple is red", None),
    ("the cat sleeps the", None),
    ("these cat sleeps", None),
]


@pytest.mark.parametrize(("english", "french"), RIGHT)
def test_the_grammar_says_it_as_one_says_it(english: str, french: str | None) -> None:
    example = TASK.reference(tuple(english.split()))
    assert (example and TASK.detokenize(example.tgt)) == french


def pairs(english: str) -> set[tuple[str, str]]:
    example = TASK.reference(tuple(english.split()))
    assert example is not None
    return {(example.tgt[i], example.src[j]) for i, j in example.alignment}


def test_alignment_by_hand() -> None:
    assert pairs("the black cat does not eat an apple") == {
        ("le", "the"),
        ("chat", "cat"),
        ("noir", "black"),
        ("ne", "not"),
        ("mange", "does"),
        ("mange", "eat"),
        ("pas", "not"),
        ("de", "an"),
        ("pomme", "apple"),
    }


def test_one_french_verb_for_two_english_words() -> None:
    assert {("cherche", "looks"), ("cherche", "for"), ("l'", "the")} <= pairs("the man looks for the boy")


def test_never_is_both_halves_of_the_french_negation() -> None:
    assert {("n'", "never"), ("jamais", "never")} <= pairs("the girl never listens to the man")


def test_every_form_of_every_word_is_trained_on() -> None:
    known = {word for example in TASK.train for word in example.tgt}
    # Places are one, and these are not counted.
    single = {"fish", "garden", "kitchen", "park", "school"}
    nouns = {form for name, noun in NOUNS.items() for form in (noun.one, noun.many) if name not in single}
    adjectives = {form for word in ADJECTIVES.values() for form in word.forms}
    liaison = {word.liaison for word in ADJECTIVES.values()} - {""}
    verbs = {form for forms in VERBS.values() for form in forms}
    assert nouns | adjectives | liaison | verbs <= known


def test_every_target_word_has_a_source_word() -> None:
    for example in (*TASK.train, *TASK.heldout):
        assert {i for i, _ in example.alignment} == set(range(len(example.tgt)))
        assert {j for _, j in example.alignment} == set(range(len(example.src)))
