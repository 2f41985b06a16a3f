"""Normalisation of each position's vector, by its own numbers only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    """(x − mean) / √(variance + ε) · γ + β, over the last axis, the variance being the biased one.

    Source: Ba et al. 2016.
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise `[…, d_model]`."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class RMSNorm(nn.Module):
    """x / √(mean of squares + ε) · γ, over the last axis: no mean is taken off, no bias added.

    Source: Zhang and Sennrich 2019.
    """

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise `[…, d_model]`."""
        return F.rms_norm(x, self.gain.shape, self.gain, self.eps)


NORMS: Mapping[str, type[LayerNorm] | type[RMSNorm]] = MappingProxyType({"layer": LayerNorm, "rms": RMSNorm})
