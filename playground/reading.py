"""A trace with the words on its axes: what every page reads its numbers from.

`reading["decoder.1.cross_attn.weights"]` is the captured tensor as a `LabelledArray`, its queries labelled with the
decoder's words and its keys with the source's. Nothing is computed here: the numbers are those of the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from models import AXES
from playground.labelled import Axis, LabelledArray

# Names of one part each, in the order in which they are looked for: a causal cell may lie on padding as well, and
# padding is then the stronger reason, since no later word would open it.
REASONS = ("padding", "causal", "window")

WORDS = frozenset({"query", "key", "pos"})


class Reading:
    """One forward pass in the words of its sentence.

    Attributes:
        src: Words the encoder read, `⟨eos⟩` last; empty for a decoder alone.
        tgt: Words the decoder read, `⟨bos⟩` first; empty for an encoder alone.
        vocabulary: Every word, each at its id.
        narrowed: Why a cell is hidden that no part of the model's own mask hides: the mask was edited.
        predicted: The likeliest next word after each word of `tgt` (of `src` for an encoder alone).
    """

    def __init__(
        self,
        trace: Mapping[str, Tensor],
        *,
        src: tuple[str, ...],
        tgt: tuple[str, ...],
        vocabulary: tuple[str, ...],
        narrowed: str = "hand",
    ) -> None:
        self._trace = trace
        self.narrowed = narrowed
        self.vocabulary = vocabulary
        self.src = src
        self.tgt = tgt
        best = trace["logits"].argmax(dim=-1)  # [pos]
        self.predicted = tuple(vocabulary[int(i)] for i in best)

    def __getitem__(self, name: str) -> LabelledArray:
        """Return the tensor called `name`, labelled.

        Raises:
            KeyError: If the pass has no such tensor; the message lists the names that end alike.
        """
        if name not in self._trace:
            last = name.rsplit(".", 1)[-1]
            raise KeyError(f"this pass has no {name!r}; it has {[n for n in self._trace if n.endswith(last)]}")
        values = self._trace[name].detach().cpu().numpy()
        names = AXES[name.rsplit(".", 1)[-1]]
        axes = tuple(Axis(axis, self._labels(name, axis, size)) for axis, size in zip(names, values.shape, strict=True))
        return LabelledArray(name, values, axes)

    def __contains__(self, name: object) -> bool:
        return name in self._trace

    def __iter__(self) -> Iterator[str]:
        return iter(self._trace)

    @property
    def read(self) -> tuple[str, ...]:
        """The words whose rows of `logits` say what follows: `tgt`, or `src` for an encoder alone."""
        return self.tgt or self.src

    @property
    def ids(self) -> tuple[list[int], ...]:
        """The ids that the model was called with: of the source, of what the decoder read, or of both."""
        known = {word: i for i, word in enumerate(self.vocabulary)}
        return tuple([known[word] for word in words] for words in (self.src, self.tgt) if words)

    @property
    def n_bytes(self) -> int:
        """Bytes that the pass's tensors take."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self._trace.values())

    def hidden(self, sublayer: str) -> npt.NDArray[Any]:
        """Say why each key is hidden from each query of an attention sublayer.

        Args:
            sublayer: Such as `decoder.0.self_attn`.

        Returns:
            `[query, key]` of strings: `padding`, `causal`, `narrowed`, or empty where the query may look.
        """
        allowed = self[f"{sublayer}.mask"].values
        reasons = np.full(allowed.shape, "", dtype=object)
        for reason in reversed(REASONS):
            part = f"{sublayer}.mask_{reason}"
            if part in self._trace:
                reasons[~np.broadcast_to(self._trace[part].cpu().numpy(), allowed.shape)] = reason
        reasons[allowed] = ""
        reasons[~allowed & (reasons == "")] = self.narrowed
        return reasons

    def words(self, name: str, axis: str) -> tuple[str, ...] | None:
        """Return the words that stand on a tensor's axis, or None if the axis counts something else."""
        if axis not in WORDS:
            return None
        stack, last = name.split(".")[0], name.split(".")[-1]
        reads_source = stack in ("encoder", "memory") or not self.tgt
        if ".cross_attn." in name and (axis == "key" or last == "memory"):
            reads_source = True
        return self.src if reads_source else self.tgt

    def _labels(self, name: str, axis: str, size: int) -> tuple[str, ...]:
        if axis == "vocab":
            return self.vocabulary
        return self.words(name, axis) or tuple(str(i) for i in range(size))
