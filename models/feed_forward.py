"""The position-wise feed-forward network: widen, activate, narrow, the same for every position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

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
        hidden = tap("hidden", self.activation.function(F.linear(x, self.W_1.T, self.b_1)))  # [batch, pos, d_ff]
        return tap("out", F.linear(hidden, self.W_2.T, self.b_2))
