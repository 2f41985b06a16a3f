"""Runs that are kept: found by who began them, named, measured, removed, and opened from anywhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch

from playground.capsule import write_capsule
from playground.library import LONGEST_TITLE, disk_size, glance, open_run, relabel, remove
from playground.recipe import RunRefused
from playground.runs import MAX_NOTE, Label, Run, RunStore, digest
from playground.subject import Subject

OWNER, OTHER = "a" * 32, "b" * 32


@pytest.fixture
def made(runs: RunStore, make_run) -> Run:
    run = runs.open(make_run(steps=(0, 3), d_model=12, n_heads=3, d_ff=7, n_layers=1))
    Label(owner=digest(OWNER)).write(run.path)
    return runs.open(run.id)


def refused(call) -> str:
    with pytest.raises(RunRefused) as caught:
        call()
    return caught.value.key.rsplit(".", 1)[-1]


def test_a_visitor_s_runs_are_found_again(runs, made, make_run):
    make_run()  # nobody's
    assert runs.kept_by(OWNER) == (made.id,)
    assert runs.kept_by(OTHER) == runs.kept_by("") == ()
    assert OWNER not in (made.path / "label.json").read_text()


def test_a_name_and_a_note_are_bounded_and_shown_as_they_are(runs, made):
    relabel(made, "  <b>one</b>\n\ttwo\x00 ", " first\r\nsecond\x07 ")
    run = runs.open(made.id)
    assert (run.title, run.label.note) == ("<b>one</b> two", "first\nsecond")
    relabel(run, "x" * 10_000, "y" * 10_000)
    run = runs.open(made.id)
    assert (len(run.title), len(run.label.note)) == (LONGEST_TITLE, MAX_NOTE)
    assert run.label.owner == digest(OWNER)  # whose it is stays
    relabel(run, "", "")
    assert runs.open(made.id).title == ""


def test_a_recording_keeps_its_name(runs):
    assert refused(lambda: relabel(runs.open("reverse"), "mine", "")) == "not_yours"


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"title": 1, "note": "", "owner": "", "is_imported": false}', b"[" * 9_999]
)
def test_a_label_that_makes_no_sense_is_none(made, text):
    (made.path / "label.json").write_bytes(text)
    assert Label.read(made.path) == Label()
    assert Run.load(made.path).title == ""


def test_only_the_owner_removes_and_never_what_is_active(runs, made):
    assert refused(lambda: remove(made, runs, OTHER, is_active=False)) == "not_yours"
    assert refused(lambda: remove(runs.open("reverse"), runs, OWNER, is_active=False)) == "not_yours"
    assert refused(lambda: remove(made, runs, OWNER, is_active=True)) == "active"
    assert made.path.is_dir()
    remove(made, runs, OWNER, is_active=False)
    assert not made.path.exists() and runs.kept_by(OWNER) == ()
    assert refused(lambda: runs.open(made.id)) == "no_run"


def test_a_glance_says_how_it_went(runs, made):
    seen = glance(runs.open("english-french"))
    assert seen.size == sum(
        path.stat().st_size for path in runs.open("english-french").path.rglob("*") if path.is_file()
    )
    steps, losses = zip(*seen.curve, strict=True)
    assert (steps[0], steps[-1]) == (1, 800) and len(steps) <= 120 and list(steps) == sorted(set(steps))
    metrics = runs.open("english-french").metrics
    assert losses[0] == metrics["loss"][0] and losses[-1] == pytest.approx(metrics["loss"][-20:].mean())
    assert seen.share == pytest.approx(0.996)
    assert glance(made).curve == () and glance(made).share is None


def test_a_glance_is_taken_again_when_the_folder_has_changed(made):
    assert glance(made).problem is None
    (made.path / "metrics.jsonl").write_bytes(b"nonsense\n")
    problem = glance(made).problem
    assert problem and problem.key == "training.refused.not_json"
    assert disk_size(made.path) == glance(made).size


def test_a_run_is_opened_by_name_id_folder_or_capsule(runs, made, tmp_path):
    with (tmp_path / "x.capsule").open("wb") as file:
        write_capsule(file, made)
    unpacked = open_run(tmp_path / "x.capsule")
    assert unpacked.path.parent != runs.root and runs.root.resolve() not in unpacked.path.resolve().parents
    for run in (open_run(made.id), open_run(made.path), open_run(str(made.path)), unpacked):
        assert all(torch.equal(each, run.weights(3)[name]) for name, each in made.weights(3).items())
    assert open_run("reverse").is_recording
    (tmp_path / "none").write_bytes(b"")
    assert refused(lambda: open_run(tmp_path / "none")) == "other"
    assert refused(lambda: open_run("nowhere")) == refused(lambda: open_run(Path("../../etc"))) == "no_run"


def test_a_notebook_reads_a_trace_in_three_lines():
    run = open_run("english-french")
    reading = Subject(run, 800, "the black cat sleeps").reading
    weights = reading["decoder.1.cross_attn.weights"]
    assert weights.axis("key").labels[:4] == ("the", "black", "cat", "sleeps")
    assert weights.values.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_the_bar_says_how_far(monkeypatch):
    from playground.bar import Bar, clock, drawn

    assert drawn(0) == f"▕{' ' * 24}▏" and drawn(1) == f"▕{'█' * 24}▏" and drawn(1 / 48) == f"▕▌{' ' * 23}▏"
    assert drawn(2) == drawn(1) and clock(65) == "1:05" and clock(-1) == "0:00"
    plain = io.StringIO()
    with Bar(120, file=plain) as bar:
        for step in range(1, 121):
            bar.show(step, f"step {step}")
        bar.say("done")
    assert plain.getvalue().splitlines() == ["step 50", "step 100", "step 120", "done"]
    live = io.StringIO()
    monkeypatch.setattr(live, "isatty", lambda: True)
    with Bar(2, file=live) as bar:
        bar.show(1, "one")
        bar.show(2, "two")
    assert "two" in live.getvalue() and live.getvalue().endswith("\r")
