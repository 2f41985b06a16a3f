"""Trainings on one picture: what each measured, in its own colour and dash, and how soon its sentences were right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.curves import MOST_POINTS, SPAN, smoothed
from playground.figures.sheet import Figure, Plain, axis, layout, literal, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate

Numbers = npt.NDArray[np.float64]

# Told apart without colour too: on a projector that has little of it, and by who sees few.
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up")

# Noisy from batch to batch, so a mean is drawn over a faint line of the numbers themselves.
_SMOOTHED = ("loss", "accuracy", "grad_norm")


@dataclass(frozen=True, eq=False)
class Course:
    """What one run measured.

    Attributes:
        name: What it is called in the picture.
        metrics: An array a name in `playground.runs.COLUMNS`.
        exact_match: Pairs of step and share of held-out sentences exactly right, 0–1.
        steps: Updates planned.

    Raises:
        ValueError: If the columns are not equally long.
    """

    name: str
    metrics: dict[str, Numbers]
    exact_match: tuple[tuple[int, float], ...]
    steps: int

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.metrics.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of one run are equally long, but these are {lengths}")

    def along(self, over: str) -> Numbers:
        """Return where each step lies on the axis: its number, the target tokens read by then, or the seconds."""
        if over == "step":
            return self.metrics["step"]
        return np.cumsum(self.metrics["tokens"]) if over == "tokens" else self.metrics["seconds"]

    def place(self, step: int, over: str) -> float:
        """Return where a step lies on the axis; 0 before the first."""
        if over == "step":
            return float(step)
        before = np.flatnonzero(self.metrics["step"] <= step)
        return float(self.along(over)[before[-1]]) if len(before) else 0.0


def compared(courses: Sequence[Course], t: Translate, theme: Theme, **choices: Any) -> Figure:
    """Draw what several runs measured: see `compared_plain`."""
    return Figure(compared_plain(courses, t, theme, **choices))


def compared_plain(
    courses: Sequence[Course],
    t: Translate,
    theme: Theme,
    *,
    measure: str = "loss",
    over: str = "step",
    chance: float | None = None,
    good: float = 0.99,
    at: int | None = None,
    height: int = 430,
    is_narrow: bool = False,
) -> Plain:
    """Draw one measurement of several runs over a shared axis, and under it how many sentences are exactly right.

    Args:
        courses: At most four.
        t: Words.
        theme: Colours and type.
        measure: What the upper panel shows. All but the rate are drawn faint as they are, and strong as a mean of
            about `SPAN` steps.
        over: What the axis counts: steps, target tokens read, or seconds of training.
        chance: Loss of guessing, drawn as a line if there is one and the loss is shown.
        good: Share of sentences from which on a run counts as having learnt; a line in the lower panel.
        at: Step whose maps and outputs are shown, marked on a step axis.
        height: Pixels.
        is_narrow: Whether it is drawn for a phone: the names in a column under the picture.

    Raises:
        ValueError: If there is no course, or more than there are colours.
    """
    if not 1 <= len(courses) <= len(theme.runs):
        raise ValueError(f"1 to {len(theme.runs)} runs fit in one picture, but there are {len(courses)}")
    data: list[Plain] = []
    for i, course in enumerate(courses):
        data += _course(course, i, measure, over, t, theme)
    ends = [course.place(course.steps, over) if over != "step" else float(course.steps) for course in courses]
    end = max(*ends, 1.0)
    shapes = [_across("y2", good, theme, "dot")]
    annotations = [
        _heading(t(f"figure.compared.{measure}"), 1.0, theme),
        _heading(t("figure.exact_match"), 0.29, theme),
        _aside(t("figure.compared.good", share=f"{good:.0%}"), good, "y2", theme),
    ]
    if measure == "loss" and chance is not None:
        shapes.append(_across("y", chance, theme, "dash"))
        annotations.append(_aside(t("figure.chance", loss=f"{chance:.2f}"), chance, "y", theme))
    if at is not None and over == "step":
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1}
            | {"line": {"color": theme.focus, "width": 2}}
        )
    drawn = [_top(course, measure) for course in courses]
    top = max(*drawn, 1e-12)
    upper: Plain = {"domain": [0.38, 1.0], "nticks": 6, "range": [0, 1.04] if measure == "accuracy" else [0, top]}
    if measure == "accuracy":
        upper |= {"tickformat": ".0%"}
    elif measure == "learning_rate":
        upper |= {"tickformat": "~g"}
    legend: Plain = {"orientation": "h", "x": 0, "xanchor": "left", "font": {"color": theme.text}, "itemclick": False}
    legend |= {"itemdoubleclick": False, "y": -0.12, "yanchor": "top"}
    title = {"text": literal(t(f"figure.compared.over.{over}")), "font": {"size": theme.font_size}, "standoff": 4}
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={"l": 58, "r": 16, "t": 28, "b": 30 + 26 * (len(courses) if is_narrow else 2)},
            hovermode="x unified",
            hoversubplots="axis",
            uirevision=f"{measure} {over} {end:.4g}",
            showlegend=True,
            legend=legend,
            shapes=shapes,
            annotations=annotations,
            xaxis=axis(theme, anchor="y2", range=[0, end], nticks=6, showgrid=False, title=title),
            yaxis=axis(theme, **upper),
            yaxis2=axis(theme, domain=[0.0, 0.26], range=[0, 1.06], tickvals=[0, 0.5, 1], tickformat=".0%"),
        ),
    }


def _course(course: Course, i: int, measure: str, over: str, t: Translate, theme: Theme) -> list[Plain]:
    """Return a run's traces: the numbers themselves, their mean, and the exact matches."""
    every = max(1, -(-len(course.metrics["step"]) // MOST_POINTS))
    x = course.along(over)[::every]
    raw = course.metrics[measure]
    colour, name = theme.runs[i], literal(course.name)
    strong = {"color": colour, "width": 3 if theme.presenting else 2.5, "dash": DASHES[i]}
    form = ".1%" if measure == "accuracy" else ".3~g"
    traces = []
    if measure in _SMOOTHED:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": numbers(x),
                "y": numbers(raw[::every]),
                "line": {"color": colour, "width": 1},
                "opacity": 0.22,
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
    mean = smoothed(raw) if measure in _SMOOTHED else raw
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": numbers(x),
            "y": numbers(mean[::every]),
            "line": strong,
            "hovertemplate": f"{name} <b>%{{y:{form}}}</b><extra></extra>",
        }
    )
    places = np.array([course.place(step, over) for step, _ in course.exact_match], dtype=np.float64)
    shares = np.array([share for _, share in course.exact_match], dtype=np.float64)
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": numbers(places),
            "y": numbers(shares),
            "yaxis": "y2",
            "line": {**strong, "width": 2},
            "marker": {"color": colour, "size": 6, "symbol": SYMBOLS[i]},
            "showlegend": False,
            "hovertemplate": f"{name} <b>%{{y:.1%}}</b><extra></extra>",
        }
    )
    return traces


def _top(course: Course, measure: str) -> float:
    """Return where the upper panel may end: above the mean's largest value, whatever single batches do."""
    values = course.metrics[measure]
    mean = smoothed(values, SPAN) if measure in _SMOOTHED else values
    return 1.08 * float(np.max(mean, initial=0.0, where=np.isfinite(mean)))


def _heading(text: str, y: float, theme: Theme) -> Plain:
    return {
        "text": f"<b>{literal(text)}</b>",
        "x": 0,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": theme.font_size + 1, "color": theme.text},
    }


def _aside(text: str, y: float, yref: str, theme: Theme) -> Plain:
    return {
        "text": literal(text),
        "x": 1,
        "y": y,
        "xref": "paper",
        "yref": yref,
        "xanchor": "right",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": theme.font_size, "color": theme.muted},
    }


def _across(yref: str, at: float, theme: Theme, dash: str) -> Plain:
    line = {"color": theme.muted, "width": 1.5, "dash": dash}
    return {"type": "line", "xref": "paper", "yref": yref, "x0": 0, "x1": 1, "y0": at, "y1": at, "line": line}
