"""Attention heads as lines from the words that look to the words looked at: only the lines that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("head_lines")

# Lines that are drawn of all heads together: 60 words looking at 60, four times.
MOST_LINES = 15_000

WORDS = ("weight", "keys", "nothing", "head")


@dataclass(frozen=True, eq=False)
class HeadLines:
    """One head's lines.

    Attributes:
        id: Heads with the same id share their words: what is pointed at in one is lit in all of them.
        title: Which head it is, in words.
        said: How many lines are drawn, in words.
        weights: `[query, key]`.
        kept: Which lines are drawn, `[query, key]`.

    Raises:
        ValueError: If `kept` has another shape than `weights`.
    """

    id: str
    title: str
    said: str
    weights: LabelledArray
    kept: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        if self.kept.shape != self.weights.shape:
            raise ValueError(f"{self.weights.name} is {self.weights.shape}, but its lines are {self.kept.shape}")

    def plain(self, t: Translate) -> dict[str, Any]:
        """Return what the browser has to know; each line is [query, key, weight]."""
        query, key = self.weights.axes
        return {
            "id": self.id,
            "title": self.title,
            "said": self.said,
            "rows": {"labels": list(query.labels), "short": t(f"axis.short.{query.name}")},
            "cols": {"labels": list(key.labels), "short": t(f"axis.short.{key.name}")},
            "lines": [
                [int(row), int(col), float(self.weights.values[row, col])] for row, col in np.argwhere(self.kept)
            ],
        }


def head_lines(
    heads: Sequence[HeadLines], *, key: str, alt: str, t: Translate, theme: Theme, filename: str | None = None
) -> None:
    """Draw the lines of some heads. New ones under the same key are drawn in place.

    Args:
        heads: What is drawn, in order.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
        filename: Stem of saved files; the key if None.

    Raises:
        ValueError: If there are more than `MOST_LINES` lines.
    """
    n_lines = sum(int(each.kept.sum()) for each in heads)
    if n_lines > MOST_LINES:
        raise ValueError(f"the heads have {n_lines} lines; at most {MOST_LINES} are drawn")
    words = {word: t(f"all_heads.lines.{word}") for word in WORDS}
    data = {
        **common(theme, t, alt=alt, filename=filename or key, **words),
        "heads": [each.plain(t) for each in heads],
    }
    _MOUNT(key=key, data=data)
