"""A run is a folder that opens whatever happened to its writer, and that is hostile until it has been parsed."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from playground.i18n import LANGUAGES, Translate, placeholders, words
from playground.recipe import Recipe, RunConfig, RunRefused, model_for, recorded_steps
from playground.runs import COLUMNS, MESSAGES, Progress, Run, RunStore, RunWriter
from playground.training.recording import Recording
from playground.training.trainer import Trainer

STEPS = 23
CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=STEPS, batch_size=5),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run's folder, not to be changed."""
    path = tmp_path_factory.mktemp("runs") / "a-run"
    recording = Recording(Trainer(CONFIG), RunWriter.create(path, CONFIG, "my <b>first</b> run"))
    for _ in recording.run():
        pass
    recording.exact_match(0.25)
    recording.end(Progress("finished", STEPS))
    return path


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(recorded, tmp_path / "a-run"))


def refused(act: Callable[[], object]) -> RunRefused:
    """Return the refusal, having seen that there are words for it in every language."""
    with pytest.raises(RunRefused) as caught:
        act()
    for language in LANGUAGES:
        assert Translate(language)(caught.value.key, **caught.value.values)
        assert Translate(language).markdown(caught.value.key, **caught.value.values)
    return caught.value


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    plain = json.loads(path.read_text(encoding="utf-8"))
    change(plain)
    path.write_text(json.dumps(plain), encoding="utf-8")


# --- What is written is read -----------------------------------------------------------------------------------------


def test_a_run_is_read_as_it_was_written(recorded):
    run = Run.load(recorded)
    assert run.config == CONFIG
    assert run.title == "my <b>first</b> run"
    assert run.progress == Progress("finished", STEPS)
    assert run.steps == recorded_steps(STEPS) == (0, 10, 20, STEPS)
    assert run.exact_match == ((STEPS, 0.25),)
    assert {name: len(column) for name, column in run.metrics.items()} == dict.fromkeys(COLUMNS, STEPS)
    np.testing.assert_array_equal(run.metrics["step"], np.arange(1, STEPS + 1))
    assert not run.metrics["loss"].flags.writeable


def test_weights_come_back_bit_by_bit_and_make_a_model(recorded):
    trainer = Trainer(CONFIG)
    for _ in trainer.run():
        pass
    weights = Run.load(recorded).weights(STEPS)
    assert weights.keys() == trainer.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in trainer.state_dict().items())
    model = Run.load(recorded).model(STEPS)
    assert not model.training and not any(each.requires_grad for each in model.parameters())


def test_recorded_steps_begin_at_0_end_at_the_last_and_grow_about_evenly():
    assert recorded_steps(800) == (0, 10, 20, 40, 80, 120, 160, 240, 320, 480, 640, 800)
    assert recorded_steps(1) == (0, 1) and recorded_steps(10) == (0, 10)
    for steps in (2, 11, 97, 400, 1_999, 20_000):
        kept = recorded_steps(steps)
        assert kept[0] == 0 and kept[-1] == steps and list(kept) == sorted(set(kept)) and len(kept) <= 30


# --- The store -------------------------------------------------------------------------------------------------------


def test_own_runs_have_unguessable_ids_and_are_not_listed(tmp_path, recorded):
    (tmp_path / "recordings").mkdir()
    shutil.copytree(recorded, tmp_path / "recordings" / "reverse")
    store = RunStore(tmp_path / "runs", recordings=tmp_path / "recordings")
    mine, other = store.create(CONFIG, "mine").run_id, store.create(CONFIG).run_id
    assert len(mine) >= 22 and mine != other
    assert [run.id for run in store.runs()] == ["reverse"]
    assert [run.id for run in store.runs([mine, "no-such-run"])] == ["reverse", mine]
    assert store.open("reverse").is_recording and not store.open(mine).is_recording


@pytest.mark.parametrize(
    "run_id", ["", ".", "..", "../a-run", "a-run/../a-run", "/etc", "a\0b", "-rf", "a" * 65, "CON\\x", "日本", "a run"]
)
def test_an_id_leads_nowhere_else(recorded, run_id):
    assert refused(lambda: RunStore(recorded.parent).open(run_id)).key == "training.refused.no_run"


def test_the_root_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAYGROUND_RUNS", str(tmp_path / "here"))
    run_id = RunStore().create(CONFIG).run_id
    assert (tmp_path / "here" / run_id / "run.json").is_file()


# --- Killed at any moment --------------------------------------------------------------------------------------------


def test_a_torn_last_line_of_metrics_is_left_out(folder):
    path = folder / "metrics.jsonl"
    whole = path.read_bytes()
    for cut in range(0, len(whole), 61):
        path.write_bytes(whole[:cut])
        lines = whole[:cut].split(b"\n")[:-1]
        assert len(Run.load(folder).metrics["loss"]) == sum(b'"accuracy"' in line for line in lines)
        assert len(Run.load(folder).held_out_loss) == sum(b'"held_out_loss"' in line for line in lines)
    path.unlink()
    assert len(Run.load(folder).metrics["loss"]) == 0


def test_half_written_files_are_no_part_of_a_run(folder):
    (folder / ".run.json.part").write_text("{")
    (folder / "weights" / ".step-000007.safetensors.part").write_bytes(b"x")
    assert Run.load(folder).steps == recorded_steps(STEPS)


# --- Hostile folders -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b"[" * 60_000, "not_json"),
        (b"[]", "not_a_table"),
        (b"null", "not_a_table"),
        (b'{"format": 2}', "format"),
        (b'{"format": "1"}', "format"),
        (b'{"format": 1}', "missing"),
        (b'{"format": NaN}', "not_json"),
        (b'{"format": ' + b"9" * 5_000 + b"}", "not_json"),
        (b" " * 1_100_000, "large"),
    ],
)
def test_a_run_json_of_nonsense_is_refused(folder, data, key):
    (folder / "run.json").write_bytes(data)
    assert refused(lambda: Run.load(folder)).key == f"training.refused.{key}"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda run: run.update(extra=1), "unknown"),
        (lambda run: run["recipe"].update(extra=1), "unknown"),
        (lambda run: run["recipe"].pop("seed"), "missing"),
        (lambda run: run["recipe"].update(steps=10**9), "range"),
        (lambda run: run["recipe"].update(steps=True), "type"),
        (lambda run: run["recipe"].update(factor="0.5"), "type"),
        (lambda run: run["recipe"].update(factor=1e999), "not_json"),
        (lambda run: run["recipe"].update(device="tpu"), "device"),
        (lambda run: run["recipe"].update(seed=[[1]]), "type"),
        (lambda run: run.update(recipe=[]), "not_a_table"),
        (lambda run: run.update(task="../secret"), "task"),
        (lambda run: run.update(task=["reverse"]), "task"),
        (lambda run: run["model"].update(n_layers=10**9), "size"),
        (lambda run: run["model"].update(d_model=12 * 10**8, d_ff=10**9), "size"),
        (lambda run: run["model"].update(d_model=13), "model"),
        (lambda run: run["model"].update(vocab_size=10**9), "size"),
        (lambda run: run["model"].update(vocab_size=17), "vocabulary"),
        (lambda run: run.update(vocabulary="0123456789abcdef"), "words"),
        (lambda run: run.update(vocabulary=[]), "words"),
        (lambda run: run["model"].update(max_len=3), "max_len"),
        (lambda run: run["model"].update(extra=1), "model"),
        (lambda run: run["model"].update(architecture="decoder-only"), "architecture"),
        (lambda run: run.update(title=7), "field"),
        (lambda run: run.update(title="x" * 201), "field"),
        (lambda run: run.update(created="yesterday"), "field"),
        (lambda run: run.update(versions={"torch": 2}), "field"),
        (lambda run: run["status"].update(state="root"), "field"),
        (lambda run: run["status"].update(step=STEPS + 1), "field"),
        (lambda run: run["status"].update(message="home.title"), "field"),
        (lambda run: run["status"].update(message="training.ended.diverged"), "field"),
        (lambda run: run["status"].update(values={"step": 1}), "field"),
    ],
)
def test_a_run_json_that_lies_is_refused(folder, change, key):
    rewrite(folder / "run.json", change)
    assert refused(lambda: Run.load(folder)).key == f"training.refused.{key}"


def test_links_pipes_and_folders_in_the_place_of_files_are_refused(folder, tmp_path):
    secret = tmp_path / "secret.json"
    shutil.copy(folder / "run.json", secret)
    (folder / "run.json").unlink()
    (folder / "run.json").symlink_to(secret)
    assert refused(lambda: Run.load(folder)).key == "training.refused.no_file"
    (folder / "run.json").unlink()
    os.mkfifo(folder / "run.json")
    assert refused(lambda: Run.load(folder)).key == "training.refused.no_file"
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()
    assert refused(lambda: Run.load(folder)).key == "training.refused.no_file"


def test_a_link_to_a_run_is_no_run(recorded, tmp_path):
    (tmp_path / "linked").symlink_to(recorded)
    assert refused(lambda: RunStore(tmp_path).open("linked")).key == "training.refused.no_run"


def test_linked_weights_are_refused(folder, tmp_path):
    weights = folder / "weights" / f"step-{STEPS:06d}.safetensors"
    weights.rename(tmp_path / "elsewhere")
    weights.symlink_to(tmp_path / "elsewhere")
    assert refused(lambda: Run.load(folder).weights(STEPS)).key == "training.refused.no_file"
    (folder / "weights").rename(tmp_path / "weights")
    (folder / "weights").symlink_to(tmp_path / "weights")
    assert Run.load(folder).steps == ()


@pytest.mark.parametrize("step", [-1, 1, STEPS + 1, 10**9, 1.5, None])
def test_a_step_that_is_not_recorded_is_refused(folder, step):
    assert refused(lambda: Run.load(folder).weights(step)).key == "training.refused.no_step"


def test_more_weights_than_a_run_can_have_are_refused(folder):
    for step in range(300):
        (folder / "weights" / f"step-{step:06d}.safetensors").touch()
    assert refused(lambda: Run.load(folder).steps).key == "training.refused.too_many"


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[]",
        b"{",
        b"nonsense",
        b'{"step": 1}',
        b'{"step": 1, "exact_match": 7}',
        b'{"step": 1, "exact_match": "1"}',
        b'{"step": 1e999, "exact_match": 1}',
        b'{"step": 1, "exact_match": true}',
        b'{"a": 1, "b": 2}',
        b" " * 5_000,
        b"",
    ],
)
def test_damaged_measurements_are_refused_by_line(folder, line):
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]))
    refusal = refused(lambda: Run.load(folder).metrics)
    assert refusal.key in ("training.refused.metrics", "training.refused.not_json")


def test_huge_measurements_are_refused_before_they_are_parsed(folder, monkeypatch):
    monkeypatch.setattr("playground.runs.MAX_METRICS", 1_000)
    assert refused(lambda: Run.load(folder).metrics).key == "training.refused.large"


def _header(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        change(header)
        written = json.dumps(header).encode()
        return struct.pack("<Q", len(written)) + written + data[8 + length :]

    return changed


def _first(header: dict[str, Any]) -> dict[str, Any]:
    return next(entry for name, entry in header.items() if name != "__metadata__")


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        (lambda data: b"", "weights_size"),
        (lambda data: data[:7], "weights_size"),
        (lambda data: data[:-1], "weights_size"),
        (lambda data: data + b"\0" * 8, "weights_size"),
        (lambda data: data + b"\0" * 3_000_000, "large"),
        (lambda data: struct.pack("<Q", 2**63) + data[8:], "weights_size"),
        (lambda data: struct.pack("<Q", 3) + data[8:], "weights_size"),
        (lambda data: data[:8] + b"X" + data[9:], "not_json"),
        (_header(lambda header: header.popitem()), "weights_name"),
        (_header(lambda header: header.update({"more": {}})), "weights_name"),
        (_header(lambda header: _first(header).update(shape=[1])), "weights_shape"),
        (_header(lambda header: _first(header).update(shape=None)), "weights_shape"),
        (_header(lambda header: _first(header).update(dtype="F64")), "weights_shape"),
        (_header(lambda header: _first(header).update(data_offsets=[0, 4])), "weights_size"),
        (_header(lambda header: _first(header).update(data_offsets=["a", None])), "weights_size"),
        (_header(lambda header: _first(header).update(more=1)), "weights_size"),
    ],
)
def test_damaged_weights_are_refused(folder, damage, key):
    path = folder / "weights" / f"step-{STEPS:06d}.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert refused(lambda: Run.load(folder).weights(STEPS)).key == f"training.refused.{key}"


def test_weights_of_another_model_and_weights_that_are_not_finite_are_refused(folder):
    path = folder / "weights" / f"step-{STEPS:06d}.safetensors"
    weights = Run.load(folder).weights(STEPS)
    name = next(name for name in weights if name.endswith("W_1"))
    path.write_bytes(safetensors.torch.save({**weights, name: weights[name].mT.contiguous()}))
    assert refused(lambda: Run.load(folder).weights(STEPS)).key == "training.refused.weights_shape"
    weights[name].view(-1)[3] = float("nan")
    path.write_bytes(safetensors.torch.save(weights))
    assert refused(lambda: Run.load(folder).weights(STEPS)).key == "training.refused.not_finite"


# --- Words -----------------------------------------------------------------------------------------------------------


def test_what_a_run_may_say_has_words_with_just_those_numbers():
    for key, names in MESSAGES.items():
        assert placeholders(words("en")[key]) == names


def test_a_recipe_is_refused_with_both_numbers():
    refusal = refused(lambda: Recipe(warmup=0))
    assert dict(refusal.values) == {"name": "warmup", "value": 0, "low": 1, "high": 20_000}
    assert refused(lambda: Recipe(factor=float("nan"))).key == "training.refused.range"
    assert Recipe.from_dict(Recipe(steps=7).to_dict()) == Recipe(steps=7)
    assert RunConfig.from_dict(json.loads(json.dumps(CONFIG.to_dict()))) == CONFIG


def test_the_expected_time_grows_with_the_work():
    def seconds(**choices: int) -> float:
        model = model_for("reverse", d_model=12 * choices.get("width", 1), n_heads=3)
        return replace(CONFIG, model=model, recipe=Recipe(steps=choices.get("steps", 10))).expected_seconds

    assert 0 < seconds() < seconds(width=10) < seconds(width=20)
    assert seconds(steps=20) == 2 * seconds()
