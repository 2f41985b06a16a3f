"""One cross-attention head beside the gold alignment, in the browser: as lines and as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.ui.components import register
from playground.ui.components.shared import common, packed

_MOUNT = register("alignment")

MOST_CELLS = 40_000

WORDS = ("query", "key", "weight", "gold", "origin", "keys")


def alignment(
    weights: LabelledArray,
    gold: Sequence[tuple[int, int]],
    *,
    head: str,
    key: str,
    alt: str,
    t: Translate,
    theme: Theme,
    filename: str | None = None,
) -> tuple[int, int] | None:
    """Draw one head's map; hover lights a word with all it belongs to, a click on a cell reaches Python.

    Args:
        weights: `[query, key]`: each query named by the word that it wrote.
        gold: Pairs (query, key) that translate each other.
        head: Which head it is: with another one nothing stays pinned.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
        filename: Stem of saved files; the key if None.

    Returns:
        The (query, key) that was clicked, or None.

    Raises:
        ValueError: If there are more than `MOST_CELLS` weights.
    """
    if weights.values.size > MOST_CELLS:
        raise ValueError(f"{weights.name} has {weights.values.size} cells; at most {MOST_CELLS} are drawn")
    query, looked = weights.axes
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=filename or key, **{word: t(f"decode.align.{word}") for word in WORDS}),
        "written": list(query.labels),
        "source": list(looked.labels),
        "weights": packed(weights.values),
        "gold": [list(pair) for pair in gold],
        "head": head,
    }
    found = _MOUNT(key=key, data=data, default={"pick": None}, on_pick_change=lambda: None).get("pick")
    if not isinstance(found, Mapping):
        return None
    row, col = found.get("row"), found.get("col")
    if not isinstance(row, (int, float)) or not isinstance(col, (int, float)):
        return None
    return (int(row), int(col)) if 0 <= row < len(query) and 0 <= col < len(looked) else None
