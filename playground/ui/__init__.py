"""The screen: the only code of the project that knows streamlit, besides pages and launcher."""

from __future__ import annotations

import streamlit as st

# Set by the launcher, so that a reload finds the owner of a run again. Scripts of the page cannot read it.
COOKIE = "attention_playground_visitor"

# The bundle of the installed plotly, served by the launcher.
PLOTLY = "plotly.min.js"


def asset(name: str) -> str:
    """Return the path at which the launcher serves a file, below the path that the server is configured for."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    return f"/{base}/assets/{name}" if base else f"/assets/{name}"
