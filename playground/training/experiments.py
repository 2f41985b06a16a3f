"""Making the runs that are shipped to be compared, and training each from several seeds."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from playground.comparing import GOOD
from playground.prepared import JUDGED_EVERY, JUDGED_ON, MEASURED, RECORDED, SEEDS
from playground.recipe import RunConfig
from playground.runs import COLUMNS, Progress, Run, RunWriter
from playground.training.recording import diverged
from playground.training.trainer import Diverged, Trainer

# The last share, the first good step if there was one, and the loss at the end.
Row = tuple[float, int | None, float]

AT_THE_END = 20  # steps whose mean loss is told
SMALL = 60_000  # parameters; what is larger is shipped with its last weights only


def kept_steps(run_id: str) -> tuple[int, ...]:
    """Return the steps whose weights are shipped: an early one and the last; of the first run more, of large ones 1."""
    config = RECORDED[run_id]
    steps = config.recipe.steps
    if run_id == next(iter(RECORDED)):
        return (0, 100, 200, steps)
    return (100, steps) if config.model.n_parameters < SMALL else (steps,)


def record_experiment(run_id: str, folder: Path) -> Run:
    """Train one of `RECORDED` into `folder`, replacing what is there, and from the other seeds into nothing.

    What every seed led to becomes the run's row of `measured.json`.
    """
    config = RECORDED[run_id]
    beside = folder / f".{run_id}.part"
    shutil.rmtree(beside, ignore_errors=True)
    rows = [_trained(config, kept_steps(run_id), RunWriter.create(beside, config))]
    rows += [_trained(replace(config, recipe=replace(config.recipe, seed=seed))) for seed in SEEDS[1:]]
    shutil.rmtree(folder / run_id, ignore_errors=True)
    beside.rename(folder / run_id)
    write_measured(folder, {run_id: rows})
    return Run.load(folder / run_id, is_recording=True)


def write_measured(folder: Path, found: Mapping[str, Sequence[Row]]) -> None:
    """Put rows of runs into `measured.json`, in the order of `RECORDED`; those of the other runs stay."""
    path = folder / MEASURED.name
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for run_id, rows in found.items():
        known[run_id] = dict(zip(("shares", "steps", "losses"), zip(*rows, strict=True), strict=True))
    ordered = {run_id: known[run_id] for run_id in RECORDED if run_id in known}
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _trained(config: RunConfig, kept: tuple[int, ...] = (), writer: RunWriter | None = None) -> Row:
    """Train, and write if there is a writer; returns the last share, the first good step, the loss at the end."""
    trainer = Trainer(config)
    losses: list[float] = []
    shares: list[tuple[int, float]] = []
    progress = Progress("finished", config.recipe.steps)
    if writer and 0 in kept:
        writer.weights(0, trainer.state_dict())
    # Of the processor, not of the clock: what else the machine was doing is no property of a run.
    seconds, start = 0.0, time.process_time()
    for report in trainer.run():
        seconds += time.process_time() - start
        if isinstance(report, Diverged):
            progress = diverged(report)
            break
        losses.append(report.loss)
        if writer:
            measured = {name: getattr(report, name) for name in COLUMNS}
            writer.measured(**{**measured, "seconds": seconds})
            if report.step in kept:
                writer.weights(report.step, trainer.state_dict())
        if report.step % JUDGED_EVERY == 0:
            shares.append((report.step, trainer.evaluate(JUDGED_ON)))
            if writer:
                writer.measured(step=report.step, exact_match=shares[-1][1])
        start = time.process_time()
    if writer:
        writer.progress(progress)
    good = next((step for step, share in shares if share >= GOOD), None)
    last = losses[-AT_THE_END:]
    return round(shares[-1][1], 4) if shares else 0.0, good, round(sum(last) / max(1, len(last)), 4)
