"""The layers of the two stacks, and how a sublayer is joined to the residual stream."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn

from models.attention import CrossAttention, SelfAttention
from models.cache import LayerCache
from models.config import ModelConfig
from models.feed_forward import feed_forward
from models.masks import View
from models.norms import NORMS
from models.tap import NO_TAP, Tap

_LANE = 2**16  # values that 16 random bits take


class Dropout(nn.Module):
    """In training, sets a share of the numbers to 0 and makes the others larger, so that the mean stays.

    Attributes:
        share: Of numbers that are set to 0, rounded to a multiple of 2⁻¹⁶.
        generator: Where chance comes from; torch's global generator if None.

    Source: Srivastava et al. 2014.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with some of its numbers gone, or as it is outside training."""
        if not self.training or self.share == 0.0:
            return x
        return x * self._kept(x).mul_(self._gain)

    def add(self, residual: Tensor, out: Tensor) -> Tensor:
        """Return residual + dropout(out), in one operation."""
        if not self.training or self.share == 0.0:
            return residual + out
        return torch.addcmul(residual, out, self._kept(out), value=self._gain)

    def replace(self, residual: Tensor, out: Tensor) -> Tensor:
        """Return dropout(out): the residual goes no further."""
        return self.forward(out)

    @property
    def _threshold(self) -> int:
        return min(round(self.share * _LANE), _LANE - 1)

    @property
    def _gain(self) -> float:
        return _LANE / (_LANE - self._threshold)

    def _kept(self, x: Tensor) -> Tensor:
        """Draw 1 for each number that stays and 0 for each that goes, in the shape of `x`."""
        if x.device.type != "cpu":
            return torch.empty_like(x).bernoulli_(1 / self._gain, generator=self.generator)
        # Four lanes of 16 bits from each draw: several times faster than a draw for each number.
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        draws.random_(-(2**63), None, generator=self.generator)
        lanes = draws.view(torch.int16)[: x.numel()].view(x.shape)  # from −2¹⁵ to 2¹⁵ − 1
        return torch.ge(lanes, self._threshold - _LANE // 2, out=torch.empty_like(x))


class PostNorm(nn.Module):
    """norm(x + sublayer(x)): the sublayer reads the residual stream itself. Without residual: norm(sublayer(x)).

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, config: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        self.norm = NORMS[config.norm](config.d_model, config.norm_eps)
        self.joined = dropout.add if config.residual else dropout.replace

    def read(self, x: Tensor, tap: Tap) -> Tensor:
        """Return what the sublayer reads; the tap sees it as `input`."""
        return tap("input", x)

    def write(self, x: Tensor, out: Tensor, tap: Tap) -> Tensor:
        """Return the residual stream after the sublayer said `out`; the tap sees the sum as `added`."""
        return self.norm(tap("added", self.joined(x, out)))  # type: ignore[no-any-return]


class PreNorm(PostNorm):
    """x + sublayer(norm(x)): the residual stream is never normalised on its way. Without: sublayer(norm(x)).

    Source: Xiong et al. 2020, On Layer Normalization in the Transformer Architecture.
    """

    def read(self, x: Tensor, tap: Tap) -> Tensor:
        """Return what the sublayer reads; the tap sees it as `input`."""
        return tap("input", self.norm(x))

    def write(self, x: Tensor, out: Tensor, tap: Tap) -> Tensor:
        """Return the residual stream after the sublayer said `out`; the tap sees it as `added`."""
        return tap("added", self.joined(x, out))


PLACEMENTS: Mapping[str, type[PostNorm]] = MappingProxyType({"post": PostNorm, "pre": PreNorm})


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward. Also the layer of a decoder that has no encoder beside it.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, config: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        join = PLACEMENTS[config.norm_placement]
        self.self_attn = SelfAttention(config)
        self.self_attn_join = join(config, dropout)
        self.ffn = feed_forward(config)
        self.ffn_join = join(config, dropout)

    def forward(self, x: Tensor, view: View, *, cache: LayerCache | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Pass the residual stream `[batch, pos, d_model]` on; the tap sees `resid_pre`, `resid_mid`, `resid_post`."""
        x = tap("resid_pre", x)
        inner = tap.within("self_attn")
        out = self.self_attn(self.self_attn_join.read(x, inner), view, cache=cache, tap=inner)
        x = tap("resid_mid", self.self_attn_join.write(x, out, inner))
        inner = tap.within("ffn")
        out = self.ffn(self.ffn_join.read(x, inner), inner)
        return tap("resid_post", self.ffn_join.write(x, out, inner))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the encoder's memory, feed-forward.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, config: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        join = PLACEMENTS[config.norm_placement]
        self.self_attn = SelfAttention(config)
        self.self_attn_join = join(config, dropout)
        self.cross_attn = CrossAttention(config)
        self.cross_attn_join = join(config, dropout)
        self.ffn = feed_forward(config)
        self.ffn_join = join(config, dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        view: View,
        memory_view: View,
        *,
        cache: LayerCache | None = None,
        tap: Tap = NO_TAP,
    ) -> Tensor:
        """Pass the residual stream `[batch, pos, d_model]` on.

        The tap sees `resid_pre`, `resid_mid`, `resid_mid_cross` and `resid_post`.
        """
        x = tap("resid_pre", x)
        inner = tap.within("self_attn")
        out = self.self_attn(self.self_attn_join.read(x, inner), view, cache=cache, tap=inner)
        x = tap("resid_mid", self.self_attn_join.write(x, out, inner))
        inner = tap.within("cross_attn")
        out = self.cross_attn(self.cross_attn_join.read(x, inner), memory, memory_view, cache=cache, tap=inner)
        x = tap("resid_mid_cross", self.cross_attn_join.write(x, out, inner))
        inner = tap.within("ffn")
        out = self.ffn(self.ffn_join.read(x, inner), inner)
        return tap("resid_post", self.ffn_join.write(x, out, inner))
