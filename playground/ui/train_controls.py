"""What is set before a training and what commands it: the Train page's own widgets, their keys among them.

A setting is one of a few, and is kept as the session's picks: so nothing chosen is lost between pages, a link holds it,
and what a browser sends beyond the options is the default. Each applies to the next run; the few that a run under way
can take over are offered beside what commands it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import streamlit as st

from playground.figures.curves import noam_plain
from playground.i18n import Translate
from playground.plan import (
    DEFAULTS,
    EXPERIMENTS,
    GROUPS,
    LIVE,
    OPTIONS,
    PAPER,
    SETTINGS,
    changed,
    choices_of,
    chosen,
    departures,
    plan,
    planned_rates,
    repeated,
    value_of,
)
from playground.recipe import RunConfig, RunRefused
from playground.training import RunStatus, offered_devices, shared_engine
from playground.ui.controls import mirror
from playground.ui.link import PICKS
from playground.ui.own_data import data_of, explain_task, offer_data, task_options
from playground.ui.own_run import wait
from playground.ui.session import Notice, Session
from playground.ui.show import show

ANSWER = 0.4  # seconds for which a press waits for the worker

# A number speaks for itself, and so does yes or no; the others have words.
WORDED = ("positions", "norm_placement", "norm", "activation", "schedule", "device", "n_kv_heads", "final_norm")
# What the small models have otherwise than the paper's, each with a reason.
OWN = tuple(name for name, paper in PAPER.items() if DEFAULTS[name] != paper)

VIEWS = PICKS["panel"]


def planned(state: Session) -> RunConfig:
    """Return the training that is set: of the subject's task, if no task was chosen, and on a device that is here.

    Raises:
        RunRefused: If the settings make a model that is too large to be trained here.
    """
    return plan(_picks(state), data_of(state))


def planned_task(state: Session) -> str:
    """Return the name of the task that is set: one of `playground.tasks.TASKS`, or the visitor's own."""
    name = str(_picks(state)["task"])
    return name if name in task_options(state) else DEFAULTS["task"]


def pick_plan(state: Session, t: Translate) -> None:
    """Let the visitor set the next training, and start it."""
    if state.present:
        with _strip():
            _start_button(state, t)
        return
    with _strip():
        task = planned_task(state)
        _pick("task", task_options(state), task, state, t, label_visibility="collapsed")
        explain_task(task, state, t)
        offer_data(state, t)
        n_changed = len(changed(state.picks))
        with st.popover(t("train.settings", n=n_changed), icon=":material/tune:", key="train_settings"):
            _settings(state, t)
        with st.popover(t("train.experiments"), icon=":material/science:", key="train_experiments"):
            _experiments(state, t)
        _start_button(state, t)


def pick_panel(state: Session, t: Translate) -> str:
    """Let the visitor choose what is the large picture of the page."""
    assert isinstance(VIEWS, tuple)
    shown = chosen_panel(state)
    mirror(state, "train_panel", shown, [t(f"train.panel.{each}") for each in VIEWS])
    st.segmented_control(
        t("train.panel.label"),
        VIEWS,
        format_func=lambda each: t(f"train.panel.{each}"),
        key="train_panel",
        on_change=_chose,
        args=(state, "panel", "train_panel"),
        required=True,
        label_visibility="collapsed",
    )
    return shown


def chosen_panel(state: Session) -> str:
    """Return what is the large picture of the page."""
    assert isinstance(VIEWS, tuple)
    return str(state.picks.get("panel", VIEWS[0]))


def pick_of(name: str, options: Sequence[str], state: Session, t: Translate, words: Callable[[str], str]) -> str:
    """Let the visitor choose one of a few by their own names, such as a head; the first if nothing was chosen."""
    found = str(state.picks.get(name))
    shown = found if found in options else options[0]
    key = f"train_{name}"
    mirror(state, key, shown, map(words, options))
    st.selectbox(
        t(f"train.pick.{name}"),
        options,
        format_func=words,
        key=key,
        on_change=_chose,
        args=(state, name, key),
        filter_mode=None,
        width=240,
    )
    return shown


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
    with _strip():
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


def change_run(status: RunStatus, state: Session, t: Translate) -> None:
    """Let the owner of a training change what it can take over from its next step on."""
    if status.run_id not in state.own_runs:
        return
    now = choices_of(status.config.at(min(status.step + 1, status.steps)))
    with st.popover(t("train.change"), icon=":material/tune:", key="train_change"):
        st.caption(t.markdown("train.applies_now"))
        for name in LIVE:
            options = sorted({*OPTIONS[name], now[name]}, key=float)
            key = f"train_live_{name}"
            mirror(state, key, now[name], options, is_folded=True)
            st.selectbox(
                t(f"train.setting.{name}"),
                options,
                key=key,
                on_change=_change,
                args=(state, status.run_id, name, key),
                filter_mode=None,
            )


def progress(status: RunStatus, t: Translate) -> str:
    """Return, as Markdown, what a training is doing: its step, its speed, and the time that is left."""
    if status.state == "queued":
        return f"{t.markdown('train.queued', place=status.queue_place or 1)} {wait(status, t)}"
    steps = {"step": f"{status.step:,}", "steps": f"{status.steps:,}"}
    if status.state == "paused":
        return t.markdown("train.paused", **steps)
    if not status.steps_per_second:
        return t.markdown("train.begins")
    left = (status.steps - status.step) / status.steps_per_second
    return t.markdown(
        "train.running",
        **steps,
        rate=f"{status.steps_per_second:.0f}",
        tokens=f"{tokens_per_second(status):,.0f}",
        left=duration(left, t),
    )


def tokens_per_second(status: RunStatus, last: int = 50) -> float:
    """Return how many target tokens a training learns from in a second of the last steps; 0 before there are two."""
    tokens, seconds = status.metrics["tokens"][-last:], status.metrics["seconds"][-last:]
    spent = float(seconds[-1] - seconds[0]) if len(seconds) > 1 else 0.0
    return float(tokens[1:].sum()) / spent if spent > 0 else 0.0


def offer(remedies: Mapping[str, Mapping[str, str]], config: RunConfig, state: Session, t: Translate) -> None:
    """Offer what may help a training, each a button that sets the next training to this one but for the change.

    Args:
        remedies: Changes, by their names in `train.remedy`.
        config: Of the training that went wrong.
        state: The session.
        t: Words.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="train_remedies"):
        st.caption(t("train.remedies"), width="content")
        for name, changes in remedies.items():
            values = {setting: _word(setting, value, t) for setting, value in changes.items()}
            is_set = all(chosen(_picks(state))[setting] == value for setting, value in changes.items())
            st.button(
                t(f"train.remedy.{name}", **values),
                key=f"train_remedy_{name}",
                icon=":material/check:" if is_set else None,
                on_click=_remedy,
                args=(state, config, changes),
            )


def _strip() -> st.delta_generator.DeltaGenerator:
    return st.container(key="train_strip", horizontal=True, vertical_alignment="bottom", gap="small")


def _start_button(state: Session, t: Translate) -> None:
    try:
        planned(state)
    except RunRefused:
        can_start = False
    else:
        can_start = True
    st.button(
        t("train.start"),
        icon=":material/play_arrow:",
        type="primary",
        key="train_start",
        disabled=not can_start,
        on_click=_start,
        args=(state,),
    )


def _picks(state: Session) -> dict[str, object]:
    picks: dict[str, object] = {"task": state.run.task, **state.picks}
    if picks.get("device") not in offered_devices():
        picks.pop("device", None)
    return picks


def _settings(state: Session, t: Translate) -> None:
    """Draw the settings of one group, each with what it means, where that is said, and a way back."""
    picks = _picks(state)
    found = str(state.picks.get("group"))
    group = found if found in GROUPS else GROUPS[0]

    def title(each: str) -> str:
        n = len(changed(picks, each))
        return f"{t(f'train.group.{each}')} ({n})" if n else t(f"train.group.{each}")

    mirror(state, "train_group", group, map(title, GROUPS), is_folded=True)
    st.segmented_control(
        t("train.group.label"),
        GROUPS,
        format_func=title,
        key="train_group",
        on_change=_chose,
        args=(state, "group", "train_group"),
        required=True,
        label_visibility="collapsed",
    )
    for setting in SETTINGS.values():
        if setting.group == group and (setting.name != "device" or len(offered_devices()) > 1):
            _setting(setting.name, state, t)
    if group == "rate":
        _schedule(state, t)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(t.markdown("train.applies"), width="stretch")
        st.button(
            t("train.reset_all"),
            icon=":material/restart_alt:",
            key="train_reset_all",
            type="tertiary",
            disabled=not changed(picks),
            on_click=state.forget,
            args=tuple(SETTINGS),
        )


def _setting(name: str, state: Session, t: Translate) -> None:
    shown = chosen(_picks(state))[name]
    options = OPTIONS[name] if name != "device" else offered_devices()
    widget, says, back = st.columns([5, 8, 1], gap="small", vertical_alignment="center")
    with widget:
        _pick(name, options, shown, state, t)
    lines = [t.markdown(f"train.meaning.{name}")]
    if name in OWN and shown == DEFAULTS[name]:
        lines.append(t.markdown(f"train.why.{name}"))
    when = t("train.when.live" if SETTINGS[name].is_live else "train.when.fresh")
    says.caption(" ".join(lines) + f"  \n{t.markdown(f'train.source.{name}')} · {when}")
    with back:
        st.button(
            "",
            icon=":material/restart_alt:",
            key=f"train_reset_{name}",
            type="tertiary",
            help=t("train.reset", value=_word(name, DEFAULTS[name], t)),
            disabled=shown == DEFAULTS[name],
            on_click=state.forget,
            args=(name,),
        )


def _schedule(state: Session, t: Translate) -> None:
    try:
        rates = planned_rates(planned(state))
    except RunRefused:
        return
    show(
        noam_plain(rates, t, state.theme, height=170),
        key="train_schedule",
        alt=t("train.schedule_alt"),
        t=t,
        theme=state.theme,
    )


def _experiments(state: Session, t: Translate) -> None:
    """Offer sentences, each of which sets everything to its default but one thing, and how long it is trained."""
    st.caption(t.markdown("train.experiment.says"))
    picks = _picks(state)
    now = {name: chosen(picks)[name] for name in changed(picks) if SETTINGS[name].group != "run"}
    with st.container(gap=None, key="train_sentences"):
        for name, changes in EXPERIMENTS.items():
            st.button(
                t(f"train.experiment.{name}"),
                key=f"train_experiment_{name}",
                type="tertiary",
                icon=":material/check:" if now == changes else ":material/arrow_right:",
                on_click=_experiment,
                args=(state, changes),
            )


def _pick(
    name: str,
    options: Sequence[str],
    shown: str,
    state: Session,
    t: Translate,
    *,
    label_visibility: Literal["visible", "collapsed"] = "visible",
) -> None:
    paper = t("train.paper", value=_word(name, PAPER[name], t)) if name in PAPER else ""
    key = f"train_pick_{name}"

    def word(value: str) -> str:
        return _word(name, value, t)

    mirror(state, key, shown, map(word, options), is_folded=name != "task")
    st.selectbox(
        f"{t(f'train.setting.{name}')} {paper}".strip(),
        options,
        format_func=word,
        key=key,
        on_change=_chose,
        args=(state, name, key),
        filter_mode=None,
        label_visibility=label_visibility,
    )


def _word(name: str, value: str, t: Translate) -> str:
    if name == "task":
        return t(f"tasks.{value}.title")
    if value in ("yes", "no"):
        return t(f"train.option.{value}")
    if name == "train_window" and value == "0":
        return t("train.option.train_window.none")
    if name in WORDED and not value.isdecimal():
        return t(f"train.option.{name}.{value}")
    return f"{int(value):,}" if value.isdecimal() else value.replace("e-0", "e-").replace("-", "−")


def _chose(state: Session, name: str, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        state.choose(**{name: value})


def _experiment(state: Session, changes: Mapping[str, str]) -> None:
    state.forget(*(name for name, setting in SETTINGS.items() if setting.group != "run"))
    state.choose(**changes)


def _remedy(state: Session, config: RunConfig, changes: Mapping[str, str]) -> None:
    state.choose(**repeated(config, state.picks, **changes))


def _start(state: Session) -> None:
    try:
        state.began(shared_engine().submit(planned(state), state.owner))
    except RunRefused as error:
        state.notice = Notice(error.key, error.values)


def _change(state: Session, run_id: str, name: str, key: str) -> None:
    try:
        shared_engine().change(run_id, state.owner, **{SETTINGS[name].of: value_of(name, st.session_state[key])})
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
