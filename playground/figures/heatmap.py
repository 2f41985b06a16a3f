"""Heat maps: two axes of words or numbers, a cell a value."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Figure, Plain, axis, layout, literal, numbers, scale
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray

# 512 × 512 numbers are 1.4 MB packed, and about what a browser still draws at once.
MOST_CELLS = 262_144
MOST_TICKS = 48
TURNED = 12  # words, above which those over the columns are turned

REASONS = ("causal", "padding")


def heatmap(array: LabelledArray, t: Translate, theme: Theme, **choices: Any) -> Figure:
    """Draw a two-axis array, first axis downward, its labels on both sides: see `heatmap_plain`."""
    return Figure(heatmap_plain(array, t, theme, **choices))


def heatmap_plain(
    array: LabelledArray,
    t: Translate,
    theme: Theme,
    *,
    kind: Literal["weights", "signed"] = "weights",
    limits: tuple[float, float] | None = None,
    hidden: npt.NDArray[Any] | None = None,
    height: int | None = None,
) -> Plain:
    """Draw a two-axis array, first axis downward, its labels on both sides.

    Args:
        array: What is drawn; −∞ and NaN leave a gap.
        t: Words of the axes, the legend and the value.
        theme: Colours and type.
        kind: `weights` from 0 to 1, or `signed` numbers around 0.
        limits: Ends of the colours; 0 to 1 for weights, ± the largest absolute value for signed numbers, if None.
            Any but 0 to 1 is written at the colours.
        hidden: Why each cell is hidden by a mask, `[row, col]` of `causal`, `padding` or empty. Such a cell is drawn
            on a layer of its own, hatched, and never has a number.
        height: Pixels; by the number of rows if None.

    Raises:
        ValueError: If `array` has not two axes, more than `MOST_CELLS` cells, or `hidden` has another shape.
    """
    if len(array.axes) != 2:
        raise ValueError(f"a heat map needs 2 axes, but {array.name} has {[each.name for each in array.axes]}")
    if array.values.size > MOST_CELLS:
        raise ValueError(f"{array.name} has {array.values.size} cells; at most {MOST_CELLS} are drawn")
    if hidden is not None and hidden.shape != array.shape:
        raise ValueError(f"{array.name} is {array.shape}, but its hidden cells are {hidden.shape}")
    rows, cols = array.axes
    values = np.where(np.isfinite(array.values), array.values, np.nan).astype(np.float32)
    if hidden is not None:
        values[hidden != ""] = np.nan
    low, high = limits or _limits(values, kind)
    named = (t(f"axis.short.{rows.name}"), t(f"axis.short.{cols.name}"))
    place = f"{literal(named[0])} <b>%{{y}}</b><br>{literal(named[1])} <b>%{{x}}</b><br>"
    # Words repeat in a sentence, so cells sit at positions and words are tick text.
    drawn: Plain = {
        "type": "heatmap",
        "name": literal(array.name),
        "z": numbers(values),
        "zmin": low,
        "zmax": high,
        "colorscale": scale(theme, kind),
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": place + f"{literal(t('figure.value'))} <b>%{{z:.4~g}}</b><extra></extra>",
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "tickvals": [low, high] if low >= 0 else [low, 0.0, high],
            "tickformat": ".3~g",
            "tickfont": {"size": theme.font_size, "color": theme.muted},
            **({} if (low, high) == (0.0, 1.0) else {"title": _range(low, high, t, theme)}),
        },
    }
    layers = [] if hidden is None else [layer for why in REASONS for layer in _hidden(hidden, why, place, t, theme)]
    turned = len(cols) > TURNED
    return {
        "data": [drawn, *layers],
        "layout": layout(
            theme,
            height=height or 90 + max(160, min(640, 30 * len(rows))),
            margin={"l": 8, "r": 8, "t": 8, "b": 8},
            showlegend=bool(layers),
            legend={"orientation": "h", "x": 0, "y": -0.02, "yanchor": "top", "font": {"color": theme.muted}},
            yaxis=_side(rows, theme, t, autorange="reversed"),
            xaxis=_side(cols, theme, t, side="top", tickangle=-90 if turned else 0),
        ),
    }


def _limits(values: npt.NDArray[np.float32], kind: str) -> tuple[float, float]:
    if kind == "weights":
        return 0.0, 1.0
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))) or 1.0
    return -largest, largest


def _range(low: float, high: float, t: Translate, theme: Theme) -> Plain:
    said = t("figure.range", low=f"{low:.3g}".replace("-", "−"), high=f"{high:.3g}".replace("-", "−"))
    return {"text": literal(said), "side": "right", "font": {"size": theme.font_size, "color": theme.muted}}


def _side(axis_: Axis, theme: Theme, t: Translate, **more: Any) -> Plain:
    step = -(-len(axis_) // MOST_TICKS)
    shown = range(0, len(axis_), step)
    return axis(
        theme,
        title={"text": literal(t(f"axis.{axis_.name}")), "font": {"size": theme.font_size, "color": theme.muted}},
        tickmode="array",
        tickvals=[*shown],
        ticktext=[literal(axis_.labels[i]) for i in shown],
        tickfont={"size": theme.font_size, "color": theme.text},
        showgrid=False,
        automargin=True,
        **more,
    )


def _hidden(hidden: npt.NDArray[Any], why: str, place: str, t: Translate, theme: Theme) -> list[Plain]:
    """Return the layers of the cells hidden for one reason: their ground, and a hatch that rises or falls."""
    at = hidden == why
    if not at.any():
        return []
    said = literal(t(f"matrix.{why}"))
    ground: Plain = {
        "type": "heatmap",
        "name": said,
        "z": numbers(np.where(at, 0.0, np.nan)),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, theme.surface], [1, theme.surface]],
        "showscale": False,
        "showlegend": False,
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": place + f"{said}<extra></extra>",
    }
    x: list[float | None] = []
    y: list[float | None] = []
    for row, col in np.argwhere(at).tolist():
        for x0, y0, x1, y1 in ((-0.5, 0.0, 0.0, -0.5), (-0.5, 0.5, 0.5, -0.5), (0.0, 0.5, 0.5, 0.0)):
            flip = 1 if why == "causal" else -1  # rows run downward, so this one rises
            x += [col + x0, col + x1, None]
            y += [row + flip * y0, row + flip * y1, None]
    hatch: Plain = {
        "type": "scatter",
        "mode": "lines",
        "name": said,
        "x": x,
        "y": y,
        "line": {"color": theme.hidden, "width": 1},
        "hoverinfo": "skip",
        "showlegend": True,
    }
    return [ground, hatch]
