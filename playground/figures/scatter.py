"""Words as points of a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from playground.figures.sheet import Figure, axis, layout, literal, numbers
from playground.figures.theme import Theme
from playground.labelled import LabelledArray

MOST_POINTS = 5_000
SYMBOLS = ("circle", "diamond", "square", "triangle-up")


def scatter(
    points: LabelledArray,
    groups: Mapping[str, Sequence[int]],
    named: Sequence[int],
    *,
    titles: tuple[str, str],
    theme: Theme,
    height: int = 560,
) -> Figure:
    """Draw labelled points in groups that are told apart by colour and shape, some of them named.

    Args:
        points: `[vocab, component]`, two components.
        groups: Rows of each group, by what the reader calls it; drawn in this order.
        named: Rows whose word is written beside them, and that are outlined.
        titles: What stands at the two axes.
        theme: Colours and type.
        height: Pixels.

    Raises:
        ValueError: If there are not two components, or more than `MOST_POINTS` points.
    """
    if points.shape[1:] != (2,):
        raise ValueError(f"a plane has 2 components, but {points.name} is {points.shape}")
    if len(points.values) > MOST_POINTS:
        raise ValueError(f"{points.name} has {len(points.values)} points; at most {MOST_POINTS} are drawn")
    words = points.axes[0].labels
    wanted = set(named)
    colours = (theme.memory, theme.query, theme.muted, theme.key)
    traces = []
    for number, (title, rows) in enumerate(groups.items()):
        here = np.asarray(rows, dtype=np.int64)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": literal(title),
                "x": numbers(points.values[here, 0]),
                "y": numbers(points.values[here, 1]),
                "text": [literal(words[i]) if i in wanted else "" for i in here],
                "customdata": [literal(words[i]) for i in here],
                "textposition": "top center",
                "textfont": {"size": theme.font_size + 1, "color": theme.text},
                "cliponaxis": False,
                "hovertemplate": "<b>%{customdata}</b><br>%{x:.3f}, %{y:.3f}<extra></extra>",
                "marker": {
                    "color": colours[number % len(colours)],
                    "symbol": SYMBOLS[number % len(SYMBOLS)],
                    "size": [11 if i in wanted else 6 for i in here],
                    "opacity": [1.0 if i in wanted else 0.45 for i in here],
                    "line": {"color": theme.focus, "width": [2 if i in wanted else 0 for i in here]},
                },
            }
        )
    paper = layout(
        theme,
        height=height,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.08, "font": {"size": theme.font_size}},
        margin={"l": 56, "r": 24, "t": 48, "b": 48},
        xaxis=axis(theme, title={"text": literal(titles[0])}),
        # Lengths must look alike in both directions, or nearness would be drawn wrongly.
        yaxis=axis(theme, title={"text": literal(titles[1])}, scaleanchor="x"),
    )
    return Figure({"data": traces, "layout": paper})
