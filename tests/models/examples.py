"""Small models and sentences for the tests. Sizes differ, so that no two axes are confused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch import Tensor

from models import CHOICES, POSITIONS, ModelConfig, Transformer

SRC = torch.tensor([[3, 4, 5, 6, 2]])  # [1, 5]
TGT = torch.tensor([[1, 7, 8]])  # [1, 3]
SMALL = {"vocab_size": 11, "d_model": 24, "n_heads": 4, "d_ff": 29, "n_layers": 2, "max_len": 17}


def small(seed: int = 0, **choices: Any) -> Transformer:
    """Return a small model in eval mode, its first weights drawn from a seed."""
    return Transformer(ModelConfig(**{**SMALL, **choices}), torch.Generator().manual_seed(seed)).eval()


def read(model: Transformer, src: Tensor = SRC, tgt: Tensor = TGT, **rest: Any) -> Tensor:
    """Return the logits of a model of any architecture: those with one stack read `src`."""
    return model(*inputs(model, src, tgt), **rest)


def inputs(model: Transformer, src: Tensor = SRC, tgt: Tensor = TGT) -> tuple[Tensor, ...]:
    return (src, tgt) if model.config.architecture == "encoder-decoder" else (src,)


def _variants() -> Iterator[dict[str, Any]]:
    """Yield choices for `small`: every architecture with every position rule, the other choices in turn."""
    parts: list[dict[str, Any]] = [
        {},
        {"norm_placement": "pre", "norm": "rms", "activation": "swiglu", "n_kv_heads": 2, "ffn_bias": False},
        {"activation": "gelu", "n_kv_heads": 1, "attention_bias": True, "tied": False, "embed_scale": False},
        {"norm_placement": "pre", "activation": "gelu_tanh", "unembed_bias": True, "embed_norm": True},
        {"scale_scores": False, "final_norm": True, "norm": "rms", "tied": False, "attention_bias": True},
    ]
    for index, (architecture, positions) in enumerate(product(CHOICES["architecture"], POSITIONS)):
        for part in (parts[index % len(parts)], parts[(index + 1) % len(parts)]):
            yield {"architecture": architecture, "positions": positions, **part}
    for placement in CHOICES["norm_placement"]:
        yield {"architecture": "encoder-decoder", "norm_placement": placement, "residual": False}
    for architecture in CHOICES["architecture"]:
        yield {"architecture": architecture, "window": 2, "n_experts": 5, "n_active": 2}
    yield {"architecture": "decoder-only", "n_experts": 3, "positions": "alibi", "window": 3}


VARIANTS = list(_variants())


def name_of(choices: dict[str, Any]) -> str:
    return " ".join(str(value) if isinstance(value, str) else f"{name}={value}" for name, value in choices.items())
