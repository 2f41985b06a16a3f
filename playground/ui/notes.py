"""The words beside a picture: a heading and a few sentences."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def note(place: DeltaGenerator, heading: str, *texts: str) -> None:
    """Write a heading and paragraphs of Markdown into a column; values in them are already literal."""
    with place:
        st.markdown(f"**{heading}**")
        for text in texts:
            st.markdown(text)
