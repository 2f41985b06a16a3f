"""The runs that are shipped: what stands in `SHIPPED`, good enough, small enough, made by this code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.runs import RECORDINGS, Run, RunStore
from playground.tasks import TASKS
from playground.training.shipped import GOOD_ENOUGH, JUDGED_ON, SHIPPED
from playground.training.trainer import Trainer
from playground.training.watching import exact_matches


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=SHIPPED)
def run(request: pytest.FixtureRequest) -> Run:
    return RunStore().open(request.param)


def test_they_are_those_that_are_listed_and_under_33_megabytes():
    assert [run.id for run in RunStore().runs()] == list(SHIPPED)
    assert sum(path.stat().st_size for path in RECORDINGS.rglob("*") if path.is_file()) < 33e6
    assert not [path for path in RECORDINGS.rglob("*") if path.name.startswith(".")]


def test_each_is_finished_and_has_its_steps(run):
    assert run.is_recording and run.config == SHIPPED[run.id]
    assert run.progress.state == "finished"
    assert len(run.steps) >= 10 and run.steps[0] == 0 and run.steps[-1] == run.config.recipe.steps
    assert len(run.metrics["loss"]) == run.config.recipe.steps
    assert [step for step, _ in run.exact_match] == list(run.steps[1:])
    for step in run.steps:
        assert run.weights(step)


def test_each_translates_what_it_has_never_seen(run):
    task = TASKS[run.task]
    with torch.no_grad():
        right = exact_matches(run.model(run.steps[-1]), task, task.heldout[:JUDGED_ON])
    assert len(right) == JUDGED_ON
    assert sum(right) / len(right) >= GOOD_ENOUGH
    assert run.exact_match[-1][1] >= GOOD_ENOUGH


def test_each_translates_the_sentences_that_are_offered(run):
    """The first, which every page opens with; and all others but one at most (they were held out as well)."""
    task = TASKS[run.task]
    offered = [task.reference(task.tokenize(text)) for text in task.examples]
    with torch.no_grad():
        right = exact_matches(run.model(run.steps[-1]), task, [each for each in offered if each])
    assert right[0] and right.count(False) <= 1


def test_each_begins_with_the_weights_of_its_seed_and_trains_as_it_did(run):
    """Another processor rounds otherwise, so ten steps agree to within a few roundings only."""
    trainer = Trainer(run.config)
    for name, weights in run.weights(0).items():
        torch.testing.assert_close(trainer.state_dict()[name], weights, atol=1e-6, rtol=1e-6)
    for _ in range(10):
        trainer.advance()
    for name, weights in run.weights(10).items():
        torch.testing.assert_close(trainer.state_dict()[name], weights, atol=3e-3, rtol=1e-2)
