"""One forward pass, every tensor by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import torch
from torch import Tensor, nn

from models.tap import Edit, Recorder
from models.transformer import Transformer

_RESIDUAL = ("pos", "d_model")
_QUERIES = ("head", "query", "d_head")
_KEYS = ("kv_head", "key", "d_head")
_MAP = ("head", "query", "key")

# The axes of each tensor of one sample, by the last part of its name.
AXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "embed": _RESIDUAL,
        "pos_embed": _RESIDUAL,
        "embed_norm": _RESIDUAL,
        "resid_pre": _RESIDUAL,
        "input": _RESIDUAL,
        "memory": _RESIDUAL,
        "q_unrotated": _QUERIES,
        "k_unrotated": _KEYS,
        "q": _QUERIES,
        "k": _KEYS,
        "v": _KEYS,
        "raw_scores": _MAP,
        "bias": _MAP,
        "scores": _MAP,
        "mask_padding": ("query", "key"),
        "mask_causal": ("query", "key"),
        "mask_window": ("query", "key"),
        "mask": ("query", "key"),
        "masked_scores": _MAP,
        "weights": _MAP,
        "z": _QUERIES,
        "concat": _RESIDUAL,
        "out": _RESIDUAL,
        "added": _RESIDUAL,
        "resid_mid": _RESIDUAL,
        "resid_mid_cross": _RESIDUAL,
        "hidden": ("pos", "d_ff"),
        "router": ("pos", "expert"),
        "expert": ("pos", "expert"),
        "expert_hidden": ("expert", "pos", "d_ff"),
        "expert_out": ("expert", "pos", "d_model"),
        "resid_post": _RESIDUAL,
        "final_norm": _RESIDUAL,
        "logits": ("pos", "vocab"),
        "probs": ("pos", "vocab"),
    }
)


class Trace(Mapping[str, Tensor]):
    """Every tensor of one sample's forward pass, by name, in the order of the pass; `AXES` says what their axes are."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def capture(
    model: Transformer,
    src: Tensor,
    tgt: Tensor | None = None,
    *,
    edits: Mapping[str, Edit] | None = None,
    sample: int | None = None,
) -> Trace:
    """Run one pass, without dropout and without gradients, and keep every tensor of one sample.

    Args:
        model: Its mode is left as it was.
        src: Token ids, `[batch, pos]`.
        tgt: Token ids, `[batch, pos]`, for a decoder beside an encoder.
        edits: What stands in for a tensor during the pass, by name; see `Recorder`.
        sample: Row of the batch that is kept; needed if there is more than one.

    Returns:
        The tensors without their batch axis.

    Raises:
        ValueError: If `sample` does not say which row, or an edit has an unknown name or changes a shape.
    """
    batch = src.shape[0]
    if sample is None and batch == 1:
        sample = 0
    if sample is None or not 0 <= sample < batch:
        raise ValueError(
            f"the batch has {batch} samples, of which one is kept: sample is 0 to {batch - 1}, got {sample}"
        )
    recorder = Recorder(edits)
    with inspecting(model):
        model(src, tgt, tap=recorder)
    recorder.check_edits()
    return Trace({name: tensor[sample] for name, tensor in recorder.tensors.items()})


@contextmanager
def inspecting(model: nn.Module) -> Iterator[None]:
    """Hold a model in eval mode without gradients, then put it back as it was."""
    # Only modules in training are touched: a model that is shared and at rest is never written to.
    training = [module for module in _parts(model) if module.training]
    for module in training:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def _parts(model: nn.Module) -> list[nn.Module]:
    """Return what `model.modules()` yields, in several times less time: decoding asks for each token."""
    found = [model]
    for module in found:
        found.extend(part for part in module._modules.values() if part is not None)
    return found


def zero_head(head: int) -> Callable[[Tensor], Tensor]:
    """Switch one head off.

    An ablation is `capture(model, src, tgt, edits={"encoder.0.self_attn.z": zero_head(2)})`.

    Args:
        head: Counted from 0, on the axis after the batch.

    Returns:
        An edit that sets the head's numbers to 0.
    """

    def edit(tensor: Tensor) -> Tensor:
        if not 0 <= head < tensor.shape[1]:
            raise ValueError(f"there is no head {head} among {tensor.shape[1]}, counted from 0")
        silent = tensor.clone()
        silent[:, head] = 0.0
        return silent

    return edit
