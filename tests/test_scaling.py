"""Scaling: against torch's own derivative, by law, by hand, and the subject's own numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from playground.labelled import Axis, LabelledArray
from playground.measures import jacobian_norm
from playground.plan import OPTIONS, chosen, plan, repeated
from playground.scaling import (
    EVEN,
    MEASURES,
    N_KEYS,
    N_QUERIES,
    ROOT,
    SIZES,
    TEMPERATURES,
    chosen_temperature,
    drawn,
    sampled,
    sharpness,
    temperatures,
    tempered,
)


def array(values, *names):
    values = np.asarray(values)
    axes = tuple(
        Axis(name, tuple(f"{name}{i}" for i in range(size))) for name, size in zip(names, values.shape, strict=True)
    )
    return LabelledArray("a", values, axes)


# --- The Jacobian ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.1, 1.0, 8.0])
def test_the_jacobians_norm_is_that_of_torchs_derivative(spread):
    scores = torch.tensor(np.random.default_rng(3).normal(size=(5, 7)) * spread)
    wanted = [torch.func.jacrev(lambda s: s.softmax(-1))(row).norm().item() for row in scores]
    got = jacobian_norm(array(scores.softmax(-1).numpy(), "query", "key"))
    np.testing.assert_allclose(got.values, wanted, rtol=1e-9, atol=1e-15)
    assert [axis.name for axis in got.axes] == ["query"]


def test_the_jacobians_norm_by_hand():
    rows = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3] * 3, [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(jacobian_norm(array(rows, "query", "key")).values, [0.5, 0, math.sqrt(2) / 3, 0])


def test_the_jacobians_norm_stays_exact_where_the_weights_are_all_but_sure():
    """The norm of (1 − ε, ε) is 2ε(1 − ε); taking p² from p would leave noise of 1e-8."""
    tiny = 1e-12
    assert jacobian_norm(array([[1 - tiny, tiny]], "query", "key")).values[0] == pytest.approx(2 * tiny, rel=1e-6)


# --- What is measured ------------------------------------------------------------------------------------------------


def test_sharpness_by_hand():
    found = sharpness(array([[0.0, math.log(3)], [1.0, 1.0]], "query", "key"))
    assert found.variance == pytest.approx(np.var([0, math.log(3), 1, 1]))
    assert found.largest == pytest.approx((0.75 + 0.5) / 2)
    assert found.entropy == pytest.approx((-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) + math.log(2)) / 2)
    assert found.jacobian == pytest.approx((2 * 0.75 * 0.25 + 0.5) / 2)


def test_what_is_hidden_is_not_measured():
    scores = array([[1.0, 99.0, 2.0], [7.0, 7.0, 7.0]], "query", "key")
    allowed = np.array([[True, False, True], [False, False, False]])
    seen = sharpness(array([[1.0, 2.0]], "query", "key"))
    assert sharpness(scores, allowed) == seen
    with pytest.raises(ValueError, match="nothing to measure"):
        sharpness(scores, np.zeros((2, 3), dtype=bool))


def test_keys_that_score_alike_are_where_the_curves_begin():
    even = sharpness(array(np.full((3, N_KEYS), 2.5), "query", "key"))
    for name in MEASURES:
        assert getattr(even, name) == pytest.approx(getattr(EVEN, name), abs=1e-6)


# --- The laboratory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_variance_is_d_k_and_1_when_divided(seed):
    draw = drawn(seed)
    assert tuple(draw.raw) == SIZES == tuple(2**i for i in range(11))
    for d_k in SIZES:
        # Products of one query share its length, so d_k = 1 is known least: to a sixth, three deviations in two.
        assert draw.undivided[d_k].variance == pytest.approx(d_k, rel=0.45 if d_k < 4 else 0.25)
        assert draw.divided[d_k].variance == pytest.approx(draw.undivided[d_k].variance / d_k, rel=1e-9)
        assert abs(draw.raw[d_k].values.mean()) < 6 * math.sqrt(d_k / (N_QUERIES * N_KEYS)) + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_undivided_scores_saturate_and_divided_ones_do_not(seed):
    draw = drawn(seed)
    first, last = draw.undivided[1], draw.undivided[1024]
    assert last.largest > 0.9 > 0.5 > first.largest
    assert last.entropy < 0.3 < 2 < first.entropy
    assert last.jacobian < first.jacobian / 3
    for d_k in SIZES:
        assert draw.divided[d_k].largest < 0.35
        assert draw.divided[d_k].jacobian > 0.2


def test_a_draw_is_the_same_for_its_seed_and_another_for_another():
    drawn.cache_clear()
    before = drawn(5).raw[64].values.copy()
    drawn.cache_clear()
    np.testing.assert_array_equal(drawn(5).raw[64].values, before)
    assert not np.array_equal(drawn(6).raw[64].values, before)


def test_the_scores_of_a_draw_are_products_of_the_vectors_cut_short():
    rng = np.random.default_rng(4)
    q = rng.standard_normal((N_QUERIES, 1, 1024), dtype=np.float32).astype(np.float64)
    k = rng.standard_normal((N_QUERIES, N_KEYS, 1024), dtype=np.float32).astype(np.float64)
    for d_k in (1, 2, 64, 1024):
        wanted = (q[..., :d_k] * k[..., :d_k]).sum(axis=-1)
        np.testing.assert_allclose(drawn(4).raw[d_k].values, wanted, atol=1e-4)


# --- Temperature -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.25, 1.0, 4.0, 32.0])
def test_a_temperature_divides_the_scores(temperature):
    scores = np.random.default_rng(0).normal(size=9) * 5
    wanted = torch.tensor(scores / temperature).softmax(-1)
    np.testing.assert_allclose(tempered(array(scores, "key"), temperature).values, wanted, atol=1e-7)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_is_above_0(temperature):
    with pytest.raises(ValueError, match="above 0"):
        tempered(array([1.0, 2.0], "key"), temperature)


def test_the_next_words_and_the_rest_sum_to_1_at_any_temperature():
    logits = array(np.random.default_rng(1).normal(size=50) * 3, "vocab")
    for temperature in (0.25, 1.0, 32.0):
        shown = sampled(logits, temperature, n=8, rest="rest")
        assert shown.values.sum() == pytest.approx(1, abs=1e-6)
        assert shown.axes[0].labels[:-1] == tuple(f"vocab{i}" for i in np.argsort(-logits.values)[:8])
        assert shown.axes[0].labels[-1] == "rest"


@pytest.mark.parametrize("d_k", [1, 2, 16, 64, 512])
def test_the_root_is_one_of_the_temperatures_once(d_k):
    offered = temperatures(d_k)
    assert offered[ROOT] == math.sqrt(d_k)
    assert [*offered.values()] == sorted(set(offered.values()))
    assert {f"{value:g}" for value in offered.values()} >= set(TEMPERATURES)
    for pick in (None, "nonsense", ROOT, f"{math.sqrt(d_k):g}"):
        assert offered[chosen_temperature(pick, d_k)] == math.sqrt(d_k)


# --- The door to a training ------------------------------------------------------------------------------------------


def test_a_run_is_repeated_but_for_the_division():
    config = plan({"task": "reverse", "d_model": "32", "steps": "200", "seed": "3"})
    picks = {"d_model": "128", "norm": "rms", "layer": 1}
    again = plan({**picks, **repeated(config, picks, scale_scores="no")})
    assert not again.model.scale_scores
    assert again == plan({"task": "reverse", "d_model": "32", "steps": "200", "seed": "3", "scale_scores": "no"})


def test_nothing_is_chosen_that_is_chosen_already():
    picks = chosen({})
    assert repeated(plan(picks), picks, scale_scores="no") == {"scale_scores": "no"}
    assert repeated(plan(picks), {}, scale_scores="no").keys() <= OPTIONS.keys()
