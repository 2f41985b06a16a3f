"""The one way a figure reaches the screen: live, with its save menu, described for who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from playground.figures.sheet import Figure, plain
from playground.figures.theme import Theme
from playground.i18n import Translate
from playground.ui.components.plot_live import plot_live


def show(
    figure: Figure | Mapping[str, Any],
    *,
    key: str,
    alt: str,
    t: Translate,
    theme: Theme,
    caption: str | None = None,
    filename: str | None = None,
    narrow: Figure | Mapping[str, Any] | None = None,
) -> None:
    """Draw a figure. New numbers under the same key are drawn in place: nothing blinks, and a zoom stays.

    Args:
        figure: Of `playground.figures`, or the same as plain data.
        key: The element's own name on the page.
        alt: What a screen reader says the picture is.
        t: Words of the save menu and the zoom buttons.
        theme: Colours and type.
        caption: Markdown under the picture; values in it are already literal.
        filename: Stem of saved files; the key if None.
        narrow: The same data on a paper for a narrow place, such as a phone; `figure` everywhere if None.
    """
    slim = plain(narrow)["layout"] if narrow is not None else None
    plot_live(plain(figure), key=key, alt=alt, t=t, theme=theme, filename=filename or key, narrow=slim)
    if caption:
        st.caption(caption)
