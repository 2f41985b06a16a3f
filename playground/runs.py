"""Runs on disk: configuration, metrics and the weights at recorded steps, in a folder a run.

    <run id>/run.json                         format, title, configuration, versions, state; rewritten whole
    <run id>/own.json                         the visitor's own data, if that is what is learnt; written once
    <run id>/metrics.jsonl                    a line a step, only ever appended
    <run id>/weights/step-000640.safetensors  the weights after 640 updates, float32
    <run id>/state/step-000640.safetensors    what training depends on besides, to go on from it; recordings have none
    <run id>/latest.safetensors               both, of a moment ago; there only while it is trained, or was broken off
    <run id>/label.json                       what its keeper calls it; there only once somebody keeps it

Whatever is being written when the power goes is either there whole or not at all, so a run opens at any moment. And
whatever a folder holds is taken for hostile until it has been parsed: safetensors and JSON only, sizes before contents.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models import ModelConfig, Transformer
from playground.parts import parts
from playground.probes import probes
from playground.recipe import RUN_ID, Change, Origin, Recipe, RunConfig, RunRefused, changed, table
from playground.state import State, state_bytes, whole_bytes
from playground.tasks import OWN, TASKS, Task
from playground.tensors import MAX_HEADER, floats, read_tensors, size_of, write_tensors

__all__ = [
    "COLUMNS",
    "RECORDINGS",
    "Change",
    "Label",
    "Origin",
    "Progress",
    "Recipe",
    "Run",
    "RunConfig",
    "RunRefused",
    "RunStore",
    "RunWriter",
    "can_fork",
]

FORMAT = 1
RECORDINGS = Path(__file__).parent / "recordings"
EXPERIMENTS = Path(__file__).parent / "experiments"  # the runs that are shipped to be compared; nothing lists them
REMOVED = ".removed-"  # begins the name of a folder that is being removed
OPENED_EVERY = 3600.0  # seconds; a folder's time is when it was last written to or opened, no more exactly than this

# Fields of run.json that are the run's configuration, and fields that run.json of before has not got.
_SETTINGS = frozenset({"task", "model", "recipe", "changes", "origin"})
LATER = frozenset({"changes", "origin", "is_exact"})

# What is measured at each step; a line of metrics.jsonl has all of them.
COLUMNS = ("step", "loss", "accuracy", "learning_rate", "grad_norm", "tokens", "seconds")
# What a closer look, every few steps, measures besides; the last two are lists with a number a part of the model.
CLOSER = ("step", "held_out_loss", "grads", "updates")
# The gradients of a few weights (`playground.probes`), a line a step.
GRADIENTS = ("step", "gradients")
STATES = ("running", "paused", "finished", "stopped", "diverged", "failed")

MAX_RUN_JSON = 1024 * 1024  # bytes; the longest history takes half of it
MAX_OWN = 16 * 1024 * 1024  # bytes; its own limits are far smaller, but JSON may write a character in six bytes
MAX_METRICS = 32 * 1024 * 1024  # bytes
MAX_METRICS_LINE = 4 * 1024  # bytes
MAX_RECORDED = 200  # weights files of a run
MAX_TITLE = 200  # characters
MAX_NOTE = 2_000  # characters
MAX_LABEL = 32 * 1024  # bytes
MAX_OWNERS = 100_000  # runs whose owners are remembered

_LATEST = "latest.safetensors"
_WEIGHTS_FILE = re.compile(r"step-([0-9]{6,9})\.safetensors")

# What there can be to say about a run that has ended, with the numbers that stand in it.
MESSAGES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "training.ended.diverged": frozenset({"step", "rate"}),
        "training.ended.left": frozenset(),
        "training.ended.time": frozenset(),
        "training.ended.died": frozenset(),
        "training.ended.memory": frozenset(),
        "training.ended.error": frozenset(),
    }
)


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        state: One of `STATES`.
        step: Updates made.
        message: A key of `MESSAGES` (or, while it is paused, of another message), or None.
        values: What stands at the placeholders of the message.
    """

    state: str
    step: int
    message: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Label:
    """What is known of a run besides the run: kept apart from `run.json`, which the process that trains it rewrites.

    Attributes:
        title: What its keeper calls it; None for what it was called when it was begun.
        note: What its keeper wrote about it.
        owner: Whose it is: a digest of the visitor's token, from which nobody finds the token; empty for nobody's.
        is_imported: Whether it came as a capsule.
    """

    title: str | None = None
    note: str = ""
    owner: str = ""
    is_imported: bool = False

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the label in a run's folder; an empty one if there is none, or it makes no sense."""
        try:
            plain = _parse(_read(path / "label.json", MAX_LABEL))
            label = cls(**table(plain, "label.json", {"title", "note", "owner", "is_imported"}))
        except RunRefused:
            return cls()
        texts = ((label.title or "", MAX_TITLE), (label.note, MAX_NOTE), (label.owner, MAX_TITLE))
        fits = all(isinstance(text, str) and len(text) <= most for text, most in texts)
        return label if fits and isinstance(label.is_imported, bool) else cls()

    def write(self, path: Path) -> None:
        """Put the label into a run's folder."""
        _write(path / "label.json", json.dumps(asdict(self), indent=1, ensure_ascii=False).encode() + b"\n")


@dataclass(frozen=True)
class Run:
    """One run, as its folder was when it was opened; `metrics`, `steps` and `weights` are read when they are asked for.

    Attributes:
        id: Name of the folder: the name of a recording, else unguessable.
        path: The folder.
        title: What its keeper calls it; text of a stranger, to be shown literally.
        config: Task, model and recipe.
        progress: How far it has come.
        created: When it was made, in UTC.
        versions: Of python, torch and the format's writer.
        is_recording: Whether it is shipped with the project.
        label: What is known of it besides.
        is_exact: Whether its configuration makes it again bit by bit, on such a machine. Not if it was continued from
            weights that the arithmetic of another machine had made.
    """

    id: str
    path: Path
    title: str
    config: RunConfig
    progress: Progress
    created: datetime
    versions: Mapping[str, str]
    is_recording: bool = False
    label: Label = field(default_factory=Label)
    is_exact: bool = True

    @classmethod
    def load(cls, path: Path, *, is_recording: bool = False) -> Self:
        """Open the run in the folder `path`.

        Raises:
            RunRefused: If there is none, or it is not what this version writes; the key says why.
        """
        if not _is_folder(path):
            raise RunRefused("training.refused.no_run", run=path.name[:64])
        found = _parse(_read(path / "run.json", MAX_RUN_JSON))
        if isinstance(found, dict) and found.get("format") != FORMAT:
            version = found.get("format")
            shown = version if isinstance(version, int) and abs(version) < 1e6 else "?"
            raise RunRefused("training.refused.format", found=shown, wanted=FORMAT)
        wanted = {"format", "title", "vocabulary", "versions", "created", "status", *_SETTINGS, *LATER}
        plain = table(found, "run.json", wanted, LATER)
        title, versions = plain["title"], plain["versions"]
        if not isinstance(title, str) or len(title) > MAX_TITLE:
            raise RunRefused("training.refused.field", name="title")
        if not isinstance(versions, dict) or not all(isinstance(each, str) for each in versions.values()):
            raise RunRefused("training.refused.field", name="versions")
        if not isinstance(is_exact := plain.get("is_exact", True), bool):
            raise RunRefused("training.refused.field", name="is_exact")
        settings = {name: plain[name] for name in _SETTINGS & plain.keys()}
        if plain["task"] in tuple(OWN):
            settings["own"] = _parse(_read(path / "own.json", MAX_OWN))
        config = RunConfig.from_dict(settings)
        # As many words are not the same words: another's ids would be read as nonsense, without an error.
        if plain["vocabulary"] != fingerprint(config.data):
            raise RunRefused("training.refused.words", task=config.task)
        try:
            created = datetime.fromisoformat(plain["created"])
        except (TypeError, ValueError) as error:
            raise RunRefused("training.refused.field", name="created") from error
        progress = _progress(plain["status"], config.recipe.steps)
        label = Label.read(path)
        title = title if label.title is None else label.title
        versions = MappingProxyType(versions)
        return cls(path.name, path, title, config, progress, created, versions, is_recording, label, is_exact)

    @property
    def task(self) -> str:
        """Key of its task in `TASKS`, or in `OWN`; `config.data` is the task."""
        return self.config.task

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The recorded steps, rising; empty if the run was killed before its first.

        Raises:
            RunRefused: If there are more than `MAX_RECORDED`.
        """
        return self._kept("weights")

    @cached_property
    def state_steps(self) -> tuple[int, ...]:
        """The recorded steps from which training can go on without being done again; none of a recording's.

        Raises:
            RunRefused: As `steps`.
        """
        return tuple(step for step in self._kept("state") if step in self.steps)

    def _kept(self, name: str) -> tuple[int, ...]:
        folder = self.path / name
        if not _is_folder(folder):
            return ()
        found: list[int] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if match := _WEIGHTS_FILE.fullmatch(entry.name):
                    found.append(int(match[1]))
                if len(found) > MAX_RECORDED:
                    raise RunRefused("training.refused.too_many", high=MAX_RECORDED)
        return tuple(sorted(step for step in found if step <= self.config.recipe.steps))

    @cached_property
    def metrics(self) -> Mapping[str, npt.NDArray[np.float64]]:
        """The measurements, an array a name in `COLUMNS`, each `[measured step]`.

        Raises:
            RunRefused: If a line other than a torn last one is not a measurement.
        """
        return self._measured.columns

    @cached_property
    def exact_match(self) -> tuple[tuple[int, float], ...]:
        """Share of held-out sentences translated word for word, 0–1, at the steps where it was measured.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.exact_match

    @cached_property
    def held_out_loss(self) -> tuple[tuple[int, float], ...]:
        """Loss of held-out sentences, nats a token, after the steps where it was measured; no dropout.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.held_out_loss

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model that were measured each for itself: `embedding`, `encoder.0`, …, `decoder.0`, …"""
        return parts(self.config.model)

    @cached_property
    def part_steps(self) -> npt.NDArray[np.int64]:
        """The steps at which the parts were measured, `[n]`; empty for runs of before that was done.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.part_steps

    @cached_property
    def part_grads(self) -> npt.NDArray[np.float64]:
        """Root of the sum of a part's squared gradients, `[n, part]`.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.part_grads

    @cached_property
    def part_updates(self) -> npt.NDArray[np.float64]:
        """Length of a part's update against that of its weights, ‖Δw‖ / ‖w‖, `[n, part]`.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.part_updates

    @cached_property
    def gradients(self) -> npt.NDArray[np.float64]:
        """The gradient of each of `playground.probes` at every step from the first on, `[step, probe]`.

        Empty for runs of before they were written down, and for what was forked from such.

        Raises:
            RunRefused: As `metrics`.
        """
        return self._measured.gradients

    def weights(self, step: int) -> dict[str, Tensor]:
        """Return the weights at a recorded step, by the names of the model's `state_dict`.

        Raises:
            RunRefused: If the step is not recorded, or the file is not what this configuration's weights look like.
        """
        if step not in self.steps:
            raise RunRefused("training.refused.no_step", step=step)
        name = _weights_name(step)
        data = _read(self.path / "weights" / name, weight_bytes(self.config.model) + MAX_HEADER + 8)
        return read_weights(data, self.config.model, name)

    def state(self, step: int) -> State:
        """Return what training depends on at a recorded step.

        Raises:
            RunRefused: If there is none for this step, or the files are not what this configuration's look like.
        """
        if step not in self.state_steps:
            raise RunRefused("training.refused.no_step", step=step)
        name = _weights_name(step)
        data = _read(self.path / "state" / name, state_bytes(self.config) + MAX_HEADER + 8)
        return State.read(step, self.weights(step), data, self.config, name)

    def furthest(self) -> State | None:
        """Return what training depends on at the last step that is on the disk, recorded or not; None if there is none.

        Raises:
            RunRefused: As `state`.
        """
        latest: State | None = None
        if os.path.lexists(path := self.path / _LATEST):
            size = whole_bytes(self.config)
            latest = State.read_whole(_read(path, size + MAX_HEADER + 8), self.config, _LATEST)
        last = max(self.state_steps, default=None)
        if latest and (last is None or last <= latest.step):
            return latest
        return None if last is None else self.state(last)

    def model(self, step: int) -> Transformer:
        """Return the model as it was at a recorded step, ready to be asked (eval mode, no gradients).

        Raises:
            RunRefused: As `weights`.
        """
        model = Transformer(self.config.model, generator=torch.Generator())
        model.load_state_dict(self.weights(step))
        return model.eval().requires_grad_(False)

    @cached_property
    def _measured(self) -> _Measured:
        path = self.path / "metrics.jsonl"
        # A run that was killed at its very start has none yet.
        lines = _read(path, MAX_METRICS).split(b"\n") if os.path.lexists(path) else [b""]
        lines.pop()  # what follows the last line break: nothing, or a line torn off while it was written
        rows: list[list[float]] = []
        exact: list[tuple[int, float]] = []
        closer: list[dict[str, Any]] = []
        gradients: list[list[float]] = []
        n_probes = len(probes(weight_shapes(self.config.model)))
        for number, line in enumerate(lines, start=1):
            found: Any = _parse(line) if len(line) <= MAX_METRICS_LINE else None
            match _kind(found, {"grads": len(self.parts), "updates": len(self.parts), "gradients": n_probes}):
                case "columns":
                    rows.append([float(found[name]) for name in COLUMNS])
                case "exact_match":
                    exact.append((int(found["step"]), float(found["exact_match"])))
                case "closer":
                    closer.append(found)
                case "gradients":
                    if found["step"] == len(gradients) + 1:  # else those of earlier steps were not written down
                        gradients.append(found["gradients"])
                case _:
                    raise RunRefused("training.refused.metrics", line=number)
        columns = _frozen(rows, len(COLUMNS))
        return _Measured(
            columns=MappingProxyType({name: columns[:, i] for i, name in enumerate(COLUMNS)}),
            exact_match=tuple(exact),
            held_out_loss=tuple((int(each["step"]), float(each["held_out_loss"])) for each in closer),
            part_steps=np.array([each["step"] for each in closer], dtype=np.int64),
            part_grads=_frozen([each["grads"] for each in closer], len(self.parts)),
            part_updates=_frozen([each["updates"] for each in closer], len(self.parts)),
            gradients=_frozen(gradients, n_probes),
        )


@dataclass(frozen=True, eq=False)
class _Measured:
    """What stands in metrics.jsonl, by kind of line."""

    columns: Mapping[str, npt.NDArray[np.float64]]
    exact_match: tuple[tuple[int, float], ...]
    held_out_loss: tuple[tuple[int, float], ...]
    part_steps: npt.NDArray[np.int64]
    part_grads: npt.NDArray[np.float64]
    part_updates: npt.NDArray[np.float64]
    gradients: npt.NDArray[np.float64]


def _kind(found: Any, lists: Mapping[str, int]) -> str | None:
    """Say what kind of measurement a line is; None if it is none.

    Args:
        found: What the line holds.
        lists: Names of what is a list of numbers, and how many these are.
    """
    if not isinstance(found, dict) or not _is_number(found.get("step")):
        return None
    for name, value in found.items():
        if name not in lists:
            fits = _is_number(value)
        else:
            fits = isinstance(value, list) and len(value) == lists[name] and all(map(_is_number, value))
        if not fits:
            return None
    if found.keys() == set(COLUMNS):
        return "columns"
    if found.keys() == set(CLOSER):
        return "closer"
    if found.keys() == set(GRADIENTS):
        return "gradients"
    return "exact_match" if found.keys() == {"step", "exact_match"} and 0 <= found["exact_match"] <= 1 else None


def _frozen(rows: list[list[float]], width: int) -> npt.NDArray[np.float64]:
    found = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    found.flags.writeable = False
    return found


class RunStore:
    """Where runs are: the recordings that are shipped, and a folder for those that visitors make.

    Args:
        root: Folder of the visitors' runs; `$PLAYGROUND_RUNS`, else `runs` in the project's folder, if None.
        recordings: Folder of the shipped ones.
    """

    def __init__(self, root: Path | None = None, *, recordings: Path = RECORDINGS) -> None:
        chosen = os.environ.get("PLAYGROUND_RUNS")
        self.root = root or (Path(chosen) if chosen else Path(__file__).parent.parent / "runs")
        self.recordings = recordings

    def runs(self, known: Iterable[str] = ()) -> tuple[Run, ...]:
        """Return the recordings in the order of `TASKS`, then those of the runs `known` that open.

        Whose id a visitor does not know, the visitor does not see: nothing lists the runs of others.
        """
        order = {name: place for place, name in enumerate(TASKS)}
        found = (path.name for path in self.recordings.iterdir()) if self.recordings.is_dir() else ()
        shipped = sorted(found, key=lambda name: (order.get(name, len(order)), name))
        opened: dict[str, Run] = {}
        for run_id in (*shipped, *known):
            try:
                opened[run_id] = self.open(run_id)
            except RunRefused:
                continue
        return tuple(opened.values())

    def open(self, run_id: str) -> Run:
        """Return a recording, or a run whose id is known.

        Raises:
            RunRefused: If there is none of that id, or it is not what this version writes.
        """
        if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
            raise RunRefused("training.refused.no_run", run=str(run_id)[:64])
        for folder in (self.recordings, EXPERIMENTS):
            if _is_folder(path := folder / run_id):
                return Run.load(path, is_recording=True)
        run = Run.load(self.root / run_id)
        _opened_now(run.path)
        return run

    def remove(self, run_id: str) -> None:
        """Remove a visitor's run: from sight at once, then from the disk. Who has it open is refused what is not read.

        Raises:
            RunRefused: If there is none of that id, or it is a recording.
            OSError: If the disk does not allow it.
        """
        if not RUN_ID.fullmatch(run_id) or not _is_folder(path := self.root / run_id):
            raise RunRefused("training.refused.no_run", run=run_id[:64])
        aside = path.with_name(f"{REMOVED}{run_id}")
        path.rename(aside)
        shutil.rmtree(aside)

    def create(self, config: RunConfig, title: str = "", owner: str = "") -> RunWriter:
        """Make the folder of a new run under an unguessable id, and return what writes to it.

        Args:
            config: What will be trained.
            title: What it is called.
            owner: The visitor's token, by whose digest the run is found again; nobody's if empty.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        writer = RunWriter.create(self.root / self.new_id(), config, title)
        if owner:
            Label(owner=digest(owner)).write(writer.path)
        return writer

    def kept_by(self, owner: str) -> tuple[str, ...]:
        """Return the ids of the runs that a visitor began or brought, in no order. A folder is looked into once.

        Args:
            owner: The visitor's token.
        """
        if not owner or not self.root.is_dir():
            return ()
        wanted = digest(owner)
        with os.scandir(self.root) as entries:
            paths = [Path(entry.path) for entry in entries if RUN_ID.fullmatch(entry.name)]
        return tuple(path.name for path in paths if owner_of(path) == wanted)

    def fork(self, run: Run, step: int, config: RunConfig, title: str = "", owner: str = "") -> str:
        """Make the folder of a run that goes on from a recorded step of another, and return its unguessable id.

        It is whole: all that the other run has up to that step is in it, shared on the disk where the disk can.

        Args:
            run: The run that is forked.
            step: A recorded step of it.
            config: What `playground.recipe.forked` returned for that step.
            title: What its maker calls it.
            owner: As in `create`.

        Raises:
            RunRefused: If the step is not recorded, or its weights do not fit the configuration.
            OSError: If the disk does not allow it.
        """
        if step not in run.steps:
            raise RunRefused("training.refused.no_step", step=step)
        if step and (names := _fresh(run.config, config)):
            raise RunRefused("training.refused.fresh", names=", ".join(names))
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / self.new_id()
        shared = [each for each in run.steps if each <= step] if step else []
        _make_folder(path)
        for each in shared:
            _share(run.path, path, f"weights/{_weights_name(each)}")
        for each in set(shared) & set(run.state_steps):
            _share(run.path, path, f"state/{_weights_name(each)}")
        if step:
            _write(path / "metrics.jsonl", _metrics_until(run.path, step))
        _write_own(path, config)
        if owner:
            Label(owner=digest(owner)).write(path)
        new = Run(path.name, path, title[:MAX_TITLE], config, Progress("running", step), _now(), _versions())
        _write(path / "run.json", _run_json(replace(new, is_exact=run.is_exact or not step)))
        return path.name

    @staticmethod
    def new_id() -> str:
        """Return an unguessable id."""
        while not RUN_ID.fullmatch(run_id := secrets.token_urlsafe(16)):
            pass  # an id that starts with a dash would be taken for an option of a command
        return run_id


class RunWriter:
    """Writes one run's folder. One process at a time.

    Args:
        path: The folder of a run that `create` made.

    Raises:
        RunRefused: If there is no such run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run = Run.load(path)
        self._lines: list[str] = []

    @classmethod
    def create(cls, path: Path, config: RunConfig, title: str = "") -> Self:
        """Make a run's folder. Until its `run.json` is in place the folder is no run.

        Raises:
            FileExistsError: If there is something at `path`.
        """
        _make_folder(path)
        run = Run(path.name, path, title[:MAX_TITLE], config, Progress("running", 0), _now(), _versions())
        _write_own(path, config)
        _write(path / "run.json", _run_json(run))
        return cls(path)

    @property
    def run_id(self) -> str:
        """Name of the folder."""
        return self._run.id

    @property
    def config(self) -> RunConfig:
        """What is trained."""
        return self._run.config

    def changed(self, config: RunConfig, *, is_exact: bool = True) -> None:
        """Write down what is trained from now on, before it is; and whether what was until now can be made again."""
        self._run = replace(self._run, config=config, is_exact=self._run.is_exact and is_exact)
        _write(self.path / "run.json", _run_json(self._run))

    def goes_on(self, step: int) -> None:
        """Forget what was measured after `step`, from which the run is trained again."""
        _write(self.path / "metrics.jsonl", _metrics_until(self.path, step))
        self.progress(Progress("running", step))

    def progress(self, progress: Progress) -> None:
        """Write how far the run has come, and what was measured until then."""
        self.flush()
        self._run = replace(self._run, progress=progress)
        _write(self.path / "run.json", _run_json(self._run))

    def measured(self, **values: float | Sequence[float]) -> None:
        """Take down a measurement: all of `COLUMNS` or `CLOSER`, or `step` and `exact_match`. `flush` writes it."""
        self._lines.append(json.dumps({name: _plain(value) for name, value in values.items()}, allow_nan=False))

    def flush(self) -> None:
        """Append what was taken down to metrics.jsonl."""
        if self._lines:
            with (self.path / "metrics.jsonl").open("a", encoding="utf-8", newline="\n") as file:
                file.write("".join(f"{line}\n" for line in self._lines))
            self._lines.clear()

    def weights(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Write the weights after `step` updates, and what was measured until then."""
        self.flush()
        _write(self.path / "weights" / _weights_name(step), write_tensors(weights))

    def state(self, state: State) -> None:
        """Write weights and all that training depends on; the weights last, so that where they are the rest is."""
        (self.path / "state").mkdir(exist_ok=True)  # the folders of runs of before have none
        _write(self.path / "state" / _weights_name(state.step), state.write())
        self.weights(state.step, state.weights)

    def latest(self, state: State | None) -> None:
        """Write weights and state in the place of those of a moment ago; None takes these away."""
        self.flush()
        if state:
            _write(self.path / _LATEST, state.write_whole())
        else:
            (self.path / _LATEST).unlink(missing_ok=True)


def can_fork(config: RunConfig, settings: Mapping[str, object]) -> dict[str, bool]:
    """Say for each setting whether a fork with it can begin at any recorded step.

    Those that can't need weights of their own, so a fork with one begins at step 0: other shapes of weights, another
    seed, another device. Whatever leaves the shapes as they are can begin anywhere, `n_heads` too: the same weights are
    cut into other heads.

    Args:
        config: Of the run to fork.
        settings: Fields of `ModelConfig` or `Recipe`, with their new values.

    Raises:
        RunRefused: If there is no such setting, or one does not fit.
    """
    if not _fresh(config, changed(config, settings)):
        return dict.fromkeys(settings, True)
    found = {name: _fits(config, name, value) for name, value in settings.items()}
    return dict.fromkeys(settings, False) if all(found.values()) else found


def _fits(config: RunConfig, name: str, value: object) -> bool:
    """Say whether the weights of a run fit this one setting."""
    try:
        return not _fresh(config, changed(config, {name: value}))
    except RunRefused:  # it makes no sense without the others
        return False


def _fresh(one: RunConfig, other: RunConfig) -> tuple[str, ...]:
    """Return the settings for which the weights of `one` do not fit `other`."""
    found = [name for name in ("seed", "device") if getattr(one.recipe, name) != getattr(other.recipe, name)]
    if weight_shapes(one.model) != weight_shapes(other.model):
        differ = [each.name for each in fields(ModelConfig) if _differ(one, other, each.name)]
        alone = [name for name in differ if _reshapes(one.model, other.model, name)]
        found += alone or differ
    return tuple(found)


def _differ(one: RunConfig, other: RunConfig, name: str) -> bool:
    return bool(getattr(one.model, name) != getattr(other.model, name))


def _reshapes(one: ModelConfig, other: ModelConfig, name: str) -> bool:
    """Say whether this setting alone gives the weights other shapes, or does not fit alone."""
    try:
        return weight_shapes(replace(one, **{name: getattr(other, name)})) != weight_shapes(one)
    except ValueError:
        return True


@lru_cache(maxsize=64)
def fingerprint(task: Task) -> str:
    """Return 16 hexadecimal digits that are others as soon as a word of the task's vocabulary is."""
    tokens = "\n".join(task.vocabulary.tokens)
    return hashlib.blake2b(tokens.encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=64)
def weight_shapes(config: ModelConfig) -> Mapping[str, tuple[int, ...]]:
    """Return the name and shape of every tensor in the `state_dict` of a model of this configuration."""
    with torch.device("meta"):  # shapes without memory; the setting is this thread's
        model = Transformer(config)
    return MappingProxyType({name: tuple(each.shape) for name, each in model.state_dict().items()})


def weight_bytes(config: ModelConfig) -> int:
    """Return how many bytes the numbers of a weights file of such a model take, its header left out."""
    return size_of(floats(weight_shapes(config)))


def read_weights(data: bytes, config: ModelConfig, file: str) -> dict[str, Tensor]:
    """Return the weights that a safetensors file holds.

    Args:
        data: The file, of whatever origin.
        config: Of the model.
        file: What the file is called in a message.

    Raises:
        RunRefused: If it is not what this configuration's weights look like.
    """
    return read_tensors(data, floats(weight_shapes(config)), file)


def _progress(plain: object, steps: int) -> Progress:
    found = table(plain, "status", {"state", "step", "message", "values"})
    state, step, message, values = (found[name] for name in ("state", "step", "message", "values"))
    if state not in STATES:
        raise RunRefused("training.refused.field", name="status.state")
    if type(step) is not int or not 0 <= step <= steps:
        raise RunRefused("training.refused.field", name="status.step")
    if message is not None and (not isinstance(message, str) or message not in MESSAGES):
        raise RunRefused("training.refused.field", name="status.message")
    wanted = MESSAGES[message] if message else frozenset[str]()
    if not isinstance(values, dict) or values.keys() != wanted or not all(map(_is_number, values.values())):
        raise RunRefused("training.refused.field", name="status.values")
    return Progress(state, step, message, values)


def _run_json(run: Run) -> bytes:
    progress = run.progress
    status = {"state": progress.state, "step": progress.step, "message": progress.message}
    plain = {
        "format": FORMAT,
        "title": run.title,
        "vocabulary": fingerprint(run.config.data),
        **{name: value for name, value in run.config.to_dict().items() if name != "own"},
        "is_exact": run.is_exact,
        "versions": dict(run.versions),
        "created": run.created.isoformat(),
        "status": {**status, "values": dict(progress.values)},
    }
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _weights_name(step: int) -> str:
    return f"step-{step:06d}.safetensors"


def _write_own(path: Path, config: RunConfig) -> None:
    if config.own is not None:
        _write(path / "own.json", json.dumps(config.own.to_dict(), ensure_ascii=False).encode())


def _make_folder(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "weights").mkdir()
    (path / "state").mkdir()


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), "torch": torch.__version__}


def _share(one: Path, other: Path, name: str) -> None:
    """Let a file of one run's folder be another's too: once on the disk where that can be, else as a copy.

    No file of a run is ever written to again, only put in place whole: what is shared stays what it was.
    """
    if not stat.S_ISREG((one / name).lstat().st_mode):
        raise RunRefused("training.refused.no_file", file=(one / name).name)
    try:
        os.link(one / name, other / name, follow_symlinks=False)
    except (OSError, RuntimeError):  # another disk, or one that has no links
        shutil.copyfile(one / name, other / name, follow_symlinks=False)


def _metrics_until(path: Path, step: int) -> bytes:
    """Return the lines of a run's measurements up to a step, whole ones only.

    Raises:
        RunRefused: If a line is no measurement.
    """
    path = path / "metrics.jsonl"
    *lines, _ = _read(path, MAX_METRICS).split(b"\n") if os.path.lexists(path) else [b""]
    kept = []
    for number, line in enumerate(lines, start=1):
        found = _parse(line) if len(line) <= MAX_METRICS_LINE else None
        if not isinstance(found, dict) or not _is_number(found.get("step")):
            raise RunRefused("training.refused.metrics", line=number)
        if found["step"] <= step:
            kept.append(line + b"\n")
    return b"".join(kept)


def _plain(value: float | Sequence[float]) -> float | list[float]:
    """Return numbers with the digits that a float32 has: shorter lines, the same measurement."""
    if isinstance(value, int):
        return value
    return float(f"{value:.9g}") if isinstance(value, float) else [float(f"{each:.9g}") for each in value]


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300  # type: ignore[arg-type]


def _parse(data: bytes) -> Any:
    """Return what JSON says.

    Raises:
        RunRefused: If it is not JSON, has NaN or infinity in it, or is nested too deep.
    """
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RunRefused("training.refused.not_json") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _is_folder(path: Path) -> bool:
    """Say whether `path` is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _read(path: Path, limit: int) -> bytes:
    """Return a file's bytes, at most `limit`. Links, pipes and devices are not opened.

    Raises:
        RunRefused: If there is no such file, it is no ordinary file, or it is larger.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise RunRefused("training.refused.no_file", file=path.name)
        with _opened(path) as file:
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)  # for so much room is made
    except OSError as error:
        raise RunRefused("training.refused.no_file", file=path.name) from error
    if len(data) > limit:
        raise RunRefused("training.refused.large", file=path.name, limit=limit)
    return data


def digest(owner: str) -> str:
    """Return what a visitor's token is known by on the disk; nobody finds the token from it."""
    return hashlib.blake2b(owner.encode(), digest_size=16).hexdigest()


_owners: dict[Path, str] = {}  # of the folders that have been looked into; a run never changes hands


def owner_of(path: Path) -> str:
    """Return whose the run in a folder is, by the digest of the visitor's token; empty if nobody is known."""
    if path not in _owners:
        owner = Label.read(path).owner
        if not owner:  # perhaps it is only just being made
            return ""
        if len(_owners) > MAX_OWNERS:
            _owners.clear()
        _owners[path] = owner
    return _owners[path]


def _opened_now(path: Path) -> None:
    """Let the folder's time say that the run was looked at, from which its age is counted."""
    with suppress(OSError):  # of a folder that is only read
        if time.time() - path.stat().st_mtime > OPENED_EVERY:
            os.utime(path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        yield file


def _write(path: Path, data: bytes) -> None:
    """Put a file in place whole: written beside it, on the disk, then renamed over it."""
    beside = path.with_name(f".{path.name}.part")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    if hasattr(os, "O_DIRECTORY"):  # the rename itself is on the disk only when the folder is
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
