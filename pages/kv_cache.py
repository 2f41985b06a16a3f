"""The KV cache: what a decoder keeps while it writes, what that saves, and what it costs."""

import streamlit as st

from playground.caching import can_cache
from playground.ui.depth import descend
from playground.ui.frame import open_page
from playground.ui.kv_cache_controls import chosen_view
from playground.ui.kv_cache_views import FORMULAS, control, draw, table_of_models
from playground.ui.notes import note

state, t = open_page("kv_cache")
if not can_cache(state.run.config.model):
    st.info(t.markdown("kv_cache.nothing"), icon=":material/info:")
    st.stop()

view = chosen_view(state)
picture = st.container()
control(state, t)
with picture:
    cell, is_pinned = draw(state, t)

depth = descend(state, t, cell, is_pinned=is_pinned)
if depth == "formula":
    st.latex(FORMULAS[view])
    st.caption(t.markdown(f"kv_cache.source.{view}"))
elif depth == "story":
    means, attempt = st.columns([5, 4], gap="large")
    note(means, t("kv_cache.means.heading"), t.markdown(f"kv_cache.means.{view}"))
    note(attempt, t("kv_cache.try.heading"), t.markdown(f"kv_cache.try.{view}"))
    if view == "calculator":
        st.markdown(table_of_models(t))
