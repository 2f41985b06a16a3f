"""What is set before a training and what commands it: the Train page's own widgets, their keys among them.

A setting is one of a few, and is kept as the session's picks: so nothing chosen is lost between pages, a link holds it,
and what a browser sends beyond the options is the default. Each applies to the next run, never to one under way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import streamlit as st

from playground.figures.curves import noam_plain
from playground.i18n import Translate
from playground.plan import MODEL, OPTIONS, PAPER, RECIPE, chosen, departures, plan, planned_rates
from playground.recipe import RunConfig, RunRefused
from playground.training import RunStatus, available_devices, shared_engine
from playground.ui.session import Notice, Session
from playground.ui.show import show

ANSWER = 0.4  # seconds for which a press waits for the worker

# A number speaks for itself; the others have words.
WORDED = ("task", "positions", "norm_placement", "norm", "activation", "scale_scores", "device")


def planned(state: Session) -> RunConfig:
    """Return the training that is set: of the subject's task, if no task was chosen, and on a device that is here."""
    return plan(_picks(state))


def pick_plan(state: Session, t: Translate) -> None:
    """Let the visitor set the next training, and start it."""
    config = planned(state)
    model, recipe = config.model, config.recipe
    with st.container(key="train_strip", horizontal=True, vertical_alignment="bottom", gap="small"):
        if not state.present:
            _choose("task", state, t)
            layers = f"{model.n_layers} + {model.n_layers}"
            label = t("train.model", d_model=model.d_model, n_heads=model.n_heads, layers=layers)
            with st.popover(label, icon=":material/account_tree:", key="train_model"):
                _settings(MODEL, config, state, t)
            label = t("train.recipe", steps=f"{recipe.steps:,}", batch_size=recipe.batch_size)
            with st.popover(label, icon=":material/tune:", key="train_recipe"):
                _settings(RECIPE, config, state, t)
        icon = ":material/play_arrow:"
        st.button(t("train.start"), icon=icon, type="primary", key="train_start", on_click=_start, args=(state,))


def expectation(config: RunConfig, t: Translate) -> str:
    """Return, as Markdown, how large the model is and how long its training may take."""
    return t.markdown(
        "train.expect",
        parameters=f"{config.model.n_parameters:,}",
        time=duration(config.expected_seconds, t),
        n=len(departures(config)),
    )


def duration(seconds: float, t: Translate) -> str:
    """Return a time in words, no more precise than an estimate is."""
    if seconds < 90:
        return t("train.seconds", n=max(1, round(seconds) if seconds < 20 else 5 * round(seconds / 5)))
    return t("train.minutes", n=round(seconds / 60))


def command_run(status: RunStatus, state: Session, t: Translate) -> None:
    """Draw how far a training is, and, for its owner, what commands it: pause or go on, one step, stop."""
    with st.container(key="train_strip", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.progress(min(1.0, status.step / status.steps), text=progress(status, t), width="stretch")
        if status.run_id not in state.own_runs:
            return
        rests, runs = status.state == "paused", status.state == "running"
        word, icon = ("resume", "play_arrow") if rests else ("pause", "pause")
        for name, symbol, is_there in ((word, icon, rests or runs), ("step", "step", rests), ("stop", "stop", True)):
            st.button(
                t(f"train.{name}"),
                icon=f":material/{symbol}:",
                key=f"train_{name}",
                disabled=not is_there,
                on_click=_command,
                args=(state, status.run_id, name),
            )


def progress(status: RunStatus, t: Translate) -> str:
    """Return, as Markdown, what a training is doing."""
    if status.state == "queued":
        return t.markdown("train.queued", place=status.queue_place or 1)
    left = (status.steps - status.step) / status.steps_per_second if status.steps_per_second else None
    steps = {"step": f"{status.step:,}", "steps": f"{status.steps:,}"}
    if status.state == "paused":
        return t.markdown("train.paused", **steps)
    if left is None:
        return t.markdown("train.begins")
    return t.markdown("train.running", **steps, rate=f"{status.steps_per_second:.0f}", left=duration(left, t))


def _picks(state: Session) -> dict[str, object]:
    picks: dict[str, object] = {"task": state.run.task, **state.picks}
    if picks.get("device") not in available_devices():
        picks.pop("device", None)
    return picks


def _settings(names: Iterable[str], config: RunConfig, state: Session, t: Translate) -> None:
    """Draw the settings in two columns, and say which differ from the paper, and why."""
    st.caption(t.markdown("train.applies"))
    names = [name for name in names if name != "device" or len(available_devices()) > 1]
    columns = st.columns(2)
    for number, name in enumerate(names):
        with columns[number % 2]:
            _choose(name, state, t)
    if "warmup" in names:
        show(
            noam_plain(planned_rates(config), t, state.theme, height=170),
            key="train_schedule",
            alt=t("train.schedule_alt"),
            t=t,
            theme=state.theme,
        )
    differs = departures(config)
    lines = [
        t.markdown(f"train.why.{name}", ours=_word(name, differs[name][0], t), paper=_word(name, differs[name][1], t))
        for name in names
        if name in differs
    ]
    if lines:
        st.caption("  \n".join(lines))


def _choose(name: str, state: Session, t: Translate) -> None:
    options = OPTIONS[name] if name != "device" else available_devices()
    shown = chosen(_picks(state))[name]
    paper = t("train.paper", value=_word(name, PAPER[name], t)) if name in PAPER else ""
    key = f"train_pick_{name}"
    st.session_state[key] = shown
    st.selectbox(
        f"{t(f'train.setting.{name}')} {paper}".strip(),
        options,
        format_func=lambda value: _word(name, value, t),
        key=key,
        on_change=_chose,
        args=(state, name, key),
        filter_mode=None,
        label_visibility="collapsed" if name == "task" else "visible",
    )


def _word(name: str, value: str, t: Translate) -> str:
    if name == "task":
        return t(f"tasks.{value}.title")
    if name in WORDED:
        return t(f"train.option.{name}.{value}")
    return f"{int(value):,}" if value.isdecimal() else value


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _start(state: Session) -> None:
    try:
        state.began(shared_engine().submit(planned(state), state.owner))
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)


def _command(state: Session, run_id: str, name: str) -> None:
    engine = shared_engine()
    commands = {"pause": engine.pause, "resume": engine.resume, "step": engine.step, "stop": engine.stop}
    before = engine.status(run_id)
    try:
        commands[name](run_id, state.owner)
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)
        return
    # The worker mostly answers within a step or two, so what is drawn next already shows it.
    deadline = time.monotonic() + ANSWER
    while time.monotonic() < deadline:
        now = engine.status(run_id)
        if now.step > before.step if name == "step" else now.state != before.state:
            return
        time.sleep(0.01)
