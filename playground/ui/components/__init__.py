"""Browser components: a picture that answers the pointer itself, without a round trip to the server.

A component is three files of one name: `<name>.py` (what a page calls), `<name>.js` and `<name>.css` (what the browser
runs). `register(name)` puts `shared.js` and `shared.css` before them, so that a component's script sees every name of
`shared.js`. Everything is sent by this server: no build step, nothing from outside.

The rules: Python sends plain data (`playground.ui.components.shared` packs it); the script writes text only by
`textContent`; hovering never calls Python; every word comes from `data.words`, every colour from `data.theme`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

FOLDER = Path(__file__).parent


def register(name: str, *, isolate_styles: bool = True) -> ComponentRenderer:
    """Register the component called `name`, once, where its module is imported.

    Args:
        name: Stem of its files in this folder. The style sheet may be missing.
        isolate_styles: Whether it lives in a shadow root, out of reach of the page's styles.

    Returns:
        What mounts it: `mount(key=…, data=…)`. Always give a key: with one, new data never mounts it again.
    """
    return st.components.v2.component(
        f"playground.{name}",
        js=_joined(f"{name}.js", "shared.js"),
        css=_joined(f"{name}.css", "shared.css"),
        isolate_styles=isolate_styles,
    )


def _joined(own: str, shared: str) -> str:
    texts = [(FOLDER / shared).read_text(encoding="utf-8")]
    if (FOLDER / own).exists():
        texts.append((FOLDER / own).read_text(encoding="utf-8"))
    return "\n".join(texts)
