"""Positions: the formula, the laws that make the rules what they are, a shuffled sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, attend, capture
from playground import positions
from playground.positions import (
    alibi_bias,
    apart,
    cosines,
    drawn_vectors,
    full_turns,
    half_split,
    learned,
    off_by,
    off_formula,
    other_order,
    rotary_scores,
    rotated,
    rotations,
    shuffle,
    sinusoidal,
    spread_over,
    turned_by_place,
    unequal,
    untrained,
    wave,
    wavelengths,
)

ROUNDING = 2e-7  # of a float32 up to 1, twice


def model(rule: str, **choices: object) -> Transformer:
    sizes = {"vocab_size": 17, "d_model": 20, "n_heads": 2, "d_ff": 23, "n_layers": 2, "max_len": 11}
    config = ModelConfig(**{**sizes, "positions": rule, **choices})  # type: ignore[arg-type]
    return Transformer(config, generator=torch.Generator().manual_seed(3)).eval()


# --- Sines and cosines -----------------------------------------------------------------------------------------------


def test_the_table_by_hand():
    table = sinusoidal(3, 4).values
    hundredth = 1 / 100  # 10000^(−2/4)
    wanted = [
        [0, 1, 0, 1],
        [math.sin(1), math.cos(1), math.sin(hundredth), math.cos(hundredth)],
        [math.sin(2), math.cos(2), math.sin(2 * hundredth), math.cos(2 * hundredth)],
    ]
    np.testing.assert_allclose(table, wanted, atol=1e-7)


@pytest.mark.parametrize(("n_places", "d_model"), [(1, 1), (13, 7), (37, 64), (512, 3), (512, 512)])
def test_the_table_is_the_formula_at_any_length_and_any_width(n_places, d_model):
    table = sinusoidal(n_places, d_model)
    assert table.shape == (n_places, d_model)
    assert off_formula(table) < ROUNDING
    assert np.abs(table.values).max() <= 1


def test_an_odd_width_ends_in_a_sine_alone():
    narrow = sinusoidal(19, 7).values
    sine, _ = wave(7, 3, np.arange(19.0))
    np.testing.assert_allclose(narrow[:, 6], sine, atol=ROUNDING)
    assert rotated(sinusoidal(19, 7), 2).shape == (19, 6)


def test_no_two_places_have_the_same_row():
    rows = sinusoidal(512, 64).values
    assert len(np.unique(rows, axis=0)) == 512


def test_wavelengths_run_from_two_pi_to_nearly_ten_thousand_times_that():
    lengths = wavelengths(64)
    assert lengths[0] == pytest.approx(2 * np.pi)
    assert lengths[-1] == pytest.approx(2 * np.pi * 10000 ** (62 / 64))
    np.testing.assert_allclose(lengths[1:] / lengths[:-1], 10000 ** (2 / 64))


def test_a_wave_is_back_after_its_wavelength():
    at = np.linspace(0, 40, 97)
    for pair in (0, 3, 8):
        for here, there in zip(wave(18, pair, at), wave(18, pair, at + wavelengths(18)[pair]), strict=True):
            np.testing.assert_allclose(here, there, atol=1e-9)


# --- PE(pos + k) = R(k) · PE(pos) ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d_model", [2, 7, 64, 513])
@pytest.mark.parametrize("shift", [0, 1, 17, 63])
def test_the_same_turn_leads_from_every_place_to_the_one_that_far_on(d_model, shift):
    assert off_by(sinusoidal(128, d_model), shift) < ROUNDING


def test_a_turn_by_hand():
    (turn,) = rotations(2, 1)
    sin, cos = np.sin(1), np.cos(1)
    np.testing.assert_allclose(turn, [[cos, sin], [-sin, cos]])
    np.testing.assert_allclose(turn @ [np.sin(4), np.cos(4)], [np.sin(5), np.cos(5)])


def test_turns_are_rotations_and_add_up():
    two, three, five = (rotations(20, k) for k in (2, 3, 5))
    np.testing.assert_allclose(two @ three, five, atol=1e-12)
    np.testing.assert_allclose(two @ two.swapaxes(1, 2), np.broadcast_to(np.eye(2), two.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(two), 1)


def test_another_turn_does_not_lead_there():
    table = sinusoidal(64, 20)
    wrong = rotated(table, 2).values[:-3]
    assert np.abs(wrong - table.values[3:, : wrong.shape[1]]).max() > 0.5


def test_a_table_has_to_reach_that_far():
    with pytest.raises(ValueError, match="has 5 places, so none is 5 further on"):
        off_by(sinusoidal(5, 4), 5)


# --- Alike -----------------------------------------------------------------------------------------------------------


def test_how_alike_sinusoidal_places_are_depends_on_their_distance_only():
    alike = cosines(sinusoidal(64, 64))
    assert unequal(alike) < ROUNDING
    np.testing.assert_allclose(np.diagonal(alike.values), 1, atol=1e-6)
    frequencies = positions.frequencies(64)
    for distance, values in apart(alike):
        np.testing.assert_allclose(values, np.cos(distance * frequencies).mean(), atol=1e-6)


def test_untrained_learned_places_do_not_know_their_neighbours():
    alike = cosines(learned(untrained("learned", 3)))
    neighbours = np.diagonal(alike.values, 1)
    assert abs(neighbours.mean()) < 0.05 and unequal(alike) > 0.3


def test_pairs_of_places_are_sorted_by_distance():
    pairs = positions.between_places("x", np.arange(9.0).reshape(3, 3))
    assert [(k, sorted(values)) for k, values in apart(pairs)] == [
        (0, [0, 0, 4, 4, 8, 8]),
        (1, [1, 3, 5, 7]),
        (2, [2, 6]),
    ]
    assert next((k, list(values)) for k, values in apart(pairs, sign=True)) == (-2, [6])
    assert unequal(pairs) == 8


# --- RoPE ------------------------------------------------------------------------------------------------------------


def test_a_rotary_score_depends_on_the_offset_only():
    query, key = np.random.default_rng(5).standard_normal((2, 16))
    scores = rotary_scores(query, key, 48)
    assert unequal(scores) < 5e-6
    assert np.ptp(scores.values) > 0.5


def test_rotary_turns_by_hand():
    """Numbers i and i + d/2 are a pair, turned by place · 10000^(−2i/d)."""
    turned = turned_by_place(np.array([1.0, 2.0, 3.0, 4.0]), 4)
    angle = 3 * np.array([1.0, 1 / 100])
    first = np.array([1, 2]) * np.cos(angle) - np.array([3, 4]) * np.sin(angle)
    second = np.array([3, 4]) * np.cos(angle) + np.array([1, 2]) * np.sin(angle)
    np.testing.assert_allclose(turned[3], [*first, *second], rtol=1e-6)
    np.testing.assert_allclose(turned[0], [1, 2, 3, 4])


def test_rotary_scores_are_those_of_a_rotary_model():
    rotary = model("rotary", architecture="encoder-only")
    trace = capture(rotary, torch.tensor([[3, 4, 5, 6, 7]]))
    name = "encoder.0.self_attn"
    for q, k in ((0, 0), (1, 4), (4, 2)):
        scores = rotary_scores(
            trace[f"{name}.q_unrotated"][1, q].numpy(), trace[f"{name}.k_unrotated"][1, k].numpy(), 5
        )
        assert scores.values[q, k] == pytest.approx(float(trace[f"{name}.scores"][1, q, k]), abs=1e-5)


def test_turning_keeps_lengths():
    vector = np.random.default_rng(2).standard_normal(10)
    turned = turned_by_place(vector, 30)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(vector), rtol=1e-5)


def test_drawn_pairs_have_length_1_and_stay_the_same():
    query, key = drawn_vectors(16)
    for vector in (query, key):
        np.testing.assert_allclose(np.linalg.norm(half_split(vector), axis=1), 1)
    np.testing.assert_array_equal(query, drawn_vectors(16)[0])
    assert not np.array_equal(query, drawn_vectors(16, seed=1)[0])


def test_an_odd_vector_cannot_be_turned():
    with pytest.raises(ValueError, match="odd d_head=3"):
        turned_by_place(np.ones(3), 2)


# --- ALiBi -----------------------------------------------------------------------------------------------------------


def test_alibi_by_hand():
    bias = alibi_bias(8, 4).values
    distance = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    np.testing.assert_allclose(bias[0], -0.5 * np.array(distance))
    np.testing.assert_allclose(bias[7], -np.array(distance) / 256)


def test_alibi_is_what_a_model_adds():
    alibi = model("alibi", architecture="encoder-only")
    trace = capture(alibi, torch.tensor([[3, 4, 5, 6]]))
    np.testing.assert_array_equal(trace["encoder.1.self_attn.bias"].numpy(), alibi_bias(2, 4).values)


# --- A shuffled sentence ---------------------------------------------------------------------------------------------

IDS, WORDS = (5, 6, 7, 8, 6, 2), ("a", "b", "c", "d", "b", "⟨eos⟩")


@pytest.mark.parametrize("seed", range(7))
def test_an_order_has_every_word_and_moves_some(seed):
    order = other_order(5, "random", seed)
    assert sorted(order) == list(range(5)) and order != tuple(range(5))
    assert order == other_order(5, "random", seed)


def test_few_words_have_an_order_too():
    assert other_order(1, "random", 0) == (0,)
    assert other_order(0, "random", 0) == ()
    assert other_order(2, "random", 0) == (1, 0)
    assert other_order(3, "reversed", 9) == (2, 1, 0)


@pytest.mark.parametrize("architecture", ["encoder-only", "encoder-decoder"])
def test_without_positions_every_word_gets_the_same_numbers(architecture):
    found = shuffle(model("none", architecture=architecture), IDS, WORDS, (3, 0, 4, 2, 1, 5))
    assert found.largest < 1e-5
    np.testing.assert_allclose(found.shuffled.values[0], found.plain.values[3], atol=1e-5)
    assert found.shuffled.axes[0].labels == ("d · 3", "a · 0", "b · 4", "c · 2", "b · 1", "⟨eos⟩ · 5")
    assert found.back.axes[0].labels == found.plain.axes[0].labels


@pytest.mark.parametrize("rule", ["sinusoidal", "learned", "rotary", "alibi"])
def test_with_positions_it_does_not(rule):
    assert shuffle(model(rule, architecture="encoder-only"), IDS, WORDS, (3, 0, 4, 2, 1, 5)).largest > 0.01


@pytest.mark.parametrize("rule", ["sinusoidal", "learned"])
def test_positions_that_are_added_can_be_taken_away(rule):
    found = shuffle(model(rule), IDS, WORDS, (3, 0, 4, 2, 1, 5), without=True)
    assert found.largest < 1e-5


def test_alibi_takes_a_sentence_and_its_mirror_image_for_the_same():
    backwards = tuple(reversed(range(len(IDS))))
    assert shuffle(model("alibi", architecture="encoder-only"), IDS, WORDS, backwards).largest < 1e-5
    assert shuffle(model("rotary", architecture="encoder-only"), IDS, WORDS, backwards).largest > 0.01


def test_the_encoder_is_read_as_it_is_in_a_pass():
    both = model("sinusoidal")
    found = shuffle(both, IDS, WORDS, range(6))
    memory = capture(both, torch.tensor([IDS]), torch.tensor([[1, 5]]))["memory"]
    np.testing.assert_array_equal(found.plain.values, memory.numpy())
    assert found.largest == 0


def test_an_order_is_a_permutation():
    with pytest.raises(ValueError, match=r"an order of 6 words has each of them once, but got \[0, 0"):
        shuffle(model("none"), IDS, WORDS, (0, 0, 1, 2, 3, 4))


def test_attention_itself_is_blind_to_order():
    """The law behind it, on `attend` alone: permuted keys and values give the same mean."""
    draw = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 5, 3, generator=draw) for _ in range(3))
    order = torch.tensor([4, 2, 0, 1, 3])
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    torch.testing.assert_close(attend(q, k, v, mask), attend(q, k[:, :, order], v[:, :, order], mask))


# --- Models ----------------------------------------------------------------------------------------------------------


def test_the_laboratory_is_the_same_for_everybody():
    for rule in positions.RULES:
        assert untrained(rule, 7) is untrained(rule, 7)
        assert untrained(rule, 7).config.positions == rule and not untrained(rule, 7).training


def test_only_a_learned_table_is_one():
    with pytest.raises(ValueError, match="positions are sinusoidal, not learned"):
        learned(model("sinusoidal"))
    assert learned(model("learned")).shape == (11, 20)


@pytest.mark.parametrize(("rule", "wanted"), [("sinusoidal", (1, 10)), ("rotary", (1, 5))])
def test_full_turns_are_counted(rule, wanted):
    """Place 10 is the last of 11: a wave of 2π has come around, the next, 2.5 or 6.3 times as long, has not."""
    assert full_turns(model(rule).config) == wanted


def test_numbers_are_spread_evenly():
    assert spread_over(32, 8) == (0, 4, 9, 13, 18, 22, 27, 31)
    assert spread_over(3, 8) == (0, 1, 2)
    assert spread_over(32, 6, among=7) == (0, 7, 12, 19, 25, 31)
    assert spread_over(1, 6, among=0) == (0,)
