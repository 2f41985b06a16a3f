"""What keeping keys and values costs and saves: operations and times over length, bytes in bars, the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from playground.figures.sheet import Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate


@dataclass(frozen=True)
class Course:
    """How something grows.

    Attributes:
        x, y: Points of it.
        name: What it is, in words.
        colour: Of the line.
        dash: Of the line: told apart without colour too.
        is_measured: Whether its points are drawn.
    """

    x: Sequence[float]
    y: Sequence[float]
    name: str
    colour: str
    dash: str = "solid"
    is_measured: bool = False


@dataclass(frozen=True)
class Panel:
    """One of several pictures side by side.

    Attributes:
        title: What is drawn upward.
        across: What is drawn across.
        courses: The lines.
        words: Labels of whole numbers across, from 0; numbers themselves, on a logarithmic scale, if empty.
        is_log: Whether the scale upward is logarithmic.
    """

    title: str
    across: str
    courses: tuple[Course, ...]
    words: tuple[str, ...] = ()
    is_log: bool = True


def panels(drawn: Sequence[Panel], theme: Theme, *, height: int = 400, is_narrow: bool = False) -> Plain:
    """Draw panels side by side, one under another in a narrow place.

    Raises:
        ValueError: If there is no panel, or a line has not as many places across as upward.
    """
    if not drawn:
        raise ValueError("there is no panel to draw")
    n = len(drawn)
    longest = max((len(word) for panel in drawn for word in panel.words), default=0)
    traces: list[Plain] = []
    axes: Plain = {}
    notes: list[Plain] = []
    for index, panel in enumerate(drawn):
        mark = "" if index == 0 else str(index + 1)
        gap = 0.2 if is_narrow else 0.09
        size = (1 - gap * (n - 1)) / n
        start = index * (size + gap)
        wide = [0.0, 1.0] if is_narrow else [start, start + size]
        tall = [max(0.0, 1 - start - size), 1 - start] if is_narrow else [0.0, 1.0]
        for course in panel.courses:
            if len(course.x) != len(course.y):
                raise ValueError(f"{course.name} has {len(course.x)} places across, but {len(course.y)} upward")
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers" if course.is_measured else "lines",
                    "name": literal(course.name),
                    "x": numbers(np.asarray(course.x)),
                    "y": numbers(np.asarray(course.y)),
                    "xaxis": f"x{mark}",
                    "yaxis": f"y{mark}",
                    "line": {"color": course.colour, "width": 3, "dash": course.dash},
                    "marker": {"size": 8, "color": course.colour},
                    "hovertemplate": "%{y:.4~s}",
                }
            )
            # Not at the very end: what stands on the edge of a panel may be left out.
            place = max(len(course.x) - 2, 0)
            last = (float(course.x[place]), float(course.y[place]))
            logs = (not panel.words, panel.is_log)
            at = [float(np.log10(max(end, 1e-12))) if is_log else end for end, is_log in zip(last, logs, strict=True)]
            notes.append(
                {
                    **note(course.name, theme, x=at[0], y=at[1]),
                    "xref": f"x{mark}",
                    "yref": f"y{mark}",
                    "xanchor": "right",
                    "yanchor": "bottom",
                    "yshift": 3,
                    "font": {"size": theme.font_size, "color": course.colour},
                }
            )
        if panel.words:
            names = [literal(word) for word in panel.words]
            ticks: Plain = {"tickvals": [*range(len(names))], "ticktext": names, "tickangle": -60}
        else:
            lengths = sorted({float(x) for course in panel.courses for x in course.x})
            shown = [x for x in lengths if x > 0 and float(np.log2(x)).is_integer() and np.log2(x) % 2 == 0]
            ticks = {"type": "log", "tickvals": shown or lengths, "ticktext": [f"{x:g}" for x in (shown or lengths)]}
        axes[f"xaxis{mark}"] = axis(
            theme,
            domain=wide,
            anchor=f"y{mark}",
            showgrid=False,
            # Words say themselves what they are, and need the room.
            title={} if panel.words else _title(panel.across, theme),
            **ticks,
        )
        upward: Plain = {"type": "log", "dtick": 1} if panel.is_log else {"rangemode": "tozero", "nticks": 5}
        axes[f"yaxis{mark}"] = axis(theme, domain=tall, anchor=f"x{mark}", tickformat="~s", **upward)
        strong = {"size": theme.font_size + 1, "color": theme.text}
        corner: Plain = {"x": wide[0], "y": tall[1], "xanchor": "left", "yanchor": "bottom", "yshift": 8}
        notes.append(note(panel.title, theme, **corner, font=strong))
    return {
        "data": traces,
        "layout": layout(
            theme,
            height=height * (2 if is_narrow and n > 1 else 1),
            margin={"l": 58, "r": 20, "t": 34, "b": max(52, round(0.55 * theme.font_size * longest))},
            hovermode="x unified",
            annotations=notes,
            **axes,
        ),
    }


@dataclass(frozen=True)
class Bar:
    """One bar, of parts that lie one after the other.

    Attributes:
        name: What it is of.
        parts: Length of each part.
        said: What stands at its end.
        strong: Whether it is the one that is chosen.
    """

    name: str
    parts: tuple[float, ...]
    said: str
    strong: bool = False


def bars(
    drawn: Sequence[Bar],
    names: Sequence[str],
    title: str,
    theme: Theme,
    *,
    limits: Sequence[tuple[float, str]] = (),
    is_log: bool = False,
    height: int = 380,
) -> Plain:
    """Draw bars that lie under one another, with upright lines at limits.

    Args:
        drawn: The bars, the first on top.
        names: What the parts are.
        title: What is drawn across.
        theme: Colours and type.
        limits: Where a line stands, and what it says.
        is_log: Whether the scale is logarithmic; then only bars of one part make sense.
        height: Pixels.

    Raises:
        ValueError: If a bar has not a part for each name, or a logarithmic scale is to hold several.
    """
    if any(len(bar.parts) != len(names) for bar in drawn):
        raise ValueError(f"each bar has {len(names)} parts, but got {[len(bar.parts) for bar in drawn]}")
    if is_log and len(names) > 1:
        raise ValueError(f"parts add up on no logarithmic scale, but there are {len(names)}")
    colours = (theme.runs[2], theme.runs[1])
    places = [*range(len(drawn))]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": literal(name),
            "x": numbers(np.asarray([bar.parts[part] for bar in drawn])),
            "y": places,
            "marker": {
                "color": colours[part] if len(names) > 1 else colours[1],
                "line": {"width": [3 if bar.strong else 0 for bar in drawn], "color": theme.focus},
                "pattern": _hatched(theme) if part else {},
            },
            "hovertemplate": "%{x:.4~s}",
        }
        for part, name in enumerate(names)
    ]
    reach = max([*(sum(bar.parts) for bar in drawn), *(x for x, _ in limits)], default=1.0)
    said = [
        {
            **note(bar.said, theme, x=float(np.log10(sum(bar.parts))) if is_log else sum(bar.parts), y=place),
            "xref": "x",
            "yref": "y",
            "xanchor": "left",
            "xshift": 6,
            "font": {"size": theme.font_size, "color": theme.text},
        }
        for place, bar in zip(places, drawn, strict=True)
    ]
    said += [
        {
            **note(text, theme, x=float(np.log10(x)) if is_log else x, y=1),
            "xref": "x",
            "yanchor": "bottom",
            "xanchor": "center",
            "font": {"size": theme.font_size, "color": theme.text},
        }
        for x, text in limits
    ]
    line = {"color": theme.focus, "width": 2.5, "dash": "dash"}
    marks = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}
        for x, _ in limits
    ]
    scale: Plain = {"type": "log", "dtick": 1} if is_log else {"range": [0, reach * 1.32]}
    return {
        "data": traces,
        "layout": layout(
            theme,
            height=height,
            barmode="stack",
            bargap=0.35,
            showlegend=len(names) > 1,
            legend={"orientation": "h", "x": 0, "y": -0.16, "yanchor": "top", "font": {"size": theme.font_size}},
            margin={"l": 20, "r": 20, "t": 28, "b": 56},
            annotations=said,
            shapes=marks,
            xaxis=axis(theme, tickformat="~s", title=_title(title, theme), **scale),
            yaxis=axis(
                theme,
                tickvals=places,
                ticktext=[literal(bar.name) for bar in drawn],
                autorange="reversed",
                showgrid=False,
                automargin=True,
                tickfont={"size": theme.font_size, "color": theme.text},
            ),
        ),
    }


@dataclass(frozen=True)
class Spot:
    """One way of working under a roofline.

    Attributes:
        intensity: Operations for each byte.
        name: What it is.
        strong: Whether it is the one that is chosen.
    """

    intensity: float
    name: str
    strong: bool = False


def roofline(
    spots: Sequence[Spot],
    flops: float,
    bandwidth: float,
    t: Translate,
    theme: Theme,
    *,
    height: int = 400,
) -> Plain:
    """Draw the most that a machine computes in a second over operations for each byte, and where work stands under it.

    Args:
        spots: The work.
        flops: Operations a second, at most.
        bandwidth: Bytes a second, at most.
        t: Words.
        theme: Colours and type.
        height: Pixels.

    Raises:
        ValueError: If a limit or an intensity is not above 0.

    Source: Williams, Waterman and Patterson 2009, figure 1.
    """
    if min(flops, bandwidth, *(spot.intensity for spot in spots)) <= 0:
        raise ValueError(f"all is above 0, but got {flops=}, {bandwidth=}, {[spot.intensity for spot in spots]}")
    ridge = flops / bandwidth
    ends = (min(0.25, *(spot.intensity / 2 for spot in spots)), max(ridge * 8, *(spot.intensity * 2 for spot in spots)))
    xs = np.geomspace(*ends, 200)
    reached = [min(flops, bandwidth * spot.intensity) for spot in spots]
    roof: Plain = {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(xs),
        "y": numbers(np.minimum(flops, bandwidth * xs)),
        "line": {"color": theme.weights, "width": 3.5},
        "hoverinfo": "skip",
    }
    colours = [theme.focus if spot.strong else theme.runs[1] for spot in spots]
    work: Plain = {
        "type": "scatter",
        "mode": "markers+text",
        "x": numbers(np.asarray([spot.intensity for spot in spots])),
        "y": numbers(np.asarray(reached)),
        "text": [literal(spot.name) for spot in spots],
        "textposition": "bottom right",
        "textfont": {"size": theme.font_size, "color": theme.text},
        "marker": {
            "size": [15 if spot.strong else 9 for spot in spots],
            "color": colours,
            "line": {"width": 1.5, "color": theme.text},
        },
        "hovertemplate": "%{text}: %{x:.3~g}<br>%{y:.3~s}<extra></extra>",
    }
    middle = float(np.sqrt(ends[0] * ridge))
    slope = {"xanchor": "right", "yanchor": "bottom", "xshift": -6}

    def said(text: str, x: float, y: float, **more: Any) -> Plain:
        place = note(text, theme, x=float(np.log10(x)), y=float(np.log10(y)))
        return {**place, "xref": "x", "yref": "y", "font": {"size": theme.font_size, "color": theme.muted}, **more}

    texts = [
        said(t("kv_cache.figure.memory_bound"), middle, bandwidth * middle, **slope),
        said(t("kv_cache.figure.compute_bound"), float(np.sqrt(ridge * ends[1])), flops, yanchor="bottom", yshift=4),
        said(t("kv_cache.figure.ridge", n=f"{ridge:.3g}"), ridge, bandwidth * ends[0] * 1.4, xanchor="left", xshift=5),
    ]
    line = {"color": theme.hidden, "width": 1.5, "dash": "dot"}
    logs: Plain = {"type": "log", "dtick": 1}
    return {
        "data": [roof, work],
        "layout": layout(
            theme,
            height=height,
            margin={"l": 64, "r": 20, "t": 26, "b": 50},
            annotations=texts,
            shapes=[
                {"type": "line", "xref": "x", "yref": "paper", "x0": ridge, "x1": ridge, "y0": 0, "y1": 1, "line": line}
            ],
            xaxis=axis(theme, title=_title(t("kv_cache.figure.intensity"), theme), tickformat="~g", **logs),
            yaxis=axis(theme, title=_title(t("kv_cache.figure.attainable"), theme), tickformat="~s", **logs),
        ),
    }


def _title(text: str, theme: Theme) -> Plain:
    """Return what stands beside an axis."""
    return {"text": literal(text), "font": {"size": theme.font_size, "color": theme.muted}, "standoff": 6}


def _hatched(theme: Theme) -> Plain:
    """Return a pattern that tells a part apart without colour."""
    return {"shape": "/", "fgcolor": theme.background, "size": 7, "solidity": 0.25, "fillmode": "overlay"}
