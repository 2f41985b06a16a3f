"""A tensor small enough to stand inside a drawing: one byte a number, coarser where there are too many.

Exact numbers are never read back from a thumbnail; a page takes them from the reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from playground.labelled import LabelledArray

# Steps of a byte: 0 … TOP stands for 0 … 1 in weights, for −limit … +limit in signed numbers, whose 0 is in the middle.
TOP = 250
HIDDEN = {"window": 253, "padding": 254, "causal": 255}

# The most that is drawn; what is longer is pooled.
PANELS, ROWS, COLUMNS = 16, 32, 128

# Tensors whose values are shares of 1.
SHARES = frozenset({"weights", "probs"})


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A tensor as bytes.

    Attributes:
        shape: Of the tensor itself.
        cells: `[panel, row, column]`, uint8; `HIDDEN` where a mask hides a cell, and why.
        scale: `weights` for shares of 1, from 0 to 1, else `signed`.
        limit: Largest magnitude: what `TOP` stands for. 1 for weights.
    """

    shape: tuple[int, ...]
    cells: npt.NDArray[np.uint8]
    scale: Literal["weights", "signed"]
    limit: float


def thumbnail(array: LabelledArray, hidden: npt.NDArray[Any] | None = None) -> Thumbnail:
    """Make a thumbnail of `[row, column]` or `[panel, row, column]`.

    Pooling keeps the number of largest magnitude of each patch, so a single strong cell is not averaged away.

    Args:
        array: The numbers; infinite ones are drawn as the largest finite one.
        hidden: `[row, column]` of the reasons why a cell is hidden, empty where it is not.

    Raises:
        ValueError: If the array has neither two nor three axes.
    """
    if len(array.axes) not in (2, 3):
        raise ValueError(f"a thumbnail needs 2 or 3 axes, but {array.name} has {[axis.name for axis in array.axes]}")
    values = array.values.astype(np.float32)
    values = values[None] if values.ndim == 2 else values[:PANELS]
    for axis, most in ((1, ROWS), (2, COLUMNS)):
        values = _pooled(values, axis, most)
    if array.name.rsplit(".", 1)[-1] in SHARES:
        cells, limit = np.round(np.clip(values, 0, 1) * TOP), 1.0
        scale: Literal["weights", "signed"] = "weights"
    else:
        finite = np.abs(values[np.isfinite(values)])
        limit = float(finite.max(initial=0.0))
        scale = "signed"
        spread = np.clip(np.nan_to_num(values) / limit, -1, 1) if limit > 0 else np.zeros_like(values)
        cells = np.round((spread + 1) * TOP / 2)
    bytes_ = cells.astype(np.uint8)
    for reason, code in HIDDEN.items() if hidden is not None else ():
        shut = np.asarray(hidden == reason)[None]
        for axis, most in ((1, ROWS), (2, COLUMNS)):
            shut = _pooled(shut, axis, most, np.logical_and)
        bytes_[np.broadcast_to(shut, bytes_.shape)] = code
    return Thumbnail(array.shape, bytes_, scale, limit)


def _pooled(values: npt.NDArray[Any], axis: int, most: int, rule: np.ufunc | None = None) -> npt.NDArray[Any]:
    """Shorten an axis to `most` patches, each giving what `rule` makes of it, or its number of largest magnitude."""
    size = values.shape[axis]
    if size <= most:
        return values
    starts = np.linspace(0, size, most, endpoint=False).astype(int)
    if rule is not None:
        return np.asarray(rule.reduceat(values, starts, axis=axis))
    high, low = np.maximum.reduceat(values, starts, axis=axis), np.minimum.reduceat(values, starts, axis=axis)
    return np.where(np.abs(high) >= np.abs(low), high, low)
