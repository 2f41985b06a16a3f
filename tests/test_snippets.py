"""The programs on screen: each runs as it stands, and prints the number that it was written for."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from models import ModelConfig, Transformer, capture
from playground.ablation import WAYS, HeadAt, ablated
from playground.decoding import Way, write
from playground.masking import KINDS, batch_under, companion, paint
from playground.reading import Reading
from playground.runs import RunStore
from playground.snippets import decoding, snippet
from playground.subject import Subject
from playground.tasks import Vocabulary

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


def variants(subject: Subject):
    """Yield a pass of each kind that is not the subject's own, with a number that it changes."""
    other = companion(subject)
    for kind in KINDS:
        found = batch_under((subject, other), 1, kind, 1, 2, 2)
        yield found.variant, f"{found.head.sublayer}.weights", {"head": 2, "query": 1, "key": 0}
    flips = np.zeros((9, 9), dtype=bool)
    flips[2, :2] = True
    name = "encoder.1.self_attn"
    yield paint(subject, name, flips).variant, f"{name}.weights", {"head": 0, "query": 2, "key": 4}
    heads = (HeadAt("cross", 0, 1), HeadAt("encoder", 1, 0))
    for way in WAYS:
        yield ablated(subject, heads, way).variant, "decoder.1.cross_attn.scores", {"head": 1, "query": 2, "key": 1}


def test_a_program_makes_the_passes_again_that_are_not_the_subjects_own(subject):
    for variant, name, at in variants(subject):
        program = snippet(subject, name, at, variant)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(program, "<snippet>", "exec"), {})  # noqa: S102
        printed = numbers(said.getvalue())
        value = float(variant.reading[name].select(**at).values)
        assert printed == pytest.approx([value] * program.count("print("), abs=6e-5, rel=6e-4), program


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_a_model_with_one_stack_reads_one_sequence(architecture):
    config = ModelConfig(vocab_size=6, architecture=architecture, d_model=8, n_heads=2, d_ff=8, n_layers=1, max_len=9)
    ids = [[1, 4, 5]]
    vocabulary = Vocabulary(["a", "b", "c"])
    words = {"src" if architecture == "encoder-only" else "tgt": vocabulary.decode(ids[0])}
    trace = capture(Transformer(config), torch.tensor(ids))
    reading = Reading(trace, **{"src": (), "tgt": (), **words}, vocabulary=tuple(vocabulary.tokens))
    run = SimpleNamespace(id="x", config=SimpleNamespace(model=config))
    subject = SimpleNamespace(task=SimpleNamespace(vocabulary=vocabulary), reading=reading, run=run, step=0)
    program = snippet(subject, "logits", {"pos": 0, "vocab": 1})
    assert f"capture(model, {next(iter(words))})" in program
    assert program.count(str(ids)) == 1


@pytest.mark.parametrize(
    "way",
    [
        Way(),
        Way(forced=((2, 57),)),
        Way("sample", temperature=2.0, top_k=30, top_p=0.9, seed=4),
        Way("sample", temperature=0.0),
        Way("beam", width=3, penalty=1.0),
    ],
    ids=lambda way: f"{way.kind} {way.forced}",
)
def test_a_program_writes_the_text_on_screen(subject, way):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(decoding(subject, way), {})  # noqa: S102  # it is our own program that is tested
    lines = [line.split() for line in printed.getvalue().splitlines()]
    written = write(subject, way)
    assert tuple(word for word, _ in lines) == written.words
    if written.tree is None:
        expected = [moment.probs.values[moment.token] for moment in written.moments]
    else:
        expected = [branch.total for branch in written.tree.best]
    np.testing.assert_allclose([float(value) for _, value in lines], expected, atol=6e-4)
