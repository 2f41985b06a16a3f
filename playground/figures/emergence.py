"""How heads come to a pattern over the recorded steps of a training, against heads that look anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate

MOST_LINES = 400


@dataclass(frozen=True, eq=False)
class Growth:
    """One head's measure of a pattern.

    Attributes:
        name: What the head is called.
        values: At each recorded step, 0–1.
        high: The most that a shuffled head reaches, at each step.
        uniform: What a head that looks everywhere alike reaches.
        beats: The step from which on it beats every shuffled head; None if it does not in the end.
        clears: The step from which on it may be called after the pattern; None if it may not in the end.
    """

    name: str
    values: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    uniform: float
    beats: int | None
    clears: int | None


def emergence_plain(
    lines: Sequence[Growth],
    steps: Sequence[int],
    t: Translate,
    theme: Theme,
    *,
    at: int | None = None,
    height: int = 430,
) -> Plain:
    """Draw a line a head; those that come to the pattern stand out, with a dot where they first beat their baseline.

    The recorded steps lie evenly, since they are recorded more and more seldom.

    Args:
        lines: The heads.
        steps: The recorded steps.
        t: Words.
        theme: Colours and type.
        at: Step that is looked at, marked if there is one.
        height: Pixels.

    Raises:
        ValueError: If a line has not a value a step, or there are more than `MOST_LINES`.
    """
    if len(lines) > MOST_LINES:
        raise ValueError(f"there are {len(lines)} heads; at most {MOST_LINES} are drawn")
    places = {step: i for i, step in enumerate(steps)}
    x = np.arange(len(steps), dtype=np.float64)
    data: list[Plain] = []
    notes: list[Plain] = []
    ranked = sorted(lines, key=lambda line: (line.clears is not None, line.beats is not None, line.values[-1]))
    for line in ranked:
        if len(line.values) != len(steps):
            raise ValueError(f"{line.name} has {len(line.values)} values for {len(steps)} steps")
        stands = line.clears is not None
        colour = theme.query if stands else theme.residual if line.beats is not None else theme.hidden
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": literal(line.name),
                "x": numbers(x),
                "y": numbers(line.values),
                "opacity": 1.0 if stands else 0.75 if line.beats is not None else 0.4,
                "line": {"color": colour, "width": 2.5 if stands else 1.5},
                "customdata": [f"{step:,}" for step in steps],
                "hovertemplate": f"{literal(t('figure.step'))} %{{customdata}}: %{{y:.2f}}",
            }
        )
        if line.beats is not None:
            place = places[line.beats]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": literal(line.name),
                    "x": numbers(x[[place]]),
                    "y": numbers(line.values[[place]]),
                    "marker": {"size": 9, "color": colour, "line": {"color": theme.background, "width": 1.5}},
                    "hovertemplate": literal(t("figure.beats", step=f"{line.beats:,}")),
                }
            )
    if lines:
        best = ranked[-1]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": literal(t("figure.shuffled")),
                "x": numbers(x),
                "y": numbers(np.max([line.high for line in lines], axis=0)),
                "line": {"color": theme.key, "width": 1.5, "dash": "dot"},
                "hovertemplate": "%{y:.2f}",
            }
        )
        half = best.uniform + 0.5 * (1 - best.uniform)
        most = float(np.max([line.high[-1] for line in lines]))
        marks = ((t("figure.shuffled"), most, theme.key), (t("figure.mostly"), half, theme.text))
        for text, y, colour in marks:
            notes.append(
                {
                    **note(text, theme, x=1, y=y, xanchor="right", yanchor="bottom"),
                    "yref": "y",
                    "font": {"size": theme.font_size, "color": colour},
                }
            )
        line_at = {"color": theme.text, "width": 1.2, "dash": "dash"}
        shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": half, "y1": half, "line": line_at}]
    else:
        shapes = []
    if at is not None:
        place = min(range(len(steps)), key=lambda i: abs(steps[i] - at))
        focus = {"color": theme.focus, "width": 2}
        shapes.append({"type": "line", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1, "line": focus})
    notes.append(note(t("figure.step"), theme, x=0, y=0, xanchor="left", yanchor="top", yshift=-2, xshift=-50))
    notes.append(
        note(
            t("figure.on_pattern"),
            theme,
            x=0,
            y=1,
            xanchor="left",
            yanchor="bottom",
            xshift=-50,
            yshift=5,
            font={"size": theme.font_size, "color": theme.text},
        )
    )
    every = max(1, -(-len(steps) // 14))
    shown = [*range(0, len(steps), every)]
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={"l": 56, "r": 20, "t": 30, "b": 26},
            hovermode="closest",
            uirevision=f"{len(steps)}",
            shapes=shapes,
            annotations=notes,
            xaxis=axis(
                theme,
                range=[-0.3, len(steps) - 0.7],
                showgrid=False,
                tickvals=shown,
                ticktext=[f"{steps[i]:,}" for i in shown],
            ),
            yaxis=axis(theme, range=[0, 1.02], nticks=6, tickformat=".0%"),
        ),
    }
