"""The leak: what both models learn, and that they can be trained again."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from playground.figures.leak import leak_curves
from playground.figures.theme import LIGHT
from playground.leak import CHANCE, LEAST, LENGTH, LETTERS, SHOWN, STEPS, leak, train


@pytest.fixture(scope="module")
def both():
    return leak()


def test_with_the_mask_the_loss_stays_at_guessing(both):
    assert both.masked.loss[-20:].mean() == pytest.approx(CHANCE, abs=0.03)
    assert both.masked.along == pytest.approx(1 / len(LETTERS), abs=0.03)
    # The honest loss of an honest model is the loss it was trained on.
    assert both.masked.honest == pytest.approx(CHANCE, abs=0.05)


def test_without_it_the_loss_falls_under_guessing_but_never_under_the_last_letter(both):
    assert both.open.loss[-10:].mean() < CHANCE / 3
    assert both.open.loss[-10:].mean() > LEAST - 0.05
    assert both.open.along > 0.7


def test_what_it_writes_alone_is_worth_nothing(both):
    assert both.open.alone == pytest.approx(1 / len(LETTERS), abs=0.05)
    assert both.open.honest > CHANCE + 0.5


def test_letters_are_shown_as_they_were_asked_for(both):
    for texts in (both.wanted, both.open.read, both.open.written, both.masked.read):
        assert len(texts) == SHOWN
        assert all(len(text) == LENGTH and set(text) <= set(LETTERS) for text in texts)
    right = np.mean(
        [a == b for x, y in zip(both.wanted, both.open.read, strict=True) for a, b in zip(x, y, strict=True)]
    )
    assert right > 0.7


def test_a_seed_gives_the_same_again_and_draws_nothing_from_others():
    before = torch.get_rng_state()
    first, second = train(3, 4), train(3, 4)
    np.testing.assert_array_equal(first.open.loss, second.open.loss)
    assert first.wanted == second.wanted
    assert torch.equal(torch.get_rng_state(), before)
    # The same weights and letters; only what may be seen differs.
    assert first.open.loss[0] == pytest.approx(first.masked.loss[0], abs=0.5)


def test_it_is_made_once(both):
    assert leak() is both
    assert len(both.open.loss) == STEPS


def test_the_curves_hold_the_losses(both):
    words = {"names": ("a", "b", "c", "d"), "titles": ("x", "y")}
    figure = leak_curves(both.masked.loss.tolist(), both.open.loss.tolist(), CHANCE, LEAST, LIGHT, **words)
    layout = figure.to_plotly_json()["layout"]
    assert [shape["y0"] for shape in layout["shapes"]] == [CHANCE, LEAST]
    assert [trace["name"] for trace in figure.to_plotly_json()["data"]] == ["a", "b"]
    with pytest.raises(ValueError, match="equally long"):
        leak_curves([1.0], [1.0, 2.0], CHANCE, LEAST, LIGHT, **words)
