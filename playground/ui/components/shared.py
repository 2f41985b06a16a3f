"""What Python sends to every browser component: packed numbers, colours, the words of the save menu."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.theme import Theme
from playground.i18n import Translate

# The words that shared.js itself needs.
WORDS = ("save", "png", "svg", "csv")


def packed(values: npt.NDArray[Any]) -> Mapping[str, object]:
    """Return numbers as plain data that keeps every bit, −∞ included: `unpacked` in shared.js is the inverse.

    Returns:
        `shape`, and `float32`: the numbers row by row, little-endian, in base64.
    """
    flat = np.ascontiguousarray(values, dtype="<f4")
    return {"shape": list(values.shape), "float32": base64.b64encode(flat.tobytes()).decode("ascii")}


def common(theme: Theme, t: Translate, *, alt: str, filename: str, **words: str) -> dict[str, Any]:
    """Return what every component's data begins with.

    Args:
        theme: Colours and type.
        t: Gives the words of the save menu (`picture.…`).
        alt: What a screen reader says the picture is.
        filename: Stem of the files that the save menu writes.
        words: What else the script has to say.

    Returns:
        `theme`, `alt`, `filename`, `words`.
    """
    return {
        "theme": dict(theme.plain()),
        "alt": alt,
        "filename": filename,
        "words": {**{word: t(f"picture.{word}") for word in WORDS}, **words},
    }
