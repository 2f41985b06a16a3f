"""Numbers that know their labels. Torch ends here: everything above works on `LabelledArray`.

An `Axis` is a name (`query`, `d_head`, …: the names in `models.trace.AXES`) and one label a position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Axis:
    """One axis of an array: what it counts, and what stands at each position.

    Attributes:
        name: What the axis counts: `query`, `key`, `pos`, `head`, `d_head`, …
        labels: One label a position, shown to the reader as it is (never as markup).
    """

    name: str
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class LabelledArray:
    """An array with a name and an `Axis` for each dimension. The values cannot be changed.

    Attributes:
        name: The tensor's name, such as `decoder.1.cross_attn.weights`.
        values: The numbers, `float32` or as given; read only.
        axes: One `Axis` a dimension, in order; their lengths are the array's shape.

    Raises:
        ValueError: If the number of axes or a length does not fit the array.
    """

    name: str
    values: npt.NDArray[Any]
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.axes):
            raise ValueError(
                f"{self.name} has {self.values.ndim} dimensions, but {len(self.axes)} axes: "
                f"{[axis.name for axis in self.axes]}"
            )
        for size, axis in zip(self.values.shape, self.axes, strict=True):
            if size != len(axis):
                raise ValueError(
                    f"{self.name}: axis {axis.name!r} has {len(axis)} labels, but the array has {size} there"
                )
        view = self.values.view()
        view.flags.writeable = False
        object.__setattr__(self, "values", view)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return tuple(self.values.shape)

    def axis(self, name: str) -> Axis:
        """Return the axis called `name`.

        Raises:
            KeyError: If there is no such axis; the message lists those there are.
        """
        return self.axes[self._where(name)]

    def select(self, **at: int) -> LabelledArray:
        """Keep one position of each named axis, which then is gone: `weights.select(head=2)`.

        Raises:
            KeyError: If there is no such axis.
            IndexError: If the position is outside the axis.
        """
        index: list[int | slice] = [slice(None)] * len(self.axes)
        for name, position in at.items():
            where = self._where(name)
            if not 0 <= position < len(self.axes[where]):
                raise IndexError(f"{self.name} has {len(self.axes[where])} positions on {name!r}, not {position + 1}")
            index[where] = position
        kept = tuple(axis for axis, chosen in zip(self.axes, index, strict=True) if isinstance(chosen, slice))
        return LabelledArray(self.name, np.asarray(self.values[tuple(index)]), kept)

    def argmax(self) -> tuple[int, ...]:
        """Return the position of the largest value on each axis; the lowest position on a tie."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(self.values)), self.shape))

    def renamed(self, name: str) -> LabelledArray:
        """Return the same numbers under another name."""
        return replace(self, name=name)

    def relabelled(self, labels: Mapping[str, Sequence[str]]) -> LabelledArray:
        """Return the same numbers with other labels on some axes: `{"query": ("le", "chat")}`."""
        for name in labels:
            self._where(name)
        axes = tuple(Axis(axis.name, tuple(labels.get(axis.name, axis.labels))) for axis in self.axes)
        return LabelledArray(self.name, self.values, axes)

    def derived(self, name: str, values: npt.NDArray[Any]) -> LabelledArray:
        """Return other numbers of the same shape on the same axes."""
        return LabelledArray(name, values, self.axes)

    def _where(self, name: str) -> int:
        for where, axis in enumerate(self.axes):
            if axis.name == name:
                return where
        raise KeyError(f"{self.name} has no axis {name!r}; it has {[axis.name for axis in self.axes]}")
