"""Teacher forcing against free running on the same sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from playground.forcing import Pass, forcing, spoilt_step, surprise
from playground.runs import RunStore
from playground.subject import Subject
from playground.tasks import BOS, EOS

TEXT = "the black cat does not eat the fish"


def at(step: int, text: str = TEXT) -> Subject:
    return Subject(RunStore().open("english-french"), step, text)


def test_up_to_the_first_error_both_are_the_same_pass():
    for step in (0, 40, 80, 120, 160, 800):
        both = forcing(at(step))
        assert both is not None
        first = len(both.wanted) if both.first_error is None else both.first_error
        assert both.forced.wrote[: first + 1] == both.free.wrote[: first + 1]
        n = min(first + 1, len(both.free.right))
        np.testing.assert_allclose(both.forced.right[:n], both.free.right[:n], atol=1e-5)
        assert not both.forced.errors(both.wanted) or both.forced.errors(both.wanted)[0] == both.first_error


def test_one_wrong_word_spoils_what_follows():
    """At step 160 the model forgets "noir": with a teacher that is its only mistake, alone it never finds back."""
    both = forcing(at(160))
    assert both is not None
    assert both.wanted == ("le", "chat", "noir", "ne", "mange", "pas", "le", "poisson", "⟨eos⟩")
    assert both.forced.errors(both.wanted) == (2,)
    assert both.free.errors(both.wanted) == (2, 3, 4, 5, 6, 7, 8)
    assert both.first_error == 2
    assert both.forced.read == ("⟨bos⟩", *both.wanted[:-1])
    assert both.free.read == ("⟨bos⟩", *both.free.wrote[:-1])
    assert surprise(both.forced.right) < surprise(both.free.right)


def test_the_forced_pass_is_the_one_of_training():
    here = at(120)
    both = forcing(here)
    assert both is not None and here.example is not None
    ids = here.task.vocabulary.encode
    with torch.no_grad():
        src, tgt = torch.tensor([[*ids(here.src), EOS]]), torch.tensor([[BOS, *ids(here.example.tgt)]])
        logs = here.model(src, tgt)[0].log_softmax(dim=-1)
    wanted = [*ids(here.example.tgt), EOS]
    np.testing.assert_allclose(
        np.log(both.forced.right), [float(r[t]) for r, t in zip(logs, wanted, strict=True)], atol=1e-4
    )
    assert surprise(both.forced.right) == pytest.approx(-float(np.log(both.forced.right).mean()))


def test_each_place_says_which_row_of_which_pass_it_is():
    both = forcing(at(160))
    assert both is not None
    for each in (both.forced, both.free):
        for place, (reading, row) in enumerate(each.passes):
            assert reading.tgt[row] == each.read[place] and reading.predicted[row] == each.wrote[place]


def test_without_an_error_both_are_right_and_a_step_with_errors_is_found():
    both = forcing(at(800))
    assert both is not None and both.first_error is None and both.forced.wrote == both.free.wrote == both.wanted
    assert spoilt_step(at(800)) == 160


def test_without_a_text_of_the_grammar_there_is_no_teacher():
    here = at(800, "cat the eat")
    assert forcing(here) is None and spoilt_step(here) is None


def test_errors_count_missing_and_surplus_words():
    def wrote(*words: str) -> Pass:
        return Pass((), words, (), ())

    wanted = ("a", "b", "c")
    assert wrote("a", "b", "c").errors(wanted) == ()
    assert wrote("a").errors(wanted) == (1, 2)
    assert wrote("a", "b", "c", "d").errors(wanted) == (3,)
    assert wrote("b", "b").errors(wanted) == (0, 2)
