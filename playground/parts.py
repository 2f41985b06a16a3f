"""A model in parts, each of which learns at its own pace: the embeddings, and each layer of each stack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from models import ModelConfig


def parts(config: ModelConfig) -> tuple[str, ...]:
    """Return the parts of a model: `embedding`, `encoder.0`, …, `decoder.0`, …, and `unembedding` if it has its own."""
    stacks = [stack for stack in ("encoder", "decoder") if stack in config.architecture]
    layers = (f"{stack}.{layer}" for stack in stacks for layer in range(config.n_layers))
    return ("embedding", *layers, *(() if config.tied else ("unembedding",)))


def part_of(parameter: str, n_layers: int) -> str:
    """Return the part that a parameter belongs to.

    What stands before the first layer counts as the embedding, and what stands after the last layer as that layer's;
    the unembedding, if it has a matrix of its own, is a part of its own with its bias.

    Args:
        parameter: Name as in `Transformer.named_parameters`.
        n_layers: Layers of each stack.
    """
    first, *others = parameter.split(".")
    if first in ("encoder", "decoder"):
        if others[0] == "layers":
            return f"{first}.{others[1]}"
        if others[0] == "final_norm":
            return f"{first}.{n_layers - 1}"
    return "unembedding" if first == "unembedding" else "embedding"


def grouped(config: ModelConfig, parameters: Iterable[str]) -> Mapping[str, tuple[int, ...]]:
    """Return for each part the places of its parameters among all."""
    found: dict[str, list[int]] = {part: [] for part in parts(config)}
    for place, name in enumerate(parameters):
        found[part_of(name, config.n_layers)].append(place)
    return MappingProxyType({part: tuple(places) for part, places in found.items()})
