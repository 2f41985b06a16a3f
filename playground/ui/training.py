"""A training on the screen: its curves, what it translates, and every head's attention, live or as it was recorded."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import streamlit as st

from playground.figures.curves import History, training_plain
from playground.figures.sheet import percent
from playground.i18n import Translate, literal
from playground.labelled import Axis, LabelledArray
from playground.plan import planned_rates
from playground.recipe import RunConfig
from playground.runs import Run
from playground.training import Peek, RunRefused, RunStatus, Sample, shared_engine
from playground.training.trainer import watching
from playground.training.watching import peek, samples
from playground.ui.components.attention_grid import HeadMaps, attention_grid
from playground.ui.session import Session
from playground.ui.show import show
from playground.ui.train_controls import command_run, expectation, pick_plan, planned

INTERVAL = 0.5  # seconds between two looks
TOLD = 2.0  # seconds after which the whole page may learn of steps recorded since
SAMPLES = 4
CSS = Path(__file__).parent / "train.css"

# Below this a run is told in words as having failed to learn what it was given.
LEARNT = 0.9


@dataclass(frozen=True, eq=False)
class Seen:
    """One moment of a training, whether it is under way or long ended.

    Attributes:
        config: Task, model and recipe.
        metrics: An array a name in `playground.runs.COLUMNS`.
        exact_match: Pairs of step and share of held-out sentences translated word for word.
        step: The step that samples and maps are of.
        at: The same, if it is to be marked on the curves.
        samples: Held-out sentences and what the model makes of them.
        peek: Attention maps of one sentence; None before the first look.
    """

    config: RunConfig
    metrics: Mapping[str, npt.NDArray[np.float64]]
    exact_match: tuple[tuple[int, float], ...]
    step: int
    at: int | None
    samples: tuple[Sample, ...]
    peek: Peek | None


def show_training(state: Session, t: Translate) -> None:
    """Draw the training that the visitor has under way or watches; else the subject's own, at the subject's step.

    A training is looked at twice a second. From its first recorded weights on it is the subject, of which the page
    learns now and then which steps it has by now, and once more when it has ended.
    """
    st.html(CSS)
    watched = _watched(state)
    if watched is None:
        # A fragment stands in a container. With one here too, the pictures keep their place when a training begins.
        with st.container(), st.container(key="train_page", gap="xsmall"):
            pick_plan(state, t)
            _say(lambda: _before_or_after(state, t))
            _draw(of_run(state.run, state.step), state, t)
        return
    begun = time.monotonic()

    @st.fragment(run_every=INTERVAL)
    def look() -> None:
        status = shared_engine().status(watched)
        is_own = watched in state.own_runs
        if is_own and status.recorded and state.view.run != watched:
            state.choose_run(watched)
            st.rerun()
        has_more = state.run_id == watched and status.recorded and status.recorded[-1] > state.run.steps[-1]
        if not status.is_active or (has_more and time.monotonic() - begun > TOLD):
            st.rerun()
        shared_engine().keep_alive(watched)
        with st.container(key="train_page", gap="xsmall"):
            command_run(status, state, t)
            _say(lambda: _meanwhile(status, t, is_own=is_own))
            # Until it has been looked at, the subject: this run's first weights as soon as they are recorded.
            _draw(of_status(status) if status.peek else of_run(state.run, state.step), state, t)

    look()


def of_run(run: Run, step: int) -> Seen:
    """Return a training as it was at a recorded step."""
    looked = _looked(run.path, run.is_recording, step)
    at = None if step == run.steps[-1] else step
    return Seen(run.config, run.metrics, run.exact_match, step, at, *looked)


def of_status(status: RunStatus) -> Seen:
    """Return a training as it is."""
    step = status.peek.step if status.peek else status.step
    return Seen(status.config, status.metrics, status.exact_match, step, None, status.samples, status.peek)


def history(seen: Seen) -> History:
    """Return what is drawn as curves."""
    column = seen.metrics
    return History(
        step=column["step"],
        loss=column["loss"],
        learning_rate=column["learning_rate"],
        grad_norm=column["grad_norm"],
        exact_match=seen.exact_match,
        steps=seen.config.recipe.steps,
        chance=seen.config.chance_loss,
        least=seen.config.least_loss,
        planned=planned_rates(seen.config),
        at=seen.at,
    )


def head_maps(looked: Peek, t: Translate) -> tuple[HeadMaps, ...]:
    """Return the maps of a look, encoder, decoder and cross-attention, each with the words at its sides."""
    reads = (*looked.tgt[1:], "⟨eos⟩")
    crossing = tuple(f"{word} → {then}" for word, then in zip(looked.tgt, reads, strict=True))
    sides = {
        "encoder": ("encoder.{}.self_attn.weights", looked.src, looked.src),
        "decoder": ("decoder.{}.self_attn.weights", looked.tgt, looked.tgt),
        "cross": ("decoder.{}.cross_attn.weights", crossing, looked.src),
    }
    groups = []
    for where, (name, query, key) in sides.items():
        layers: list[LabelledArray] = []
        while (full := name.format(len(layers))) in looked.maps:
            heads = Axis("head", tuple(str(i) for i in range(len(looked.maps[full]))))
            layers.append(LabelledArray(full, looked.maps[full], (heads, Axis("query", query), Axis("key", key))))
        later = np.where(np.triu(np.ones((len(query), len(key)), dtype=bool), k=1), "causal", "")
        groups.append(HeadMaps(where, t(f"train.maps.{where}"), tuple(layers), later if where == "decoder" else None))
    return tuple(groups)


def marked(got: str, wanted: str) -> str:
    """Return a translation as Markdown, what is not as it should be in red; a text without spaces by its characters."""
    gap = " " if " " in wanted else ""
    ours, theirs = (text.split(" ") if gap else list(text) for text in (got, wanted))
    pieces = []
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        text = literal(gap.join(ours[start:end]))
        if text:
            pieces.append(text if kind == "equal" else f":red[{text}]")
    return gap.join(pieces)


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


def _meanwhile(status: RunStatus, t: Translate, *, is_own: bool) -> None:
    st.markdown(t.markdown("train.own" if is_own else "train.others", task=t(f"tasks.{status.config.task}.title")))
    _message(status, t)


def _before_or_after(state: Session, t: Translate) -> None:
    """Say what a training would take; after one, how it ended."""
    run = state.run
    if run.is_recording or run.id not in state.own_runs:
        st.markdown(expectation(planned(state), t))
        return
    status = shared_engine().status(run.id)
    _message(status, t)
    share = run.exact_match[-1][1] if run.exact_match else 0.0
    said = "learnt" if share >= LEARNT else "ended"
    seconds = f"{status.seconds:.0f}"
    st.markdown(t.markdown(f"train.{said}", share=percent(share), step=f"{status.step:,}", seconds=seconds))


def _message(status: RunStatus, t: Translate) -> None:
    if status.message is None:
        return
    text = t.markdown(status.message, **status.values)
    if status.state in ("diverged", "failed"):
        st.error(text, icon=":material/error:")
    else:
        st.warning(text, icon=":material/info:")


def _draw(seen: Seen, state: Session, t: Translate) -> None:
    """Draw curves and translations side by side, and the maps under them."""
    theme = state.theme
    curves, words = st.columns([62, 38], gap="medium")
    measured = history(seen)
    with curves:
        show(
            training_plain(measured, t, theme, height=380 if state.present else 316),
            narrow=training_plain(measured, t, theme, height=620, is_narrow=True),
            key="train_curves",
            alt=t("train.curves_alt", task=t(f"tasks.{seen.config.task}.title")),
            filename="training",
            t=t,
            theme=theme,
        )
    with words, st.container(key="train_samples", gap=None):
        st.markdown(t.markdown("train.samples", step=f"{seen.step:,}"))
        for sample in seen.samples[:SAMPLES]:
            sign = ":green[✓]" if sample.right else ":red[✗]"
            got = marked(sample.got, sample.wanted) or t("train.nothing")
            src, wanted = (f":small[:gray[{literal(text)}]]" for text in (sample.src, sample.wanted))
            st.markdown(f"{src}  \n{sign} **{got}**  \n{wanted}")
    if seen.peek is None:
        return
    looked = seen.peek
    attention_grid(
        head_maps(looked, t),
        key="train_heads",
        alt=t("train.maps_alt", step=f"{looked.step:,}"),
        note=t(
            "train.maps_of",
            step=f"{looked.step:,}",
            src=" ".join(looked.src[:-1]),
            tgt=seen.config.data.detokenize(looked.tgt[1:]),
        ),
        filename="attention",
        t=t,
        theme=theme,
    )


@lru_cache(maxsize=64)
def _looked(path: Path, is_recording: bool, step: int) -> tuple[tuple[Sample, ...], Peek]:
    """Return what the model of a recorded step translates and attends to; weights of a step never change."""
    run = Run.load(path, is_recording=is_recording)
    model, task = run.model(step), run.config.data
    with watching(model):
        return samples(model, task, task.heldout[:SAMPLES]), peek(model, task, step)
