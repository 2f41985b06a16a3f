"""A model's parts over a training: how long each part's gradient is, and how far each step moves its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.figures.sheet import Plain, axis, layout, literal, note, numbers
from playground.figures.theme import Theme
from playground.i18n import Translate

# A share that updates often have of the weights they change, when a model learns well: a rule of thumb.
USUAL = 1e-3


@dataclass(frozen=True, eq=False)
class Paces:
    """What was measured of each part, now and then.

    Attributes:
        name: Key of the panel's title in `figure`.
        steps: `[n]`, rising.
        values: `[n, part]`, above 0 where they are drawn.

    Raises:
        ValueError: If there are not as many rows as steps.
    """

    name: str
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != len(self.steps):
            raise ValueError(f"{self.name} has {len(self.steps)} steps, but its values are {self.values.shape}")


def layers_plain(
    panels: Sequence[Paces],
    parts: Sequence[str],
    t: Translate,
    theme: Theme,
    *,
    steps: int,
    at: int | None = None,
    height: int = 430,
    is_narrow: bool = False,
) -> Plain:
    """Draw a curve a part in each panel, on a logarithmic scale: a factor of ten is as high everywhere.

    Args:
        panels: What was measured, one or two; the first is the larger.
        parts: What the columns are, such as `encoder.0`.
        t: Words.
        theme: Colours and type.
        steps: Updates planned: the width of the picture.
        at: Step that is looked at, marked if there is one.
        height: Pixels.
        is_narrow: Whether the panels stand one under another, as on a phone.

    Raises:
        ValueError: If a panel has not a column a part.
    """
    data: list[Plain] = []
    notes: list[Plain] = []
    shapes: list[Plain] = []
    axes: Plain = {}
    for number, panel in enumerate(panels):
        if panel.values.shape[1] != len(parts):
            raise ValueError(f"{panel.name} has {panel.values.shape[1]} columns for {len(parts)} parts")
        end = "" if number == 0 else str(number + 1)
        across, up = _place(number, len(panels), is_narrow=is_narrow)
        for column, part in enumerate(parts):
            data.append(_curve(panel, column, part, parts, end, t, theme, is_first=number == 0))
        notes.append(
            note(
                t(f"figure.{panel.name}"),
                theme,
                x=across[0],
                y=up[1],
                xanchor="left",
                yanchor="bottom",
                xshift=-50,
                yshift=5,
                font={"size": theme.font_size, "color": theme.text},
            )
        )
        axes[f"xaxis{end}"] = axis(
            theme, domain=[*across], anchor=f"y{end}", range=[0, max(steps, 1)], showgrid=False, nticks=5
        )
        axes[f"yaxis{end}"] = axis(
            theme, domain=[*up], anchor=f"x{end}", type="log", dtick=1, exponentformat="power", tickformat="~g"
        )
        if panel.name == "updates" and len(panel.steps):
            line = {"color": theme.muted, "width": 1.2, "dash": "dot"}
            ends = {"xref": f"x{end} domain", "x0": 0, "x1": 1, "yref": f"y{end}", "y0": USUAL, "y1": USUAL}
            shapes.append({"type": "line", "line": line, **ends})
            notes.append(
                {
                    **note(t("figure.usual"), theme, x=1, y=float(np.log10(USUAL)), xanchor="right", yanchor="bottom"),
                    "xref": f"x{end} domain",
                    "yref": f"y{end}",
                }
            )
        if at is not None:
            line = {"color": theme.focus, "width": 2}
            ends = {"xref": f"x{end}", "x0": at, "x1": at, "yref": f"y{end} domain", "y0": 0, "y1": 1}
            shapes.append({"type": "line", "line": line, **ends})
    notes.append(note(t("figure.step"), theme, x=0, y=0, xanchor="left", yanchor="top", yshift=-2, xshift=-50))
    return {
        "data": data,
        "layout": layout(
            theme,
            height=height,
            margin={"l": 56, "r": 20, "t": 66, "b": 26},
            hovermode="x unified",
            uirevision=f"{steps} {len(panels)} {is_narrow}",
            showlegend=True,
            legend={
                "orientation": "h",
                "x": 0,
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "font": {"size": theme.font_size, "color": theme.text},
            },
            shapes=shapes,
            annotations=notes,
            **axes,
        ),
    }


def part_title(part: str, t: Translate) -> str:
    """Return what a part is called: `encoder.1` is the second layer of the encoder, counted from 0."""
    stack, _, layer = part.partition(".")
    return t(f"figure.part.{stack}", layer=layer)


def _place(number: int, of: int, *, is_narrow: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    if of == 1:
        return (0.0, 1.0), (0.0, 1.0)
    if is_narrow:
        return (0.0, 1.0), ((0.58, 1.0), (0.0, 0.42))[number]
    return ((0.0, 0.46), (0.56, 1.0))[number], (0.0, 1.0)


def _curve(
    panel: Paces,
    column: int,
    part: str,
    parts: Sequence[str],
    end: str,
    t: Translate,
    theme: Theme,
    *,
    is_first: bool,
) -> Plain:
    stack, _, layer = part.partition(".")
    colour = {"encoder": theme.query, "decoder": theme.memory}.get(stack, theme.residual)
    depth = sum(each.startswith(f"{stack}.") for each in parts)
    values = panel.values[:, column]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": literal(part_title(part, t)),
        "legendgroup": part,
        "showlegend": is_first,
        "x": numbers(panel.steps.astype(np.float64)),
        # A logarithm of 0 is nowhere: a gap.
        "y": numbers(np.where(values > 0, values, np.nan)),
        "xaxis": f"x{end}",
        "yaxis": f"y{end}",
        "opacity": 1.0 if not layer or depth < 2 else 1.0 - 0.6 * int(layer) / (depth - 1),
        "line": {"color": colour, "width": 2, "dash": "solid" if layer else "dot"},
        "hovertemplate": "%{y:.2e}",
    }


def measured(name: str, steps: Any, values: Any) -> Paces:
    """Return what was measured, from lists or arrays of any kind."""
    return Paces(name, np.asarray(steps, dtype=np.int64), np.asarray(values, dtype=np.float64))
