"""Models: the runs that are kept, each a card; looked into, named, taken along, brought back, deleted."""

import streamlit as st

from playground.ui.frame import open_page
from playground.ui.models_controls import act_on, bring
from playground.ui.models_views import draw_run, draw_settings, draw_shelf
from playground.ui.notes import note

state, t = open_page("models")
run = draw_shelf(state, t)

curves, words = st.columns([62, 38], gap="large")
with curves:
    draw_run(run, state, t)
with words:
    if not state.present:
        act_on(run, state, t)
    draw_settings(run, t)

if not state.present:
    brought, means, attempt = st.columns([5, 4, 4], gap="large")
    with brought:
        bring(state, t)
    note(means, t("models.means.heading"), t.markdown("models.means.text"))
    note(attempt, t("models.try.heading"), t.markdown("models.try.text"))
