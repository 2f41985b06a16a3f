"""How the paper's model was trained: its learning rate and others, its loss, and the share of tokens it gets right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

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


Schedule = Literal["noam", "constant", "inverse_sqrt", "cosine", "one_cycle"]

# One-cycle starts at a 25th of its peak and ends at a 10,000th of where it started, as `OneCycleLR` does.
CYCLE_START, CYCLE_END = 1 / 25, 1e-4


def _constant(step: int, warmup: int, steps: int) -> float:
    """Return 1: no warm-up, and no fall."""
    return 1.0


def _inverse_sqrt(step: int, warmup: int, steps: int) -> float:
    """Return √(warmup / max(step, warmup)): the peak for as long as Noam would rise, then Noam's own fall.

    Source: Raffel et al. 2020 (T5), section 3.1.2.
    """
    return math.sqrt(warmup / max(step, warmup))


def _cosine(step: int, warmup: int, steps: int) -> float:
    """Return step / warmup while it rises, then ½ (1 + cos(π · (step − warmup) / (steps + 1 − warmup))).

    Half a wave from the peak to 0, which would be the step after the last.

    Source: Loshchilov and Hutter 2017, equation 5, one period; with a linear warm-up.
    """
    if step <= warmup:
        return step / warmup
    return _half_wave(1.0, 0.0, (step - warmup) / (steps + 1 - warmup))


def _one_cycle(step: int, warmup: int, steps: int) -> float:
    """Return half a wave up from a 25th of the peak to it, at step `warmup`, and half a wave down to next to nothing.

    Source: Smith and Topin 2019, in the form of `torch.optim.lr_scheduler.OneCycleLR`.
    """
    if step < warmup:
        return _half_wave(CYCLE_START, 1.0, (step - 1) / (warmup - 1))
    return _half_wave(1.0, CYCLE_START * CYCLE_END, (step - warmup) / max(1, steps - warmup))


def _half_wave(start: float, end: float, share: float) -> float:
    """Return the height of half a cosine wave from `start` to `end`, a share of 0–1 of the way."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


# Each schedule but Noam's as a share of the peak, by step (from 1), warm-up and planned steps.
_SHAPES: Mapping[str, Callable[[int, int, int], float]] = MappingProxyType(
    {"constant": _constant, "inverse_sqrt": _inverse_sqrt, "cosine": _cosine, "one_cycle": _one_cycle}
)

SCHEDULES: tuple[str, ...] = get_args(Schedule)


def peak_rate(*, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """Return factor / √(d_model · warmup): Noam's rate at the end of its warm-up, the largest of every schedule here.

    Raises:
        ValueError: If `warmup` is below 1.
    """
    if warmup < 1:
        raise ValueError(f"a peak needs a warm-up of 1 step or more, but got {warmup}")
    return float(factor * (d_model * warmup) ** -0.5)


def learning_rate(step: int, *, schedule: str, d_model: int, warmup: int, factor: float, steps: int) -> float:
    """Return the learning rate of an update.

    All schedules have one peak, `peak_rate`, so that two of them differ in nothing but their shape:

    - `noam`: rises in proportion to the step, falls with its square root (`noam_rate`).
    - `constant`: the peak at every step.
    - `inverse_sqrt`: the peak for `warmup` steps, then falls as Noam does.
    - `cosine`: rises as Noam does, then falls along half a cosine wave to 0.
    - `one_cycle`: rises along half a wave from a 25th of the peak, falls along half a wave to next to nothing.

    Args:
        step: Number of the update, from 1.
        schedule: One of `SCHEDULES`.
        d_model: Width of the model.
        warmup: Number of the step with the peak rate, 1 or more.
        factor: Multiplies the rate.
        steps: Updates planned; only `cosine` and `one_cycle` depend on it.

    Raises:
        ValueError: If there is no such schedule, `step` is not between 1 and `steps`, or `warmup` is below 1.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is one of {', '.join(SCHEDULES)}, but got {schedule!r}")
    if not 1 <= step <= steps:
        raise ValueError(f"steps count from 1 to steps={steps}, but got step={step}")
    peak = peak_rate(d_model=d_model, warmup=warmup, factor=factor)
    if schedule == "noam":
        return noam_rate(step, d_model=d_model, warmup=warmup, factor=factor)
    return peak * _SHAPES[schedule](step, warmup, steps)


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
