"""A capsule: a whole run in one file, to be opened on another machine.

    capsule.json                          what is in it, title and note, of which task the words and sentences are
    run.json                              configuration, seed, versions, how it ended
    own.json                              a visitor's own data, if that was learnt
    metrics.jsonl                         a line a step
    weights/step-000640.safetensors       the weights after 640 updates, as they lie in the run's folder
    state/step-000640.safetensors         if it was asked for: what the training needs to go on from there

The container is an archive (`playground/archive.py`): a zip that is written in one way only. Of one run at the same
steps there is one capsule, the same bytes everywhere, and what is unpacked makes that capsule again.

Whatever a capsule holds is taken for hostile until it has been parsed. It may name nothing but the files above; each is
measured against what the configuration says before it is written; all of it is read as a run before there is one; and
whatever is wrong, nothing is left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import torch
from torch import Tensor

from models import Transformer
from playground.archive import ArchiveRefused, archived_size, read_archive, write_archive
from playground.recipe import RunRefused, table
from playground.runs import (
    MAX_METRICS,
    MAX_NOTE,
    MAX_OWN,
    MAX_RECORDED,
    MAX_RUN_JSON,
    MAX_TITLE,
    Label,
    Run,
    RunStore,
    read_weights,
    weight_bytes,
)
from playground.state import State, state_bytes
from playground.tensors import MAX_HEADER

__all__ = ["MOST_BYTES", "capsule_name", "capsule_size", "read_capsule", "write_capsule"]

FORMAT = 1
MOST_BYTES = 64 * 2**20  # of a capsule that a visitor brings; server.maxUploadSize is the same
FREE_DISK = 500_000_000  # bytes left on the disk below which nothing is unpacked

# The first files, in this order, and the most bytes of each.
SMALL: Mapping[str, int] = MappingProxyType(
    {"capsule.json": MAX_RUN_JSON, "run.json": MAX_RUN_JSON, "own.json": MAX_OWN, "metrics.jsonl": MAX_METRICS}
)
SMALL_WEIGHT = 1_000.0
LINES_A_STEP = 3  # of metrics.jsonl, at most

_WEIGHTS = re.compile(r"(weights|state)/step-([0-9]{6,9})\.safetensors")
_FORKED = re.compile(r"was-[0-9a-f]{16}")
_STAGE = ".import-"


def capsule_name(run: Run) -> str:
    """Return a name for the file: of the title's letters and digits, else of the task's."""
    word = re.sub(r"[^\w-]+", "-", run.title, flags=re.ASCII).strip("-_")[:60] or run.task
    return f"{word}.capsule"


def capsule_size(run: Run, steps: Iterable[int] | None = None, *, states: bool = False) -> int:
    """Return how many bytes the capsule will have; the arguments are those of `write_capsule`."""
    chosen = _chosen(run, steps)
    small = [(name, len(data)) for name, data in _small(run, chosen, _stated(run, chosen) if states else ())]
    return archived_size([*small, *((name, path.stat().st_size) for name, path in _large(run, chosen, states=states))])


def write_capsule(file: BinaryIO, run: Run, steps: Iterable[int] | None = None, *, states: bool = False) -> int:
    """Write a run as a capsule, and return how many bytes it has.

    Args:
        file: Open for writing.
        run: The run, whole or still being trained: then as far as it is recorded.
        steps: Those of its recorded steps whose weights go along; all if None.
        states: Whether what the training needs to go on goes along, at those of the steps that have it.

    Raises:
        RunRefused: If a step is not recorded, or the run's folder is damaged.
    """
    chosen = _chosen(run, steps)
    small = _small(run, chosen, _stated(run, chosen) if states else ())
    large = ((name, _whole(path)) for name, path in _large(run, chosen, states=states))
    return write_archive(file, _each(small, large))


def read_capsule(data: bytes | memoryview, store: RunStore, owner: str = "") -> Run:
    """Unpack a capsule into a new run under an unguessable id.

    Args:
        data: Of whatever origin.
        store: Where it goes.
        owner: Whose it will be: a digest, as in `Label`.

    Returns:
        The run, every file of which has been read and checked.

    Raises:
        RunRefused: If it is not a capsule that this version can open, or there is no room; the key says why.
    """
    try:
        files = read_archive(data)
    except ArchiveRefused as error:
        raise RunRefused(error.key) from error
    steps, label = _contents(files)
    store.root.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(store.root).free < FREE_DISK + len(data):
        raise RunRefused("training.refused.disk_full")
    # Its name is no run's id, so what lies in it can't be opened by anybody.
    stage = store.root / f"{_STAGE}{secrets.token_hex(8)}"
    stage.mkdir()
    try:
        _unpack(files, stage, steps)
        replace(label, owner=owner, is_imported=True).write(stage)
        run_id = store.new_id()
        stage.rename(store.root / run_id)
    except OSError as error:
        raise RunRefused("training.refused.disk") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return store.open(run_id)


def _contents(files: dict[str, memoryview]) -> tuple[dict[str, list[int]], Label]:
    """Return which steps have weights and states, and the label, after a look at names, sizes and numbers of files."""
    small = [name for name in SMALL if name in files]
    if not set(SMALL) - set(small) <= {"own.json"} or list(files)[: len(small)] != small:
        raise RunRefused("capsule.refused.parts")
    for name in small:
        if len(files[name]) > SMALL[name]:
            raise RunRefused("training.refused.large", file=name, limit=SMALL[name])
    steps: dict[str, list[int]] = {"weights": [], "state": []}
    names = list(files)[len(small) :]
    for name in names:
        match = _WEIGHTS.fullmatch(name)
        if match is None or _file(match[1], int(match[2])) != name:
            raise RunRefused("capsule.refused.parts")
        steps[match[1]].append(int(match[2]))
    if names != [_file(kind, step) for kind, found in steps.items() for step in sorted(found)]:
        raise RunRefused("capsule.refused.parts")
    if not steps["weights"] or not set(steps["state"]) <= set(steps["weights"]):
        raise RunRefused("capsule.refused.parts")
    if len(steps["weights"]) > MAX_RECORDED:
        raise RunRefused("training.refused.too_many", high=MAX_RECORDED)
    plain = _json(files["capsule.json"])
    if isinstance(plain, dict) and plain.get("capsule") != FORMAT:
        raise RunRefused("capsule.refused.format")
    found = table(plain, "capsule.json", {"capsule", "title", "note", "data", *steps})
    if any(found[kind] != each for kind, each in steps.items()):
        raise RunRefused("capsule.refused.parts")
    for name, most in (("title", MAX_TITLE), ("note", MAX_NOTE)):
        if not isinstance(found[name], str) or len(found[name]) > most:
            raise RunRefused("training.refused.field", name=name)
    return steps, Label(title=found["title"], note=found["note"])


def _unpack(files: dict[str, memoryview], stage: Path, steps: dict[str, list[int]]) -> None:
    """Write the files into the folder, each after it has been measured, and read them all as a run."""
    _put(stage / "run.json", files["run.json"])
    if "own.json" in files:
        _put(stage / "own.json", files["own.json"])
    run = Run.load(stage)
    if (run.config.own is None) == ("own.json" in files):
        raise RunRefused("capsule.refused.parts")
    measured = bytes(files["metrics.jsonl"])
    if measured.count(b"\n") > LINES_A_STEP * run.config.recipe.steps + LINES_A_STEP:
        raise RunRefused("training.refused.large", file="metrics.jsonl", limit=MAX_METRICS)
    _put(stage / "metrics.jsonl", measured)
    _check_metrics(run)
    for kind, size in (("weights", weight_bytes(run.config.model)), ("state", state_bytes(run.config))):
        (stage / kind).mkdir()
        for step in steps[kind]:
            if len(files[_file(kind, step)]) > size + MAX_HEADER + 8:
                raise RunRefused("training.refused.weights_size", file=_file(kind, step))
    model = Transformer(run.config.model, generator=torch.Generator()).eval()
    for step in steps["weights"]:
        data = bytes(files[_file("weights", step)])
        weights = read_weights(data, run.config.model, _file("weights", step))
        _check_answer(model, weights, run, is_last=step == steps["weights"][-1])
        _put(stage / _file("weights", step), data)
        if step in steps["state"]:
            data = bytes(files[_file("state", step)])
            State.read(step, weights, data, run.config, _file("state", step))
            _put(stage / _file("state", step), data)
    if list(run.steps) != steps["weights"] or list(run.state_steps) != steps["state"]:
        raise RunRefused("capsule.refused.parts")


def _check_answer(model: Transformer, weights: Mapping[str, Tensor], run: Run, *, is_last: bool) -> None:
    """Refuse finite weights that make a sentence infinite. Small ones can't: there are norms between them."""
    if not is_last and max(float(each.abs().max()) for each in weights.values()) < SMALL_WEIGHT:
        return
    model.load_state_dict(weights)
    task = run.config.data
    with torch.no_grad():
        answer = model(*(torch.from_numpy(ids) for ids in task.encode(task.heldout[:1]).read))
    if not bool(torch.isfinite(answer).all()):
        raise RunRefused("capsule.refused.infinite")


def _check_metrics(run: Run) -> None:
    """Refuse measurements of steps that the run can't have, or out of order."""
    last = run.config.recipe.steps
    try:
        matched, closer = ([step for step, _ in found] for found in (run.exact_match, run.held_out_loss))
        measured = [run.metrics["step"].tolist(), matched, closer]
    except OverflowError as error:  # a step beyond what an integer holds
        raise RunRefused("capsule.refused.metrics") from error
    for steps in measured:
        if steps != sorted(steps) or not all(0 <= step <= last for step in steps):
            raise RunRefused("capsule.refused.metrics")


def _small(run: Run, steps: Sequence[int], stated: Sequence[int]) -> list[tuple[str, bytes]]:
    """Return the files that are made for the capsule."""
    plain = _json((run.path / "run.json").read_bytes())
    ended = plain["status"]
    if ended["state"] in ("running", "paused"):  # here; there nobody trains it
        ended = {"state": "stopped", "step": run.steps[-1], "message": None, "values": {}}
    plain |= {"title": run.title, "status": ended}
    # Who knows the id of a run may look at it on its server, so a fork does not tell its parent's.
    before = plain.get("origin")
    while isinstance(before, dict):
        before["run"] = _shielded(str(before["run"]))
        before = before.get("origin")
    own = [("own.json", _whole(run.path / "own.json"))] if run.config.own else []
    metrics = run.path / "metrics.jsonl"
    measured = metrics.read_bytes() if metrics.exists() else b""
    capsule = {
        "capsule": FORMAT,
        "title": run.title,
        "note": run.label.note,
        "data": {"task": run.task, "vocabulary": plain["vocabulary"]},
        "weights": [*steps],
        "state": [*stated],
    }
    return [
        ("capsule.json", _written(capsule)),
        ("run.json", _written(plain)),
        *own,
        ("metrics.jsonl", measured[: measured.rfind(b"\n") + 1]),  # a line that is being written stays here
    ]


def _large(run: Run, steps: Sequence[int], *, states: bool) -> Iterator[tuple[str, Path]]:
    """Yield the files that go along as they are."""
    for kind, each in (("weights", steps), ("state", _stated(run, steps) if states else ())):
        for step in each:
            yield _file(kind, step), run.path / _file(kind, step)


def _each(*parts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for part in parts:
        yield from part


def _chosen(run: Run, steps: Iterable[int] | None) -> tuple[int, ...]:
    if not run.steps:
        raise RunRefused("capsule.refused.nothing")
    if steps is None:
        return run.steps
    chosen = tuple(sorted(set(steps)))
    for step in chosen:
        if step not in run.steps:
            raise RunRefused("training.refused.no_step", step=step)
    if not chosen:
        raise RunRefused("capsule.refused.nothing")
    return chosen


def _stated(run: Run, steps: Sequence[int]) -> tuple[int, ...]:
    """Return those of the steps from which the training can go on."""
    return tuple(step for step in steps if step in run.state_steps)


def _file(kind: str, step: int) -> str:
    return f"{kind}/step-{step:06d}.safetensors"


def _whole(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunRefused("training.refused.no_file", file=path.name) from error


def _put(path: Path, data: bytes | memoryview) -> None:
    """Write a file that is not there yet."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _json(data: bytes | memoryview) -> Any:
    try:
        return json.loads(bytes(data).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunRefused("training.refused.not_json") from error


def _written(plain: object) -> bytes:
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _shielded(run_id: str) -> str:
    if _FORKED.fullmatch(run_id) or (RunStore().recordings / run_id).is_dir():
        return run_id
    return f"was-{hashlib.blake2b(run_id.encode(), digest_size=8).hexdigest()}"
