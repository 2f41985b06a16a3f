"""Adam under the microscope: what one weight's gradients make of its two means, and how far it then moves.

A run writes down the gradients of a few weights at every step (`playground.training.probes`). From these, and from the
run's own learning rates, Adam's means and steps follow by its formula; that the weights then lie where the run recorded
them is the check. Plain gradient descent on the same gradients stands beside it.

Source: Kingma and Ba 2015, algorithm 1; β₁, β₂ and ε of Vaswani et al. 2017, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """One weight through a training: `[step]` each, from the first update on.

    Attributes:
        gradient: g, of the loss by the weight.
        rate: Learning rate of each update.
        mean: m, the running mean of gradients, before its correction.
        square: v, the running mean of squared gradients, before its correction.
        mean_corrected: m̂ = m / (1 − β₁^t).
        square_corrected: v̂ = v / (1 − β₂^t).
        ratio: m̂ / (√v̂ + ε): the step in learning rates.
        step: What is added to the weight: −rate · ratio.
    """

    gradient: Numbers
    rate: Numbers
    mean: Numbers
    square: Numbers
    mean_corrected: Numbers
    square_corrected: Numbers
    ratio: Numbers
    step: Numbers

    @property
    def path(self) -> Numbers:
        """How far the weight has moved from its first value, `[step]`: the sum of its steps."""
        return np.cumsum(self.step)


def adam(gradient: Numbers, rate: Numbers, *, beta1: float, beta2: float, eps: float) -> Course:
    """Return what Adam makes of a weight's gradients.

    Args:
        gradient: `[step]`, from the first update on.
        rate: Learning rate of each update, `[step]`.
        beta1: Decay a step of the mean of gradients.
        beta2: Decay a step of the mean of squared gradients.
        eps: Added to the root of that mean.

    Raises:
        ValueError: If the two are not equally long.
    """
    if gradient.shape != rate.shape or gradient.ndim != 1:
        raise ValueError(f"every gradient has a rate, but the shapes are {gradient.shape} and {rate.shape}")
    mean, square = _decayed(gradient, beta1), _decayed(gradient**2, beta2)
    t = np.arange(1, len(gradient) + 1)
    mean_corrected, square_corrected = mean / (1 - beta1**t), square / (1 - beta2**t)
    ratio = mean_corrected / (np.sqrt(square_corrected) + eps)
    return Course(gradient, rate, mean, square, mean_corrected, square_corrected, ratio, -rate * ratio)


def descent(course: Course) -> tuple[Numbers, float]:
    """Return the steps of plain gradient descent on the same gradients, and its rate as a multiple of the run's.

    Its rate follows the run's schedule, times one number for which all its steps together are as long as Adam's: so
    what differs is how the same way is shared out over the steps.

    Returns:
        `[step]`, and that number; 0 for a weight whose gradients are all 0.
    """
    plain = -course.rate * course.gradient
    own, others = float(np.abs(course.step).sum()), float(np.abs(plain).sum())
    scale = own / others if others > 0 else 0.0
    return scale * plain, scale


def spread(values: Numbers) -> float:
    """Return how unevenly steps are shared out: the largest in size over the mean in size; 0 if all are 0."""
    sizes = np.abs(values)
    mean = float(sizes.mean()) if len(sizes) else 0.0
    return float(sizes.max()) / mean if mean > 0 else 0.0


def _decayed(values: Numbers, beta: float) -> Numbers:
    """Return beta · before + (1 − beta) · value, from 0 on."""
    out = np.empty_like(values, dtype=np.float64)
    held = 0.0
    for i, value in enumerate(values.tolist()):
        held = beta * held + (1 - beta) * value
        out[i] = held
    return out
