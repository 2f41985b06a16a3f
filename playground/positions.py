"""Where words stand, as numbers: the sinusoidal table and its rotations, and what the other position rules do instead.

Everything is computed by the parts of `models` that models themselves are made of; what is worked out here a second
time, in float64, is there to be compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models import CHOICES, NO_TAP, POSITIONS, ModelConfig, Recorder, Transformer, inspecting, sinusoidal_table
from playground.labelled import Axis, LabelledArray

Numbers = npt.NDArray[np.float64]

RULES = CHOICES["positions"]
ADDED = ("sinusoidal", "learned")  # to the embedding; the others work inside the attention

# The model of the laboratory: untrained, and the same for every visitor.
SEED = 0
SIZES: dict[str, Any] = {"d_model": 64, "n_heads": 4, "n_kv_heads": 4, "d_ff": 128, "n_layers": 2, "max_len": 512}


# --- Sines and cosines ------------------------------------------------------------------------------------------------


def sinusoidal(n_places: int, d_model: int) -> LabelledArray:
    """Return the table as models add it, `[place, d_model]`: any number of places, any width."""
    return _table("PE", sinusoidal_table(n_places, d_model))


def frequencies(d_model: int) -> Numbers:
    """Return how far each pair of columns turns from one place to the next, in radians: 10000^(−2i/d_model).

    Returns:
        `[pair]`; the last sine of an odd `d_model` has no cosine, and counts as a pair here.

    Source: Vaswani et al. 2017, section 3.5.
    """
    return np.asarray(10000.0 ** (-np.arange(0, d_model, 2) / d_model))


def wavelengths(d_model: int) -> Numbers:
    """Return after how many places each pair of columns is back at its beginning: from 2π to nearly 10000 · 2π."""
    return np.asarray(2 * np.pi / frequencies(d_model))


def wave(d_model: int, pair: int, at: Numbers) -> tuple[Numbers, Numbers]:
    """Return sine and cosine of one pair of columns, between the places too."""
    angle = at * frequencies(d_model)[pair]
    return np.sin(angle), np.cos(angle)


def rotations(d_model: int, shift: int) -> Numbers:
    """Return R(shift) of each whole pair of columns, `[pair, 2, 2]`, in float64.

    With (sin, cos) as a column, R = [[cos φ, sin φ], [−sin φ, cos φ]], φ = shift · frequency: the place itself does not
    come into it.

    Source: Vaswani et al. 2017, section 3.5: PE(pos+k) is a linear function of PE(pos).
    """
    angle = shift * frequencies(d_model)[: d_model // 2]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], axis=-2)


def rotated(table: LabelledArray, shift: int) -> LabelledArray:
    """Return R(shift) times each row of a sinusoidal table, `[place, d_model]`; a sine without a cosine is left out."""
    n_places, d_model = table.shape
    whole = d_model // 2
    pairs = table.values[:, : 2 * whole].astype(np.float64).reshape(n_places, whole, 2)
    turned = np.einsum("pij,npj->npi", rotations(d_model, shift), pairs)
    place, columns = table.axes
    return LabelledArray(
        "R(k) PE", turned.reshape(n_places, 2 * whole), (place, Axis(columns.name, columns.labels[: 2 * whole]))
    )


def off_by(table: LabelledArray, shift: int) -> float:
    """Return the largest |R(shift) · PE(pos) − PE(pos + shift)| over all places and pairs of a table.

    Raises:
        ValueError: If the table has no place that far on.
    """
    if not 0 <= shift < len(table.values):
        raise ValueError(f"the table has {len(table.values)} places, so none is {shift} further on")
    turned = rotated(table, shift).values[: len(table.values) - shift]
    return float(np.abs(turned - table.values[shift:, : turned.shape[1]]).max(initial=0.0))


def off_formula(table: LabelledArray) -> float:
    """Return the largest difference between a table of sinusoids and the paper's formula in float64."""
    n_places, d_model = table.shape
    at = np.arange(n_places, dtype=np.float64)
    waves = [column for pair in range(len(frequencies(d_model))) for column in wave(d_model, pair, at)]
    return float(np.abs(np.stack(waves[:d_model], axis=1) - table.values).max(initial=0.0))


def spread_over(n: int, most: int, *, among: int | None = None) -> tuple[int, ...]:
    """Return at most `most` of the numbers from 0 to n − 1, evenly spaced, the first and the last among them.

    Args:
        n: How many there are.
        most: How many are wanted.
        among: A number that has to be among them: it takes the place of the nearest.
    """
    spread = [int(i) for i in np.unique(np.linspace(0, n - 1, min(n, most)).round())]
    if among is not None:
        spread[int(np.argmin([abs(i - among) for i in spread]))] = among
    return tuple(spread)


# --- How alike two places are -----------------------------------------------------------------------------------------


def cosines(table: LabelledArray) -> LabelledArray:
    """Return the cosine between the vectors of any two places, `[place, other]`: 1 for the same direction."""
    rows = table.values.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return between_places(f"cos({table.name})", unit @ unit.T)


def between_places(name: str, values: npt.NDArray[Any]) -> LabelledArray:
    """Label a number for each two places, `[place, other]`."""
    places = tuple(str(i) for i in range(len(values)))
    return LabelledArray(name, values.astype(np.float32), (Axis("place", places), Axis("other", places)))


def apart(pairs: LabelledArray, sign: bool = False) -> list[tuple[int, Numbers]]:
    """Return what is said of any two places by their distance: for each distance, one number a pair of places.

    Args:
        pairs: `[place, other]`.
        sign: Whether other − place counts with its sign.
    """
    n = len(pairs.values)
    if sign:
        return [(k, np.diagonal(pairs.values, k).astype(np.float64)) for k in range(1 - n, n)]
    return [
        (k, np.concatenate([np.diagonal(pairs.values, k), np.diagonal(pairs.values, -k)]).astype(np.float64))
        for k in range(n)
    ]


def unequal(pairs: LabelledArray) -> float:
    """Return by how much pairs of places of the same offset differ at most: 0 where only the offset counts."""
    return max(float(np.ptp(values)) for _, values in apart(pairs, sign=True))


# --- Rules inside the attention ---------------------------------------------------------------------------------------


def drawn_vectors(d_head: int, seed: int = SEED) -> tuple[Numbers, Numbers]:
    """Draw a query and a key, `[d_head]` each: every pair that RoPE turns has length 1 and a direction by chance."""
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, size=(2, d_head // 2))
    query, key = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    return query, key


def turned_by_place(vector: npt.NDArray[Any], n_places: int, theta: float = 10000.0) -> npt.NDArray[np.float32]:
    """Return one query or key as RoPE turns it at each place, `[place, d_head]`, by the model's own code.

    Raises:
        ValueError: If the vector has an odd number of numbers: RoPE turns pairs.
    """
    d_head = len(vector)
    config = ModelConfig(vocab_size=1, d_model=d_head, n_heads=1, positions="rotary", rope_theta=theta)
    turn = POSITIONS["rotary"](config).turn(torch.arange(n_places)[None])
    x = torch.as_tensor(vector, dtype=torch.float32).expand(1, 1, n_places, d_head)
    return np.asarray(turn("q", x, NO_TAP)[0, 0].numpy())


def rotary_scores(
    query: npt.NDArray[Any], key: npt.NDArray[Any], n_places: int, theta: float = 10000.0
) -> LabelledArray:
    """Return the score q · k / √d_head for the query at each place and the key at each other, `[place, other]`."""
    q, k = (turned_by_place(vector, n_places, theta) for vector in (query, key))
    return between_places("q k / √d_head", q @ k.T / np.sqrt(len(query)))


def half_split(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a head's numbers in the pairs that RoPE turns, `[pair, 2]`: number i with number i + d_head/2."""
    return np.asarray(vector).reshape(2, -1).T


def alibi_bias(n_heads: int, n_places: int) -> LabelledArray:
    """Return what ALiBi adds to the scores, `[head, place, other]`, by the model's own code."""
    config = ModelConfig(vocab_size=1, d_model=n_heads, n_heads=n_heads, positions="alibi")
    where = torch.arange(n_places)[None]
    bias = POSITIONS["alibi"](config).bias(where, where)
    assert bias is not None
    places = tuple(str(i) for i in range(n_places))
    heads = Axis("head", tuple(str(i) for i in range(n_heads)))
    return LabelledArray("bias", bias[0].numpy(), (heads, Axis("place", places), Axis("other", places)))


# --- Models -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def untrained(rule: str, vocab_size: int) -> Transformer:
    """Return the laboratory's encoder with a position rule: `SIZES`, first weights from `SEED`, never trained."""
    config = ModelConfig(vocab_size=vocab_size, architecture="encoder-only", positions=rule, **SIZES)  # type: ignore[arg-type]
    return Transformer(config, generator=torch.Generator().manual_seed(SEED)).eval()


def learned(model: Transformer) -> LabelledArray:
    """Return a model's table of learned positions, `[place, d_model]`.

    Raises:
        ValueError: If its positions are not learned.
    """
    if model.config.positions != "learned":
        raise ValueError(f"this model's positions are {model.config.positions}, not learned")
    table: Tensor = model.positions.table  # type: ignore[assignment]  # a Parameter
    return _table("positions.table", table.detach())


@dataclass(frozen=True, eq=False)
class Shuffled:
    """A sentence and the same words in another order, both through one encoder.

    Attributes:
        order: Place in the sentence of each word of the shuffled one.
        plain: What the encoder makes of the sentence, `[pos, d_model]`.
        shuffled: What it makes of the shuffled one, rows in its own order, labelled with word and former place.
        back: The same rows put back into the sentence's order.
        difference: `back` − `plain`.
    """

    order: tuple[int, ...]
    plain: LabelledArray
    shuffled: LabelledArray
    back: LabelledArray
    difference: LabelledArray

    @property
    def largest(self) -> float:
        """The largest difference, as a share of the largest number: 0 where the order does not matter."""
        scale = float(np.abs(self.plain.values).max())
        return float(np.abs(self.difference.values).max()) / scale if scale else 0.0


def other_order(n_words: int, how: str, draw: int) -> tuple[int, ...]:
    """Return another order of `n_words` words.

    Args:
        n_words: How many there are.
        how: `reversed`, or anything else for an order drawn at random, in which some word moves if any can.
        draw: Seed of the order.
    """
    words = list(range(n_words))
    order = words[::-1] if how == "reversed" else words
    random = np.random.default_rng(draw)
    while order == words and n_words > 1:
        order = [int(i) for i in random.permutation(n_words)]
    return tuple(order)


def shuffle(
    model: Transformer, ids: Sequence[int], words: Sequence[str], order: Sequence[int], *, without: bool = False
) -> Shuffled:
    """Read a sentence and its words in another order.

    Args:
        model: One with an encoder.
        ids: Of the sentence.
        words: Of the sentence, for the rows.
        order: A permutation: which of the words stands at each place.
        without: Whether what the position rule adds to the embeddings is taken away: set to 0 on the way.

    Raises:
        ValueError: If `order` is no permutation of the sentence's places.
    """
    if sorted(order) != list(range(len(ids))):
        raise ValueError(f"an order of {len(ids)} words has each of them once, but got {list(order)}")
    plain = _encoded(model, ids, without)
    shuffled = _encoded(model, [ids[i] for i in order], without)
    back = np.empty_like(shuffled)
    back[list(order)] = shuffled
    first = tuple(f"{words[i]} · {i}" for i in range(len(ids)))
    moved = tuple(first[i] for i in order)

    def rows(name: str, values: npt.NDArray[Any], labels: tuple[str, ...]) -> LabelledArray:
        return LabelledArray(name, values, (Axis("pos", labels), _numbered("d_model", values.shape[1])))

    return Shuffled(
        tuple(order),
        rows("memory", plain, first),
        rows("memory", shuffled, moved),
        rows("memory", back, first),
        rows("memory", back - plain, first),
    )


def without_positions(config: ModelConfig) -> bool:
    """Say whether a model's positions can be taken away while it reads: they are added to the embeddings."""
    return config.positions in ADDED and config.architecture != "decoder-only"


def full_turns(config: ModelConfig) -> tuple[int, int]:
    """Return how many pairs turn around once or more within a model's longest sequence, and how many pairs there are.

    What has turned around has shown all its angles in training; the others come to angles that are new.
    """
    rotary = config.positions == "rotary"
    width = config.d_head if rotary else config.d_model
    base = config.rope_theta if rotary else 10000.0
    lengths = 2 * np.pi * base ** (np.arange(0, width, 2) / width)
    return int((lengths <= config.max_len - 1).sum()), len(lengths)


def _encoded(model: Transformer, ids: Sequence[int], without: bool) -> npt.NDArray[Any]:
    tap = Recorder({"encoder.pos_embed": torch.zeros_like} if without else None)
    with inspecting(model):
        model.encode(torch.tensor([list(ids)]), tap=tap)
    tap.check_edits()
    return np.asarray(tap.tensors["memory"][0].numpy())


def _numbered(name: str, size: int) -> Axis:
    return Axis(name, tuple(str(i) for i in range(size)))


def _table(name: str, values: Tensor) -> LabelledArray:
    array = values.numpy()
    return LabelledArray(name, array, (_numbered("place", array.shape[0]), _numbered("d_model", array.shape[1])))
