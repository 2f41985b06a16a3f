"""A visitor's own training, told in the menu of every page, and kept alive while somebody has a page open."""

from __future__ import annotations

import streamlit as st

from playground.i18n import Translate
from playground.runs import RECORDINGS
from playground.training import RunRefused, RunStatus, shared_engine
from playground.training.engine import minutes
from playground.ui.session import Session

# Seconds between two looks. The lease of a run is much longer, so a slow network does not pause it.
INTERVAL = 2.0


def show_own_run(state: Session, t: Translate) -> None:
    """Draw how the visitor's training is doing, if there is one: it then is asked after every two seconds.

    A page without one asks nothing: no timer runs in its browser.
    """
    watched = _watched(state)
    if watched is None:
        return
    is_active = watched.is_active

    @st.fragment(run_every=INTERVAL if is_active else None)
    def look() -> None:
        status = _status(watched.run_id)
        if status is None:
            return
        if status.is_active:
            shared_engine().keep_alive(status.run_id)
        elif is_active:
            st.rerun()  # the whole page: there are more recorded steps now, and nothing to ask after
        _draw(status, state, t)

    look()


def wait(status: RunStatus, t: Translate) -> str:
    """Return, as Markdown, how long a run in the queue will about wait."""
    if status.message:  # nobody knows, and it says why
        return t.markdown(status.message, **status.values)
    return t.markdown("frame.own.wait", minutes=minutes(status.wait or 0.0))


def _watched(state: Session) -> RunStatus | None:
    """Return the run to speak of: the one being trained, else the last that ended and was not looked at yet."""
    if not state.may_train:
        return None
    active = shared_engine().active(state.owner)
    if active and active != state.unseen:
        state.began(active)  # a reload forgot that its end has not been told yet
    candidates = [active, state.view.run, state.unseen]
    for run_id in candidates:
        status = _status(run_id) if run_id else None
        if status and (status.is_active or run_id == state.unseen):
            return status
    return None


def _status(run_id: str) -> RunStatus | None:
    try:
        return shared_engine().status(run_id)
    except RunRefused:
        return None


def _meanwhile(status: RunStatus, state: Session, t: Translate) -> None:
    """Offer the recorded run of the same task, if there is one and it is not on the page already."""
    task = status.config.task
    if task != state.run_id and (RECORDINGS / task).is_dir():
        st.button(t("frame.own.meanwhile"), key="own_run_meanwhile", on_click=state.choose_run, args=(task,))


def _draw(status: RunStatus, state: Session, t: Translate) -> None:
    with st.container(key="own_run", gap="small"):
        whose = "yours" if status.run_id in state.own_runs else "shared"
        st.markdown(t.markdown(f"frame.own.{whose}"))
        if status.state == "queued":
            st.caption(f"{t.markdown('frame.own.queued', place=status.queue_place or 1)}  \n{wait(status, t)}")
            _meanwhile(status, state, t)
            return
        st.progress(min(1.0, status.step / status.steps))
        st.caption(t.markdown(f"frame.own.{status.state}", step=f"{status.step:,}", steps=f"{status.steps:,}"))
        if status.is_active:
            return
        if status.message:
            st.caption(t.markdown(status.message, **status.values))
        if status.run_id == state.run_id:
            state.told = status.run_id  # it is on the page already, so this is said on this page only
        elif status.recorded:
            st.button(t("frame.own.open"), key="own_run_open", on_click=state.choose_run, args=(status.run_id,))
