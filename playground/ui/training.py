"""A training on the screen, live or as it was recorded: what is under way, what is looked at, what goes wrong.

The pictures themselves are in `playground.ui.train_views`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from playground.diagnosis import LEARNT, Course, Finding, diagnose
from playground.figures.sheet import percent
from playground.i18n import Translate
from playground.over_steps import glance
from playground.recipe import RunRefused
from playground.runs import Run
from playground.training import Peek, RunStatus, Sample, shared_engine
from playground.training.trainer import watching
from playground.training.watching import samples
from playground.ui.session import Session
from playground.ui.train_controls import (
    change_run,
    chosen_panel,
    command_run,
    expectation,
    offer,
    pick_panel,
    pick_plan,
    planned,
)
from playground.ui.train_views import SAMPLES, Seen, draw_live, draw_recorded

INTERVAL = 0.5  # seconds between two looks
TOLD = 2.0  # seconds after which the whole page may learn of steps recorded since
CSS = Path(__file__).parent / "train.css"

# What the page says better than the engine's own hint does.
HINT = "training.hint.at_chance"


def show_training(state: Session, t: Translate) -> str:
    """Draw the training that the visitor has under way or watches; else the subject's own, at the subject's step.

    A training is looked at twice a second. From its first recorded weights on it is the subject, of which the page
    learns now and then which steps it has by now, and once more when it has ended. While the visitor looks back at an
    earlier step, that step is what every picture shows.

    Returns:
        What is the large picture of the page.
    """
    st.html(CSS)
    panel = chosen_panel(state)
    watched = _watched(state)
    if watched is None:
        # A fragment stands in a container. With one here too, the pictures keep their place when a training begins.
        with st.container(), st.container(key="train_page", gap="xsmall"):
            pick_plan(state, t)
            _say(lambda: _before_or_after(state, t))
            draw_live(panel, of_run(state.run, state.step, state.text), state, t)
    else:
        _follow(watched, panel, state, t)
    draw_recorded(panel, state, t)
    pick_panel(state, t)
    return panel


def of_run(run: Run, step: int, text: str) -> Seen:
    """Return a training as it was at a recorded step, looked at by one sentence."""
    at = None if step == run.steps[-1] else step
    return Seen(
        config=run.config,
        metrics=run.metrics,
        exact_match=run.exact_match,
        held_out=run.held_out_loss,
        part_steps=run.part_steps,
        part_grads=run.part_grads,
        part_updates=run.part_updates,
        step=step,
        at=at,
        samples=_samples(run.path, run.is_recording, step),
        peek=glance(run, step, text),
        run=run,
    )


def of_status(status: RunStatus, run: Run | None, text: str | None) -> Seen:
    """Return a training as it is.

    Args:
        status: How it is doing.
        run: The same as far as it is recorded; None before anything is.
        text: A sentence of the visitor's own, looked at by the last recorded weights; None for the task's first
            example, which the training itself looks at twice a second.
    """
    own: Peek | None = None
    if text is not None and run is not None:
        own = glance(run, run.steps[-1], text)
    step = status.peek.step if status.peek else status.step
    return Seen(
        config=status.config,
        metrics=status.metrics,
        exact_match=status.exact_match,
        held_out=status.held_out_loss,
        part_steps=status.part_steps,
        part_grads=status.part_grads,
        part_updates=status.part_updates,
        step=step,
        at=None,
        samples=status.samples,
        peek=own or status.peek,
        run=run,
        is_behind=own is not None,
    )


def course_of(seen: Seen, state: str) -> Course:
    """Return what a diagnosis needs to know of a training."""
    return Course(seen.config, seen.metrics["loss"], seen.metrics["step"], seen.held_out, seen.exact_match, state)


def _follow(watched: str, panel: str, state: Session, t: Translate) -> None:
    begun = time.monotonic()
    view = state.view

    @st.fragment(run_every=INTERVAL)
    def look() -> None:
        status = shared_engine().status(watched)
        is_own = watched in state.own_runs
        if is_own and status.recorded and state.view.run != watched:
            state.choose_run(watched)
            st.rerun()
        is_subject = state.run_id == watched
        has_more = is_subject and status.recorded and status.recorded[-1] > state.run.steps[-1]
        # What was pressed in here, such as the way back to the last step, concerns the whole page.
        has_chosen = state.view is not view
        if not status.is_active or has_chosen or (has_more and time.monotonic() - begun > TOLD):
            st.rerun()
        shared_engine().keep_alive(watched)
        looks_back = is_subject and state.view.step is not None and state.step < state.run.steps[-1]
        # Until it has been looked at, the subject: this run's first weights as soon as they are recorded.
        if looks_back or not status.peek:
            seen = of_run(state.run, state.step, state.text)
        else:
            seen = of_status(status, state.run if is_subject else None, state.view.text if is_subject else None)
        with st.container(key="train_page", gap="xsmall"):
            command_run(status, state, t)
            _say(lambda: _meanwhile(status, state, t, is_own=is_own, looks_back=looks_back))
            draw_live(panel, seen, state, t)

    look()


def _watched(state: Session) -> str | None:
    """Return the id of the training that is under way: the visitor's own, else the one that the link names."""
    own = shared_engine().active(state.owner) if state.may_train else None
    if own:
        if own not in state.own_runs:
            state.began(own)
        return own
    named = state.view.run
    if named is None or (state.run.is_recording and state.run.id == named):
        return None
    try:
        return named if shared_engine().status(named).is_active else None
    except RunRefused:
        return None


def _say(lines: Callable[[], None]) -> None:
    with st.container(key="train_line", gap="small"):
        lines()


def _meanwhile(status: RunStatus, state: Session, t: Translate, *, is_own: bool, looks_back: bool) -> None:
    finding = diagnose(course_of(of_status(status, None, None), status.state))
    with st.container(key="train_whose", horizontal=True, vertical_alignment="center", gap="small"):
        if looks_back:
            st.markdown(t.markdown("train.back", step=f"{state.step:,}"), width="content")
            st.button(t("train.follow"), key="train_follow", type="tertiary", on_click=_follow_again, args=(state,))
        elif finding is not None:
            _tell(finding, t)
        else:
            whose = "train.own" if is_own else "train.others"
            st.markdown(t.markdown(whose, task=t(f"tasks.{status.config.task}.title")), width="stretch")
        change_run(status, state, t)
    _message(status, t)
    _offer(finding, status, state, t)


def _before_or_after(state: Session, t: Translate) -> None:
    """Say what a training would take; after one, how it ended."""
    run = state.run
    if run.is_recording or run.id not in state.own_runs:
        try:
            st.markdown(expectation(planned(state), t))
        except RunRefused as error:
            st.error(t.markdown(error.key, **error.values), icon=":material/error:")
        return
    status = shared_engine().status(run.id)
    _message(status, t)
    share = run.exact_match[-1][1] if run.exact_match else 0.0
    said = "learnt" if share >= LEARNT else "ended"
    seconds = f"{status.seconds:.0f}"
    st.markdown(t.markdown(f"train.{said}", share=percent(share), step=f"{status.step:,}", seconds=seconds))
    finding = diagnose(course_of(of_run(run, run.steps[-1], state.text), status.state))
    if finding is not None:
        _tell(finding, t)
    _offer(finding, status, state, t)


def _tell(finding: Finding, t: Translate) -> None:
    """Say what goes wrong, but for a run that broke down, which says so itself."""
    if finding.kind != "broke_down":
        values = {name: percent(value) if name == "share" else f"{value:.2f}" for name, value in finding.values.items()}
        said = t.markdown(f"train.finding.{finding.kind}", **values)
        st.markdown(f":orange[:material/troubleshoot:] {said}", width="stretch")


def _offer(finding: Finding | None, status: RunStatus, state: Session, t: Translate) -> None:
    """Offer what may help the next training, to whom this one belongs."""
    if finding is not None and finding.remedies and status.run_id in state.own_runs:
        offer(finding.remedies, status.config, state, t)


def _message(status: RunStatus, t: Translate) -> None:
    if status.message is None or status.message == HINT:
        return
    text = t.markdown(status.message, **status.values)
    if status.state in ("diverged", "failed"):
        st.error(text, icon=":material/error:")
    else:
        st.warning(text, icon=":material/info:")


def _follow_again(state: Session) -> None:
    state.choose_step(state.run.steps[-1])


@lru_cache(maxsize=64)
def _samples(path: Path, is_recording: bool, step: int) -> tuple[Sample, ...]:
    """Return what the model of a recorded step makes of held-out sentences; weights of a step never change."""
    run = Run.load(path, is_recording=is_recording)
    model, task = run.model(step), run.config.data
    with watching(model):
        return samples(model, task, task.heldout[:SAMPLES])
