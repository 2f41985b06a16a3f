"""Runs side by side on the screen: their curves, what each makes of the sentence, their maps and the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from playground.comparing import (
    GOOD,
    LETTERS,
    Learnt,
    Numbers,
    best_aligned,
    differences,
    learnt,
    minus,
    names,
    read_together,
    shared,
)
from playground.figures.compared import Course, compared_plain
from playground.figures.sheet import percent
from playground.head import Head
from playground.i18n import Translate, literal
from playground.prepared import RECORDED, Prepared, measured
from playground.reading import Reading
from playground.recipe import RunConfig
from playground.runs import Run, RunRefused, RunStore
from playground.subject import Subject
from playground.tasks import TextRefused
from playground.training import RunStatus, shared_engine
from playground.ui.compare_controls import Choice, drawn, maps_of, open_run
from playground.ui.components.matrix import Block, largest, matrices
from playground.ui.controls import pick_depth
from playground.ui.notes import note
from playground.ui.session import Session
from playground.ui.show import show
from playground.ui.train_views import marked

INTERVAL = 0.5  # seconds between two looks at runs that are being trained
CSS = Path(__file__).parent / "compare.css"

# What the table of numbers has rows for.
TABLE = ("share", "step", "tokens", "seconds", "loss", "steps", "parameters")

PROGRAM = """from playground.runs import RunStore
from playground.training import Trainer

for run_id in ({ids},):
    trainer = Trainer(RunStore().open(run_id).config)
    for report in trainer.run():
        pass
    print(run_id, report.loss, trainer.evaluate(200))
"""

FORMULA = (
    r"\Delta_{ij}=\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)_{ij}^{B}"
    r"-\;\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)_{ij}^{A}\;\in\;[-1,1]"
)


@dataclass(frozen=True, eq=False)
class Side:
    """One of the runs that are compared, at one moment.

    Attributes:
        letter: What it is called here.
        name: What sets it apart from the others; its title if nothing does.
        run: As its folder is now.
        metrics: An array a name in `COLUMNS`.
        exact_match: Pairs of step and share of held-out sentences exactly right.
        status: How its training is doing, if it is under way.
    """

    letter: str
    name: str
    run: Run
    metrics: Mapping[str, Numbers]
    exact_match: tuple[tuple[int, float], ...]
    status: RunStatus | None

    @property
    def learnt(self) -> Learnt:
        """How soon and how well it learnt."""
        return learnt(self.metrics, self.exact_match)


def show_comparison(choice: Choice, state: Session, t: Translate) -> None:
    """Draw what differs, the curves, and what each run makes of the sentence; twice a second while one is trained."""
    st.html(CSS)
    if not any(_status(run) for run in choice.runs):
        with st.container(), st.container(key="compare_page", gap="xsmall"):
            _draw(choice, state, t)
        return

    @st.fragment(run_every=INTERVAL)
    def look() -> None:
        with st.container(key="compare_page", gap="xsmall"):
            sides = _draw(
                Choice(tuple(RunStore().open(run.id) for run in choice.runs), choice.prepared, choice.step), state, t
            )
        under_way = [side.run.id for side in sides if side.status]
        for run_id in under_way:
            shared_engine().keep_alive(run_id)
        if not under_way:
            st.rerun()

    look()


def sides_of(choice: Choice, t: Translate) -> tuple[Side, ...]:
    """Return the runs that are compared with what each has measured until now."""
    words = names([run.config for run in choice.runs], t)
    found = []
    for letter, name, run in zip(LETTERS, words, choice.runs, strict=False):
        status = _status(run)
        metrics, exact = (status.metrics, status.exact_match) if status else _measured(run)
        found.append(Side(letter, name or run.title or t(f"tasks.{run.task}.title"), run, metrics, exact, status))
    return tuple(found)


def difference(configs: Sequence[RunConfig], t: Translate) -> str:
    """Return, as Markdown, what differs between runs and what does not: a cause only where all else is the same."""
    found, same = differences(configs), shared(configs)
    if len(configs) == 1:
        return t.markdown("compare.alone")
    if not found:
        return t.markdown("compare.nothing")
    what = " · ".join(f"**{letter}** {literal(name)}" for letter, name in zip(LETTERS, names(configs, t), strict=False))
    if same.is_causal:
        key = "compare.only_since" if same.until else "compare.only"
        return t.markdown(key, step=f"{same.until or 0:,}") + " " + what
    lacks = [t.markdown(f"compare.not.{name}") for name in ("seed", "batches") if not getattr(same, name)]
    if same.seed and same.same != same.tensors:
        lacks.append(t.markdown("compare.not.first", n=same.tensors - same.same, of=same.tensors))
    return f"{t('compare.differs')} {what}. {' '.join(lacks)}"


def show_maps(choice: Choice, state: Session, t: Translate) -> None:
    """Draw a map of the first run, the same of another, and the second less the first."""
    where, head, other = maps_of(choice, state)
    if len(choice.runs) < 2:
        return
    pair = (choice.runs[0], choice.runs[other])
    try:
        subjects = tuple(_subject(run, choice, state) for run in pair)
        together = read_together(subjects)
    except (TextRefused, RunRefused, ValueError):
        st.caption(t.markdown("compare.maps.apart"))
        return
    maps, titles, hidden = [], [], []
    for letter, subject, reading in zip((LETTERS[0], LETTERS[other]), subjects, together.readings, strict=True):
        layer, index = _head_of(subject, reading, where, head)
        looked = Head(reading, where, layer, index)
        maps.append(looked["weights"])
        hidden.append(reading.hidden(looked.sublayer))
        titles.append(t("compare.maps.title", letter=letter, layer=layer, head=index, step=f"{subject.step:,}"))
    apart = minus(maps[1], maps[0])
    matrices(
        [
            Block(maps[0], id="first", title=titles[0], role="weights", scale="weights", hidden=hidden[0]),
            Block(maps[1], id="second", title=titles[1], role="weights", scale="weights", hidden=hidden[1]),
            Block(
                apart,
                id="apart",
                title=t("compare.maps.apart_title", second=LETTERS[other], first=LETTERS[0]),
                limit=largest(apart) or 1.0,
            ),
        ],
        layout="row",
        key="compare_maps",
        alt=t("compare.maps.alt", first=LETTERS[0], second=LETTERS[other]),
        filename="compare",
        t=t,
        theme=state.theme,
    )
    st.caption(t.markdown("compare.maps.gold" if together.is_gold else "compare.maps.given"))


def show_depth(choice: Choice, state: Session, t: Translate) -> None:
    """Draw what there is to read: the story, the numbers as a table, the formula of the maps, or a program."""
    match pick_depth(state, t):
        case "numbers":
            st.markdown(_table(sides_of(choice, t), t))
            st.caption(t.markdown("compare.table.says"))
        case "formula":
            st.latex(FORMULA)
            st.caption(t.markdown("compare.source"))
        case "code":
            st.markdown(t.markdown("compare.code"))
            st.code(_program(choice.runs), language="python")
        case _:
            _story(choice.prepared, t)


def told(prepared: Prepared, t: Translate) -> str:
    """Return, as Markdown, what every run of a prepared comparison led to, from each seed."""
    words = names([RECORDED[run_id] for run_id in prepared.runs], t)
    lines = []
    for letter, name, run_id in zip(LETTERS, words, prepared.runs, strict=False):
        seeds = measured()[run_id]
        reached = sorted(step for step in seeds.steps if step is not None)
        lines.append(
            f"- **{letter}** {literal(name)}: "
            + t.markdown(
                f"compare.seeds.{'good' if reached else 'never'}",
                steps=f"{RECORDED[run_id].recipe.steps:,}",
                share=percent(seeds.share),
                low=percent(min(seeds.shares)),
                high=percent(max(seeds.shares)),
                good=seeds.good,
                n=len(seeds.shares),
                step=f"{reached[0]:,}" if reached else "",
            )
        )
    return "\n".join(lines)


def expected(prepared: Prepared, t: Translate) -> str:
    """Return, as Markdown, what to expect of a prepared comparison and why, in the numbers that were measured."""
    values: dict[str, object] = {}
    for letter, run_id in zip(LETTERS.lower(), prepared.runs, strict=False):
        seeds = measured()[run_id]
        values[f"{letter}_share"] = percent(seeds.share)
        values[f"{letter}_loss"] = f"{sum(seeds.losses) / len(seeds.losses):.2f}"
    return t.markdown(f"experiments.{prepared.id}.why", **values)


def _story(prepared: Prepared | None, t: Translate) -> None:
    means, why, attempt = st.columns([4, 4, 3], gap="large")
    if prepared is None:
        note(means, t("compare.means.heading"), t.markdown("compare.means.text"))
        note(why, t("compare.chance.heading"), t.markdown("compare.chance.text"))
        note(attempt, t("compare.try.heading"), t.markdown("compare.try.text"))
    else:
        note(means, t("compare.measured"), told(prepared, t))
        note(why, t("compare.why"), expected(prepared, t))
        note(attempt, t("compare.try.heading"), t.markdown(f"experiments.{prepared.id}.try"))


def _table(sides: Sequence[Side], t: Translate) -> str:
    """Return the runs' numbers, a column a run, as Markdown."""
    rows: dict[str, list[str]] = {name: [] for name in TABLE}
    for side in sides:
        found, metrics = side.learnt, side.metrics
        last = metrics["loss"][-20:]
        cells = {
            "share": "–" if found.share is None else percent(found.share),
            "step": "–" if found.step is None else f"{found.step:,}",
            "tokens": "–" if found.tokens is None else f"{found.tokens:,}",
            "seconds": "–" if found.seconds is None else f"{found.seconds:.1f}",
            "loss": f"{last.mean():.3f}" if len(last) else "–",
            "steps": f"{int(metrics['step'][-1]):,}" if len(metrics["step"]) else "0",
            "parameters": f"{side.run.config.model.n_parameters:,}",
        }
        for name, cell in cells.items():
            rows[name].append(cell)
    head = " | ".join(f"{side.letter} {literal(side.name)}" for side in sides)
    lines = [f"| | {head} |", "|---|" + "---:|" * len(sides)]
    lines += [f"| {t(f'compare.table.{name}')} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join(lines)


def _program(runs: Sequence[Run]) -> str:
    """Return a program that trains the runs again and says what share of held-out sentences each gets exactly right."""
    return PROGRAM.format(ids=", ".join(repr(run.id) for run in runs))


def _draw(choice: Choice, state: Session, t: Translate) -> tuple[Side, ...]:
    sides = sides_of(choice, t)
    with st.container(key="compare_line"):
        st.markdown(difference([side.run.config for side in sides], t))
    picture, words = st.columns([64, 36], gap="medium")
    with picture:
        _curves(sides, choice, state, t)
    with words, st.container(key="compare_sides", gap="small"):
        for number, side in enumerate(sides):
            _tell(side, number, choice, state, t)
    return sides


def _curves(sides: Sequence[Side], choice: Choice, state: Session, t: Translate) -> None:
    measure, over = drawn(choice, state)
    courses = [
        Course(f"{side.letter} {side.name}", dict(side.metrics), side.exact_match, side.run.config.recipe.steps)
        for side in sides
    ]
    chances = {side.run.config.chance_loss for side in sides}
    theme = state.theme
    at = choice.step
    drawing = {"measure": measure, "over": over, "chance": min(chances) if len(chances) == 1 else None, "good": GOOD}
    drawing["at"] = None if at == max(run.config.recipe.steps for run in choice.runs) else at
    show(
        compared_plain(courses, t, theme, height=520 if state.present else 430, **drawing),  # type: ignore[arg-type]
        narrow=compared_plain(courses, t, theme, height=470, is_narrow=True, **drawing),  # type: ignore[arg-type]
        key="compare_curves",
        alt=t("compare.alt", runs="; ".join(course.name for course in courses)),
        filename="compare",
        t=t,
        theme=theme,
    )


def _tell(side: Side, number: int, choice: Choice, state: Session, t: Translate) -> None:
    """Draw what there is to say of one run: how soon it was good, and what it makes of the sentence."""
    with st.container(key=f"compare_run_{number}", gap=None):
        st.markdown(f"**{side.letter}** {literal(side.name)}")
        st.markdown(_how_soon(side, t))
        try:
            subject = _subject(side.run, choice, state)
        except (TextRefused, RunRefused, ValueError):
            subject = None
        if subject is not None:
            wanted = subject.task.detokenize(subject.example.tgt) if subject.example else ""
            got = marked(subject.translation, wanted) if wanted else literal(subject.translation)
            sign = {True: ":green[✓]", False: ":red[✗]", None: ""}[subject.exact]
            st.markdown(
                f"{sign} {got or t('compare.silent')} :small[:gray[{t('compare.at', step=f'{subject.step:,}')}]]"
            )
        if not state.present:
            open_run(side.run, state, t, number)


def _how_soon(side: Side, t: Translate) -> str:
    found = side.learnt
    status = side.status
    if status is not None:
        key = "compare.queued" if status.state == "queued" else "compare.running"
        share = percent(found.share) if found.share is not None else "–"
        return t.markdown(key, step=f"{status.step:,}", steps=f"{status.steps:,}", share=share)
    if found.share is None:
        return t.markdown("compare.unmeasured")
    values = {"share": percent(found.share), "at": f"{found.at or 0:,}"}
    if found.step is None:
        return t.markdown("compare.never", **values)
    return t.markdown("compare.soon", step=f"{found.step:,}", seconds=f"{found.seconds or 0:.0f}", **values)


def _subject(run: Run, choice: Choice, state: Session) -> Subject:
    """Return what a run makes of the sentence, at the recorded step nearest to the subject's, if that is compared.

    Raises:
        ValueError: If the run has no recorded step yet.
        TextRefused: If it does not know the words, nor those of its own task's first example.
    """
    if not run.steps:
        raise ValueError(f"{run.id} has no recorded step yet")
    wanted = run.steps[-1] if choice.step is None else choice.step
    step = min(run.steps, key=lambda each: abs(each - wanted))
    task = run.config.data
    is_same = task.name == state.task.name and task.src_words == state.task.src_words
    return Subject(run, step, state.text if is_same else task.examples[0])


def _head_of(subject: Subject, reading: Reading, where: str, head: tuple[int, int] | None) -> tuple[int, int]:
    """Return the head that was chosen, as far as the model has it; of cross-attention else the one that aligns best."""
    model = subject.run.config.model
    if head is None:
        alignment = subject.example.alignment if subject.example and where == "cross" else ()
        head = best_aligned(reading, alignment) if alignment else (0, 0)
    return min(head[0], model.n_layers - 1), min(head[1], model.n_heads - 1)


@lru_cache(maxsize=32)
def _read(path: Path, is_recording: bool, size: int) -> tuple[Mapping[str, Numbers], tuple[tuple[int, float], ...]]:
    run = Run.load(path, is_recording=is_recording)
    return run.metrics, run.exact_match


def _measured(run: Run) -> tuple[Mapping[str, Numbers], tuple[tuple[int, float], ...]]:
    """Return what a run that has ended measured; read once as long as its file does not grow."""
    path = run.path / "metrics.jsonl"
    return _read(run.path, run.is_recording, path.stat().st_size if path.exists() else 0)


def _status(run: Run) -> RunStatus | None:
    """Return how a run's training is doing, if it is under way."""
    if run.is_recording:
        return None
    try:
        status = shared_engine().status(run.id)
    except RunRefused:
        return None
    return status if status.is_active else None
