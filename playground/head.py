"""One attention head of a reading: its tensors, and what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.labelled import LabelledArray
from playground.measures import softmax
from playground.reading import Reading

# Where attention happens, and the sublayer of a layer that does it.
PLACES: Mapping[str, tuple[str, str]] = {
    "encoder": ("encoder", "self_attn"),
    "decoder": ("decoder", "self_attn"),
    "cross": ("decoder", "cross_attn"),
}


@dataclass(frozen=True, eq=False)
class Head:
    """One head of one attention sublayer: `Head(reading, "cross", 1, 0)["weights"]` is `[query, key]`.

    Attributes:
        reading: The forward pass that it is a part of.
        where: A key of `PLACES`.
        layer, index: Counted from 0.
    """

    reading: Reading
    where: str
    layer: int
    index: int

    @property
    def sublayer(self) -> str:
        """The name that its tensors begin with, such as `decoder.1.cross_attn`."""
        stack, part = PLACES[self.where]
        return f"{stack}.{self.layer}.{part}"

    def whole(self, name: str) -> LabelledArray:
        """Return a tensor of the sublayer with all its heads."""
        return self.reading[f"{self.sublayer}.{name}"]

    def __getitem__(self, name: str) -> LabelledArray:
        """Return this head's part of a tensor; the whole where heads have no part of their own.

        Heads that share keys and values (GQA, MQA) stand in blocks: head h reads key/value head h · n_kv / n.
        """
        whole = self.whole(name)
        axes = {axis.name: len(axis) for axis in whole.axes}
        if "head" in axes:
            return whole.select(head=self.index)
        if "kv_head" in axes:
            n_heads = len(self.whole("weights").axis("head"))
            return whole.select(kv_head=self.index * axes["kv_head"] // n_heads)
        return whole

    def between_words(self, name: str) -> LabelledArray:
        """Return a `[query, key]` tensor, its rows in cross-attention labelled `le → chat`: word read, word written.

        There a row shows where the decoder looks while it writes, which is not the word that it has just read.
        """
        return self._told(self[name])

    def _told(self, array: LabelledArray) -> LabelledArray:
        if self.where != "cross":
            return array
        pairs = zip(self.reading.tgt, self.reading.predicted, strict=True)
        return array.relabelled({"query": [f"{read} → {written}" for read, written in pairs]})

    def __contains__(self, name: str) -> bool:
        return f"{self.sublayer}.{name}" in self.reading

    @cached_property
    def hidden(self) -> npt.NDArray[Any]:
        """Why each key is hidden from each query: `[query, key]` of `padding`, `causal` or empty."""
        return self.reading.hidden(self.sublayer)

    def rescaled(self, scale: float) -> LabelledArray:
        """Return the weights that the same raw scores give when multiplied by `scale`, under the same mask.

        With the model's own scale these are its own weights; 1.0 leaves out the division by √d_k.
        """
        return softmax(self.rescored(scale), self.hidden == "")

    def rescored(self, scale: float) -> LabelledArray:
        """Return the raw scores multiplied by `scale`, with the model's bias if it has one: what softmax is given."""
        raw = self["raw_scores"]
        scores = raw.values * scale + (self["bias"].values if "bias" in self else 0.0)
        return self._told(raw.derived(raw.name, scores))

    def sharpest(self) -> tuple[int, int]:
        """Return (query, key) of the cell that says most about the head: where one word looks most, and how.

        Of each row only its largest weight counts. The largest of these lies between words, rather than marks such as
        `⟨bos⟩`, if any does; and between different places of the two sentences, if one there is at least half as
        large: a word that looks straight ahead, or at itself, says little.
        """
        weights = self["weights"].values
        keys = self["weights"].axes[1].labels
        rows = tuple(self.asking(row) for row in range(len(weights)))
        most = np.arange(len(keys)) == weights.argmax(axis=-1)[:, None]
        words = most & np.outer(_are_words(rows), _are_words(keys))
        best = np.where(words if words.any() else most, weights, -1.0)
        elsewhere = np.where(np.eye(*best.shape) == 1, -1.0, best)
        if self.where != "cross":  # the same word twice: that it looks at its twin is hard to say in words
            elsewhere[np.array(rows)[:, None] == np.array(keys)] = -1.0
        chosen = elsewhere if elsewhere.max(initial=-1.0) >= best.max() / 2 else best
        row, col = np.unravel_index(int(np.argmax(chosen)), chosen.shape)
        return int(row), int(col)

    def asking(self, row: int) -> str:
        """Return the word that a row of the weights belongs to; in cross-attention the one about to be written."""
        words = self.reading.predicted if self.where == "cross" else self["weights"].axes[0].labels
        return words[row]

    def even(self, row: int) -> float:
        """Return the weight of each key that a query may look at, were all of them the same; 0 if there is none."""
        seen = int((self.hidden[row] == "").sum())
        return 1 / seen if seen else 0.0


def largest_weight(weights: LabelledArray) -> float:
    """Return the largest weight of a row, averaged over the rows: 1 if every query looks at one key only."""
    return float(weights.values.max(axis=-1).mean())


def _are_words(labels: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    return np.array([not (label.startswith("⟨") and label.endswith("⟩")) for label in labels])
