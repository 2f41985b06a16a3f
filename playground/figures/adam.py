"""One weight under Adam: its gradients, both means, its steps beside those of plain descent, and its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate

Numbers = npt.NDArray[np.float64]

# More points than pixels say nothing.
MOST_POINTS = 800


class Course(Protocol):
    """What is drawn of `playground.adam.Course`, each `[step]`."""

    @property
    def gradient(self) -> Numbers:
        """G."""

    @property
    def mean_corrected(self) -> Numbers:
        """m̂."""

    @property
    def square_corrected(self) -> Numbers:
        """v̂."""

    @property
    def ratio(self) -> Numbers:
        """m̂ / (√v̂ + ε)."""

    @property
    def step(self) -> Numbers:
        """What is added to the weight."""

    @property
    def path(self) -> Numbers:
        """The sum of the steps."""


@dataclass(frozen=True)
class _Place:
    """Where a panel lies on the paper: the end of its axes' names, and its ends across and up, 0 to 1."""

    end: str
    across: tuple[float, float]
    up: tuple[float, float]


# Left what becomes of the weight; right, from top to bottom, how it comes about.
_WIDE = {
    "step": _Place("", (0.0, 0.58), (0.56, 1.0)),
    "path": _Place("2", (0.0, 0.58), (0.0, 0.40)),
    "gradient": _Place("3", (0.70, 1.0), (0.76, 1.0)),
    "means": _Place("4", (0.70, 1.0), (0.38, 0.62)),
    "ratio": _Place("5", (0.70, 1.0), (0.0, 0.24)),
}
_NARROW = {
    name: _Place(place.end, (0.0, 1.0), up)
    for (name, place), up in zip(
        _WIDE.items(), ((0.82, 1.0), (0.62, 0.75), (0.42, 0.54), (0.22, 0.34), (0.0, 0.14)), strict=True
    )
}


def adam_plain(
    course: Course,
    descent: Numbers,
    start: float,
    recorded: Mapping[int, float],
    t: Translate,
    theme: Theme,
    *,
    at: int,
    height: int = 470,
    is_narrow: bool = False,
) -> Plain:
    """Draw five panels over the steps of a training.

    Args:
        course: The weight under Adam.
        descent: Steps of plain gradient descent on the same gradients, `[step]`.
        start: The weight before the first step.
        recorded: The weight at recorded steps, as the run wrote it down.
        t: Words.
        theme: Colours and type.
        at: Step that is looked at.
        height: Pixels.
        is_narrow: Whether the panels stand one under another, as on a phone.

    Raises:
        ValueError: If the two have not the same steps.
    """
    n = len(course.gradient)
    if len(descent) != n:
        raise ValueError(f"both ways have the same steps, but these are {n} and {len(descent)}")
    places = _NARROW if is_narrow else _WIDE
    every = max(1, -(-n // MOST_POINTS))
    kept = np.arange(0, n, every)
    steps = kept + 1.0
    other = theme.runs[1]
    root = np.sqrt(course.square_corrected)
    curves: list[tuple[str, str, Numbers, str, float, str]] = [
        ("step", "descent", descent, other, 1.3, "solid"),
        ("step", "adam", course.step, theme.weights, 2.2, "solid"),
        ("path", "descent", start + np.cumsum(descent), other, 1.8, "dash"),
        ("path", "adam", start + course.path, theme.weights, 2.5, "solid"),
        ("gradient", "gradient", course.gradient, theme.muted, 1.2, "solid"),
        ("means", "root", root, theme.key, 2.0, "solid"),
        ("means", "mean", course.mean_corrected, theme.query, 2.0, "solid"),
        ("ratio", "ratio", course.ratio, theme.weights, 1.6, "solid"),
    ]
    data: list[Plain] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": literal(t(f"learning_rate.curve.{name}")),
            "x": numbers(steps),
            "y": numbers(values[kept]),
            "xaxis": f"x{places[panel].end}",
            "yaxis": f"y{places[panel].end}",
            "line": {"color": colour, "width": width, "dash": dash},
            "hovertemplate": "%{y:.3~g}",
            "showlegend": panel == "path" or (panel == "means"),
            "legendgroup": name,
        }
        for panel, name, values, colour, width, dash in curves
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": literal(t("learning_rate.curve.recorded")),
            "x": numbers(np.array([*recorded], dtype=np.float64)),
            "y": numbers(np.array([*recorded.values()])),
            "xaxis": f"x{places['path'].end}",
            "yaxis": f"y{places['path'].end}",
            "marker": {"size": 8, "color": theme.focus, "line": {"color": theme.text, "width": 1.2}},
            "hovertemplate": "%{y:.5~g}",
        }
    )
    notes: list[Plain] = []
    marks: list[Plain] = []
    axes: Plain = {}
    for name, place in places.items():
        strong = {"size": theme.font_size, "color": theme.text}
        notes.append(
            note(
                t(f"learning_rate.panel.{name}"),
                theme,
                x=place.across[0],
                y=place.up[1],
                xanchor="left",
                yanchor="bottom",
                yshift=4,
                font=strong,
            )
        )
        marks.append(
            {
                "type": "line",
                "xref": f"x{place.end}",
                "x0": at,
                "x1": at,
                "yref": f"y{place.end} domain",
                "y0": 0,
                "y1": 1,
                "line": {"color": theme.focus, "width": 2},
            }
        )
        axes[f"xaxis{place.end}"] = axis(
            theme,
            domain=[*place.across],
            anchor=f"y{place.end}",
            range=[0, n],
            nticks=5,
            showgrid=False,
            **({} if place.end == "" else {"matches": "x"}),
        )
        axes[f"yaxis{place.end}"] = axis(
            theme,
            domain=[*place.up],
            anchor=f"x{place.end}",
            nticks=5,
            tickformat="~g",
            zeroline=True,
        ) | {"zeroline": True, "zerolinecolor": theme.line}
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={"l": 66 if theme.presenting else 56, "r": 14, "t": 58 + (40 if is_narrow else 0), "b": 30},
            showlegend=True,
            legend={
                "orientation": "h",
                "x": 0,
                "y": 1,
                "yanchor": "bottom",
                "yref": "paper",
                "font": {"size": theme.font_size},
            }
            | {"y": 1.07 if not is_narrow else 1.03},
            hovermode="x unified",
            shapes=marks,
            annotations=notes,
            uirevision=f"{n}",
            **axes,
        ),
    }
