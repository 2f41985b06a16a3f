"""A table of words in the browser: a word a cell, on the colour of a number from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playground.figures.theme import Role, Theme
from playground.i18n import Translate
from playground.ui.components import register
from playground.ui.components.shared import common

_MOUNT = register("word_grid")

MOST_CELLS = 4000

# An arrow: (row, column) from, (row, column) to, and kind.
Link = tuple[int, int, int, int, Literal["plain", "wrong"]]


@dataclass(frozen=True)
class WordCell:
    """One cell.

    Attributes:
        text: Its word.
        sub: What stands under it, in small type.
        value: What its colour says, 0 to 1; None for no colour.
        mark: `wrong` and `first` are framed, `first` strongly.
        strong: Whether the word is set in bold.
        said: What is said of it under the pointer: texts, or pairs of a name and a value.
    """

    text: str
    sub: str = ""
    value: float | None = None
    mark: Literal["", "right", "wrong", "first"] = ""
    strong: bool = False
    said: tuple[str | tuple[str, str], ...] = ()


@dataclass(frozen=True)
class WordRow:
    """One row.

    Attributes:
        title: What it is, in words.
        cells: From the first column on; None where there is none.
        role: Colour of the title.
        after: Space below it, in heights of the type.
    """

    title: str
    cells: tuple[WordCell | None, ...]
    role: Role = "plain"
    after: float = 0.0


def word_grid(
    rows: Sequence[WordRow],
    *,
    key: str,
    alt: str,
    colour: str,
    t: Translate,
    theme: Theme,
    marked: str = "",
    links: Sequence[Link] = (),
    filename: str | None = None,
    picks: bool = False,
) -> tuple[int, int] | None:
    """Draw a table of words that answers the pointer and the keys.

    Args:
        rows: From above.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        colour: What the colours say, in words.
        t: Words.
        theme: Colours and type.
        marked: What a frame says, in words; empty if nothing is marked.
        links: Arrows.
        filename: Stem of saved files; the key if None.
        picks: Whether a click reaches Python, as a rerun.

    Returns:
        With `picks`: the (row, column) that was clicked, or None.

    Raises:
        ValueError: If there are more than `MOST_CELLS` cells.
    """
    n_cells = sum(len(row.cells) for row in rows)
    if n_cells > MOST_CELLS:
        raise ValueError(f"the table has {n_cells} cells; at most {MOST_CELLS} are drawn")
    words = {word: t(f"decode.grid.{word}") for word in ("keys", "row", "place", "word", "value")}
    data: Mapping[str, Any] = {
        **common(theme, t, alt=alt, filename=filename or key, colour=colour, marked=marked, **words),
        "rows": [
            {
                "title": row.title,
                "role": row.role,
                "after": row.after,
                "cells": [
                    None
                    if cell is None
                    else {
                        "text": cell.text,
                        "sub": cell.sub,
                        "value": cell.value,
                        "mark": cell.mark,
                        "strong": cell.strong,
                        "said": [list(each) if isinstance(each, tuple) else each for each in cell.said],
                    }
                    for cell in row.cells
                ],
            }
            for row in rows
        ],
        "links": [list(link) for link in links],
        "picks": picks,
    }
    if not picks:
        _MOUNT(key=key, data=data)
        return None
    found = _MOUNT(key=key, data=data, default={"pick": None}, on_pick_change=lambda: None).get("pick")
    if not isinstance(found, Mapping):
        return None
    row, col = found.get("row"), found.get("col")
    if not isinstance(row, (int, float)) or not isinstance(col, (int, float)) or not 0 <= row < len(rows):
        return None
    return (int(row), int(col)) if 0 <= col < len(rows[int(row)].cells) else None
