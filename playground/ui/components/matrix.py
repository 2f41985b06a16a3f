"""Labelled matrices in the browser: a chain that leads from one to the next, or a few side by side.

A page says what each matrix is and what its cells are made from; the browser draws, and lights the operands of the cell
under the pointer, without a word to the server.

    matrices([Block(weights, id="weights", title=t("…"), scale="weights")],
             layout="single", key="map", alt=t("…"), t=t, theme=state.theme)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from playground.figures.theme import Role, Theme
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray
from playground.ui.components import register
from playground.ui.components.shared import common, packed

_MOUNT = register("matrix")

Side = Literal["row", "col"]
Layout = Literal["chain", "row", "single"]

# A letter a cell, "." where it counts: reasons as the browser reads them.
REASONS: Mapping[str, str] = {"": ".", "causal": "c", "padding": "p", "window": "w", "hand": "h"}

# Axes that count words (or heads); the labels of the others are just numbers.
WORD_AXES = frozenset({"query", "key", "pos", "vocab", "way"})

# The largest matrix that is drawn: 60 words by 2,000 dimensions. A larger one would make the page slow to load.
MOST_CELLS = 120_000


@dataclass(frozen=True)
class Operand:
    """Which cells of another block the cell (row, col) of this one is made from.

    `Operand("q", row="row")` is the row of `q` with this cell's row number, in full; `Operand("k", row="col")` the row
    with this cell's column number; `Operand("scores", row="row", col="col")` the one cell in the same place.

    Attributes:
        block: The other block's id.
        row: Whose number its row has, this cell's row or column; None for every row.
        col: The same for its column.
        col_from: What to take off the column's number first; a cell that then falls outside has no such operand.
    """

    block: str
    row: Side | None = None
    col: Side | None = None
    col_from: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """One matrix.

    Attributes:
        array: Its numbers, two axes. Word axes (`query`, `key`, `pos`) are labelled with words, others with numbers.
        id: Short name, unique among the blocks of one picture; part of the names of saved files.
        title: What it is, in words.
        symbol: What it is, in a symbol with its role: `{query:Q}`. The title if empty.
        formula: How it is made: `{query:Q} {key:K}^T / √d_k`. Plain text; `{role:…}` colours, `_` and `^` shift.
        role: Colour of its frame.
        scale: `signed` numbers around 0, or `weights` from 0 to 1.
        limit: Where the signed scale is full; the largest absolute value if None. Give the same one to blocks that
            are to be compared.
        hidden: Why each cell is hidden by a mask, `[row, col]` of `padding`, `causal` or empty, as `Reading.hidden`
            gives it. Such a cell is hatched, and never has a number.
        operands: What its cells are made from.
        via: What is done to the operands, written on the arrow: `÷ √d_k`.
        joined: What stands between two operands.
        note: One sentence for the reader: what happens here.
        stage: Heading that it stands under in a chain, together with its neighbours of the same stage.
        whole: Shape of the tensor that this is a part of, such as `(4, 9, 9)`; the array's own if None.
    """

    array: LabelledArray
    id: str
    title: str
    symbol: str = ""
    formula: str = ""
    role: Role = "plain"
    scale: Literal["signed", "weights"] = "signed"
    limit: float | None = None
    hidden: npt.NDArray[Any] | None = None
    operands: tuple[Operand, ...] = ()
    via: str = ""
    joined: Literal["×", "+"] = "×"
    note: str = ""
    stage: str = ""
    whole: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.array.axes) != 2:
            raise ValueError(f"a block needs 2 axes, but {self.array.name} has {[a.name for a in self.array.axes]}")
        if self.hidden is not None and self.hidden.shape != self.array.shape:
            raise ValueError(f"{self.array.name} is {self.array.shape}, but its hidden cells are {self.hidden.shape}")
        if self.array.values.size > MOST_CELLS:
            raise ValueError(f"{self.array.name} has {self.array.values.size} cells; at most {MOST_CELLS} are drawn")

    def plain(self, t: Translate) -> dict[str, Any]:
        """Return the block as plain data, for the browser."""
        rows, cols = self.array.axes
        return {
            "id": self.id,
            "title": self.title,
            "symbol": self.symbol or self.title,
            "formula": self.formula,
            "plain": self.array.name,
            "role": self.role,
            "scale": self.scale,
            "limit": self.limit if self.limit is not None else largest(self.array),
            "via": self.via,
            "joined": self.joined,
            "note": self.note,
            "stage": self.stage,
            "shape": " × ".join(map(str, self.whole or self.array.shape)),
            "rows": _axis(rows, t),
            "cols": _axis(cols, t),
            "values": packed(self.array.values),
            "hidden": None if self.hidden is None else "".join(REASONS[str(reason)] for reason in self.hidden.flat),
            "operands": [
                {"block": o.block, "row": o.row, "col": o.col, "row_from": 0, "col_from": o.col_from}
                for o in self.operands
            ],
        }


def largest(*arrays: LabelledArray) -> float:
    """Return the largest absolute value among the finite ones: one `limit` for blocks that are to be compared."""
    sizes = [float(np.abs(a.values[np.isfinite(a.values)]).max(initial=0.0)) for a in arrays]
    return max(sizes, default=0.0)


def matrices(
    blocks: Sequence[Block],
    *,
    key: str,
    alt: str,
    t: Translate,
    theme: Theme,
    layout: Layout = "chain",
    start: str | None = None,
    named: tuple[str, int, int] | None = None,
    group: str | None = None,
    filename: str | None = None,
    picks: bool = False,
) -> Mapping[str, Any]:
    """Draw labelled matrices that answer the pointer and the keys.

    Hover shows row, column and value, and lights the operands; click pins, Esc clears, arrow keys walk. Every block
    and the whole can be saved as PNG, SVG and CSV.

    Args:
        blocks: What is drawn, in order.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words.
        theme: Colours and type.
        layout: `chain`: all of them small, one large with its operands before it, Back and Next between them.
            `row`: all of them large, side by side as far as there is room. `single`: the same in large type, for a
            picture that stands alone, such as a map with words on both axes.
        start: Id of the block that is large at first; the last block if None.
        named: Block, row and column of the cell that the page's text speaks of; outlined at rest.
        group: Pictures with the same group light up together: the event `playground:<group>` of shared.js carries
            `{cell: {id, row, col}, axes: {query: 3, key: 5}}`, or null at rest. The picture's own key if None.
        filename: Stem of saved files; the key if None.
        picks: Whether a click reaches Python, as a rerun.

    Returns:
        With `picks`: `pick`, `{"id": "weights", "row": 3, "col": 5}` or None.

    Raises:
        ValueError: If two blocks have one id, or `start` is none of them.
    """
    ids = [block.id for block in blocks]
    if len(set(ids)) != len(ids):
        raise ValueError(f"every block needs its own id, but they are {ids}")
    start = ids[-1] if start is None else start
    if start not in ids:
        raise ValueError(f"no block {start!r} to start with; there are {ids}")
    words = {name: t(f"matrix.{name}") for name in WORDS}
    data = {
        **common(theme, t, alt=alt, filename=filename or key, **words),
        "blocks": [block.plain(t) for block in blocks],
        "layout": layout,
        "start": start,
        "named": None if named is None else {"id": named[0], "row": named[1], "col": named[2]},
        "group": group or key,
        "picks": picks,
    }
    if not picks:
        return cast(Mapping[str, Any], _MOUNT(key=key, data=data))
    return cast(
        Mapping[str, Any],
        _MOUNT(
            key=key,
            data=data,
            default={"pick": None},
            on_pick_change=lambda: None,
        ),
    )


WORDS = (
    "matrix",
    "keys",
    "value",
    "row",
    "column",
    "block",
    "causal",
    "padding",
    "window",
    "hand",
    "back",
    "next",
    "save_all",
)


def _axis(axis: Axis, t: Translate) -> dict[str, Any]:
    return {
        "name": axis.name,
        "labels": list(axis.labels),
        "words": axis.name in WORD_AXES,
        "short": t(f"axis.short.{axis.name}"),
        "title": t(f"axis.{axis.name}"),
    }
