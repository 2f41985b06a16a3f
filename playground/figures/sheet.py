"""What every figure is drawn on: paper without a template, axes, numbers packed, text that is never markup.

A figure is made as plain data first, `{"data": […], "layout": {…}}` as plotly.js takes it, because a picture that
changes twice a second should not pay for plotly's own checks. `Figure(plain)` makes the checked one of the same data.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from plotly.graph_objects import Figure

from playground.figures.theme import Theme
from playground.i18n import visible

__all__ = ["FONT", "Figure", "Plain", "axis", "layout", "literal", "note", "numbers", "plain", "scale"]

Plain = dict[str, Any]

FONT = '"Source Sans", "Source Sans 3", system-ui, "Noto Sans SC", "Noto Sans CJK SC", sans-serif'

# What plotly's pseudo-HTML and MathJax give a meaning to. An entity never opens a tag or a formula.
_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("$"): "&#36;"}

# How far a sequential scale bends through stronger tones of its end's hue; as `weightsScale` in shared.js.
_VIVID = 0.06
_STOPS = 17


def plain(figure: Figure | Mapping[str, Any]) -> Plain:
    """Return a figure as plain data: what was made plain is returned as it is."""
    return dict(figure) if isinstance(figure, Mapping) else dict(figure.to_plotly_json())


def literal(text: str) -> str:
    """Return what plotly shows as `text`, character by character, whatever it holds."""
    return visible(text).translate(_MARKUP)


def percent(share: float) -> str:
    """Return a share of 0–1 in percent: `100%` only if it is all, `0%` only if it is none."""
    if share in (0, 1) or 0.01 <= share < 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}"


def numbers(values: npt.NDArray[Any]) -> Plain:
    """Return numbers as plotly.js reads them packed: float32, little-endian, in base64. NaN leaves a gap."""
    packed = np.ascontiguousarray(values, dtype="<f4")
    data = {"dtype": "f4", "bdata": base64.b64encode(packed.tobytes()).decode("ascii")}
    return data if packed.ndim == 1 else data | {"shape": ", ".join(map(str, packed.shape))}


def layout(theme: Theme, *, height: int, **more: Any) -> Plain:
    """Return the paper of a figure: no template, transparent, in the theme's type, dragging off.

    Args:
        theme: Colours and type.
        height: Pixels.
        more: What else plotly's layout is to hold.
    """
    return {
        # Streamlit changes plotly's default template, so every figure says that it has none.
        "template": {},
        "height": height,
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": theme.font_size, "color": theme.text},
        "dragmode": False,
        "uirevision": "kept",
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": theme.surface,
            "bordercolor": theme.line,
            "align": "left",
            "font": {"family": FONT, "size": theme.font_size + 1, "color": theme.text},
        },
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": theme.muted, "activecolor": theme.text},
        **more,
    }


def axis(theme: Theme, **more: Any) -> Plain:
    """Return an axis: hairlines, quiet numbers, no zero line of its own."""
    return {
        "color": theme.muted,
        "gridcolor": theme.line,
        "linecolor": theme.line,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": theme.font_size, "color": theme.muted},
        **more,
    }


def note(text: str, theme: Theme, *, x: float, y: float, **more: Any) -> Plain:
    """Return a text at a place of the paper, 0 to 1 both ways, without an arrow; `text` is shown literally."""
    return {
        "text": literal(text),
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
        "font": {"size": theme.font_size, "color": theme.muted},
        **more,
    }


def scale(theme: Theme, kind: str) -> list[list[Any]]:
    """Return a colour scale as plotly takes it: `weights` from the background, or `signed` around it.

    Its steps look equal, and are those of the components' pictures (`between` in shared.js).

    Source: Ottosson 2020, "A perceptual color space for image processing" (OKLab).
    """
    if kind == "weights":
        colours = _ramp(theme.background, theme.weights, _VIVID)
    else:
        down, up = (_ramp(theme.background, end, 0.0) for end in (theme.negative, theme.positive))
        colours = [*reversed(down[1:]), *up]
    return [[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)]


def _ramp(start: str, end: str, vivid: float) -> list[str]:
    a, b = _oklab(start), _oklab(end)
    strength = float(np.hypot(b[1], b[2]))
    colours = []
    for t in np.linspace(0.0, 1.0, _STOPS):
        lab = a + (b - a) * t
        if strength > 0:
            lab[1:] += vivid * np.sin(np.pi * t) / strength * b[1:]
        colours.append(_hex(lab))
    return colours


_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


def _oklab(colour: str) -> npt.NDArray[np.float64]:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(_TO_LAB @ np.cbrt(_TO_LMS @ linear))


def _hex(lab: npt.NDArray[np.float64]) -> str:
    linear = np.maximum(0.0, np.linalg.solve(_TO_LMS, np.linalg.solve(_TO_LAB, lab) ** 3))
    parts = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(p)):02x}" for p in np.clip(parts, 0.0, 1.0))
