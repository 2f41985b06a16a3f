"""Attention: each query takes a weighted mean of the values, the weights being how well the keys fit it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.cache import Entries, LayerCache
from models.config import ModelConfig
from models.masks import View, check_mask
from models.tap import NO_TAP, Tap
from models.unwatched import attend_unwatched


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    *,
    bias: Tensor | None = None,
    scale: float | None = None,
    tap: Tap = NO_TAP,
) -> Tensor:
    """Let each query take a weighted mean of the values: softmax(q kᵀ · scale + bias) v.

    Args:
        q: What each position looks for, `[batch, head, query, d_head]`.
        k: What each position offers to be found by, `[batch, kv_head, key, d_head]`. With fewer heads than `q`, a
            block of neighbouring query heads shares each.
        v: What each position hands over, `[batch, kv_head, key, d_head]`.
        mask: True where a query may look; broadcasts to `[batch, head, query, key]`.
        bias: Added to the scaled scores, broadcasts likewise.
        scale: Factor on the scores; `1/√d_head` if None, 1.0 leaves them unscaled.
        tap: Sees `raw_scores`, `bias` if there is one, `scores`, `masked_scores`, `weights` (rows sum to 1) and `z`.

    Returns:
        `z`, one mixed value per query, `[batch, head, query, d_head]`; zeros for a query that may look nowhere.

    Raises:
        TypeError: If the mask is not boolean.
        ValueError: If the mask does not broadcast to the scores.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    n_shared = q.shape[1] // k.shape[1]
    if n_shared > 1:
        k, v = k.repeat_interleave(n_shared, dim=1), v.repeat_interleave(n_shared, dim=1)
    raw_scores = tap("raw_scores", q @ k.mT)  # [batch, head, query, key]
    batch, n_heads, n_query, n_key = raw_scores.shape
    check_mask(mask, (batch, n_heads, n_query, n_key))
    scaled = raw_scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        scaled = scaled + tap("bias", bias.expand_as(scaled))
    scores = tap("scores", scaled)
    # -inf, not a large negative number: a hidden key must weigh exactly 0.
    masked_scores = tap("masked_scores", scores.masked_fill(~mask, -math.inf))
    # A row of -inf has no softmax, forward or backward: such a query looks nowhere, and weighs nothing.
    nowhere = masked_scores.amax(dim=-1, keepdim=True) == -math.inf  # [batch, head, query, 1]
    weights = tap("weights", masked_scores.masked_fill(nowhere, 0.0).softmax(dim=-1).masked_fill(nowhere, 0.0))
    return tap("z", weights @ v)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O, head_i = Attention(Q W_Q^i, K W_K^i, V W_V^i).

    The three projections stand side by side in one matrix, so that a self-attention needs one product.

    Attributes:
        W_QKV: `[d_model, (n_heads + 2 · n_kv_heads) · d_head]`: all heads of W_Q, then of W_K, then of W_V.
        W_O: `[n_heads · d_head, d_model]`.

    Source: Vaswani et al. 2017, section 3.2.2; grouped keys and values: Ainslie et al. 2023.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_head = config.d_head
        self.scale = None if config.scale_scores else 1.0
        self.n_heads = [config.n_heads, config.n_kv_heads, config.n_kv_heads]  # of q, k and v
        self.widths = [config.d_head * n for n in self.n_heads]  # of q, k and v, all heads together
        self.W_QKV = nn.Parameter(torch.empty(config.d_model, sum(self.widths)))
        self.b_QKV = nn.Parameter(torch.empty(sum(self.widths))) if config.attention_bias else None
        self.W_O = nn.Parameter(torch.empty(self.widths[0], config.d_model))
        self.b_O = nn.Parameter(torch.empty(config.d_model)) if config.attention_bias else None

    @property
    def W_Q(self) -> Tensor:
        """What makes queries, a view: `[head, d_model, d_head]`."""
        return self._by_head(0)

    @property
    def W_K(self) -> Tensor:
        """What makes keys, a view: `[kv_head, d_model, d_head]`."""
        return self._by_head(1)

    @property
    def W_V(self) -> Tensor:
        """What makes values, a view: `[kv_head, d_model, d_head]`."""
        return self._by_head(2)

    def _by_head(self, which: int) -> Tensor:
        return self.W_QKV.view(len(self.W_QKV), -1, self.d_head).transpose(0, 1).split_with_sizes(self.n_heads)[which]

    def split_heads(self, x: Tensor, n_heads: list[int]) -> tuple[Tensor, ...]:
        """Cut `[batch, pos, heads · d_head]` into heads, and those into parts: each `[batch, head, pos, d_head]`."""
        batch, n_pos, _ = x.shape
        if n_pos == 1:
            return x.view(batch, -1, 1, self.d_head).split_with_sizes(n_heads, dim=1)
        # Heads outermost in memory, one copy for all parts: see `attend_unwatched`.
        heads = x.view(batch, n_pos, -1, self.d_head).permute(2, 0, 1, 3).contiguous()  # [head, batch, pos, d_head]
        return tuple(part.transpose(0, 1) for part in heads.split_with_sizes(n_heads))

    def mix(self, q: Tensor, k: Tensor, v: Tensor, view: View, tap: Tap) -> Tensor:
        """Attend in every head, lay the heads side by side, project: `[batch, query, d_model]`."""
        q, k, v = tap("q", q), tap("k", k), tap("v", v)
        if tap.watches:
            mask = view.observed(q.shape[0], q.shape[2], tap)
            z = attend(q, k, v, mask, bias=view.bias, scale=self.scale, tap=tap)
        else:
            z = attend_unwatched(q, k, v, view.addend, scale=self.scale)
        concat = tap("concat", z.transpose(1, 2).flatten(2))  # [batch, query, n_heads · d_head]
        return tap("out", F.linear(concat, self.W_O.T, self.b_O))


class SelfAttention(MultiHeadAttention):
    """Attention of a sequence to itself."""

    def forward(self, x: Tensor, view: View, *, cache: LayerCache | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Let each position of `x` look at the positions of `x`, and at those held in the cache.

        Args:
            x: `[batch, query, d_model]`.
            view: What each may look at.
            cache: Keys and values of what came before; those of `x` are added.
            tap: Sees `q`, `k`, `v`, what `attend` shows, `concat` and `out`.

        Returns:
            `[batch, query, d_model]`.
        """
        qkv = F.linear(x, self.W_QKV.T, self.b_QKV)  # [batch, query, all heads · d_head]
        q, k, v = self.split_heads(qkv, self.n_heads)
        q, k = view.turn("q", q, tap), view.turn("k", k, tap)
        if cache is not None:
            k, v = cache.own.extend(k, v)
        return self.mix(q, k, v, view, tap)


class CrossAttention(MultiHeadAttention):
    """Attention of one sequence to another: queries from the decoder, keys and values from the encoder's memory."""

    def forward(
        self, x: Tensor, memory: Tensor, view: View, *, cache: LayerCache | None = None, tap: Tap = NO_TAP
    ) -> Tensor:
        """Let each position of `x` look at the positions of `memory`.

        Args:
            x: `[batch, query, d_model]`.
            memory: `[batch, key, d_model]`.
            view: What each may look at.
            cache: Where keys and values are kept: computed the first time, read from then on.
            tap: Sees `memory`, `q`, `k`, `v`, what `attend` shows, `concat` and `out`.

        Returns:
            `[batch, query, d_model]`.
        """
        memory = tap("memory", memory)
        n_q = self.widths[0]
        W_Q, W_KV = self.W_QKV.split_with_sizes([n_q, sum(self.widths) - n_q], dim=1)
        b_Q, b_KV = (None, None) if self.b_QKV is None else self.b_QKV.split_with_sizes([n_q, sum(self.widths) - n_q])
        (q,) = self.split_heads(F.linear(x, W_Q.T, b_Q), self.n_heads[:1])
        if cache is not None and cache.cross is not None:
            return self.mix(q, cache.cross.k, cache.cross.v, view, tap)
        k, v = self.split_heads(F.linear(memory, W_KV.T, b_KV), self.n_heads[1:])
        if cache is not None:
            cache.cross = Entries(k.contiguous(), v.contiguous())
        return self.mix(q, k, v, view, tap)
