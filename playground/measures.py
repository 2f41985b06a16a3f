"""Quantities computed from a reading: labelled numbers in, labelled numbers out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from playground.labelled import Axis, LabelledArray


def softmax(scores: LabelledArray, allowed: npt.NDArray[np.bool_]) -> LabelledArray:
    """Turn scores into weights over the last axis, as the model does, in float64.

    Args:
        scores: `[…, query, key]`, before the mask.
        allowed: True where a query may look; broadcasts to `scores`. A query that may look nowhere gets zeros.

    Returns:
        Weights of the same axes: each row sums to 1, or is 0 throughout.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    masked = np.where(allowed, scores.values.astype(np.float64), -np.inf)
    top = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    raised = np.exp(masked - np.where(np.isfinite(top), top, 0.0))
    total = raised.sum(axis=-1, keepdims=True)
    weights = np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)
    return scores.derived(f"softmax({scores.name})", weights.astype(np.float32))


def entropy(weights: LabelledArray) -> LabelledArray:
    """Return the entropy of each distribution over the last axis, in nats: 0 for one sure choice, ln n for none.

    A row of zeros (a query that may look nowhere) has entropy 0.
    """
    p = weights.values.astype(np.float64)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return LabelledArray(f"entropy({weights.name})", -(p * logs).sum(axis=-1), weights.axes[:-1])


def jacobian_norm(weights: LabelledArray) -> LabelledArray:
    """Return ‖diag(p) − ppᵀ‖_F for each distribution p over the last axis: how far softmax's weights still move.

    It is the Frobenius norm of the derivative of the weights by the scores that softmax was given. It is 0 when all
    weight lies on one key, √(n − 1)/n when n keys have the same, and 1/2, the most, when two share all of it.

    Source: ∂pᵢ/∂sⱼ = pᵢ(δᵢⱼ − pⱼ).
    """
    p = weights.values.astype(np.float64)
    beside = p[..., :, None] * p[..., None, :] * (1 - np.eye(p.shape[-1]))
    # p(1 − p) as a sum over the other keys, which stays exact where p is 1 but for a billionth.
    own = beside.sum(axis=-1)
    norm = np.sqrt((own**2).sum(axis=-1) + (beside**2).sum(axis=(-2, -1)))
    return LabelledArray(f"jacobian_norm({weights.name})", norm, weights.axes[:-1])


def agreement(weights: LabelledArray, alignment: Iterable[tuple[int, int]]) -> float:
    """Return the mean weight that a head lays on the words it should look at.

    Args:
        weights: `[query, key]`, one head; query `i` writes target word `i`.
        alignment: Pairs (target position, source position) that translate each other. Target words without a pair
            are left out.

    Returns:
        0 to 1: the weight on a target word's own source words, averaged over the target words; 0 without any pair.
    """
    wanted: dict[int, set[int]] = {}
    for row, column in alignment:
        wanted.setdefault(row, set()).add(column)
    if not wanted:
        return 0.0
    return float(np.mean([weights.values[row, sorted(columns)].sum() for row, columns in wanted.items()]))


def likeliest(probs: LabelledArray, n: int) -> LabelledArray:
    """Return the `n` largest of a distribution `[vocab]`, largest first; the lowest id first on a tie."""
    (axis,) = probs.axes
    order = np.argsort(-probs.values, kind="stable")[:n]
    return LabelledArray(probs.name, probs.values[order], (Axis(axis.name, tuple(axis.labels[i] for i in order)),))


def shortlist(
    probs: LabelledArray, logits: LabelledArray, *, per_row: int, rest: str
) -> tuple[LabelledArray, LabelledArray]:
    """Keep the columns of words that are among the likeliest of some row, likeliest in all first.

    Args:
        probs: `[pos, vocab]`.
        logits: `[pos, vocab]`, of the same pass.
        per_row: How many of each row's likeliest words are kept.
        rest: Label of the column of all other words' probability together.

    Returns:
        The logits of those words, and their probabilities with the rest, so that each row still sums to 1.
    """
    pos, vocab = probs.axes
    best = np.argsort(-probs.values, axis=-1, kind="stable")[:, :per_row]
    kept = np.unique(best)
    kept = kept[np.argsort(-probs.values[:, kept].sum(axis=0), kind="stable")]
    words = tuple(vocab.labels[i] for i in kept)
    others = 1.0 - probs.values[:, kept].sum(axis=1, keepdims=True, dtype=np.float64)
    shown = np.concatenate([probs.values[:, kept], np.clip(others, 0.0, 1.0)], axis=1).astype(np.float32)
    return (
        LabelledArray(logits.name, logits.values[:, kept], (pos, Axis(vocab.name, words))),
        LabelledArray(probs.name, shown, (pos, Axis(vocab.name, (*words, rest)))),
    )


def mean_length(rows: LabelledArray) -> float:
    """Return the mean Euclidean length of the rows of `[pos, d_model]`."""
    return float(np.linalg.norm(rows.values.astype(np.float64), axis=-1).mean())


def share_above_zero(values: LabelledArray) -> float:
    """Return the share of numbers that are above zero, 0 to 1."""
    return float((values.values > 0).mean())
