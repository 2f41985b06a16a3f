"""Why scores are divided by √d_k: measured on drawn vectors for every d_k, on the subject's heads, for any temperature.

Dividing by √d_k is softmax at temperature √d_k: p = softmax(s / T). What is measured is measured at every temperature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from playground.labelled import Axis, LabelledArray
from playground.measures import entropy, jacobian_norm, softmax

# Of the laboratory: how many queries are drawn, each with keys of its own, and the sizes that they are cut to.
N_QUERIES = 128
N_KEYS = 16
SIZES = tuple(2**i for i in range(11))


@dataclass(frozen=True)
class Sharpness:
    """How wide scores spread, and what softmax makes of that; each but the variance a mean over the queries.

    Attributes:
        variance: Of the scores that softmax is given, over all pairs of query and key.
        entropy: Of a query's weights, nats.
        largest: A query's largest weight, 0–1.
        jacobian: Frobenius norm of softmax's Jacobian at a query's weights.
    """

    variance: float
    entropy: float
    largest: float
    jacobian: float


# What the page shows, and the temperatures that are offered beside √d_k, which has a name of its own.
VIEWS = ("subject", "drawn", "temperature")
ROOT = "root"
TEMPERATURES = ("0.25", "0.5", "1", "2", "4", "8", "16", "32")

MEASURES = tuple(each.name for each in fields(Sharpness))

# Of a query that looks at all `N_KEYS` keys alike: where the curves begin when the scores hardly differ.
EVEN = Sharpness(0.0, float(np.log(N_KEYS)), 1 / N_KEYS, float(np.sqrt(N_KEYS - 1) / N_KEYS))


def sharpness(scores: LabelledArray, allowed: npt.NDArray[np.bool_] | None = None) -> Sharpness:
    """Measure scores and the weights that softmax makes of them.

    Args:
        scores: `[query, key]`, before the mask.
        allowed: True where a query may look, `[query, key]`; everywhere if None. Only these scores count.

    Raises:
        ValueError: If no query may look anywhere.
    """
    allowed = np.ones(scores.shape, dtype=np.bool_) if allowed is None else allowed
    if not allowed.any():
        raise ValueError(f"{scores.name} is hidden throughout, so there is nothing to measure")
    weights = softmax(scores, allowed)
    looks = allowed.any(axis=-1)
    return Sharpness(
        variance=float(scores.values[allowed].astype(np.float64).var()),
        entropy=float(entropy(weights).values[looks].mean()),
        largest=float(weights.values.max(axis=-1)[looks].mean(dtype=np.float64)),
        jacobian=float(jacobian_norm(weights).values[looks].mean()),
    )


@dataclass(frozen=True, eq=False)
class Draw:
    """Vectors drawn at random, for want of a reason to expect others: components independent, mean 0, variance 1.

    Attributes:
        seed: What they were drawn with.
        raw: q·k of each query with its own keys, `[query, key]`, by d_k. The vectors of one d_k are those of the
            next, cut short, so that only d_k differs.
        undivided, divided: What is measured of q·k, and of q·k/√d_k, by d_k.
    """

    seed: int
    raw: Mapping[int, LabelledArray]
    undivided: Mapping[int, Sharpness]
    divided: Mapping[int, Sharpness]

    def weights(self, d_k: int, *, temperature: float = 1.0) -> LabelledArray:
        """Return softmax(q·k / temperature) of the first query, `[key]`."""
        return tempered(self.raw[d_k].select(query=0), temperature)


@lru_cache(maxsize=32)
def drawn(seed: int) -> Draw:
    """Draw queries and keys, and measure their scores for every d_k of `SIZES`.

    Source: Vaswani et al. 2017, section 3.2.1, footnote 4: q·k then has mean 0 and variance d_k.
    """
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((N_QUERIES, 1, SIZES[-1]), dtype=np.float32)
    k = rng.standard_normal((N_QUERIES, N_KEYS, SIZES[-1]), dtype=np.float32)
    # The products are summed in stretches that end where a size does: 1, 1, 2, 4, … components.
    stretches = np.add.reduceat(q * k, [0, *SIZES[:-1]], axis=-1, dtype=np.float64)
    sums = stretches.cumsum(axis=-1)  # [query, key, size]
    axes = tuple(Axis(name, tuple(map(str, range(n)))) for name, n in (("query", N_QUERIES), ("key", N_KEYS)))
    raw = {d_k: LabelledArray("q·k", np.ascontiguousarray(sums[..., i]), axes) for i, d_k in enumerate(SIZES)}
    return Draw(
        seed=seed,
        raw=raw,
        undivided={d_k: sharpness(scores) for d_k, scores in raw.items()},
        divided={
            d_k: sharpness(scores.derived("q·k/√d_k", scores.values / np.sqrt(d_k))) for d_k, scores in raw.items()
        },
    )


def tempered(scores: LabelledArray, temperature: float) -> LabelledArray:
    """Return softmax(scores / temperature) over the last axis.

    Args:
        scores: Attention scores of a query, or logits of a word: the law is the same.
        temperature: Above 0. The larger, the more even.

    Raises:
        ValueError: If the temperature is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"a temperature is above 0, but this one is {temperature}")
    scaled = scores.derived(scores.name, scores.values.astype(np.float64) / temperature)
    return softmax(scaled, np.ones(scores.shape, dtype=np.bool_))


def sampled(logits: LabelledArray, temperature: float, *, n: int, rest: str) -> LabelledArray:
    """Return the next word's probabilities at a sampling temperature.

    Args:
        logits: `[vocab]`, of one position.
        temperature: Above 0.
        n: How many words stand alone: those with the largest logits, largest first, lowest id first on a tie.
        rest: Label of all other words together.

    Returns:
        `[vocab]`, `n` words and the rest; sums to 1.
    """
    probs = tempered(logits, temperature)
    order = np.argsort(-logits.values, kind="stable")[:n]
    shown = probs.values[order].astype(np.float64)
    others = float(np.delete(probs.values, order).sum(dtype=np.float64))
    (axis,) = logits.axes
    labels = (*(axis.labels[i] for i in order), rest)
    return LabelledArray("probs", np.append(shown, others), (Axis(axis.name, labels),))


def temperatures(d_k: int) -> dict[str, float]:
    """Return every temperature that is offered for a head, by its name in a link, rising: √d_k once, as `ROOT`."""
    root = float(np.sqrt(d_k))
    values = {ROOT: root, **{name: float(name) for name in TEMPERATURES if float(name) != root}}
    return dict(sorted(values.items(), key=lambda item: item[1]))


def chosen_temperature(pick: object, d_k: int) -> str:
    """Return which of `temperatures` was picked; `ROOT` if none of them was, be it that the head has it as √d_k."""
    return str(pick) if pick in temperatures(d_k) else ROOT
