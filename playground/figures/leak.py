"""Two trainings on random letters: loss over steps, with and without the causal mask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from playground.figures.sheet import Figure, axis, layout, literal, note, numbers
from playground.figures.theme import Theme


def leak_curves(
    masked: Sequence[float],
    opened: Sequence[float],
    chance: float,
    least: float,
    theme: Theme,
    *,
    names: tuple[str, str, str, str],
    titles: tuple[str, str],
    height: int = 380,
) -> Figure:
    """Draw both losses with two lines: guessing, and what is left when all but one answer can be read.

    Args:
        masked: Loss of each step with the causal mask, nats.
        opened: The same without it.
        chance: ln V, nats.
        least: What the leak leaves to guess, nats.
        theme: Colours and type.
        names: Of both curves and both lines.
        titles: Of the axes, across and up.
        height: Pixels.

    Raises:
        ValueError: If the curves are not equally long.
    """
    if len(masked) != len(opened):
        raise ValueError(f"both models learn equally long, but the curves have {len(masked)} and {len(opened)} steps")
    steps = np.arange(1, len(masked) + 1, dtype=np.float64)
    curves = ((masked, names[0], theme.query, "solid"), (opened, names[1], theme.key, "solid"))
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": literal(name),
            "x": numbers(steps),
            "y": numbers(np.asarray(values, dtype=np.float64)),
            "line": {"color": colour, "width": 3, "dash": dash},
            "hovertemplate": "%{y:.3f}",
        }
        for values, name, colour, dash in curves
    ]
    shapes = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": at,
            "y1": at,
            "line": {"color": theme.muted, "width": 1.5, "dash": "dot"},
        }
        for at in (chance, least)
    ]
    top = 1.15 * max(*masked, *opened)
    lines = [
        note(name, theme, x=x, y=at / top, xanchor=anchor, yanchor="bottom")
        for at, name, x, anchor in zip((chance, least), names[2:], (1, 0.01), ("right", "left"), strict=True)
    ]
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 56, "r": 16, "t": 34, "b": 48},
                showlegend=True,
                legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": theme.font_size}},
                hovermode="x unified",
                shapes=shapes,
                annotations=lines,
                xaxis=axis(theme, title={"text": literal(titles[0])}, range=[1, len(masked)]),
                yaxis=axis(theme, title={"text": literal(titles[1])}, range=[0, top]),
            ),
        }
    )
