"""Files of named tensors (safetensors), read only after it is known that there is in them just what was expected."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from playground.recipe import RunRefused

MAX_HEADER = 1024 * 1024  # bytes of a file that describe it

# What a file here may hold, by the format's names of types.
DTYPES: Mapping[str, torch.dtype] = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "U8": torch.uint8}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

# Name and shape of each tensor, with its type.
Layout = Mapping[str, tuple[tuple[int, ...], torch.dtype]]


def floats(shapes: Mapping[str, tuple[int, ...]]) -> Layout:
    """Return the layout of float32 tensors with these shapes."""
    return {name: (shape, torch.float32) for name, shape in shapes.items()}


def size_of(layout: Layout) -> int:
    """Return how many bytes the numbers of these tensors take."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in layout.values())


def write_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Return a file of these tensors, which are taken from whatever device they are on."""
    return bytes(safetensors.torch.save({name: each.detach().to("cpu").contiguous() for name, each in tensors.items()}))


def read_tensors(data: bytes, layout: Layout, file: str) -> dict[str, Tensor]:
    """Return the tensors in a file.

    Args:
        data: The file, of at most `size_of(layout) + MAX_HEADER + 8` bytes.
        layout: What must be in it, and nothing else.
        file: Its name, for the refusal.

    Raises:
        RunRefused: If anything else is in it, or a number is not finite.
    """
    _check(data, layout, file)
    tensors: dict[str, Tensor] = safetensors.torch.load(data)
    if not all(bool(torch.isfinite(each).all()) for each in tensors.values()):
        raise RunRefused("training.refused.not_finite", file=file)
    return tensors


def _check(data: bytes, layout: Layout, file: str) -> None:
    """Refuse a file unless it holds exactly `layout`.

    The format: 8 bytes with the header's length, the header in JSON, then the numbers.
    """
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else MAX_HEADER + 1
    if length > MAX_HEADER or len(data) != 8 + length + size_of(layout):
        raise RunRefused("training.refused.weights_size", file=file)
    header = _header(data[8 : 8 + length])
    if not isinstance(header, dict):
        raise RunRefused("training.refused.weights_size", file=file)
    header.pop("__metadata__", None)
    for name in sorted(layout.keys() ^ header.keys()):
        raise RunRefused("training.refused.weights_name", file=file, name=name[:64])
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: _start(item[1])):
        wanted, dtype = layout[name]
        shape, kind = (entry.get("shape"), entry.get("dtype")) if isinstance(entry, dict) else (None, None)
        if shape != list(wanted) or kind != _NAMES[dtype]:
            raise RunRefused("training.refused.weights_shape", file=file, name=name, wanted=_by(wanted))
        start, end = end, end + dtype.itemsize * math.prod(wanted)
        if entry.get("data_offsets") != [start, end] or entry.keys() != {"shape", "dtype", "data_offsets"}:
            raise RunRefused("training.refused.weights_size", file=file)


def _header(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunRefused("training.refused.not_json") from error


def _start(entry: object) -> tuple[int, int]:
    """Return where an entry's numbers begin and end, so that entries can be sorted whatever they are."""
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    if isinstance(offsets, list) and len(offsets) == 2 and all(type(each) is int for each in offsets):
        return offsets[0], offsets[1]
    return -1, -1


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(str(size) for size in shape)
