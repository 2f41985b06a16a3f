"""A mixture of experts is a weighted sum of plain networks, each asked only where it was chosen."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from models import FeedForward, MixtureOfExperts, ModelConfig, Recorder, capture, feed_forward
from tests.models.examples import SMALL, SRC, TGT, small

X = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(5))
KINDS = [{"n_experts": 5, "n_active": 2}, {"n_experts": 3}, {"n_experts": 4, "n_active": 4, "activation": "swiglu"}]


def mixture(seed=0, **choices) -> MixtureOfExperts:
    module = feed_forward(ModelConfig(**{**SMALL, **choices}))
    assert isinstance(module, MixtureOfExperts)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.3)
    return module


def plain_loop(module, x):
    """Return the same token by token, expert by expert, in float64."""
    out = torch.zeros_like(x, dtype=torch.float64)
    for index in torch.cartesian_prod(torch.arange(x.shape[0]), torch.arange(x.shape[1])).tolist():
        token = x[tuple(index)]
        p = (token @ module.W_router).softmax(-1).tolist()
        best = sorted(range(len(p)), key=lambda e: (-p[e], e))[: module.n_active]
        whole = sum(p[e] for e in best) if module.n_active > 1 else 1.0
        for e in best:
            out[tuple(index)] += p[e] / whole * module.experts[e](token[None, None])[0, 0].double()
    return out


@pytest.mark.parametrize("choices", KINDS, ids=str)
@torch.no_grad()
def test_a_plain_loop_gives_the_same_watched_and_unwatched(choices):
    module = mixture(**choices)
    expected = plain_loop(module, X).float()
    assert_close(module(X), expected, atol=1e-5, rtol=1e-5)
    assert_close(module(X, Recorder()), expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_mixtral_of_transformers_gives_the_same():
    mixtral = pytest.importorskip("transformers.models.mixtral.modeling_mixtral")
    module = mixture(n_experts=5, n_active=2, activation="swiglu", ffn_bias=False)
    theirs = mixtral.MixtralSparseMoeBlock(
        mixtral.MixtralConfig(
            hidden_size=24, intermediate_size=29, num_local_experts=5, num_experts_per_tok=2, hidden_act="silu"
        )
    )
    theirs.gate.weight.copy_(module.W_router.T)
    theirs.experts.gate_up_proj.copy_(torch.stack([each.W_1.T for each in module]))
    theirs.experts.down_proj.copy_(torch.stack([each.W_2.T for each in module]))
    assert_close(module(X), theirs(X), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("choices", KINDS, ids=str)
@torch.no_grad()
def test_as_many_experts_as_are_active_are_chosen_the_likeliest_ones(choices):
    module = mixture(**choices)
    recorder = Recorder()
    module(X, recorder)
    router, expert = recorder.tensors["router"], recorder.tensors["expert"]
    assert_close(router.sum(-1), torch.ones(2, 7))
    assert (expert.sum(-1) == module.n_active).all()
    assert (router.masked_fill(~expert, 2.0).amin(-1) >= router.masked_fill(expert, -1.0).amax(-1)).all()
    assert (recorder.tensors["expert_out"].transpose(1, 2)[~expert] == 0).all()


@torch.no_grad()
def test_of_equals_the_lowest_numbers_are_chosen():
    module = mixture(n_experts=5, n_active=2)
    module.W_router.zero_()
    recorder = Recorder()
    module(X, recorder)
    assert recorder.tensors["expert"][0, 0].tolist() == [True, True, False, False, False]


@torch.no_grad()
def test_an_edit_sends_a_token_elsewhere():
    model = small(n_experts=5, n_active=2)
    name = "encoder.0.ffn.expert"
    only = torch.zeros(5, 5, dtype=torch.bool)
    only[:, 3] = True
    trace = capture(model, SRC, TGT, edits={name: only})
    expected = trace["encoder.0.ffn.expert_out"][3]
    assert_close(trace["encoder.0.ffn.out"], expected)
    silent = capture(model, SRC, TGT, edits={name: torch.zeros_like(only)})
    assert (silent["encoder.0.ffn.out"] == 0).all()


@pytest.mark.parametrize("choices", KINDS, ids=str)
def test_router_and_chosen_experts_learn_and_the_others_get_a_gradient_of_0(choices):
    module = mixture(**choices)
    x = X[:1, :1]
    (module(x) ** 2).sum().backward()
    recorder = Recorder()
    module(x, recorder)
    chosen = recorder.tensors["expert"][0, 0].tolist()
    assert module.W_router.grad.abs().sum() > 0
    assert [bool(each.W_1.grad.any()) for each in module] == chosen
    assert torch.isfinite(module.W_router.grad).all()


@pytest.mark.parametrize("choices", [*KINDS, {}], ids=str)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_parameters_are_counted_without_building(choices, architecture):
    model = small(architecture=architecture, **choices)
    assert model.config.n_parameters == sum(weight.numel() for weight in model.parameters())
    networks = [module for module in model.modules() if isinstance(module, MixtureOfExperts)]
    idle = sum(
        weight.numel()
        for module in networks
        for network in list(module)[module.n_active :]
        for weight in network.parameters()
    )
    assert model.config.n_parameters_active == model.config.n_parameters - idle


def test_one_expert_is_a_plain_network_and_more_active_than_there_are_is_refused():
    module = feed_forward(ModelConfig(**SMALL))
    assert isinstance(module, FeedForward) and isinstance(module, nn.Module)
    with pytest.raises(ValueError, match="n_active=3 is more than n_experts=2"):
        ModelConfig(**SMALL, n_experts=2, n_active=3)
