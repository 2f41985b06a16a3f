"""A mask that is painted cell by cell in the browser; the server hears of it once a stroke."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.ui.components import register
from playground.ui.components.matrix import REASONS
from playground.ui.components.shared import common

_MOUNT = register("paint")

WORDS = ("open", "shut", "keys", "hand", "causal", "padding", "window", "query", "key")


def paint(
    mask: LabelledArray,
    reasons: npt.NDArray[Any],
    *,
    key: str,
    on_stroke: Callable[[npt.NDArray[np.bool_]], None],
    alt: str,
    t: Translate,
    theme: Theme,
    filename: str | None = None,
) -> None:
    """Draw a mask that the visitor paints with mouse, finger or keys.

    Args:
        mask: The model's own, `[query, key]`, True where a query may look: it says how large the picture is.
        reasons: Why each key is hidden now: `padding`, `causal`, `window`, `hand`, or empty where the query may look.
        key: The element's own name on the page.
        on_stroke: Called with the whole mask, `[query, key]`, before the script runs again.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
        filename: Stem of saved files; the key if None.
    """
    rows, cols = mask.axes

    def heard() -> None:
        value = st.session_state[key].get("stroke")
        if (painted := painted_in(value, mask.shape)) is not None:
            on_stroke(painted)

    words = {word: t(f"masks.brush.{word}") for word in WORDS}
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=filename or key, **words),
        "rows": list(rows.labels),
        "cols": list(cols.labels),
        "hidden": "".join(REASONS[str(reason)] for reason in reasons.flat),
    }
    _MOUNT(key=key, data=data, on_stroke_change=heard)


def painted_in(value: object, shape: tuple[int, ...]) -> npt.NDArray[np.bool_] | None:
    """Return the mask that the browser sent, row by row `1` where a query may look; None if it is not of this shape."""
    if not isinstance(value, str) or len(value) != shape[0] * shape[1] or set(value) - {"0", "1"}:
        return None
    return np.array([cell == "1" for cell in value]).reshape(shape)
