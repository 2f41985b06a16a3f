"""Compare: runs of one seed that differ in one thing, so that what becomes of them has one cause."""

import streamlit as st

from playground.ui.compare_controls import chosen, fork, pick_curves, pick_maps, pick_prepared, pick_runs, train_now
from playground.ui.compare_views import show_comparison, show_depth, show_maps
from playground.ui.frame import open_page

state, t = open_page("compare")
choice = chosen(state)
show_comparison(choice, state, t)
if not state.present:
    pick_prepared(choice, state, t)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="compare_row"):
        pick_curves(choice, state, t)
        fork(state, t)
        pick_runs(choice, state, t)
        train_now(choice, state, t)
show_maps(choice, state, t)
if not state.present:
    pick_maps(choice, state, t)
    show_depth(choice, state, t)
