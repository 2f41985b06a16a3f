"""One head of a reading: the part that is its own, what it would be unscaled, and where it looks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.head import PLACES, Head, largest_weight
from playground.reading import Reading

VOCABULARY = ("⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "the", "black", "cat", "le", "chat", "noir")
SRC = [3, 4, 5, 2]
TGT = [1, 6, 7]


def reading(**choices: object) -> Reading:
    torch.set_num_threads(1)
    config = ModelConfig(vocab_size=9, d_model=36, n_heads=6, d_ff=11, n_layers=2, max_len=13, **choices)
    model = Transformer(config, generator=torch.Generator().manual_seed(5))
    trace = capture(model, torch.tensor([SRC]), torch.tensor([TGT]))
    words = [tuple(VOCABULARY[i] for i in ids) for ids in (SRC, TGT)]
    return Reading(trace, src=words[0], tgt=words[1], vocabulary=VOCABULARY)


@pytest.mark.parametrize("where", PLACES)
def test_a_head_is_its_own_part_of_the_trace(where):
    head = Head(reading(), where, 1, 4)
    np.testing.assert_array_equal(head["weights"].values, head.whole("weights").values[4])
    np.testing.assert_array_equal(head["v"].values, head.whole("v").values[4])
    assert head["concat"].shape == (len(head["weights"].axes[0]), 36)


def test_heads_that_share_keys_stand_in_blocks():
    heads = [Head(reading(n_kv_heads=2), "encoder", 0, index) for index in range(6)]
    for index, head in enumerate(heads):
        np.testing.assert_array_equal(head["k"].values, head.whole("k").values[index // 3])


@pytest.mark.parametrize("choices", [{}, {"positions": "alibi"}, {"positions": "rotary", "n_kv_heads": 3}])
@pytest.mark.parametrize("where", PLACES)
def test_scaled_as_the_model_does_gives_the_models_weights(choices, where):
    head = Head(reading(**choices), where, 1, 2)
    np.testing.assert_allclose(head.rescaled(6**-0.5).values, head["weights"].values, atol=1e-6)


def test_unscaled_is_the_softmax_of_the_raw_scores():
    head = Head(reading(), "cross", 0, 1)
    raised = np.exp(head["raw_scores"].values.astype(np.float64))
    np.testing.assert_allclose(head.rescaled(1.0).values, raised / raised.sum(-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("index", range(6))
def test_what_is_said_to_be_looked_at_most_is(where, index):
    head = Head(reading(), where, 1, index)
    row, col = head.sharpest()
    assert head["weights"].values[row, col] == head["weights"].values[row].max()
    assert head.hidden[row, col] == ""


def test_an_even_spread_counts_only_what_may_be_seen():
    head = Head(reading(), "decoder", 0, 0)
    assert [head.even(row) for row in range(3)] == [1, 1 / 2, 1 / 3]


def test_the_mean_largest_weight_of_rows_that_see_one_key_is_1():
    head = Head(reading(), "decoder", 0, 0)
    weights = head["weights"]
    assert largest_weight(weights.derived("one", np.eye(3))) == 1.0
    assert largest_weight(weights) < 1.0


class Drawn(Head):
    """A head with weights of the test's own, on the real head's axes."""

    def __getitem__(self, name):
        array = super().__getitem__(name)
        return array.derived(name, np.array(WEIGHTS)) if name == "weights" else array


WEIGHTS = [[0.9, 0.1, 0, 0], [0, 0.3, 0.6, 0.1], [0.2, 0.2, 0.2, 0.4]]


def test_a_word_that_looks_elsewhere_says_more_than_one_that_looks_straight_ahead():
    head = Drawn(reading(), "cross", 0, 0)
    head.reading.predicted = ("le", "chat", "noir")
    assert head.sharpest() == (1, 2)  # not (0, 0), which is larger, and not (2, 3), which is ⟨eos⟩
