"""Pictures of places: waves, arrows that turn, what depends on a distance, how far a rule reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.heatmap import heatmap_plain
from playground.figures.sheet import Figure, Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.labelled import LabelledArray

Numbers = npt.NDArray[np.float64]

MOST_CURVES = 64
MOST_DIALS = 12
MOST_DOTS = 64
STEPS_A_TURN = 48  # points of a turning arrow's path
MOST_TURNS = 12  # more would be a disc


# --- Heat maps over places --------------------------------------------------------------------------------------------


def map_of_places(
    array: LabelledArray,
    t: Translate,
    theme: Theme,
    *,
    limits: tuple[float, float] | None = None,
    at: tuple[int, int] | None = None,
    height: int = 440,
    square: bool = False,
) -> Figure:
    """Draw signed numbers over places, which count from 0: few ticks, upright.

    Args:
        array: Two axes of numbers.
        t: Words.
        theme: Colours and type.
        limits: Ends of the colours; ± the largest absolute value if None.
        at: Row and column of the cell that the text speaks of; its diagonal is drawn too.
        height: Pixels.
        square: Whether cells are as wide as they are high.

    Raises:
        ValueError: As `heatmap`.
    """
    plain = heatmap_plain(array, t, theme, kind="signed", limits=limits, height=height)
    drawn, paper = plain["data"][0], plain["layout"]
    small = max(array.shape) > 40
    drawn |= {"xgap": 0 if small else 1, "ygap": 0 if small else 1}
    for name, labels in (("yaxis", array.axes[0].labels), ("xaxis", array.axes[1].labels)):
        step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128) if len(labels) / step <= 20)
        shown = range(0, len(labels), step) if all(label.isdigit() for label in labels) else range(len(labels))
        paper[name] |= {"tickvals": [*shown], "ticktext": [literal(labels[i]) for i in shown], "tickangle": 0}
    if square:
        paper["xaxis"] |= {"constrain": "domain"}
        paper["yaxis"] |= {"scaleanchor": "x", "constrain": "domain"}
    drawn["colorbar"] |= {"len": 0.88, "y": 0.44}  # below the save menu
    if at is not None:
        row, col = at
        box: Plain = {"x0": col - 0.9, "x1": col + 0.9, "y0": row - 0.9, "y1": row + 0.9}
        first, last = max(row - col, 0), min(array.shape[0], array.shape[1] + row - col) - 1
        along: Plain = {"x0": first - row + col, "y0": first, "x1": last - row + col, "y1": last}
        paper["shapes"] = [
            {"type": "line", **along, "line": {"color": theme.focus, "width": 1.5, "dash": "dot"}},
            {"type": "rect", **box, "line": {"color": theme.focus, "width": 3}},
        ]
    return Figure(plain)


# --- Waves ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strip:
    """One pair of columns along the places.

    Attributes:
        name: What stands beside it.
        at: Points between the places, rising.
        sine, cosine: There.
        dots: The sine's values in the table, from place 0 on.
        chosen: Whether the text speaks of it: it is drawn with its cosine.
    """

    name: str
    at: Numbers
    sine: Numbers
    cosine: Numbers
    dots: Numbers
    chosen: bool


def waves(strips: Sequence[Strip], t: Translate, theme: Theme, *, height: int = 440) -> Figure:
    """Draw pairs of columns as waves over the places, one under another.

    Raises:
        ValueError: If there is no strip, or more than `MOST_DIALS`.
    """
    if not 0 < len(strips) <= MOST_DIALS:
        raise ValueError(f"1 to {MOST_DIALS} waves are drawn, but got {len(strips)}")
    data: list[Plain] = []
    axes: Plain = {}
    high = 1 / len(strips)
    for i, strip in enumerate(strips):
        suffix = "" if i == 0 else str(i + 1)
        top = 1 - i * high
        colour = theme.weights if strip.chosen else theme.muted
        style: Plain = {"xaxis": "x", "yaxis": f"y{suffix}", "type": "scatter"}
        hover = f"{literal(strip.name)}<br>{literal(t('axis.short.place'))} <b>%{{x:.3~g}}</b><br>"
        value = f"{literal(t('figure.value'))} <b>%{{y:.4~g}}</b><extra></extra>"
        line = {"color": colour, "width": 3 if strip.chosen else 1.6}
        if strip.chosen:
            data.append(
                style
                | {
                    "mode": "lines",
                    "name": literal(f"cos · {strip.name}"),
                    "x": numbers(strip.at),
                    "y": numbers(strip.cosine),
                    "line": {"color": theme.key, "width": 2, "dash": "dot"},
                    "hovertemplate": "cos · " + hover + value,
                }
            )
        data.append(
            style
            | {
                "mode": "lines",
                "name": literal(f"sin · {strip.name}"),
                "x": numbers(strip.at),
                "y": numbers(strip.sine),
                "line": line,
                "hovertemplate": "sin · " + hover + value,
            }
        )
        if len(strip.dots) > MOST_DOTS and not strip.chosen:
            axes |= _strip_axis(strip, suffix, top, high, theme)
            continue
        data.append(
            style
            | {
                "mode": "markers",
                "name": literal(f"sin · {strip.name}"),
                "x": numbers(np.arange(len(strip.dots), dtype=np.float64)),
                "y": numbers(strip.dots),
                "marker": {"size": 5 if strip.chosen else 3.5, "color": colour},
                "hovertemplate": "sin · " + hover + value,
            }
        )
        axes |= _strip_axis(strip, suffix, top, high, theme)
    last = max(float(strip.at[-1]) for strip in strips)
    axes["xaxis"] = axis(
        theme,
        range=[-0.01 * last, 1.01 * last],
        anchor="free",
        position=0,
        showgrid=False,
        title={"text": literal(t("axis.place")), "font": {"size": theme.font_size, "color": theme.muted}},
    )
    return Figure(
        {"data": data, "layout": layout(theme, height=height, margin={"l": 8, "r": 12, "t": 28, "b": 48}, **axes)}
    )


def _strip_axis(strip: Strip, suffix: str, top: float, high: float, theme: Theme) -> Plain:
    """Return the axis upward of one strip, by the name that plotly knows it by."""
    return {
        f"yaxis{suffix}": axis(
            theme,
            domain=[top - 0.86 * high, top - 0.1 * high],
            range=[-1.12, 1.12],
            tickvals=[0],
            ticktext=[literal(strip.name)],
            automargin=True,
            tickfont={"size": theme.font_size, "color": theme.text if strip.chosen else theme.muted},
            fixedrange=True,
        )
    }


def wavelengths(
    lengths: Numbers, chosen: int, marks: Mapping[str, float], t: Translate, theme: Theme, *, height: int = 440
) -> Figure:
    """Draw each pair's wavelength on a logarithmic scale.

    Args:
        lengths: `[pair]`, in places.
        chosen: The pair that the text speaks of.
        marks: Lengths to compare with, by what is said of them.
        t: Words.
        theme: Colours and type.
        height: Pixels.
    """
    pairs = np.arange(len(lengths), dtype=np.float64)
    pair = literal(t("axis.short.pair"))
    points: Plain = {
        "type": "scatter",
        "mode": "lines+markers" if len(lengths) <= 64 else "lines",
        "name": literal(t("positions.waves.length")),
        "x": numbers(pairs),
        "y": numbers(lengths),
        "line": {"color": theme.weights, "width": 1.5},
        "marker": {"size": 5, "color": theme.weights},
        "hovertemplate": f"{pair} <b>%{{x}}</b><br>{literal(t('positions.waves.length'))} <b>%{{y:,.4~g}}</b>"
        "<extra></extra>",
    }
    spot: Plain = points | {
        "mode": "markers",
        "x": [chosen],
        "y": [float(lengths[chosen])],
        "marker": {"size": 13, "color": theme.focus, "line": {"color": theme.text, "width": 1.5}},
    }
    shapes = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": _thin(theme, "dash")}
        for y in marks.values()
    ]
    notes = [
        {
            **note(said, theme, x=1, y=float(np.log10(y))),
            "yref": "y",
            "xanchor": "right",
            "yanchor": "bottom",
            "bgcolor": theme.background,
        }
        for said, y in marks.items()
    ]
    title = {"size": theme.font_size, "color": theme.muted}
    return Figure(
        {
            "data": [points, spot],
            "layout": layout(
                theme,
                height=height,
                margin={"l": 8, "r": 12, "t": 34, "b": 48},
                shapes=shapes,
                annotations=[
                    *notes,
                    note(t("positions.waves.length"), theme, x=0, y=1, xanchor="left", yanchor="bottom", yshift=6),
                ],
                xaxis=axis(theme, showgrid=False, title={"text": literal(t("axis.pair")), "font": title}),
                yaxis=axis(
                    theme,
                    type="log",
                    automargin=True,
                    tickvals=[2 * np.pi, 10, 100, 1000, 10000, 20000 * np.pi],
                    ticktext=["2π", "10", "100", "1,000", "10,000", "10000·2π"],
                    range=[0.65, 5],
                ),
            ),
        }
    )


# --- What depends on a distance ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over distances.

    Attributes:
        name: What it is.
        x, y: Its points.
        strong: Whether the text speaks of it.
    """

    name: str
    x: Numbers
    y: Numbers
    strong: bool = False


def over_distance(
    curves: Sequence[Curve],
    said: str,
    t: Translate,
    theme: Theme,
    *,
    limits: tuple[float, float] | None = None,
    height: int = 440,
) -> Figure:
    """Draw what is said of two places over their distance: thin lines, and strong ones with their names.

    Args:
        curves: At most `MOST_CURVES`.
        said: What is drawn upward.
        t: Words.
        theme: Colours and type.
        limits: Ends of the scale upward, by the numbers if None.
        height: Pixels.

    Raises:
        ValueError: If there are more than `MOST_CURVES`.
    """
    if len(curves) > MOST_CURVES:
        raise ValueError(f"at most {MOST_CURVES} curves are drawn, but got {len(curves)}")
    distance = literal(t("axis.short.distance"))
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": literal(curve.name),
            "x": numbers(curve.x),
            "y": numbers(curve.y),
            "opacity": 1 if curve.strong else 0.45,
            "line": {
                "color": theme.weights if curve.strong else theme.muted,
                "width": 3 if curve.strong else 1,
            },
            "hovertemplate": f"{literal(curve.name)}<br>{distance} <b>%{{x}}</b><br>"
            f"{literal(said)} <b>%{{y:.4~g}}</b><extra></extra>",
        }
        for curve in sorted(curves, key=lambda curve: curve.strong)
    ]
    upward: Plain = {"range": list(limits)} if limits else {"rangemode": "tozero"}
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 8, "r": 12, "t": 34, "b": 48},
                annotations=[note(said, theme, x=0, y=1, xanchor="left", yanchor="bottom", yshift=6)],
                xaxis=axis(
                    theme,
                    rangemode="tozero",
                    title={
                        "text": literal(t("axis.distance")),
                        "font": {"size": theme.font_size, "color": theme.muted},
                    },
                ),
                yaxis=axis(theme, automargin=True, **upward) | {"zeroline": True, "zerolinecolor": theme.muted},
            ),
        }
    )


# --- Arrows that turn -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrow:
    """One arrow from the middle of a dial.

    Attributes:
        name: What it is.
        end: Where it ends, x to the right and y upward, 1 at the rim.
        colour: Its colour.
        turn: By how much it was turned to come here, in radians, counter-clockwise; its way is drawn. 0 for none.
    """

    name: str
    end: tuple[float, float]
    colour: str
    turn: float = 0.0


@dataclass(frozen=True)
class Dial:
    """A circle with arrows: one pair of numbers.

    Attributes:
        title, says: Over it and under it.
        arrows: From its middle.
    """

    title: str
    says: str
    arrows: tuple[Arrow, ...]


def dials(shown: Sequence[Dial], theme: Theme, *, columns: int = 5, height: int = 440) -> Figure:
    """Draw pairs of numbers as arrows that turn, each in a circle of radius 1.

    Raises:
        ValueError: If there is no dial, or more than `MOST_DIALS`.
    """
    if not 0 < len(shown) <= MOST_DIALS:
        raise ValueError(f"1 to {MOST_DIALS} dials are drawn, but got {len(shown)}")
    columns = min(columns, len(shown))
    wide, high = 2.6, 3.35
    circle = np.linspace(0, 2 * np.pi, 73)
    data: list[Plain] = []
    notes: list[Plain] = []
    for i, dial in enumerate(shown):
        x, y = (i % columns) * wide, -(i // columns) * high
        data.append(_path(x + np.cos(circle), y + np.sin(circle), theme.line, theme, width=1.5))
        for arrow in dial.arrows:
            data.extend(_arrow(x, y, arrow, theme))
        place: Plain = {"xref": "x", "yref": "y", "xanchor": "center"}
        strong = {"font": {"size": theme.font_size, "color": theme.text}}
        notes.append(note(dial.title, theme, x=x, y=y + 1.08) | place | {"yanchor": "bottom"} | strong)
        notes.append(note(dial.says, theme, x=x, y=y - 1.06) | place | {"yanchor": "top"})
    rows = -(-len(shown) // columns)
    bare: Plain = {"visible": False, "fixedrange": True, "constrain": "domain"}
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 4, "r": 4, "t": 4, "b": 4},
                annotations=notes,
                hovermode="closest",
                xaxis=axis(theme, range=[-1.3, (columns - 1) * wide + 1.3], **bare),
                yaxis=axis(
                    theme, range=[-(rows - 1) * high - 1.5, 1.5], scaleanchor="x", constraintoward="top", **bare
                ),
            ),
        }
    )


def _arrow(x: float, y: float, arrow: Arrow, theme: Theme) -> list[Plain]:
    """Return an arrow with its head, and the way it has turned as a spiral that widens with each turn."""
    ex, ey = arrow.end
    length = float(np.hypot(ex, ey))
    drawn: list[Plain] = []
    if arrow.turn and length > 0:
        turn = float(np.sign(arrow.turn)) * min(abs(arrow.turn), 2 * np.pi * MOST_TURNS)
        n = max(2, int(abs(turn) / (2 * np.pi) * STEPS_A_TURN) + 1)
        angle = np.arctan2(ey, ex) - turn * np.linspace(1, 0, n)
        radius = length * np.linspace(0.3, 0.7, n)
        drawn.append(
            _path(x + radius * np.cos(angle), y + radius * np.sin(angle), arrow.colour, theme, width=1.2, opacity=0.6)
        )
    if length > 0:
        ux, uy = ex / length, ey / length
        back = min(0.26, 0.5 * length)
        left, right = (
            (ex - back * ux - side * 0.5 * back * uy, ey - back * uy + side * 0.5 * back * ux) for side in (1, -1)
        )
        xs = np.array([0, ex, left[0], right[0], ex])
        ys = np.array([0, ey, left[1], right[1], ey])
    else:
        xs = ys = np.array([0.0])
    path = _path(x + xs, y + ys, arrow.colour, theme, width=3)
    path |= {
        "name": literal(arrow.name),
        "hoverinfo": "text",
        "hovertext": literal(f"{arrow.name} ({ex:.3f}, {ey:.3f})".replace("-", "−")),
        "fill": "toself",
        "fillcolor": arrow.colour,
    }
    return [*drawn, path]


def _path(
    x: npt.NDArray[Any], y: npt.NDArray[Any], colour: str, theme: Theme, *, width: float, opacity: float = 1.0
) -> Plain:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(x),
        "y": numbers(y),
        "line": {"color": colour, "width": width},
        "opacity": opacity,
        "hoverinfo": "skip",
    }


# --- How far a rule reaches -------------------------------------------------------------------------------------------


def reach(
    lengths: Sequence[int],
    right: Mapping[str, Sequence[float | None]],
    names: Mapping[str, str],
    trained: int,
    t: Translate,
    theme: Theme,
    *,
    chosen: str,
    height: int = 440,
) -> Figure:
    """Draw for each rule the share of letters copied rightly over the length, the lengths of the training shaded.

    Args:
        lengths: In letters.
        right: For each rule the share at each length, 0–1; None where it refuses.
        names: What each rule is called.
        trained: Longest length of the training.
        t: Words.
        theme: Colours and type.
        chosen: The rule that is drawn strongest.
        height: Pixels.
    """
    colours = dict(zip(right, (theme.query, theme.memory, theme.key, theme.value, theme.residual), strict=False))
    dashes = dict(zip(right, ("solid", "dash", "dot", "dashdot", "longdash"), strict=False))
    x = np.asarray(lengths, dtype=np.float64)
    data: list[Plain] = []
    notes: list[Plain] = []
    ends = _apart([next(y for y in reversed(shares) if y is not None) for shares in right.values()])
    for (rule, shares), level in zip(right.items(), ends, strict=True):
        y = np.array([np.nan if share is None else share for share in shares])
        strong = rule == chosen
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": literal(names[rule]),
                "x": numbers(x),
                "y": numbers(y),
                "line": {"color": colours[rule], "width": 4.5 if strong else 2, "dash": dashes[rule]},
                "marker": {"size": 9 if strong else 5, "color": colours[rule]},
                "hovertemplate": f"{literal(names[rule])}<br>{literal(t('positions.longer.letters'))} <b>%{{x}}</b>"
                f"<br>{literal(t('positions.longer.right'))} <b>%{{y:.1%}}</b><extra></extra>",
            }
        )
        last = max(i for i, share in enumerate(shares) if share is not None)
        ended = last + 1 < len(shares)
        said = t("positions.longer.refuses", rule=names[rule]) if ended else names[rule]
        # Where a curve breaks off the others run on, so its name stands over them.
        place: Plain = {"xref": "x", "yref": "y", "xanchor": "left", "xshift": 12}
        if ended:
            place |= {"yanchor": "bottom", "xshift": 0}
        notes.append(
            note(said, theme, x=float(x[last]), y=1.03 if ended else level)
            | place
            | {"font": {"size": theme.font_size + (3 if strong else 1), "color": colours[rule]}}
        )
    low = float(x[0]) - 0.3
    shade: Plain = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": low, "x1": trained + 0.5}
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                margin={"l": 8, "r": 7 * theme.font_size, "t": 34, "b": 48},  # names stand on the right
                shapes=[shade | {"fillcolor": theme.surface, "line": {"width": 0}, "layer": "below"}],
                annotations=[
                    *notes,
                    note(t("positions.longer.right"), theme, x=0, y=1, xanchor="left", yanchor="bottom", yshift=6),
                    note(t("positions.longer.trained", n=trained), theme, x=low, y=0.02, xanchor="left")
                    | {"xref": "x", "yanchor": "bottom", "xshift": 8},
                ],
                xaxis=axis(
                    theme,
                    showgrid=False,
                    range=[low, float(x[-1]) + 0.3],
                    tickvals=[int(n) for n in lengths if n % 2 == 0],
                    title={
                        "text": literal(t("positions.longer.letters")),
                        "font": {"size": theme.font_size, "color": theme.muted},
                    },
                ),
                yaxis=axis(
                    theme, range=[-0.03, 1.13], tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1], automargin=True
                ),
            ),
        }
    )


def _apart(levels: Sequence[float], least: float = 0.075) -> list[float]:
    """Return the same levels, moved up where names at them would cover each other."""
    moved = list(levels)
    order = sorted(range(len(levels)), key=levels.__getitem__)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + least)
    return moved


def _thin(theme: Theme, dash: str) -> Plain:
    return {"color": theme.text, "width": 1.2, "dash": dash}
