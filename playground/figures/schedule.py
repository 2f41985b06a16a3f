"""Learning rates over steps: Noam's with both its branches, others beside it, and those that a run wrote down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray

# Each schedule's place among the theme's colours of runs, and its dash: told apart without colour too.
LOOKS: Mapping[str, tuple[int, str]] = {
    "constant": (3, "dot"),
    "inverse_sqrt": (1, "dash"),
    "cosine": (2, "longdash"),
    "one_cycle": (0, "solid"),
}


@dataclass(frozen=True, eq=False)
class Rates:
    """What is drawn.

    Attributes:
        noam: Rates of section 5.3, `[step]`.
        branches: What rises with the step, and what falls, at the same steps.
        others: Of other schedules, each named by its schedule, at the same steps.
        logged: What a run wrote down, `[step]`; drawn as points, none if it is empty.
        peak: Step and rate of the largest.
        at: Step that is looked at, if there is one.
        is_log: Whether both scales are logarithmic, on which both branches are straight.

    Raises:
        ValueError: If the curves are not of the same steps.
    """

    noam: LabelledArray
    branches: tuple[LabelledArray, LabelledArray]
    others: tuple[LabelledArray, ...]
    logged: LabelledArray
    peak: tuple[int, float]
    at: int | None = None
    is_log: bool = False

    def __post_init__(self) -> None:
        if any(each.axes != self.noam.axes for each in (*self.branches, *self.others)):
            raise ValueError("all curves are of the same steps")


def rate_plain(rates: Rates, t: Translate, theme: Theme, *, height: int = 420, is_narrow: bool = False) -> Plain:
    """Draw the rate of section 5.3 over the steps, large, and others thinner beside it.

    Args:
        rates: What is drawn.
        t: Words.
        theme: Colours and type.
        height: Pixels.
        is_narrow: Whether it is drawn for a phone.
    """
    noam, branches, others, logged = rates.noam, rates.branches, rates.others, rates.logged
    peak, at, is_log = rates.peak, rates.at, rates.is_log
    steps = _steps(noam)
    highest = max(peak[1], float(logged.values.max(initial=0.0)))
    top = highest * 1.22
    low = float(min(noam.values.min(), *(each.values.min() for each in others), peak[1]))
    scale = {"type": "log"} if is_log else {}
    floor = max(low, peak[1] * 1e-3)
    across = [np.log10(1), np.log10(steps[-1])] if is_log else [0, float(steps[-1])]
    up = [np.log10(floor) - 0.1, np.log10(highest) + 0.25] if is_log else [0, top]
    data = [
        _line(t("learning_rate.curve.rising"), steps, branches[0], theme.muted, 1.5, "dot", most=3 * top),
        _line(t("learning_rate.curve.falling"), steps, branches[1], theme.muted, 1.5, "dot", most=3 * top),
        *(
            _line(t(f"learning_rate.schedule.{each.name}"), steps, each, theme.runs[colour], width, dash)
            | {"opacity": 0.3 if dash == "solid" else 1.0}
            for each in sorted(others, key=lambda each: LOOKS[each.name][1] != "solid")
            for colour, dash in [LOOKS[each.name]]
            for width in [7.0 if dash == "solid" else 2.2]
        ),
        _line(t("learning_rate.schedule.noam"), steps, noam, theme.weights, 4, "solid"),
    ]
    if logged.values.size:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": literal(t("learning_rate.curve.logged")),
                "x": numbers(_steps(logged)),
                "y": numbers(logged.values),
                "marker": {"size": 9, "color": theme.focus, "line": {"color": theme.text, "width": 1.2}},
                "hovertemplate": "%{y:.4~g}",
            }
        )
    x_peak, y_peak = (np.log10(peak[0]), np.log10(peak[1])) if is_log else (float(peak[0]), peak[1])
    left = (x_peak - across[0]) < 0.6 * (across[1] - across[0])
    strong = {"size": theme.font_size + 1, "color": theme.text}
    marks = [_upright(at, theme)] if at is not None and 1 <= at <= steps[-1] else []
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={
                "l": 96 if theme.presenting else 62,
                "r": 18,
                "t": 34 + (52 if is_narrow else 0),
                "b": 58 if theme.presenting else 48,
            },
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": theme.font_size}},
            hovermode="x unified",
            shapes=marks,
            annotations=[
                {
                    **note(t("figure.peak", rate=f"{peak[1]:.3g}", step=f"{peak[0]:,}"), theme, x=x_peak, y=y_peak),
                    "xref": "x",
                    "yref": "y",
                    "xanchor": "left" if left else "right",
                    "yanchor": "bottom",
                    "yshift": 5,
                    "xshift": 14 if left else -14,
                    "bgcolor": theme.background,
                    "font": strong,
                }
            ]
            if peak[0] <= steps[-1]
            else [],
            xaxis=axis(theme, title={"text": literal(t("figure.step"))}, range=across, **scale, dtick=1)
            if is_log
            else axis(theme, title={"text": literal(t("figure.step"))}, range=across, nticks=6),
            yaxis=axis(
                theme,
                title={"text": literal(t("figure.learning_rate"))},
                range=up,
                tickformat=".1~e" if is_log else "~g",
                nticks=6,
                **scale,
            ),
            uirevision=f"{steps[-1]} {is_log}",
        ),
    }


def _steps(array: LabelledArray) -> npt.NDArray[np.float64]:
    return np.array([float(label) for label in array.axis("step").labels])


def _line(
    name: str,
    steps: npt.NDArray[np.float64],
    rates: LabelledArray,
    colour: str,
    width: float,
    dash: str,
    most: float | None = None,
) -> Plain:
    """Return one curve; what lies over `most` is left out, so that a branch does not run far off the picture."""
    values = rates.values if most is None else np.where(rates.values > most, np.nan, rates.values)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": literal(name),
        "x": numbers(steps),
        "y": numbers(values),
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": "%{y:.3~g}",
    }


def _upright(x: int, theme: Theme) -> Plain:
    line = {"color": theme.focus, "width": 2}
    return {"type": "line", "xref": "x", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}
