"""How the paper's model was trained: its learning rate, its loss, and the share of tokens it gets right."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def noam_rate(step: int, *, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """Return the learning rate: factor · d_model^−0.5 · min(step^−0.5, step · warmup^−1.5).

    Args:
        step: Number of the update, from 1.
        d_model: Width of the model.
        warmup: Steps over which the rate rises; its peak is factor / √(d_model · warmup). With 0 it only falls.
        factor: Multiplies the rate.

    Raises:
        ValueError: If `step` is below 1, or `warmup` below 0.

    Source: Vaswani et al. 2017, section 5.3, equation 3.
    """
    if step < 1:
        raise ValueError(f"steps count from 1, but got step={step}")
    if warmup < 0:
        raise ValueError(f"warmup is 0 or more steps, but got {warmup}")
    falling = step**-0.5
    rising = step * warmup**-1.5 if warmup else falling
    return float(factor * d_model**-0.5 * min(falling, rising))


def label_smoothed_loss(logits: Tensor, targets: Tensor, pad_id: int, smoothing: float) -> Tensor:
    """Return the cross-entropy to the smoothed targets, in nats per real token.

    The target distribution is 1 − smoothing on the right token plus smoothing / vocab on every token, it included.

    Args:
        logits: `[batch, pos, vocab]`.
        targets: Token ids, `[batch, pos]`.
        pad_id: Positions with this target do not count.
        smoothing: Share of probability that is spread, from 0 to below 1.

    Returns:
        A scalar; 0 if no token is real.

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4.
    """
    total = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )
    return total / (targets != pad_id).sum().clamp(min=1)


def accuracy(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    """Return the share of real tokens that are the likeliest, a scalar from 0 to 1; 0 if no token is real.

    Args:
        logits: `[batch, pos, vocab]`.
        targets: Token ids, `[batch, pos]`.
        pad_id: Positions with this target do not count.
    """
    real = targets != pad_id
    right = (logits.argmax(dim=-1) == targets) & real
    return right.sum() / torch.clamp(real.sum(), min=1)
