"""What the page Models draws: the shelf, and one run's curves and configuration."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from playground.figures.curves import History, training_plain
from playground.figures.sheet import percent
from playground.i18n import Translate, literal, visible
from playground.library import glance
from playground.plan import choices_of, departures, planned_rates
from playground.runs import Run
from playground.ui.components.shelf import Card, shelf
from playground.ui.controls import whose_run
from playground.ui.session import Session
from playground.ui.show import show

CSS = Path(__file__).parent / "models.css"


def picked_run(state: Session) -> Run:
    """Return the run whose card is picked out: the subject, if none was clicked or it is gone."""
    chosen = state.picks.get("kept")
    return next((run for run in state.runs if run.id == chosen), state.run)


def draw_shelf(state: Session, t: Translate) -> Run:
    """Draw a card for every run that the visitor knows, and return the one that is picked out."""
    st.html(CSS)
    run = picked_run(state)
    cards = [card(each, state, t) for each in state.runs]

    def choose(run_id: str) -> None:
        state.choose(kept=run_id)

    shelf(
        cards,
        run.id,
        key="models_shelf",
        on_choose=choose,
        alt=t("models.alt", n=len(cards)),
        empty="" if state.own_runs or state.present else t("models.none"),
        t=t,
        theme=state.theme,
    )
    return run


def card(run: Run, state: Session, t: Translate) -> Card:
    """Return what a run's card says."""
    seen = glance(run)
    model, both = run.config.model, run.config.model.architecture == "encoder-decoder"
    layers = t(
        f"models.card.layers_{'both' if both else 'one'}", d_model=model.d_model, n=model.n_layers, heads=model.n_heads
    )
    steps = f"{run.config.recipe.steps:,}"
    problem = t(seen.problem.key, **seen.problem.values) if seen.problem else ""
    return Card(
        id=run.id,
        title=title(run, t),
        whose=t(f"frame.badge.{whose_run(state, run)}"),
        facts=(layers, t("models.card.steps", steps=steps, recorded=len(run.steps), size=size(seen.size, t))),
        curve=seen.curve,
        steps=run.config.recipe.steps,
        chance=run.config.chance_loss,
        share="" if seen.share is None else percent(seen.share),
        is_subject=run.id == state.run_id,
        problem=problem or ("" if seen.curve else t("models.card.nothing")),
    )


def draw_run(run: Run, state: Session, t: Translate) -> None:
    """Draw a run's curves, and under them how it is configured."""
    name = title(run, t)
    st.subheader(literal(name), anchor=False)
    told = {
        "task": task_name(run, t),
        "whose": t(f"frame.badge.{whose_run(state, run)}"),
        "day": f"{run.created:%Y-%m-%d}",
        "torch": run.versions.get("torch", "?")[:20],
    }
    st.caption(t.markdown("models.shown.of", **told))
    if run.label.note:
        st.markdown("  \n".join(literal(line) for line in run.label.note.split("\n")))
    if glance(run).problem or not run.steps or not len(run.metrics["step"]):
        st.caption(t.markdown("models.shown.no_curves" if run.steps else "models.shown.not_yet"))
        return
    at = state.step if run.id == state.run_id and state.step != run.steps[-1] else None
    measured = history(run, at)
    show(
        training_plain(measured, t, state.theme, height=380 if state.present else 300),
        narrow=training_plain(measured, t, state.theme, height=560, is_narrow=True),
        key="models_curves",
        alt=t("models.shown.curves_alt", title=visible(name)),
        filename="training",
        t=t,
        theme=state.theme,
    )


def history(run: Run, at: int | None) -> History:
    """Return what is drawn as curves, one step marked if it is given."""
    return History(
        step=run.metrics["step"],
        loss=run.metrics["loss"],
        learning_rate=run.metrics["learning_rate"],
        grad_norm=run.metrics["grad_norm"],
        exact_match=run.exact_match,
        steps=run.config.recipe.steps,
        chance=run.config.chance_loss,
        least=run.config.least_loss,
        planned=planned_rates(run.config),
        at=at,
    )


def draw_settings(run: Run, t: Translate) -> None:
    """Write what of a run's configuration differs from the paper, what became of it, and, folded, all the rest."""
    differs = departures(run.config)
    lines = [
        t.markdown(
            "models.shown.paper",
            name=t(f"train.setting.{name}"),
            ours=setting_word(name, ours, t),
            paper=setting_word(name, theirs, t),
        )
        for name, (ours, theirs) in differs.items()
    ]
    st.markdown(f"**{t('models.shown.settings')}**")
    if lines:
        st.caption(" · ".join(lines))
    st.caption(history_told(run, t))
    with st.expander(t("models.shown.all")):
        rest = {name: ours for name, ours in choices_of(run.config).items() if name != "task" and name not in differs}
        told = (
            t.markdown("models.shown.setting", name=t(f"train.setting.{name}"), ours=setting_word(name, ours, t))
            for name, ours in rest.items()
        )
        st.caption(" · ".join(told))


def history_told(run: Run, t: Translate) -> str:
    """Return, as Markdown, where a run came from, which steps of it there are, and what it takes."""
    said = [
        t.markdown(
            "models.shown.changed", step=f"{each.step:,}", name=t(f"train.setting.{each.name}"), value=each.value
        )
        for each in run.config.changes
    ]
    if run.config.origin:
        said.append(t.markdown("models.shown.forked", step=f"{run.config.origin.step:,}"))
    if run.config.own:
        said.append(t.markdown("models.shown.own"))
    if run.steps:
        said.append(t.markdown("models.shown.recorded", steps=" · ".join(f"{step:,}" for step in run.steps)))
    said.append(t.markdown("models.shown.size", size=size(glance(run).size, t)))
    return "\n\n".join(said)


def setting_word(name: str, value: str, t: Translate) -> str:
    """Return the value of a setting in words, if it has any, else as it is."""
    key = f"train.option.{name}.{value}"
    return t(key) if t.has(key) else f"{int(value):,}" if value.isdecimal() else value


def title(run: Run, t: Translate) -> str:
    """Return what a run is called, as plain text."""
    return run.title or task_name(run, t)


def task_name(run: Run, t: Translate) -> str:
    """Return what a run learns, in words."""
    return t(f"tasks.{run.task}.title")


def size(n_bytes: float, t: Translate) -> str:
    """Return a size in words."""
    if n_bytes < 1_000:
        return t("models.size.bytes", n=f"{n_bytes:.0f}")
    if n_bytes < 1_000_000:
        return t("models.size.kilobytes", n=f"{n_bytes / 1e3:.0f}")
    return t("models.size.megabytes", n=f"{n_bytes / 1e6:.1f}")
