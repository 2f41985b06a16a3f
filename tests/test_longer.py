"""Sequences longer than trained: what is tried, what refuses, and that the numbers on file say what the words say."""

from __future__ import annotations

import pytest
import torch

from models import Transformer
from playground import longer
from playground.longer import BOS, EOS, FIRST_LETTER, METHODS, config, measured, sequences, share_right, stretched


def fresh(method: str) -> Transformer:
    return Transformer(config(method), generator=torch.Generator().manual_seed(1)).eval()


def test_a_sequence_has_each_letter_once_and_then_again():
    ids = sequences(5, 7, torch.Generator().manual_seed(2))
    assert ids.shape == (7, 12)
    assert (ids[:, 0] == BOS).all() and (ids[:, 6] == EOS).all()
    assert (ids[:, 1:6] == ids[:, 7:]).all()
    assert all(len(set(row[1:6].tolist())) == 5 and min(row[1:6]) >= FIRST_LETTER for row in ids)


@pytest.mark.parametrize("method", METHODS)
def test_only_learned_positions_end(method):
    model = fresh(method)
    longer_model = stretched(model, 33)
    if method == "learned":
        assert longer_model is None
        with pytest.raises(ValueError, match="longer than max_len=17"):
            model(torch.ones(1, 18, dtype=torch.long))
        return
    assert longer_model is not None
    ids = sequences(6, 3, torch.Generator().manual_seed(4))
    torch.testing.assert_close(longer_model(ids), model(ids))  # what it could read before it reads as before
    assert longer_model(torch.ones(1, 33, dtype=torch.long)).shape == (1, 33, 29)


def test_an_untrained_model_copies_no_better_than_chance():
    assert share_right(fresh("none"), 4, n=50) < 0.2


def test_a_little_training_is_seen_and_a_seed_gives_the_same():
    once = longer.trained("rotary", steps=3)
    again = longer.trained("rotary", steps=3)
    assert not once.training
    for one, other in zip(once.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert any(
        not torch.equal(one, other) for one, other in zip(once.parameters(), fresh("rotary").parameters(), strict=True)
    )


def test_every_rule_is_measured_at_every_length():
    small = longer.measure(("none", "learned"), steps=1, seeds=(0,))
    assert small.lengths[-1] == 16 and small.seeds == (0,)
    assert small.right["learned"][-8:] == (None,) * 8
    assert all(share is not None and 0 <= share <= 1 for share in small.right["none"])


def test_what_is_on_file_was_measured_with_what_stands_in_the_code():
    on_file = measured()
    assert (on_file.trained, on_file.steps, on_file.seeds) == (longer.TRAINED, longer.STEPS, longer.SEEDS)
    assert on_file.tried == longer.TRIED
    assert tuple(on_file.right) == METHODS
    assert all(len(shares) == len(on_file.lengths) for shares in on_file.right.values())


def test_the_numbers_bear_out_the_words():
    on_file = measured()
    at = {method: dict(zip(on_file.lengths, shares, strict=True)) for method, shares in on_file.right.items()}
    assert all((at[method][8] or 0) > 0.9 for method in METHODS)
    assert at["learned"][9] is None
    twice = {method: at[method][16] or 0.0 for method in METHODS if method != "learned"}
    assert max(twice, key=twice.__getitem__) == "alibi"
    assert (at["rotary"][10] or 0) > (at["sinusoidal"][10] or 0) + 0.3
