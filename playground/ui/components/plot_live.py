"""A plotly figure that stays where it is while its numbers change: Plotly.react, not a new chart each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui import PLOTLY, asset
from playground.ui.components import register
from playground.ui.components.shared import common

# In a shadow root plotly's own style sheet would not reach its buttons.
_MOUNT = register("plot_live", isolate_styles=False)

SLIM = 520  # pixels

WORDS = ("box", "pan", "reset", "hint", "failed", "curve", "row")


def plot_live(
    figure: Mapping[str, Any],
    *,
    key: str,
    alt: str,
    t: Translate,
    theme: Theme,
    filename: str,
    narrow: Mapping[str, Any] | None = None,
) -> None:
    """Draw a figure's plain data, or draw it anew in place. Pages call `playground.ui.show.show`.

    Args:
        figure: `data` and `layout` as plotly.js takes them; the layout has a `height`.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words of the save menu and the zoom buttons.
        theme: Colours and type.
        filename: Stem of saved files.
        narrow: Another layout for the same data where there is less than `SLIM` pixels of room.
    """
    words = {word: t(f"figure.zoom.{word}") for word in WORDS}
    data = {
        **common(theme, t, alt=alt, filename=filename, **words),
        "figure": {"data": list(figure["data"]), "layout": dict(figure["layout"])},
        "narrow": None if narrow is None else dict(narrow),
        "slim": SLIM,
        "plotly": asset(PLOTLY),
    }
    _MOUNT(key=key, data=data)
