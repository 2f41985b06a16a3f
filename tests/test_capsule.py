"""Capsules: a run there and back is the same run; and whatever a stranger writes into one is refused in words."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import subprocess
import sys
import time
import tomllib
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from models import CHOICES, Transformer
from playground.archive import read_archive, write_archive
from playground.capsule import MOST_BYTES, capsule_name, capsule_size, read_capsule, write_capsule
from playground.i18n import LANGUAGES, Translate
from playground.library import relabel
from playground.recipe import RunRefused, model_for
from playground.runs import MAX_METRICS, MAX_RUN_JSON, Label, Progress, Run, RunConfig, RunStore, RunWriter
from playground.tasks import TASKS
from playground.tasks.own import read_text
from playground.training import Recipe
from playground.training.recording import Recording

ROOT = Path(__file__).parents[1]
STEPS = 12
SMALL = {"d_model": 12, "n_heads": 3, "d_ff": 7, "n_layers": 1}
HOSTILE = "“<script>alert(1)</script>” \u202eevil\u202c ../../x $\\alpha$"


def trained(folder: Path, until: int = STEPS, config: RunConfig | None = None) -> Run:
    """Train a small run as far as a step, and put it down as stopped or finished."""
    if config is None:
        recipe = Recipe(steps=STEPS, seed=3, batch_size=5)
        config = RunConfig(task="reverse", model=model_for("reverse", **SMALL), recipe=recipe)
    recording = Recording.continued(RunWriter.create(folder, config, HOSTILE))
    if until:
        for _ in recording.run():
            if recording.trainer.step == until:
                break
        recording.exact_match(0.25)
    else:
        recording.record()
    recording.end(Progress("finished" if until == config.recipe.steps else "stopped", until))
    return Run.load(folder)


def packed(run: Run, **choices: Any) -> bytes:
    file = io.BytesIO()
    n_bytes = write_capsule(file, run, **choices)
    assert n_bytes == len(file.getvalue()) == capsule_size(run, **choices)
    return file.getvalue()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("runs") / "made")


@pytest.fixture(scope="module")
def capsule(run: Run) -> bytes:
    return packed(run, states=True)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "elsewhere")


def logits(run: Run, step: int) -> torch.Tensor:
    task = run.config.data
    with torch.no_grad():
        return run.model(step)(*map(torch.from_numpy, task.encode(task.heldout[:5]).read))


# --- There and back --------------------------------------------------------------------------------------------------


def test_a_run_comes_out_as_it_went_in(run, capsule, store):
    run = read_capsule(capsule, store)
    relabel(run, HOSTILE, "line one\nline two")
    run = store.open(run.id)
    got = read_capsule(packed(run, states=True), store, "somebody")
    assert got.id != run.id and got.path == store.root / got.id
    assert (got.title, got.label.note) == (" ".join(HOSTILE.split()), "line one\nline two")
    assert got.label.is_imported and got.label.owner == "somebody"
    assert (got.config, got.progress, got.created, got.versions) == (
        run.config,
        run.progress,
        run.created,
        run.versions,
    )
    assert got.steps == run.steps and got.state_steps == run.state_steps and got.exact_match == run.exact_match
    for name, column in run.metrics.items():
        assert column.tolist() == got.metrics[name].tolist()
    for step in run.steps:
        assert torch.equal(logits(run, step), logits(got, step))
        assert all(torch.equal(each, got.weights(step)[name]) for name, each in run.weights(step).items())


def test_the_same_run_is_the_same_bytes_wherever_it_is(run, store):
    first = packed(run, states=True)
    assert packed(run, states=True) == first
    assert packed(read_capsule(first, store), states=True) == first


def test_any_shipped_recording_goes_there_and_back(store):
    for recorded in store.runs():
        data = packed(recorded)
        assert len(data) <= MOST_BYTES
        got = read_capsule(data, store)
        assert packed(got) == data
        assert torch.equal(logits(got, got.steps[-1]), logits(recorded, recorded.steps[-1]))


def test_another_process_in_another_place_computes_the_same(run, capsule, tmp_path):
    """As on another machine: nothing is shared but the file."""
    (tmp_path / "x.capsule").write_bytes(capsule)
    script = (
        "import sys, torch; torch.set_num_threads(1)\n"
        "from playground.library import open_run\n"
        "run = open_run(sys.argv[1]); task = run.config.data\n"
        "with torch.no_grad():\n"
        "    out = run.model(run.steps[-1])(*map(torch.from_numpy, task.encode(task.heldout[:5]).read))\n"
        "sys.stdout.buffer.write(out.numpy().tobytes())\n"
    )
    elsewhere = {**os.environ, "PYTHONPATH": str(ROOT), "PLAYGROUND_RUNS": str(tmp_path / "none")}
    command = [sys.executable, "-c", script, str(tmp_path / "x.capsule")]
    out = subprocess.run(command, cwd=tmp_path, env=elsewhere, capture_output=True, check=True, timeout=120).stdout
    assert out == logits(run, STEPS).numpy().tobytes()


def test_training_goes_on_from_a_capsule_as_if_it_had_never_stopped(run, store, tmp_path):
    stopped = trained(tmp_path / "stopped", 10)
    got = read_capsule(packed(stopped, states=True), store)
    recording = Recording.continued(RunWriter(got.path))
    assert recording.trainer.step == 10
    for _ in recording.run():
        pass
    recording.end(Progress("finished", STEPS))
    end = Run.load(got.path)
    assert all(torch.equal(each, end.weights(STEPS)[name]) for name, each in run.weights(STEPS).items())
    assert end.metrics["loss"].tolist() == run.metrics["loss"].tolist()


def test_only_some_steps_go_along_if_so_asked(run, store):
    got = read_capsule(packed(run, steps=[STEPS, 0]), store)
    assert got.steps == (0, STEPS) and got.state_steps == ()
    assert len(packed(run, steps=[STEPS])) < len(packed(run)) < len(packed(run, states=True))
    with pytest.raises(RunRefused, match="no_step"):
        packed(run, steps=[1])
    with pytest.raises(RunRefused, match="nothing"):
        packed(run, steps=[])


def test_a_run_under_way_is_taken_along_as_far_as_it_is_recorded(run, store, tmp_path):
    half = trained(tmp_path / "half", 10)
    writer = RunWriter(half.path)
    writer.progress(Progress("running", 11))
    with (half.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 11, "lo')  # a line is being written
    got = read_capsule(packed(Run.load(half.path)), store)
    assert got.progress == Progress("stopped", 10)
    assert got.metrics["step"].tolist() == half.metrics["step"].tolist()


def test_a_run_without_a_recorded_step_is_not_taken_along(tmp_path):
    config = RunConfig(task="reverse", model=model_for("reverse", **SMALL))
    RunWriter.create(tmp_path / "young", config)
    with pytest.raises(RunRefused, match="nothing"):
        packed(Run.load(tmp_path / "young"))


def test_own_data_goes_along(store, tmp_path):
    own = read_text("the quick brown fox jumps over the lazy dog. " * 40).data
    model = model_for(own.task(), **SMALL)
    config = RunConfig(task=own.name, own=own, model=model, recipe=Recipe(steps=2, batch_size=3))
    got = read_capsule(packed(trained(tmp_path / "own", 2, config), states=True), store)
    assert got.config.own == own
    assert got.config.data.vocabulary.tokens == own.task().vocabulary.tokens


@pytest.mark.parametrize("architecture", CHOICES["architecture"])
def test_every_architecture_goes_along(store, tmp_path, architecture):
    task = next(each for each in TASKS.values() if each.architecture == architecture)
    config = RunConfig(task=task.name, model=model_for(task, **SMALL), recipe=Recipe(steps=2, batch_size=3))
    made = trained(tmp_path / "made", 0, config)
    got = read_capsule(packed(made, states=True), store)
    assert torch.equal(logits(got, 0), logits(made, 0))


def test_a_fork_does_not_tell_the_id_of_its_parent(run, store, tmp_path):
    from playground.recipe import forked

    parents = RunStore(tmp_path / "parents")
    parent = trained(parents.root / parents.new_id())
    child = parents.open(
        parents.fork(
            parent, 10, forked(parent.config, parent.id, 10, recipe=replace(parent.config.recipe, factor=0.25))
        )
    )
    data = packed(child)
    assert parent.id.encode() not in data
    got = read_capsule(data, store)
    assert got.config.origin and got.config.origin.step == 10
    assert packed(got) == data


def test_a_capsule_has_a_plain_name(run, tmp_path):
    assert capsule_name(replace(run, title="My run, no. 3")) == "My-run-no-3.capsule"
    assert capsule_name(replace(run, title="../../训练")) == "reverse.capsule"
    assert len(capsule_name(replace(run, title="x" * 200))) < 80


# --- Strangers -------------------------------------------------------------------------------------------------------


def refused(data: bytes, store: RunStore) -> str:
    """Return why a capsule is refused; and see to it that this is all that happens."""
    before = sorted(store.root.rglob("*")) if store.root.exists() else []
    begun = time.process_time()  # of this process alone: others may be busy
    with pytest.raises(RunRefused) as caught:
        read_capsule(data, store)
    assert time.process_time() - begun < 2.0
    assert (sorted(store.root.rglob("*")) if store.root.exists() else []) == before
    for language in LANGUAGES:
        assert Translate(language)(caught.value.key, **caught.value.values)
    return caught.value.key.partition("refused.")[2]


def rewritten(capsule: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    """Return a capsule with other files in it, all its checksums right."""
    files = {name: bytes(data) for name, data in read_archive(capsule).items()}
    change(files)
    file = io.BytesIO()
    write_archive(file, files.items())
    return file.getvalue()


def with_json(name: str, change: Callable[[Any], object]) -> Callable[[dict[str, bytes]], None]:
    def apply(files: dict[str, bytes]) -> None:
        plain = json.loads(files[name])
        change(plain)
        files[name] = json.dumps(plain, separators=(",", ":")).encode()

    return apply


LAST = f"weights/step-{STEPS:06d}.safetensors"
STATE = f"state/step-{STEPS:06d}.safetensors"


def numbers(value: float, name: str = LAST, at: int = -4) -> Callable[[dict[str, bytes]], None]:
    """Return what puts a float at the end of a file."""

    def apply(files: dict[str, bytes]) -> None:
        data = bytearray(files[name])
        data[at : at + 4 or None] = struct.pack("<f", value)
        files[name] = bytes(data)

    return apply


def header(change: Callable[[dict[str, Any]], object], name: str = LAST) -> Callable[[dict[str, bytes]], None]:
    """Return what changes the header of a safetensors file."""

    def apply(files: dict[str, bytes]) -> None:
        length = struct.unpack("<Q", files[name][:8])[0]
        plain = json.loads(files[name][8 : 8 + length])
        change(plain)
        text = json.dumps(plain).encode()
        files[name] = struct.pack("<Q", len(text)) + text + files[name][8 + length :]

    return apply


def first(plain: dict[str, Any]) -> dict[str, Any]:
    return next(value for name, value in plain.items() if name != "__metadata__")


def rename(old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    return lambda files: files.update({new: files.pop(old)})


def with_metrics(change: Callable[[bytes], bytes]) -> Callable[[dict[str, bytes]], object]:
    return lambda files: files.update({"metrics.jsonl": change(files["metrics.jsonl"])})


def endless(plain: dict[str, Any], depth: int) -> None:
    """Say that a run was forked from a fork of a fork, and so on."""
    small = {"run": "x", "step": 0, "model": plain["model"], "recipe": plain["recipe"], "changes": []}
    origin = None
    for _ in range(depth):
        origin = {**small, "origin": origin}
    plain["origin"] = origin


def deep(files: dict[str, bytes]) -> None:
    files["run.json"] = b"[" * 60_000


MUTATIONS: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "a file too many": (lambda f: f.update({"weights/other.bin": b"x"}), "parts"),
    "a file that runs": (lambda f: f.update({"weights/step-000013.py": b"import os"}), "parts"),
    "no metrics": (lambda f: f.pop("metrics.jsonl"), "parts"),
    "no weights": (lambda f: [f.pop(name) for name in list(f) if "/" in name], "parts"),
    "another order": (lambda f: f.update({"run.json": f.pop("run.json")}), "parts"),
    "another step's name": (rename(LAST, "weights/step-000013.safetensors"), "parts"),
    "one step twice": (lambda f: f.update({f"weights/step-0{STEPS:06d}.safetensors": f[LAST]}), "parts"),
    "own data of nobody": (lambda f: f.update({"own.json": b"{}"}), "parts"),
    "a state without weights": (lambda f: f.pop(LAST), "parts"),
    "another version": (with_json("capsule.json", lambda p: p.update(capsule=2)), "format"),
    "no version": (with_json("capsule.json", lambda p: p.pop("capsule")), "format"),
    "a list": (lambda f: f.update({"capsule.json": b"[]"}), "not_a_table"),
    "a title that is none": (with_json("capsule.json", lambda p: p.update(title=["x"])), "field"),
    "a title without end": (with_json("capsule.json", lambda p: p.update(title="x" * 201)), "field"),
    "a note without end": (with_json("capsule.json", lambda p: p.update(note="x" * 2_001)), "field"),
    "something more": (with_json("capsule.json", lambda p: p.update(run="rm -rf /")), "unknown"),
    "run.json without end": (lambda f: f.update({"run.json": b" " * (MAX_RUN_JSON + 1)}), "large"),
    "run.json too deep": (deep, "not_json"),
    "run.json of another format": (with_json("run.json", lambda p: p.update(format=2)), "format"),
    "another vocabulary": (with_json("run.json", lambda p: p.update(vocabulary="0" * 16)), "words"),
    "another task": (with_json("run.json", lambda p: p.update(task="english-french")), "vocabulary"),
    "a model too large": (with_json("run.json", lambda p: p["model"].update(d_model=3 * 10**9)), "size"),
    "a number without end": (with_json("run.json", lambda p: p["recipe"].update(seed=10**4_000)), "range"),
    "too many steps": (with_json("run.json", lambda p: p["recipe"].update(steps=10**9)), "range"),
    "an architecture": (with_json("run.json", lambda p: p["model"].update(architecture="__import__('os')")), "model"),
    "forks without end": (with_json("run.json", lambda p: endless(p, 900)), "forks"),
    "forks that go round": (with_json("run.json", lambda p: p.update(origin=p["recipe"])), "missing"),
    "no number": (lambda f: f.update({"run.json": f["run.json"].replace(b'"eps": 1e-09', b'"eps": NaN')}), "not_json"),
    "metrics that are none": (lambda f: f.update({"metrics.jsonl": b"\x00\n"}), "not_json"),
    "metrics of later steps": (with_metrics(lambda m: m.replace(b'"step": 12', b'"step": 13')), "metrics"),
    "metrics in another order": (with_metrics(lambda m: b"".join(m.splitlines(keepends=True)[::-1])), "metrics"),
    "metrics that repeat": (with_metrics(lambda m: m.splitlines(keepends=True)[0] * 100), "large"),
    "metrics without end": (with_metrics(lambda m: b"\n" * (MAX_METRICS + 1)), "large"),
    "a step beyond integers": (with_metrics(lambda m: m + b'{"step": 1e200, "exact_match": 0.5}\n'), "metrics"),
    "weights that are no number": (numbers(float("nan")), "not_finite"),
    "weights without end": (numbers(float("inf")), "not_finite"),
    "weights that explode": (lambda f: [numbers(3e38, LAST, -4 * i)(f) for i in range(1, 300)], "infinite"),
    "weights cut short": (lambda f: f.update({LAST: f[LAST][:-1]}), "weights_size"),
    "weights with more": (lambda f: f.update({LAST: f[LAST] + b"\0"}), "weights_size"),
    "no weights in the file": (lambda f: f.update({LAST: b""}), "weights_size"),
    "a header of 2^63 bytes": (lambda f: f.update({LAST: b"\xff" * 8 + f[LAST][8:]}), "weights_size"),
    "a header too deep": (lambda f: f.update({LAST: struct.pack("<Q", 10**5) + b"[" * 10**5}), "weights_size"),
    "a shape that claims more": (header(lambda p: first(p).update(shape=[2**40])), "weights_"),
    "a shape turned round": (header(lambda p: first(p).update(shape=[first(p)["shape"][-1], 1])), "weights_"),
    "another type": (header(lambda p: first(p).update(dtype="F16")), "weights_"),
    "places that overlap": (header(lambda p: first(p).update(data_offsets=[0, 4])), "weights_size"),
    "a tensor's name": (header(lambda p: p.update({"../../x": p.pop(next(iter(p)))})), "weights_"),
    "a tensor more": (header(lambda p: p.update(x={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})), "weights_"),
    "a state that is none": (lambda f: f.update({STATE: f[LAST]}), "weights_"),
    "a state that is no number": (numbers(float("nan"), STATE, -5056 - 8), "not_finite"),
    "a state of later": (with_json("capsule.json", lambda p: p.update(state=[0])), "parts"),
}  # fmt: skip


@pytest.mark.parametrize("what", MUTATIONS)
def test_a_stranger_s_capsule_is_refused(capsule, store, what):
    change, key = MUTATIONS[what]
    assert refused(rewritten(capsule, change), store).startswith(key)


def test_a_capsule_for_other_own_data_is_refused(store, tmp_path):
    own = read_text("the quick brown fox jumps over the lazy dog. " * 40).data
    config = RunConfig(task=own.name, own=own, model=model_for(own.task(), **SMALL), recipe=Recipe(steps=1))
    data = packed(trained(tmp_path / "own", 0, config))
    for content in (
        b"{}",
        b'{"kind": "text"}',
        b"\xff",
        b"[" * 90_000,
        json.dumps({**own.to_dict(), "content": "x"}).encode(),
    ):
        assert refused(rewritten(data, lambda files, content=content: files.update({"own.json": content})), store)


def test_any_damage_is_refused_or_harmless(capsule, store):
    """Hundreds of seeded mutations of the bytes: swapped, cut, doubled, zeroed, filled."""
    order = random.Random(5)
    for _ in range(300):
        data = bytearray(capsule)
        for _ in range(order.choice((1, 1, 2, 9))):
            at, n = order.randrange(len(data)), order.choice((1, 2, 8, 64, 4096))
            match order.randrange(5):
                case 0:
                    data[at] ^= 1 << order.randrange(8)
                case 1:
                    del data[at : at + n]
                case 2:
                    data[at:at] = data[at : at + n]
                case 3:
                    data[at : at + n] = bytes(len(data[at : at + n]))
                case 4:
                    data[at : at + n] = order.randbytes(len(data[at : at + n]))
        assert bytes(data) == capsule or refused(bytes(data), store)


def test_any_damage_inside_with_right_checksums_is_refused_or_opens_whole(capsule, store):
    """The same on the files inside: what is opened at all is a run that every page can read."""
    order = random.Random(7)
    opened = 0
    for _ in range(300):
        files = {name: bytearray(data) for name, data in read_archive(capsule).items()}
        name = order.choice([*files, "run.json", "run.json", "capsule.json", "metrics.jsonl"])
        data = files[name]
        for _ in range(order.choice((1, 3))):
            at = order.randrange(len(data))
            match order.randrange(4):
                case 0:
                    data[at] = order.choice(b'0123456789-.eE"[]{},: ')
                case 1:
                    del data[at : at + order.choice((1, 4))]
                case 2:
                    data[at : at + 4] = order.choice((b"null", b"1e99", b"-1.0", b"true", b"[[[[", b'"\\u0'))
                case 3:
                    data[at : at + 4] = struct.pack("<f", order.choice((float("nan"), 3e38, -3e38, 0.0)))
        file = io.BytesIO()
        write_archive(file, ((each, bytes(content)) for each, content in files.items()))
        try:
            got = read_capsule(file.getvalue(), store)
        except RunRefused:
            continue
        opened += 1
        assert torch.isfinite(logits(got, got.steps[-1])).all()
        assert len(got.metrics["step"]) <= STEPS and got.title is not None
        RunStore(store.root).remove(got.id)
    assert 0 < opened < 300
    assert not [path for path in store.root.iterdir() if not path.name.startswith(".removed-")]


def test_a_refusal_takes_little_time_and_memory(store):
    """The largest file that may be brought, of whatever kind: within two seconds, and without a copy of it."""
    model = model_for("reverse")
    weights = Transformer(model, generator=torch.Generator()).state_dict()
    writer = store.create(RunConfig(task="reverse", model=model))
    writer.weights(0, weights)
    capsule = packed(store.open(writer.run_id))
    files = {name: bytes(data) for name, data in read_archive(capsule).items()}
    step = files.pop("weights/step-000000.safetensors")
    full = [step] * min(190, (MOST_BYTES - 2**20) // len(step))
    many = {f"weights/step-{i:06d}.safetensors": each for i, each in enumerate(full)}
    many[list(many)[-1]] = step[:-4] + struct.pack("<f", float("nan"))
    files["capsule.json"] = json.dumps({**json.loads(files["capsule.json"]), "weights": [*range(len(many))]}).encode()
    file = io.BytesIO()
    write_archive(file, {**files, **many}.items())
    hostile = {
        "the last number is none": file.getvalue(),
        "nothing but zeros": bytes(MOST_BYTES),
        "begins like a zip": b"PK\x03\x04" + bytes(MOST_BYTES - 4),
        "one file of noise": b"".join([capsule[:200], random.Random(3).randbytes(MOST_BYTES - 200)]),
    }
    for what, data in hostile.items():
        assert len(data) > 0.9 * MOST_BYTES, what
        with pytest.raises(RunRefused):  # torch imports what it needs at first, which is not the file's fault
            read_capsule(data, store)
        tracemalloc.start()
        with pytest.raises(RunRefused):
            read_capsule(data, store)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16e6, what


def test_nothing_is_unpacked_on_a_full_disk(capsule, store, monkeypatch):
    monkeypatch.setattr("playground.capsule.FREE_DISK", 10**18)
    assert refused(capsule, store) == "disk_full"


def test_what_is_brought_is_nobody_s_unless_it_is_said_whose(capsule, store):
    got = read_capsule(rewritten(capsule, lambda files: None), store)
    assert got.label == Label(title=got.title, note=got.label.note, owner="", is_imported=True)


def test_the_server_takes_a_file_as_large_as_a_capsule_may_be():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] * 2**20 == MOST_BYTES
