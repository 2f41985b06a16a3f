"""The position-wise feed-forward network: widen, activate, narrow, the same for every position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.config import ModelConfig
from models.tap import NO_TAP, Tap


@dataclass(frozen=True)
class Activation:
    """A non-linear function of hidden units.

    Attributes:
        n_inputs: Numbers that go into each hidden unit: 1, or 2 for a unit with a gate.
        function: `[…, n_inputs · d_ff]` → `[…, d_ff]`; gates come first.
    """

    n_inputs: int
    function: Callable[[Tensor], Tensor]


def swiglu(x: Tensor) -> Tensor:
    """Return silu(gate) · value, the gates being the first half of the last axis.

    Source: Shazeer 2020, GLU Variants Improve Transformer.
    """
    gate, value = x.chunk(2, dim=-1)
    return F.silu(gate) * value


def gelu_tanh(x: Tensor) -> Tensor:
    """Return GELU by its tanh approximation, as GPT-2 has it."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "relu": Activation(1, F.relu),
        "gelu": Activation(1, F.gelu),
        "gelu_tanh": Activation(1, gelu_tanh),
        "swiglu": Activation(2, swiglu),
    }
)


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2.

    Attributes:
        W_1: `[d_model, n_inputs · d_ff]`.
        W_2: `[d_ff, d_model]`.

    Source: Vaswani et al. 2017, section 3.3, equation 2.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        d_inner = self.activation.n_inputs * config.d_ff
        self.W_1 = nn.Parameter(torch.empty(config.d_model, d_inner))
        self.b_1 = nn.Parameter(torch.empty(d_inner)) if config.ffn_bias else None
        self.W_2 = nn.Parameter(torch.empty(config.d_ff, config.d_model))
        self.b_2 = nn.Parameter(torch.empty(config.d_model)) if config.ffn_bias else None

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """Work on each position of `[batch, pos, d_model]` alone; the tap sees `hidden` and `out`."""
        hidden = tap("hidden", self.widen(x))  # [batch, pos, d_ff]
        return tap("out", self.narrow(hidden))

    def widen(self, x: Tensor) -> Tensor:
        """Return the hidden units, `[…, d_ff]`, of `[…, d_model]`."""
        return self.activation.function(F.linear(x, self.W_1.T, self.b_1))

    def narrow(self, hidden: Tensor) -> Tensor:
        """Return what hidden units say, `[…, d_model]`."""
        return F.linear(hidden, self.W_2.T, self.b_2)


class MixtureOfExperts(nn.Module):
    """Several feed-forward networks, of which a router chooses a few for each token: Σ g_e FFN_e(x).

    The shares g of those that are chosen are their probabilities, divided by their sum so that they add up to 1. Where
    one expert is chosen its share is its probability itself, for else the router would learn nothing.

    Attributes:
        W_router: `[d_model, n_experts]`.
        experts: The networks.

    Source: Shazeer et al. 2017; one expert: Fedus et al. 2021, section 2.1; the shares of several: Jiang et al. 2024,
        Mixtral of Experts, section 2.1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_active = config.n_active
        self.W_router = nn.Parameter(torch.empty(config.d_model, config.n_experts))
        self.experts = nn.ModuleList(FeedForward(config) for _ in range(config.n_experts))

    def __iter__(self) -> Iterator[FeedForward]:
        return iter(cast(Iterable[FeedForward], self.experts))

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """Work on each position of `[batch, pos, d_model]` alone.

        The tap sees `router` (probabilities), `expert` (True where one is chosen, the lowest numbers of equals),
        `expert_hidden` and `expert_out` (`[batch, expert, pos, …]`, zeros where an expert is not asked) and `out`.
        """
        router = tap("router", F.linear(x, self.W_router.T).softmax(dim=-1))  # [batch, pos, expert]
        best = router.argsort(dim=-1, descending=True, stable=True)[..., : self.n_active]
        expert = tap("expert", torch.zeros_like(router, dtype=torch.bool).scatter(-1, best, True))
        share = self.shares(router, expert)
        return tap("out", self._watched(x, expert, share, tap) if tap.watches else self._unwatched(x, expert, share))

    def shares(self, router: Tensor, expert: Tensor) -> Tensor:
        """Return how much of the output each expert makes, 0 for those that are not chosen: `[…, expert]`."""
        share = router * expert
        if self.n_active == 1:
            return share
        # An edit may have chosen none; then nothing is said, rather than 0 / 0.
        return share / share.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(share.dtype).tiny)

    def _watched(self, x: Tensor, expert: Tensor, share: Tensor, tap: Tap) -> Tensor:
        """Let every expert work on every position, and keep what those say that are chosen."""
        rest = ~expert.transpose(1, 2)[..., None]  # [batch, expert, pos, 1]
        widened = torch.stack([network.widen(x) for network in self], dim=1)
        hidden = tap("expert_hidden", widened.masked_fill(rest, 0.0))  # [batch, expert, pos, d_ff]
        narrowed = torch.stack([network.narrow(hidden[:, i]) for i, network in enumerate(self)], dim=1)
        said = tap("expert_out", narrowed.masked_fill(rest, 0.0))  # [batch, expert, pos, d_model]
        return (share.transpose(1, 2)[..., None] * said).sum(dim=1)

    def _unwatched(self, x: Tensor, expert: Tensor, share: Tensor) -> Tensor:
        """Let each expert work on the positions that chose it, all at once, and on no others."""
        out = torch.zeros_like(x)
        for each, network in enumerate(self):
            row, pos = expert[..., each].nonzero(as_tuple=True)
            # In training also those that nobody asked, so that each has a gradient, if only of 0.
            if len(row) or torch.is_grad_enabled():
                out.index_put_((row, pos), share[row, pos, each, None] * network(x[row, pos]), accumulate=True)
        return out


def feed_forward(config: ModelConfig) -> FeedForward | MixtureOfExperts:
    """Return a layer's feed-forward network: one, or several with a router."""
    return FeedForward(config) if config.n_experts == 1 else MixtureOfExperts(config)
