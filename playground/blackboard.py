"""Attention in numbers small enough for a blackboard: two queries, two keys, two dimensions, by the model's code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from models import Recorder, attend, causal_mask
from playground.labelled import Axis, LabelledArray

N = 2  # queries, keys and dimensions
LARGEST = 9

Numbers = tuple[int, ...]

# Row by row; chosen so that every step but the softmax can be done in the head.
START: Mapping[str, Numbers] = {"q": (1, 0, 0, 2), "k": (1, 1, 0, 1), "v": (1, 0, 0, 1)}

_SIDES = {
    "q": ("query", "d_head"),
    "k": ("key", "d_head"),
    "v": ("key", "d_head"),
    "z": ("query", "d_head"),
}
_LOWERED = ("₀", "₁")


@dataclass(frozen=True)
class Board:
    """Queries, keys and values as whole numbers, and what attention makes of them.

    Attributes:
        q, k, v: Four numbers each, row by row.
        is_causal: Whether a query looks at its own key and earlier ones only.

    Raises:
        ValueError: If there are not four numbers, or one is larger than `LARGEST`.
    """

    q: Numbers = START["q"]
    k: Numbers = START["k"]
    v: Numbers = START["v"]
    is_causal: bool = False

    def __post_init__(self) -> None:
        for name in ("q", "k", "v"):
            numbers = getattr(self, name)
            if len(numbers) != N * N or max(map(abs, numbers)) > LARGEST:
                raise ValueError(f"{name} is {N * N} numbers from -{LARGEST} to {LARGEST}, not {numbers}")

    def __getitem__(self, name: str) -> LabelledArray:
        """Return a tensor of the computation, two axes: `q`, `k`, `v`, or what `models.attend` shows its tap."""
        values = self._tensors[name]
        first, second = _SIDES.get(name, ("query", "key"))
        letter = {"query": "q", "key": "v" if name == "v" else "k"}
        axes = tuple(
            Axis(axis, tuple(f"{letter[axis]}{_LOWERED[i]}" if axis in letter else str(i) for i in range(N)))
            for axis in (first, second)
        )
        return LabelledArray(name, values, axes)

    @cached_property
    def hidden(self) -> npt.NDArray[Any]:
        """Why each key is hidden from each query: `[query, key]` of `causal` or empty."""
        return np.where(self._mask.numpy(), "", "causal").astype(object)

    @property
    def _mask(self) -> torch.Tensor:
        return causal_mask(N, N) if self.is_causal else torch.ones(N, N, dtype=torch.bool)

    @cached_property
    def _tensors(self) -> Mapping[str, npt.NDArray[np.float64]]:
        tap = Recorder()
        parts = {
            name: tap(name, torch.tensor(getattr(self, name), dtype=torch.float64).view(1, 1, N, N))
            for name in ("q", "k", "v")
        }
        attend(parts["q"], parts["k"], parts["v"], self._mask, tap=tap)
        return {name: np.asarray(tensor[0, 0].numpy()) for name, tensor in tap.tensors.items()}


def written(numbers: Numbers) -> str:
    """Return numbers as a link has them: `1,0,0,2`."""
    return ",".join(map(str, numbers))


def read(text: object, otherwise: Numbers) -> Numbers:
    """Return what `written` wrote, clamped to `LARGEST`; `otherwise` if the text is something else."""
    try:
        numbers = tuple(max(-LARGEST, min(LARGEST, int(part))) for part in str(text).split(","))
    except ValueError:
        return otherwise
    return numbers if len(numbers) == N * N else otherwise
