"""The runs that are kept: what each takes, how it went, what it is called; and a run opened from anywhere."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from playground.capsule import read_capsule
from playground.recipe import RunRefused
from playground.runs import MAX_NOTE, Label, Run, RunStore, digest

__all__ = ["LONGEST_TITLE", "Glance", "disk_size", "glance", "open_run", "relabel", "remove", "unpack"]

LONGEST_TITLE = 80  # characters
LARGEST = 2**31  # bytes of a capsule that a command opens
POINTS = 120  # of a small curve
SPAN = 20  # steps over which the loss of a small curve is a mean

_CONTROL = re.compile("[\u0000-\u0009\u000b-\u001f\u007f-\u009f]")


@dataclass(frozen=True)
class Glance:
    """What is said of a run without opening its weights.

    Attributes:
        size: Bytes on the disk.
        curve: Pairs of step and loss, the mean over some steps; nats.
        share: Of held-out sentences that were exactly right when last looked at, 0–1; None if never.
        problem: Why its measurements can't be read; None if they can.
    """

    size: int
    curve: tuple[tuple[int, float], ...] = ()
    share: float | None = None
    problem: RunRefused | None = None


def glance(run: Run) -> Glance:
    """Return what there is to say of a run; computed again only when its folder has changed."""
    paths = [run.path / "metrics.jsonl", run.path / "weights", run.path / "state", run.path]
    return _glance(run.path, run.is_recording, tuple(path.stat().st_mtime_ns for path in paths if path.exists()))


def disk_size(path: Path) -> int:
    """Return how many bytes the files of a folder have; those that vanish meanwhile count for nothing."""
    size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += (Path(folder) / name).lstat().st_size
            except OSError:
                continue
    return size


def relabel(run: Run, title: str, note: str) -> None:
    """Call a run otherwise, and write something about it: both are cut to what there is room for.

    Raises:
        RunRefused: If it is a recording, or its folder does not take it.
    """
    if run.is_recording:
        raise RunRefused("training.refused.not_yours")
    title = " ".join(_CONTROL.sub("", title).split())[:LONGEST_TITLE]
    note = _CONTROL.sub("", note.replace("\r\n", "\n")).strip()[:MAX_NOTE]
    try:
        replace(Label.read(run.path), title=title, note=note).write(run.path)
    except OSError as error:
        raise RunRefused("training.refused.disk") from error


def remove(run: Run, store: RunStore, owner: str, *, is_active: bool) -> None:
    """Remove a visitor's own run from the disk.

    Args:
        run: The run.
        store: Where it is.
        owner: The visitor's token.
        is_active: Whether it waits, trains or is paused.

    Raises:
        RunRefused: If it is a recording, another's, or active.
    """
    if run.is_recording or Label.read(run.path).owner != digest(owner):
        raise RunRefused("training.refused.not_yours")
    if is_active:
        raise RunRefused("models.refused.active")
    try:
        store.remove(run.id)
    except OSError as error:
        raise RunRefused("training.refused.disk") from error


def open_run(where: str | Path, store: RunStore | None = None) -> Run:
    """Open a run for a notebook or a command.

    Args:
        where: Name of a recording, id of a run of this machine, a run's folder, or a capsule's file.
        store: Where runs are; `RunStore()` if None.

    Raises:
        RunRefused: If there is none, or it is not what this version reads.
    """
    path = Path(where)
    if (path / "run.json").is_file():
        return Run.load(path)
    if not path.is_file():
        return (store or RunStore()).open(str(where))
    folder = Path(tempfile.mkdtemp(prefix="playground-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return unpack(path, RunStore(folder))


def unpack(path: Path, store: RunStore, owner: str = "") -> Run:
    """Unpack the capsule in a file.

    Args:
        path: The file.
        store: Where the run goes.
        owner: Whose it will be, as in `Label`.

    Raises:
        RunRefused: As `read_capsule`; or if there is no such file, or no end to it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise RunRefused("training.refused.no_file", file=path.name) from error
    if len(data) > LARGEST:
        raise RunRefused("capsule.refused.large", high=LARGEST // 2**20)
    return read_capsule(data, store, owner)


@lru_cache(maxsize=512)
def _glance(path: Path, is_recording: bool, stamp: tuple[int, ...]) -> Glance:
    size = disk_size(path)
    try:
        run = Run.load(path, is_recording=is_recording)
        steps, loss = run.metrics["step"], run.metrics["loss"]
        share = run.exact_match[-1][1] if run.exact_match else None
    except RunRefused as error:
        return Glance(size, problem=error)
    if not len(steps):
        return Glance(size, share=share)
    curve = tuple((int(steps[i]), float(loss[max(0, i - SPAN + 1) : i + 1].mean())) for i in _kept(len(steps)))
    return Glance(size, curve, share)


def _kept(n: int) -> list[int]:
    """Return some places from the first to the last, closest at the beginning, where a loss falls fastest."""
    even, early = np.linspace(0, n - 1, POINTS // 2), np.geomspace(1, n, POINTS // 2) - 1
    return sorted({round(float(each)) for each in (*even, *early)})
