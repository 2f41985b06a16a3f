"""All that a training depends on after some steps, so that it goes on as if it had never been interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Self

import torch
from torch import Tensor

from models import ModelConfig, Transformer
from playground.recipe import RunConfig, RunRefused
from playground.tensors import Layout, floats, read_tensors, size_of, write_tensors

# Bytes of a generator's state, by device: a Mersenne twister, a Philox, a Philox.
GENERATOR_BYTES: Mapping[str, int] = MappingProxyType({"cpu": 5056, "cuda": 16, "mps": 44})


@dataclass(frozen=True, eq=False)
class State:
    """A training between two steps. The order of sentences needs no keeping: it is drawn again from the seed.

    Attributes:
        step: Updates made.
        weights: By the names of the model's `state_dict`.
        mean: Adam's mean of gradients, m, a parameter.
        square: Adam's mean of squared gradients, v, a parameter.
        counts: Updates that each parameter got, in the order of `mean`; fewer than `step` if it had no gradient.
        dropout: State of dropout's random generator, bytes.
        seconds: Time spent in steps.

    Source: Kingma and Ba 2015, algorithm 1.
    """

    step: int
    weights: Mapping[str, Tensor]
    mean: Mapping[str, Tensor]
    square: Mapping[str, Tensor]
    counts: Tensor
    dropout: Tensor
    seconds: float

    def write(self) -> bytes:
        """Return the file of everything but the weights, which have one of their own."""
        return write_tensors(self._tensors())

    def _tensors(self) -> dict[str, Tensor]:
        return {
            **{f"m.{name}": each for name, each in self.mean.items()},
            **{f"v.{name}": each for name, each in self.square.items()},
            "counts": self.counts,
            "dropout": self.dropout,
            "seconds": torch.tensor([self.seconds], dtype=torch.float64),
        }

    def write_whole(self) -> bytes:
        """Return the file of everything, weights and step too."""
        whole = {f"w.{name}": each for name, each in self.weights.items()}
        return write_tensors({**whole, **self._tensors(), "step": torch.tensor([self.step])})

    @classmethod
    def read(cls, step: int, weights: Mapping[str, Tensor], data: bytes, config: RunConfig, file: str) -> Self:
        """Return the state after `step` updates of a run with this configuration.

        Raises:
            RunRefused: If the file is not what `write` wrote for such a run, or its numbers can't be a state.
        """
        return cls._made(step, weights, read_tensors(data, state_layout(config), file), config, file)

    @classmethod
    def read_whole(cls, data: bytes, config: RunConfig, file: str) -> Self:
        """Return the state of a run with this configuration.

        Raises:
            RunRefused: If the file is not what `write_whole` wrote for such a run, or its numbers can't be a state.
        """
        found = read_tensors(data, whole_layout(config), file)
        step = int(found["step"])
        if not 0 <= step <= config.recipe.steps:
            raise RunRefused("training.refused.state", file=file)
        weights = {name.removeprefix("w."): each for name, each in found.items() if name.startswith("w.")}
        return cls._made(step, weights, found, config, file)

    @classmethod
    def _made(
        cls, step: int, weights: Mapping[str, Tensor], found: Mapping[str, Tensor], config: RunConfig, file: str
    ) -> Self:
        names = parameter_shapes(config.model).keys()
        mean, square = ({name: found[f"{kind}.{name}"] for name in names} for kind in "mv")
        counts, seconds = found["counts"], float(found["seconds"])
        out_of_range = bool((counts < 0).any() or (counts > step).any()) or seconds < 0
        if out_of_range or any(bool((each < 0).any()) for each in square.values()):
            raise RunRefused("training.refused.state", file=file)
        return cls(step, weights, mean, square, counts, found["dropout"], seconds)


@lru_cache(maxsize=64)
def parameter_shapes(config: ModelConfig) -> Mapping[str, tuple[int, ...]]:
    """Return the name and shape of everything that is trained in a model of this configuration."""
    with torch.device("meta"):  # shapes without memory; the setting is this thread's
        model = Transformer(config)
    return MappingProxyType({name: tuple(each.shape) for name, each in model.named_parameters()})


def state_layout(config: RunConfig) -> Layout:
    """Return what is in a state's file."""
    shapes = parameter_shapes(config.model)
    return {
        **floats({f"{kind}.{name}": shape for kind in "mv" for name, shape in shapes.items()}),
        "counts": ((len(shapes),), torch.int64),
        "dropout": ((GENERATOR_BYTES[config.recipe.device],), torch.uint8),
        "seconds": ((1,), torch.float64),
    }


def whole_layout(config: RunConfig) -> Layout:
    """Return what is in a file with weights and state."""
    weights = {f"w.{name}": shape for name, shape in parameter_shapes(config.model).items()}
    return {**floats(weights), **state_layout(config), "step": ((1,), torch.int64)}


def state_bytes(config: RunConfig) -> int:
    """Return how many bytes the numbers of a state take, weights apart."""
    return size_of(state_layout(config))


def whole_bytes(config: RunConfig) -> int:
    """Return how many bytes the numbers of weights and state take."""
    return size_of(whole_layout(config))
