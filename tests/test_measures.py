"""Measures: against torch, then by law, then by hand."""

import math

import numpy as np
import pytest
import torch

from playground.labelled import Axis, LabelledArray
from playground.measures import agreement, entropy, likeliest, mean_length, shortlist, softmax


def array(values, *names):
    values = np.asarray(values)
    axes = tuple(
        Axis(name, tuple(f"{name}{i}" for i in range(size))) for name, size in zip(names, values.shape, strict=True)
    )
    return LabelledArray("a", values, axes)


def test_softmax_is_torchs():
    scores = np.random.default_rng(0).normal(size=(3, 5, 7)).astype(np.float32) * 9
    ours = softmax(array(scores, "head", "query", "key"), np.ones((5, 7), dtype=bool))
    np.testing.assert_allclose(ours.values, torch.tensor(scores).softmax(-1).numpy(), atol=1e-6)


def test_softmax_gives_hidden_keys_nothing_and_a_query_without_keys_zeros():
    allowed = np.array([[True, False, True], [False, False, False]])
    weights = softmax(array([[1.0, 99.0, 1.0], [1.0, 2.0, 3.0]], "query", "key"), allowed).values
    np.testing.assert_allclose(weights, [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])


def test_softmax_of_extreme_scores_is_finite():
    weights = softmax(array([[1e30, -1e30, 0.0]], "query", "key"), np.ones((1, 3), dtype=bool)).values
    np.testing.assert_allclose(weights, [[1.0, 0.0, 0.0]])


def test_entropy_of_a_sure_choice_an_even_choice_and_no_choice():
    values = entropy(array([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.0] * 4], "query", "key"))
    np.testing.assert_allclose(values.values, [0.0, math.log(4), 0.0])
    assert [axis.name for axis in values.axes] == ["query"]


def test_agreement_by_hand():
    weights = array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.0, 0.0, 1.0]], "query", "key")
    # Row 0 should look at key 0 (0.7), row 1 at keys 0 and 2 (0.1 + 0.6), row 2 has no pair.
    assert agreement(weights, [(0, 0), (1, 0), (1, 2)]) == pytest.approx(0.7)
    assert agreement(weights, []) == 0.0


def test_likeliest_takes_the_lowest_id_on_a_tie():
    best = likeliest(array([0.1, 0.3, 0.3, 0.2, 0.1], "vocab"), 3)
    assert best.axes[0].labels == ("vocab1", "vocab2", "vocab3")
    np.testing.assert_allclose(best.values, [0.3, 0.3, 0.2])


def test_a_shortlist_keeps_every_rows_likeliest_words_and_the_rest_of_the_sum():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5, 31)) * 3
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    kept, shown = shortlist(array(probs, "pos", "vocab"), array(logits, "pos", "vocab"), per_row=2, rest="rest")
    words = shown.axis("vocab").labels
    assert words == (*kept.axis("vocab").labels, "rest")
    for row in range(5):
        for column in np.argsort(-probs[row])[:2]:
            assert shown.values[row, words.index(f"vocab{column}")] == pytest.approx(probs[row, column])
    np.testing.assert_allclose(shown.values.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(kept.values[:, 0], logits[:, int(words[0].removeprefix("vocab"))])


def test_mean_length_by_hand():
    assert mean_length(array([[3.0, 4.0], [0.0, 1.0]], "pos", "d_model")) == pytest.approx(3.0)
