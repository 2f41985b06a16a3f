"""The programs on screen: each runs as it stands, and prints the number that it was written for."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from playground.runs import RunStore
from playground.snippets import snippet
from playground.subject import Subject

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def subject() -> Subject:
    run = RunStore().open("english-french")
    return Subject(run, run.steps[-1], "the black cat does not eat the fish")


def numbers(printed: str) -> list[float]:
    return [float(line.removeprefix("tensor(").removesuffix(")")) for line in printed.split()]


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("decoder.1.cross_attn.weights", {"head": 1, "query": 2, "key": 1}),
        ("decoder.0.self_attn.weights", {"head": 0, "query": 1, "key": 3}),  # hidden
        ("decoder.1.cross_attn.scores", {"head": 3, "query": 2, "key": 1}),
        ("encoder.0.self_attn.raw_scores", {"head": 2, "query": 5, "key": 0}),
        ("encoder.1.self_attn.z", {"head": 2, "query": 5, "d_head": 3}),
        ("encoder.1.ffn.hidden", {"pos": 5, "d_ff": 3}),
        ("probs", {"pos": 2, "vocab": 40}),
    ],
)
def test_a_program_prints_the_number_on_screen(subject, name, at):
    program = snippet(subject, name, at)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, "<snippet>", "exec"), {})  # noqa: S102  # the very thing that is tested
    printed = numbers(said.getvalue())
    value = float(subject.reading[name].select(**at).values)
    assert len(printed) == program.count("print(")
    # torch prints four digits.
    assert printed == pytest.approx([value] * len(printed), abs=6e-5, rel=6e-4)


def test_a_program_runs_in_a_python_of_its_own(subject):
    name, at = "decoder.1.cross_attn.weights", {"head": 1, "query": 2, "key": 1}
    command = [sys.executable, "-c", snippet(subject, name, at)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    value = float(subject.reading[name].select(**at).values)
    assert numbers(done.stdout) == pytest.approx([value] * 2, abs=6e-5, rel=6e-4)


def test_only_plain_attention_is_made_by_hand(subject):
    assert snippet(subject, "encoder.0.ffn.out", {"pos": 0, "d_model": 0}).count("print(") == 1
    assert snippet(subject, "probs", {"pos": 0, "vocab": 0}).count("print(") == 2
