"""What attention heads do, in numbers that say how far they are from nothing: every score beside two baselines.

*Uniform* is a head that looks at every key that its mask leaves with the same weight. *Chance* is what `DRAWS` heads
reach that look at random places: of each row the weights are kept and shuffled among the keys that the query may look
at, so such a head is as sharp as the one that is scored, and has forgotten where to look. A head's entropy does not
change by that; its chance are heads whose scores are drawn from a normal distribution of variance 1, as for queries and
keys of independent components. All is drawn from `SEED`.

Only rows that leave a choice count: a query that may look at one key, or at no key but those of the pattern, says
nothing about the head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models import Transformer
from playground.head import PLACES, Head
from playground.labelled import Axis, LabelledArray
from playground.measures import entropy
from playground.subject import Subject

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

DRAWS = 999
SEED = 0
MEASURES = ("entropy", "distance", "previous", "diagonal", "induction", "alignment")

# The measures that are a share of the weight, 0 to 1, and can give a head its name.
SHARES = ("previous", "diagonal", "induction", "alignment")

# A head is named after a pattern that holds most of what a uniform head leaves out, not one a little above chance.
MOSTLY = 0.5

# Words that are drawn of a sentence in a map; the limit is said where it is reached.
MOST_WORDS = 256

_MOST_DRAWN = 4_000_000  # cells that are shuffled at once: 32 MB


@dataclass(frozen=True)
class Score:
    """A measure of one head, and of heads that do nothing of the kind.

    Attributes:
        value: Of this head: nats for `entropy`, positions for `distance`, a share from 0 to 1 for the others.
        uniform: Of a head that looks everywhere alike under the same mask.
        low, high: The smallest and the largest of `DRAWS` heads that look at random places.
    """

    value: float
    uniform: float
    low: float
    high: float

    @property
    def clears(self) -> bool:
        """Whether a share is larger than of any head that looks at random places, and at least half way to all."""
        return self.value > self.high and self.value >= self.uniform + MOSTLY * (1 - self.uniform)


def targets(
    kind: str, queries: Sequence[str], n_keys: int, alignment: Iterable[tuple[int, int]] | None = None
) -> Bools:
    """Return which keys belong to a pattern, for each query: `[query, key]`.

    Args:
        kind: `previous`: the place before one's own. `diagonal`: one's own place. `induction`: the word that came after
            an earlier occurrence of one's own word. `alignment`: the source words of the word that is written.
        queries: The words that look; for `induction` they are looked at as well.
        n_keys: How many keys there are.
        alignment: Pairs (target position, source position) that translate each other, for `alignment`.

    Source: induction heads: Elhage et al. 2021, Olsson et al. 2022.
    """
    found = np.zeros((len(queries), n_keys), dtype=np.bool_)
    for row, word in enumerate(queries):
        if kind == "previous" and 1 <= row <= n_keys:
            found[row, row - 1] = True
        elif kind == "diagonal" and row < n_keys:
            found[row, row] = True
        elif kind == "induction":
            after = [place + 1 for place in range(row) if queries[place] == word and place + 1 < n_keys]
            found[row, after] = True
    if kind == "alignment":
        for row, col in alignment or ():
            found[row, col] = True
    return found


def scores(
    weights: LabelledArray,
    allowed: Bools,
    *,
    itself: bool,
    alignment: Iterable[tuple[int, int]] | None = None,
    draws: int = DRAWS,
) -> Mapping[str, tuple[Score, ...]]:
    """Return the measures of all heads of one attention sublayer, a score a head, with their baselines.

    Args:
        weights: `[head, query, key]`.
        allowed: True where a query may look, `[query, key]`.
        itself: Whether a sequence looks at itself; only then is there a previous word of one's own, and induction.
        alignment: The gold alignment, if there is one: then `alignment` is measured.
        draws: How many heads that look at random places.

    Returns:
        By the names in `MEASURES`; what no row leaves a choice about is absent.

    Raises:
        ValueError: If the mask has not the shape of a map.
    """
    if allowed.shape != weights.shape[1:]:
        raise ValueError(f"{weights.name} is {weights.shape}, but the mask is {allowed.shape}")
    n_query, n_key = allowed.shape
    kernels: dict[str, Floats] = {}
    free: Bools = np.asarray(allowed.sum(axis=1) > 1)  # [query]
    if not free.any():
        return {}
    away = np.abs(np.arange(n_query)[:, None] - np.arange(n_key)) * 1.0
    kernels["distance"] = away * free[:, None] / free.sum()
    queries = weights.axis("query").labels
    kinds = [*(("previous",) if itself else ()), "diagonal", *(("induction",) if itself else ())]
    for kind in [*kinds, *(("alignment",) if alignment is not None else ())]:
        wanted = targets(kind, queries, n_key, alignment) & allowed
        rows: Bools = np.asarray(wanted.any(axis=1) & (allowed & ~wanted).any(axis=1))
        if rows.any():
            kernels[kind] = wanted * rows[:, None] / rows.sum()
    found = {"entropy": _entropies(weights, allowed, free, draws)} | _kernel_scores(weights, allowed, kernels, draws)
    return {name: found[name] for name in MEASURES if name in found}


def head_scores(subject: Subject, where: str, layer: int) -> Mapping[str, tuple[Score, ...]]:
    """Return the scores of the heads of one attention of a subject's pass, `alignment` where the task has gold.

    Args:
        subject: The model and its sentence.
        where: A key of `PLACES`.
        layer: Counted from 0.
    """
    head = Head(subject.reading, where, layer, 0)
    gold = subject.example.alignment if where == "cross" and subject.exact and subject.example is not None else None
    return scores(head.whole("weights"), head.hidden == "", itself=where != "cross", alignment=gold)


def pattern_of(scores: Mapping[str, tuple[Score, ...]], head: int) -> str | None:
    """Return the name of the pattern that a head may be called after, the strongest of several; None for none."""
    clear = {kind: scores[kind][head].value for kind in SHARES if kind in scores and scores[kind][head].clears}
    # The gold alignment says more than that it happens to lie on the diagonal.
    return max(clear, key=lambda kind: (clear[kind], kind == "alignment")) if clear else None


def cover(weights: LabelledArray, share: float) -> Bools:
    """Return the smallest set of cells that holds at least a share of all weight: the largest cells first.

    Args:
        weights: `[query, key]`, 0 or more.
        share: 0 to 1.

    Returns:
        True at the cells that are kept; of equals the earlier one. A cell of weight 0 is never kept.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share is 0 to 1, but got {share}")
    flat = weights.values.astype(np.float64).reshape(-1)
    order = np.argsort(-flat, kind="stable")
    reached = np.cumsum(flat[order])
    total = reached[-1] if len(reached) else 0.0
    # A sum of floats may end a little under the whole.
    enough = int(np.searchsorted(reached, share * total - 1e-9 * total)) + 1 if share > 0 and total > 0 else 0
    kept = np.zeros(flat.shape, dtype=np.bool_)
    kept[order[:enough]] = True
    return (kept & (flat > 0)).reshape(weights.shape)


def value_lengths(values: LabelledArray, w_o: npt.NDArray[np.floating]) -> LabelledArray:
    """Return how long each value is once the head's part of W_O has turned it into the residual stream: ‖v W_O‖.

    Args:
        values: `[key, d_head]`, of one head.
        w_o: The head's rows of W_O, `[d_head, d_model]`.

    Returns:
        `[key]`, of the same unit as the residual stream.
    """
    handed = values.values.astype(np.float64) @ w_o.astype(np.float64)  # [key, d_model]
    return LabelledArray("‖v W_O‖", np.linalg.norm(handed, axis=-1).astype(np.float32), (values.axis("key"),))


def value_weighted(weights: LabelledArray, lengths: LabelledArray) -> LabelledArray:
    """Return how long what each key really adds to each query is: ‖weight · v W_O‖, `[query, key]`.

    Args:
        weights: `[query, key]`, of one head.
        lengths: `value_lengths` of the same head.

    Source: Kobayashi et al. 2020, "Attention is not only a weight".
    """
    return weights.derived("‖weight · v W_O‖", weights.values * lengths.values)


def head_w_o(model: Transformer, head: Head) -> npt.NDArray[np.float32]:
    """Return the rows of W_O that a head's output meets, `[d_head, d_model]`."""
    stack, part = PLACES[head.where]
    sublayer = getattr(getattr(model, stack).layers[head.layer], part)
    width = sublayer.d_head
    rows: npt.NDArray[np.float32] = sublayer.W_O.detach().cpu().numpy()[head.index * width : (head.index + 1) * width]
    return rows


def rollout(layers: Sequence[LabelledArray]) -> list[LabelledArray]:
    """Return, after each layer, how much of each first word would be in each place if attention were all there is.

    R_l = Ā_l R_{l−1} with R_{−1} = I and Ā_l = ½ (mean of the heads' weights) + ½ I: the residual stream counts as half
    of what a layer hands on. A query that may look nowhere keeps its whole.

    Args:
        layers: The weights of each layer's self-attention, `[head, query, key]`, as many keys as queries.

    Returns:
        `[query, key]` a layer, rows summing to 1.

    Raises:
        ValueError: If a layer has not as many keys as queries.

    Source: Abnar and Zuidema 2020, "Quantifying attention flow in transformers", section 3.
    """
    found: list[LabelledArray] = []
    so_far: Floats | None = None
    for array in layers:
        _, query, key = array.axes
        if len(query) != len(key):
            raise ValueError(f"rollout follows a sequence through itself, but {array.name} is {array.shape}")
        mean = array.values.astype(np.float64).mean(axis=0)
        mixed = 0.5 * mean + 0.5 * np.eye(len(key))
        mixed /= mixed.sum(axis=1, keepdims=True)
        so_far = mixed if so_far is None else mixed @ so_far
        found.append(LabelledArray(f"rollout({array.name})", so_far.astype(np.float32), (query, key)))
    return found


def mean_over_heads(weights: LabelledArray) -> LabelledArray:
    """Return the mean of the heads' weights, `[query, key]`."""
    return LabelledArray(f"mean({weights.name})", weights.values.mean(axis=0, dtype=np.float64), weights.axes[1:])


def moved(before: LabelledArray, after: LabelledArray) -> Floats:
    """Return how much of each head's weight lies elsewhere: total variation, meaned over the queries, `[head]`, 0 to 1.

    Args:
        before: `[head, query, key]`.
        after: The same axes, of the same words.
    """
    off = np.abs(after.values.astype(np.float64) - before.values).sum(axis=-1) / 2  # [head, query]
    return np.asarray(off.mean(axis=-1))


def first_words(array: LabelledArray, most: int = MOST_WORDS) -> LabelledArray:
    """Return the part of `[head, query, key]` among the first `most` queries and keys."""
    head, query, key = array.axes
    axes = (head, Axis(query.name, query.labels[:most]), Axis(key.name, key.labels[:most]))
    return LabelledArray(array.name, array.values[:, :most, :most], axes)


def _kernel_scores(
    weights: LabelledArray, allowed: Bools, kernels: Mapping[str, Floats], draws: int
) -> dict[str, tuple[Score, ...]]:
    """Score Σ weights · kernel: of each head, of a uniform one, and of shuffled ones."""
    values = weights.values.astype(np.float64).reshape(len(weights.values), -1)  # [head, query · key]
    even = (allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1)).reshape(-1)
    flat = np.stack([kernel.reshape(-1) for kernel in kernels.values()])  # [kernel, query · key]
    own, uniform = values @ flat.T, flat @ even
    low = np.full(own.shape, np.inf)
    high = np.full(own.shape, -np.inf)
    for places in _shuffles(allowed, draws):
        for number, kernel in enumerate(kernels.values()):
            # To move the weights one way is to move what they meet the other way.
            met = np.take_along_axis(np.broadcast_to(kernel, places.shape), places, axis=-1)
            reached = met.reshape(len(met), -1) @ values.T  # [draw, head]
            low[:, number] = np.minimum(low[:, number], reached.min(axis=0))
            high[:, number] = np.maximum(high[:, number], reached.max(axis=0))
    return {
        name: tuple(
            Score(float(own[head, n]), float(uniform[n]), float(low[head, n]), float(high[head, n]))
            for head in range(len(values))
        )
        for n, name in enumerate(kernels)
    }


def _shuffles(allowed: Bools, draws: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield, some draws at a time, a key for each key, `[draw, query, key]`: allowed keys change places at random."""
    rng = np.random.default_rng(SEED)
    slots = np.argsort(~allowed, axis=-1, kind="stable")  # the allowed keys of each row first
    back = np.argsort(slots, axis=-1)
    at_once = max(1, _MOST_DRAWN // allowed.size)
    for begin in range(0, draws, at_once):
        n = min(at_once, draws - begin)
        order = np.argsort(rng.random((n, *allowed.shape)) + 2.0 * ~allowed, axis=-1)
        yield np.take_along_axis(order, np.broadcast_to(back, order.shape), axis=-1)


def _entropies(weights: LabelledArray, allowed: Bools, free: Bools, draws: int) -> tuple[Score, ...]:
    own = entropy(weights).values[:, free].mean(axis=-1)  # [head]
    uniform = float(np.log(allowed[free].sum(axis=1)).mean())
    rng = np.random.default_rng(SEED)
    low, high = np.inf, -np.inf
    at_once = max(1, _MOST_DRAWN // allowed.size)
    for begin in range(0, draws, at_once):
        n = min(at_once, draws - begin)
        raised = np.where(allowed[free], np.exp(rng.standard_normal((n, int(free.sum()), allowed.shape[1]))), 0.0)
        p = raised / raised.sum(axis=-1, keepdims=True)
        logs = np.log(p, out=np.zeros_like(p), where=p > 0)
        drawn = -(p * logs).sum(axis=-1).mean(axis=-1)
        low, high = min(low, float(drawn.min())), max(high, float(drawn.max()))
    return tuple(Score(float(value), uniform, low, high) for value in own)
