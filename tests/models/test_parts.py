"""Norms, feed-forward networks and dropout against formula and torch."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from models import ACTIVATIONS, NORMS, Dropout, FeedForward, LayerNorm, ModelConfig, RMSNorm
from tests.models.examples import SMALL

X = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0)) * 3 + 1


def changed(norm):
    """Return the norm with gains and biases that do something."""
    with torch.no_grad():
        for index, weight in enumerate(norm.parameters()):
            weight.copy_(torch.randn(7, generator=torch.Generator().manual_seed(index)))
    return norm


def test_layer_norm_is_its_formula():
    """Biased variance, ε inside the root (rule 11)."""
    norm = changed(LayerNorm(7, 0.1))
    mean = X.mean(dim=-1, keepdim=True)
    variance = (X - mean).square().mean(dim=-1, keepdim=True)
    assert_close(norm(X), (X - mean) / (variance + 0.1).sqrt() * norm.gain + norm.bias, atol=1e-6, rtol=1e-5)


def test_rms_norm_is_its_formula_and_torchs():
    norm = changed(RMSNorm(7, 0.1))
    expected = X / (X.square().mean(dim=-1, keepdim=True) + 0.1).sqrt() * norm.gain
    assert_close(norm(X), expected, atol=1e-6, rtol=1e-5)
    theirs = nn.RMSNorm(7, eps=0.1)
    theirs.load_state_dict({"weight": norm.gain})
    assert_close(norm(X), theirs(X), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", NORMS)
def test_a_norm_sees_one_position_only(kind):
    norm = changed(NORMS[kind](7, 1e-5))
    assert_close(norm(X)[1, 2], norm(X[1, 2]), atol=1e-6, rtol=1e-6)


# --- Feed-forward ----------------------------------------------------------------------------------------------------

GELU = {"gelu": 0.5 * 1.3 * (1 + math.erf(1.3 / math.sqrt(2)))}
GELU["gelu_tanh"] = 0.5 * 1.3 * (1 + math.tanh(math.sqrt(2 / math.pi) * (1.3 + 0.044715 * 1.3**3)))


@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh"])
def test_gelu_is_its_formula(kind):
    assert ACTIVATIONS[kind].function(torch.tensor(1.3)).item() == pytest.approx(GELU[kind], abs=1e-6)
    assert GELU["gelu"] != pytest.approx(GELU["gelu_tanh"], abs=1e-5)


@pytest.mark.parametrize("kind", ["relu", "gelu", "gelu_tanh"])
def test_a_feed_forward_network_is_its_formula(kind):
    ffn = drawn(kind)
    function = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}[kind]
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(9))
    assert_close(ffn(x), function(x @ ffn.W_1 + ffn.b_1) @ ffn.W_2 + ffn.b_2, atol=1e-5, rtol=1e-5)


def test_swiglu_gates_with_the_first_half():
    ffn = drawn("swiglu", ffn_bias=False)
    assert ffn.W_1.shape == (24, 58)
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(9))
    gate, value = x @ ffn.W_1[:, :29], x @ ffn.W_1[:, 29:]
    assert_close(ffn(x), (gate * gate.sigmoid() * value) @ ffn.W_2, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_each_position_is_worked_on_alone_and_alike(kind):
    ffn = drawn(kind)
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(9))
    assert_close(ffn(x)[1, 3], ffn(x[1:, 3:4])[0, 0], atol=1e-4, rtol=1e-5)


def drawn(kind, **choices):
    ffn = FeedForward(ModelConfig(**{**SMALL, "activation": kind, **choices}))
    for index, weight in enumerate(ffn.parameters()):
        nn.init.normal_(weight, generator=torch.Generator().manual_seed(index))
    return ffn


# --- Dropout ---------------------------------------------------------------------------------------------------------


def dropout(share, seed=0):
    made = Dropout(share)
    made.generator = torch.Generator().manual_seed(seed)
    return made


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_dropout_takes_its_share_and_keeps_the_mean(share):
    out = dropout(share)(torch.ones(400, 501))
    assert (out == 0).float().mean().item() == pytest.approx(share, abs=0.005)
    assert out.mean().item() == pytest.approx(1, abs=0.02)
    assert out[out != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-4)
    # No pattern: neighbours, and rows, go independently of each other.
    gone = (out == 0).float()
    assert (gone[:, 1:] * gone[:, :-1]).mean().item() == pytest.approx(share**2, abs=0.01)
    assert (gone[:, 4:] * gone[:, :-4]).mean().item() == pytest.approx(share**2, abs=0.01)


def test_dropout_is_drawn_from_its_generator_alone():
    x = torch.ones(7, 11)
    before = torch.get_rng_state()
    first, second, other = dropout(0.5)(x), dropout(0.5)(x), dropout(0.5, seed=1)(x)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_adding_after_dropout_is_one_operation_with_the_same_result():
    x, residual = X, X.flip(0)
    assert_close(dropout(0.3).add(residual, x), residual + dropout(0.3)(x))


def test_dropout_passes_gradients_to_what_stayed():
    x = torch.ones(3, 5, 7, requires_grad=True)
    out = dropout(0.4).add(torch.zeros(3, 5, 7), x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("x", [torch.ones(5), torch.ones(1), torch.ones(2, 3), torch.ones(0, 4)])
def test_dropout_takes_any_size(x):
    assert dropout(0.5)(x).shape == x.shape


def test_outside_training_and_at_share_nothing_dropout_does_nothing():
    x = X
    assert dropout(0.5).eval()(x) is x
    assert dropout(0.0)(x) is x
    assert torch.equal(dropout(0.5).eval().add(x, x), 2 * x)


def test_almost_everything_may_go():
    assert dropout(1 - 1e-9)(torch.ones(100)).isfinite().all()
