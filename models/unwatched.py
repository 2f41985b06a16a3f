"""Attention while nobody watches: what `attend` does, faster, keeping none of the steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

# Up to here torch's own kernels take longer than a few products of small matrices, measured on a CPU.
SHORT = 16


def attend_unwatched(q: Tensor, k: Tensor, v: Tensor, addend: Tensor | None, *, scale: float | None = None) -> Tensor:
    """Return softmax(q kᵀ · scale + addend) v, zeros for a query that may look nowhere.

    Args:
        q: `[batch, head, query, d_head]`.
        k: `[batch, kv_head, key, d_head]`.
        v: `[batch, kv_head, key, d_head]`.
        addend: −∞ where a query may not look, else the bias or 0; broadcasts to `[batch, head, query, key]`. None
            where it would be 0 everywhere.
        scale: `1/√d_head` if None.

    Returns:
        `[batch, head, query, d_head]`.
    """
    if scale is None:
        scale = q.shape[-1] ** -0.5
    if addend is None or q.device.type != "cpu" or q.dtype != torch.float32 or k.shape[2] > SHORT:
        grouped = q.shape[1] != k.shape[1]
        addend = None if addend is None else addend.to(q.dtype)
        return F.scaled_dot_product_attention(q, k, v, addend, scale=scale, enable_gqa=grouped)
    if n_shared := q.shape[1] // k.shape[1] - 1:
        k, v = (each.repeat_interleave(n_shared + 1, dim=1) for each in (k, v))
    # Heads outermost: so they lie in memory, and two axes become one without a copy.
    flat = (each.transpose(0, 1).flatten(0, 1) for each in (q, k, v))  # [head · batch, pos, d_head]
    z: Tensor = _ShortAttention.apply(*flat, addend.transpose(0, 1), scale)  # type: ignore[no-untyped-call]
    return z.view(q.shape[1], q.shape[0], *z.shape[1:]).transpose(0, 1)


class _ShortAttention(torch.autograd.Function):
    """Attention and its gradients by hand, in a few operations that work in place.

    With w = softmax(s), s = scale · q kᵀ + addend and z = w v, and a dot for "gradient of the loss by":
    v̇ = wᵀ ż, ẇ = ż vᵀ, ṡ = w ∘ ẇ − w · Σ(w ∘ ẇ), q̇ = scale · ṡ k, k̇ = scale · ṡᵀ q.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, addend: Tensor, scale: float) -> Tensor:
        """Return z, `[head · batch, query, d_head]`; `addend` broadcasts to `[head, batch, query, key]`."""
        weights = torch.bmm(q, k.mT).mul_(scale)  # [head · batch, query, key]
        weights.view(-1, addend.shape[1], *weights.shape[1:]).add_(addend)
        # A query that may look nowhere has −∞ everywhere: −∞ less the smallest number is still −∞, and weighs 0.
        largest = weights.amax(dim=-1, keepdim=True).clamp_(min=torch.finfo(q.dtype).min)
        weights.sub_(largest).exp_()
        # The largest has become 1, so every sum is 1 or more, but for the query that may look nowhere.
        weights.div_(weights.sum(dim=-1, keepdim=True).clamp_(min=1.0))
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale = scale
        return torch.bmm(weights, v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of q, k and v."""
        q, k, v, weights = ctx.saved_tensors
        grad_scores = torch.bmm(grad, v.mT).mul_(weights)
        total = grad_scores.sum(dim=-1, keepdim=True)
        grad_scores.addcmul_(weights, total, value=-1).mul_(ctx.scale)
        return torch.bmm(grad_scores, k), torch.bmm(grad_scores.mT, q), torch.bmm(weights.mT, grad), None, None
