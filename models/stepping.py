"""Reading one token of each row after the other: what `Transformer.decode` does with a cache, with less ado."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.attention import CrossAttention, SelfAttention
from models.cache import Entries, KVCache, LayerCache
from models.config import ModelConfig
from models.feed_forward import FeedForward, MixtureOfExperts
from models.masks import View
from models.norms import LayerNorm
from models.positions import Turn
from models.tap import NO_TAP
from models.transformer import Transformer
from models.unwatched import attend_unwatched


@dataclass(frozen=True, eq=False)
class _Now:
    """What all layers need to know of the token that is read: how positions turn it, and what they add to scores."""

    turn: Turn
    bias: Tensor | None


Sublayer = Callable[[Tensor, _Now], Tensor]
Norm = Callable[[Tensor], Tensor]


class Stepper:
    """A decoder that has read its beginning, for what follows it token by token.

    All that stays as it is from one token to the next is looked up once: which layers there are, their weights, how
    they are joined. What is computed is the same, to the last bit, always without dropout and without gradients.

    Args:
        model: Its decoder, without a window.
        cache: What it has read; each token is added to it. Its cross part must have been written.
        src_mask: True at the memory's real tokens, as in `Transformer.decode`; None in a decoder alone.

    Raises:
        ValueError: If the model has no decoder that can be read so.
    """

    def __init__(self, model: Transformer, cache: KVCache, src_mask: Tensor | None = None) -> None:
        config = model.config
        if model.decoder is None or not config.causal or config.window:
            raise ValueError("only a causal decoder without a window is read token by token")
        self._model = model
        self._cache = cache
        self._is_pre = config.norm_placement == "pre"
        self._residual = config.residual
        self._embedding = model.embedding if model.tgt_embedding is None else model.tgt_embedding
        self._unembedding = model.embedding if model.unembedding is None else model.unembedding
        self._positions, self._factor = model.positions, model.embed_factor
        self._embed_norm, self._final_norm = model.decoder.embed_norm, model.decoder.final_norm
        addend = None if src_mask is None else View({"padding": src_mask}).addend
        self._sublayers: list[tuple[Sublayer, Norm]] = []
        for layer, kept in zip(model.decoder.layers, cache.layers, strict=True):
            for name, part in layer.named_children():
                if not name.endswith("_join"):
                    norm = getattr(layer, f"{name}_join").norm
                    self._sublayers.append((_sublayer(part, config, kept, addend), _norm(norm)))

    def reads(self, tgt: Tensor) -> bool:
        """Return whether these tokens, `[batch, pos]`, can be read so: one in each row, and nothing is padding."""
        return tgt.shape[1] == 1 and not self._cache.is_padded and bool((tgt != self._model.config.pad_id).all())

    @torch.no_grad()
    def __call__(self, tgt: Tensor) -> Tensor:
        """Read one token of each row, `[batch, 1]`, and return the logits of what follows, `[batch, 1, vocab]`.

        Raises:
            ValueError: If a row becomes too long, or the cache has another number of rows.
        """
        config = self._model.config
        where = self._cache.admit(torch.ones_like(tgt, dtype=torch.bool), config.max_len)
        x = torch.embedding(self._embedding, tgt)
        x = x if self._factor == 1.0 else x * self._factor
        x = self._embed_norm(self._positions.add(x, where, NO_TAP), NO_TAP)
        # Positions of all keys are only asked for by rules that lower scores.
        bias = self._positions.bias(where, self._cache.where) if config.positions == "alibi" else None
        now = _Now(self._positions.turn(where), bias)
        for work, norm in self._sublayers:
            if self._is_pre:
                out = work(norm(x), now)
                x = x + out if self._residual else out
            else:
                out = work(x, now)
                x = norm(x + out if self._residual else out)
        return F.linear(self._final_norm(x, NO_TAP), self._unembedding, self._model.unembed_bias)


def _sublayer(part: nn.Module, config: ModelConfig, kept: LayerCache, addend: Tensor | None) -> Sublayer:
    if isinstance(part, SelfAttention):
        return _self_attention(part, kept.own)
    if isinstance(part, CrossAttention):
        return _cross_attention(part, kept, addend)
    assert isinstance(part, (FeedForward, MixtureOfExperts))
    if isinstance(part, MixtureOfExperts):
        return lambda x, now: part(x)
    W_1, b_1, W_2, b_2, act = part.W_1.T, part.b_1, part.W_2.T, part.b_2, part.activation.function
    return lambda x, now: F.linear(act(F.linear(x, W_1, b_1)), W_2, b_2)


def _self_attention(part: SelfAttention, own: Entries) -> Sublayer:
    W_QKV, b_QKV, W_O, b_O = part.W_QKV.T, part.b_QKV, part.W_O.T, part.b_O
    n_heads, d_head, scale = part.n_heads, part.d_head, part.scale

    def attend(x: Tensor, now: _Now) -> Tensor:
        heads = F.linear(x, W_QKV, b_QKV).view(len(x), -1, 1, d_head)  # [batch, all heads, 1, d_head]
        q, k, v = heads.split_with_sizes(n_heads, dim=1)
        k, v = own.extend(now.turn("k", k, NO_TAP), v)
        z = attend_unwatched(now.turn("q", q, NO_TAP), k, v, now.bias, scale=scale)
        return F.linear(z.transpose(1, 2).flatten(2), W_O, b_O)

    return attend


def _cross_attention(part: CrossAttention, kept: LayerCache, addend: Tensor | None) -> Sublayer:
    assert kept.cross is not None
    n_q, d_head, scale, entries = part.widths[0], part.d_head, part.scale, kept.cross
    W_Q, b_Q = part.W_QKV[:, :n_q].T, None if part.b_QKV is None else part.b_QKV[:n_q]
    W_O, b_O = part.W_O.T, part.b_O

    def attend(x: Tensor, now: _Now) -> Tensor:
        q = F.linear(x, W_Q, b_Q).view(len(x), -1, 1, d_head)
        z = attend_unwatched(q, entries.k, entries.v, addend, scale=scale)
        return F.linear(z.transpose(1, 2).flatten(2), W_O, b_O)

    return attend


def _norm(norm: nn.Module) -> Norm:
    if not isinstance(norm, LayerNorm):
        return norm
    shape, gain, bias, eps = norm.gain.shape, norm.gain, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, gain, bias, eps)
