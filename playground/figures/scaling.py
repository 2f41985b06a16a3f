"""What dividing scores does: measures over d_k as curves, and weights side by side as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Figure, Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray

MOST_BARS = 64


@dataclass(frozen=True, eq=False)
class Panel:
    """One measure over all d_k.

    Attributes:
        title: What is measured.
        undivided, divided: One value a size.
        expected: What the undivided are expected to be, or what both are where all keys are alike; one a size.
        expected_name: What `expected` is, in words.
        is_log: Whether the scale is logarithmic; values are then above 0.
        top: Upper end of a scale that begins at 0; the largest value if None.
    """

    title: str
    undivided: Sequence[float]
    divided: Sequence[float]
    expected: Sequence[float]
    expected_name: str
    is_log: bool = False
    top: float | None = None


@dataclass(frozen=True, eq=False)
class Bars:
    """One distribution among those that are compared.

    Attributes:
        name: What it is, in words.
        array: One axis; 0 to 1.
        is_divided: Whether it wears the colour of what is divided.
    """

    name: str
    array: LabelledArray
    is_divided: bool


def brief(value: float) -> str:
    """Return a number with three significant digits, written out: `1,020`, `0.0568`."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


def colours(theme: Theme) -> tuple[str, str]:
    """Return the colours of what is not divided, and of what is."""
    return theme.negative, theme.weights


def scaling_curves(
    sizes: Sequence[int],
    panels: Sequence[Panel],
    at: int,
    t: Translate,
    theme: Theme,
    *,
    height: int = 400,
    is_narrow: bool = False,
) -> Figure:
    """Draw four measures over d_k, with and without the division, with the chosen d_k marked.

    Args:
        sizes: Every d_k, rising.
        panels: Four, in the order of reading.
        at: The chosen one of `sizes`.
        t: Words.
        theme: Colours and type.
        height: Pixels.
        is_narrow: Whether the panels stand one under another, as on a phone.

    Raises:
        ValueError: If there are not four panels, a panel's values are not one a size, or `at` is no size.
    """
    places = _NARROW if is_narrow else _WIDE
    if len(panels) != len(places):
        raise ValueError(f"the picture has {len(places)} panels, not {len(panels)}")
    if at not in sizes:
        raise ValueError(f"d_k = {at} is none of {list(sizes)}")
    for panel in panels:
        lengths = {len(panel.undivided), len(panel.divided), len(panel.expected)}
        if lengths != {len(sizes)}:
            raise ValueError(f"{panel.title!r} needs {len(sizes)} values of each kind, but has {sorted(lengths)}")
    here = list(sizes).index(at)
    ticks = {"tickvals": [str(size) for size in sizes[:: 2 if len(sizes) > 6 else 1]], "showgrid": False}
    data: list[Plain] = []
    notes: list[Plain] = []
    marks: list[Plain] = []
    axes: Plain = {}
    for number, (panel, (column, row)) in enumerate(zip(panels, places, strict=True), 1):
        end = "" if number == 1 else str(number)
        data += _panel(panel, sizes, end, t, theme)
        notes += _heading(panel, here, column, row, theme)
        marks.append(_upright(f"x{end}", here, row, theme))
        axes[f"xaxis{end}"] = axis(theme, domain=column, anchor=f"y{end}", type="category", **ticks) | {
            "range": [-0.3, len(sizes) - 0.7]
        }
        axes[f"yaxis{end}"] = axis(theme, domain=row, anchor=f"x{end}", **_scale(panel))
        below: Plain = {"xanchor": "left", "yanchor": "top", "xshift": 14, "yshift": -2}
        notes.append(note("d_k", theme, x=column[1], y=row[0], **below) | {"text": _symbols("d_k")})
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 46, "r": 40, "t": 30, "b": 28},
                hovermode="x unified",
                shapes=marks,
                annotations=notes,
                **axes,
            ),
        }
    )


def bars(shown: Sequence[Bars], theme: Theme, *, height: int = 400, title: str = "") -> Figure:
    """Draw distributions over the same labels as groups of lying bars, first label on top, scale 0 to 1.

    Args:
        shown: What is compared, with the same labels.
        theme: Colours and type.
        height: Pixels.
        title: What stands over the bars.

    Raises:
        ValueError: If a distribution has not one axis, their labels differ, or there are more than `MOST_BARS`.
    """
    labels = {each.array.axes[-1].labels for each in shown}
    if any(len(each.array.axes) != 1 for each in shown) or len(labels) != 1:
        raise ValueError(f"bars need one axis with the same labels, but got {[each.array.shape for each in shown]}")
    (names,) = labels
    if len(names) > MOST_BARS:
        raise ValueError(f"there are {len(names)} bars; at most {MOST_BARS} are drawn")
    undivided, divided = colours(theme)
    at = np.arange(len(names), dtype=np.float64)
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": _symbols(each.name),
            "x": numbers(each.array.values),
            "y": numbers(at),
            "customdata": [literal(name) for name in names],
            "marker": {"color": divided if each.is_divided else undivided},
            "hovertemplate": f"%{{customdata}} · {_symbols(each.name)}: %{{x:.3f}}<extra></extra>",
        }
        for each in shown
    ]
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 10, "r": 16, "t": 52 if title else 30, "b": 28},
                barmode="group",
                bargap=0.28,
                bargroupgap=0.0,
                showlegend=True,
                legend={
                    "orientation": "h",
                    "x": 0,
                    "xanchor": "left",
                    "y": 1,
                    "yanchor": "bottom",
                    "itemclick": False,
                    "itemdoubleclick": False,
                    "traceorder": "normal",
                    "font": {"size": theme.font_size},
                },
                annotations=[
                    note(
                        title,
                        theme,
                        x=0,
                        y=1,
                        xanchor="left",
                        yanchor="bottom",
                        yshift=24,
                        font={"size": theme.font_size + 1, "color": theme.text},
                    )
                ]
                if title
                else [],
                xaxis=axis(theme, range=[0, 1], tickvals=[0, 0.5, 1], fixedrange=True),
                yaxis=axis(
                    theme,
                    tickvals=at.tolist(),
                    ticktext=[literal(name) for name in names],
                    range=[len(names) - 0.5, -0.5],
                    automargin=True,
                    showgrid=False,
                    fixedrange=True,
                ),
            ),
        }
    )


def _symbols(text: str) -> str:
    """Return a text as plotly shows it, with the index of d_k set lower."""
    return literal(text).replace("d_k", "d<sub>k</sub>")


# Column and row of each panel, as shares of the paper.
_WIDE = tuple((column, row) for row in ([0.58, 1.0], [0.0, 0.42]) for column in ([0.0, 0.45], [0.55, 1.0]))
_NARROW = tuple(([0.0, 1.0], row) for row in ([0.82, 1.0], [0.55, 0.73], [0.27, 0.45], [0.0, 0.18]))


def _panel(panel: Panel, sizes: Sequence[int], end: str, t: Translate, theme: Theme) -> list[Plain]:
    undivided, divided = colours(theme)
    lines = (
        (panel.expected_name, panel.expected, theme.muted, {"width": 1.2, "dash": "dot"}, "lines"),
        (t("scaling.undivided"), panel.undivided, undivided, {"width": 2.5}, "lines+markers"),
        (t("scaling.divided"), panel.divided, divided, {"width": 2.5}, "lines+markers"),
    )
    return [
        {
            "type": "scatter",
            "mode": mode,
            "name": _symbols(name),
            "x": [str(size) for size in sizes],
            "y": numbers(np.asarray(values, dtype=np.float64)),
            "xaxis": f"x{end}",
            "yaxis": f"y{end}",
            "line": {"color": colour, **line},
            "marker": {"size": 6, "color": colour, "symbol": "circle" if colour == divided else "diamond"},
            "cliponaxis": False,
            "hovertemplate": "%{y:.3~g}",
        }
        for name, values, colour, line, mode in lines
    ]


def _scale(panel: Panel) -> Plain:
    if panel.is_log:
        return {"type": "log", "nticks": 4, "tickformat": ",~f", "dtick": 1}
    values: npt.NDArray[np.float64] = np.concatenate([panel.undivided, panel.divided, panel.expected])
    return {"range": [0, 1.06 * (panel.top or float(values.max()))], "nticks": 4}


def _heading(panel: Panel, here: int, column: list[float], row: list[float], theme: Theme) -> list[Plain]:
    """Return a panel's name over its left end and, over its right end, both values at the chosen size."""
    undivided, divided = colours(theme)
    above: Plain = {"yanchor": "bottom", "yshift": 5}
    values = ((panel.undivided[here], undivided, 58), (panel.divided[here], divided, 0))
    return [
        note(
            panel.title,
            theme,
            x=column[0],
            y=row[1],
            xanchor="left",
            xshift=-36,
            font={"size": theme.font_size, "color": theme.text},
            **above,
        ),
        *(
            note(
                brief(value),
                theme,
                x=column[1],
                y=row[1],
                xanchor="right",
                xshift=-shift * theme.font_size / 13,
                font={"size": theme.font_size + 1, "color": colour, "weight": 600},
                **above,
            )
            for value, colour, shift in values
        ),
    ]


def _upright(across: str, here: int, row: list[float], theme: Theme) -> Plain:
    line = {"color": theme.focus, "width": 2}
    return {
        "type": "line",
        "xref": across,
        "x0": here,
        "x1": here,
        "yref": "paper",
        "y0": row[0],
        "y1": row[1],
        "line": line,
        "layer": "below",
    }
