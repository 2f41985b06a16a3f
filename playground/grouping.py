"""Which heads of queries share which keys and values, read off the numbers of a real pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from models import Transformer, capture
from playground.head import Head
from playground.subject import Subject

Floats = npt.NDArray[np.floating]

SEED = 0
NEEDED = ("q", "k", "v", "raw_scores")


@dataclass(frozen=True)
class Grouping:
    """How the heads of one attention share keys and values.

    Attributes:
        readers: For each head of queries, the head of keys and values that it reads.
        k_shape: Shape of the tensor of keys, which is as large as that of values.
        word_bytes: Bytes that the keys and the values of one word take in one layer, as they are stored.
        off: The largest difference between a score of the pass and the product of the query with the key that was found
            to make it.
        is_laboratory: Whether the numbers are of an untrained model drawn from `SEED`, since the subject shares another
            way.
    """

    readers: tuple[int, ...]
    k_shape: tuple[int, ...]
    word_bytes: int
    off: float
    is_laboratory: bool


def grouping(subject: Subject, n_kv_heads: int) -> Grouping:
    """Return how heads share keys and values, in the subject's own pass if it has so many, else in a laboratory.

    The laboratory is one layer of an untrained model of the subject's sizes, reading the subject's sentence.

    Args:
        subject: The model and its sentence.
        n_kv_heads: Divides the number of heads.
    """
    config = subject.run.config.model
    own = config.n_kv_heads == n_kv_heads
    stack = "decoder" if config.architecture == "decoder-only" else "encoder"
    if own:
        head = Head(subject.reading, stack, 0, 0)
        tensors = [head.whole(name).values for name in NEEDED]
    else:
        model = Transformer(replace(config, n_kv_heads=n_kv_heads, n_layers=1), torch.Generator().manual_seed(SEED))
        trace = capture(model, *(torch.tensor([ids]) for ids in subject.reading.ids))
        tensors = [trace[f"{stack}.0.self_attn.{name}"].numpy() for name in NEEDED]
    queries, keys, values, scores = tensors
    readers, off = readers_of(queries, keys, scores)
    word = (keys.nbytes + values.nbytes) // keys.shape[1]
    return Grouping(readers, keys.shape, word, off, not own)


def readers_of(q: Floats, k: Floats, raw_scores: Floats) -> tuple[tuple[int, ...], float]:
    """Return which head of keys makes each head's scores, by trying all of them, and the largest difference left.

    Args:
        q: `[head, query, d_head]`.
        k: `[kv_head, key, d_head]`.
        raw_scores: `[head, query, key]`, before the scaling.
    """
    products = np.einsum("hqd,gkd->hgqk", q.astype(np.float64), k.astype(np.float64))
    off = np.abs(products - raw_scores[:, None]).max(axis=(-1, -2))  # [head, kv_head]
    best = off.argmin(axis=1)
    return tuple(int(i) for i in best), float(off.min(axis=1).max())
