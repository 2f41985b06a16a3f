"""The few weights of a model whose gradients a run writes down at every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

MOST = 24  # weights: a line of so many numbers at each step


@dataclass(frozen=True)
class Probe:
    """One weight.

    Attributes:
        name: Of its parameter, as in `model.named_parameters()`.
        place: Where it stands in the parameter, an index an axis.
    """

    name: str
    place: tuple[int, ...]

    @property
    def text(self) -> str:
        """The weight as one would write it in Python."""
        return f"{self.name}[{', '.join(map(str, self.place))}]"


def probes(shapes: Mapping[str, tuple[int, ...]]) -> tuple[Probe, ...]:
    """Choose weights from every part of a model: one in the middle of a parameter each, of at most `MOST` parameters.

    Args:
        shapes: Of every parameter, in the model's order.
    """
    names = [*shapes]
    if len(names) > MOST:  # evenly over the model: its first and its last parameter among them
        names = [names[i] for i in np.unique(np.linspace(0, len(names) - 1, MOST).round().astype(int))]
    return tuple(Probe(name, tuple(size // 2 for size in shapes[name])) for name in names)
