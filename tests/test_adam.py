"""Adam's two means and its step: against torch, by law, by hand."""

import numpy as np
import pytest
import torch

from playground.adam import adam, descent, spread

PAPER = {"beta1": 0.9, "beta2": 0.98, "eps": 1e-9}


def test_one_weight_moves_as_torch_moves_it():
    rng = np.random.default_rng(0)
    gradients, rates = rng.normal(size=40) * 10 ** rng.uniform(-4, 2, size=40), rng.uniform(1e-4, 1e-2, size=40)
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    path, means, squares = [], [], []
    for gradient, rate in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = torch.tensor([gradient])
        optimizer.step()
        path.append(float(weight.detach()))
        means.append(float(optimizer.state[weight]["exp_avg"]))
        squares.append(float(optimizer.state[weight]["exp_avg_sq"]))
    course = adam(gradients, rates, **PAPER)
    np.testing.assert_allclose(course.path, path, rtol=1e-9)
    np.testing.assert_allclose(course.mean, means, rtol=1e-9)
    np.testing.assert_allclose(course.square, squares, rtol=1e-9)


def test_two_steps_by_hand():
    course = adam(np.array([2.0, -1.0]), np.array([0.1, 0.1]), beta1=0.5, beta2=0.75, eps=0.0)
    np.testing.assert_allclose(course.mean, [1.0, 0.0])  # ½·2;  ½·1 − ½·1
    np.testing.assert_allclose(course.square, [1.0, 1.0])  # ¼·4;  ¾·1 + ¼·1
    np.testing.assert_allclose(course.mean_corrected, [2.0, 0.0])
    np.testing.assert_allclose(course.square_corrected, [4.0, 1.0 / (1 - 0.75**2)])
    np.testing.assert_allclose(course.step, [-0.1, 0.0])


def test_the_first_step_is_one_learning_rate_whatever_the_gradient():
    for gradient in (1e-6, 3.0, -700.0):
        course = adam(np.array([gradient]), np.array([0.01]), **PAPER)
        assert course.ratio[0] == pytest.approx(np.sign(gradient), rel=2e-3)


def test_gradients_of_another_size_make_the_same_steps():
    """Adam's step does not depend on the scale of the loss; plain descent's does, but for the one number."""
    gradients, rates = np.random.default_rng(1).normal(size=30), np.full(30, 1e-3)
    small, large = adam(gradients, rates, **PAPER), adam(1000 * gradients, rates, **PAPER)
    np.testing.assert_allclose(large.step, small.step, rtol=1e-5)
    (one, scale), (other, shrunk) = descent(small), descent(large)
    np.testing.assert_allclose(one, other, rtol=1e-5)
    assert shrunk == pytest.approx(scale / 1000, rel=1e-5)
    assert np.abs(one).sum() == pytest.approx(np.abs(small.step).sum())


def test_how_unevenly_a_way_is_shared_out():
    assert spread(np.array([1.0, -1.0, 1.0])) == 1.0
    assert spread(np.array([0.0, 0.0, 3.0])) == 3.0
    assert spread(np.zeros(4)) == 0.0
    assert descent(adam(np.zeros(3), np.ones(3), **PAPER)) == (pytest.approx([0, 0, 0]), 0.0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="every gradient has a rate"):
        adam(np.zeros(3), np.zeros(2), **PAPER)
