"""Runs in the engine's hands: paused, stopped, killed and resumed, forked, changed; weights are as they would be."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from playground.recipe import Change, Recipe, RunConfig, RunRefused, model_for
from playground.runs import RunStore
from playground.training.engine import Engine, RunStatus
from playground.training.limits import Limits
from playground.training.nursery import Nursery
from playground.training.trainer import Trainer

CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=90, batch_size=5),
)
ENDLESS = replace(CONFIG, recipe=replace(CONFIG.recipe, steps=20_000))
ME = "the visitor"
PATIENCE = 300.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    nursery = Nursery()
    limits = Limits(workers=2, warm=1, lease=None, keep=None)
    engine = Engine(RunStore(tmp_path_factory.mktemp("runs")), limits, nursery=nursery)
    yield engine
    engine.close()
    nursery.close()


@pytest.fixture(autouse=True)
def alone(engine: Engine) -> Iterator[None]:
    """The visitor's runs are stopped at the end of each test."""
    yield
    for run_id in engine.active_runs(ME):
        engine.stop(run_id, ME)
        until(engine, run_id, lambda status: not status.is_active)


@pytest.fixture(scope="module")
def wanted() -> dict[str, Tensor]:
    """The last weights of a run that nothing disturbs."""
    return weights_of(CONFIG)


def weights_of(config: RunConfig) -> dict[str, Tensor]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    trainer = Trainer.replayed(config, config.recipe.steps)
    torch.set_num_threads(before)
    return trainer.state_dict()


def until(engine: Engine, run_id: str, holds: Callable[[RunStatus], bool]) -> RunStatus:
    deadline = time.monotonic() + PATIENCE
    while not holds(status := engine.status(run_id)):
        assert time.monotonic() < deadline and status.is_active, f"{status.state} at {status.step}: {status.message}"
        time.sleep(0.01)
    return status


def ended(engine: Engine, run_id: str) -> RunStatus:
    return until(engine, run_id, lambda status: not status.is_active)


def same(engine: Engine, run_id: str, wanted: dict[str, Tensor]) -> bool:
    run = engine.store.open(run_id)
    weights = run.weights(run.config.recipe.steps)
    return all(torch.equal(weights[name], each) for name, each in wanted.items())


def test_pauses_and_single_steps_make_no_difference(engine, wanted):
    run_id = engine.submit(CONFIG, ME)
    for _ in range(2):
        engine.pause(run_id, ME)
        paused = until(engine, run_id, lambda status: status.state == "paused" or not status.is_active)
        engine.step(run_id, ME)
        until(engine, run_id, lambda status, at=paused.step: status.step > at or not status.is_active)
        engine.resume(run_id, ME)
    assert ended(engine, run_id).state == "finished"
    assert same(engine, run_id, wanted)


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_a_run_that_was_broken_off_is_resumed(engine, wanted, way):
    run_id = engine.submit(ENDLESS, ME)
    until(engine, run_id, lambda status: status.step > 12)
    if way == "stopped":
        engine.stop(run_id, ME)
    else:
        os.kill(engine._jobs[run_id].worker.pid, 9)
    broken = ended(engine, run_id)
    assert broken.state == {"stopped": "stopped", "killed": "failed"}[way] and broken.can_resume
    before = engine.store.open(run_id).metrics["loss"].copy()

    engine.resume(run_id, ME)
    going = until(engine, run_id, lambda status: status.step > len(before) + 5)
    np.testing.assert_allclose(going.metrics["loss"][: len(before)], before, rtol=1e-8)
    np.testing.assert_array_equal(going.metrics["step"], np.arange(1, len(going.metrics["step"]) + 1))
    assert going.recorded == tuple(sorted(set(going.recorded)))
    engine.stop(run_id, ME)
    stopped = ended(engine, run_id)
    run = engine.store.open(run_id)
    alike = Trainer.replayed(ENDLESS, stopped.step).state_dict()
    assert all(torch.equal(run.weights(stopped.step)[name], each) for name, each in alike.items())


def test_only_its_owner_resumes_a_run_and_only_one_with_steps_left(engine):
    run_id = engine.submit(CONFIG, ME)
    assert not ended(engine, run_id).can_resume
    with pytest.raises(RunRefused, match="finished"):
        engine.resume(run_id, ME)
    with pytest.raises(RunRefused, match="not_yours"):
        engine.resume(run_id, "a stranger")
    with pytest.raises(RunRefused, match="not_yours"):
        engine.resume("reverse", ME)
    with pytest.raises(RunRefused, match="no_run"):
        engine.resume("no-such-run", ME)


def test_a_fork_is_trained_beside_its_origin_and_tells_its_past(engine):
    run_id = engine.submit(ENDLESS, ME)
    until(engine, run_id, lambda status: 40 in status.recorded)
    child = engine.fork(run_id, 40, ME, recipe=replace(ENDLESS.recipe, steps=90, schedule="cosine"))
    assert engine.active_runs(ME) == (run_id, child)
    status = ended(engine, child)
    assert status.state == "finished" and status.config.origin.run_id == run_id
    parent = engine.status(run_id)
    np.testing.assert_allclose(status.metrics["loss"][:40], parent.metrics["loss"][:40], rtol=1e-8)
    both = min(90, len(parent.metrics["tokens"]))  # which of the two is ahead is chance
    np.testing.assert_array_equal(status.metrics["tokens"][:both], parent.metrics["tokens"][:both])
    assert status.parts == ("embedding", "encoder.0", "decoder.0") and status.part_steps[:3].tolist() == [1, 20, 40]
    assert status.part_grads.shape == status.part_updates.shape == (len(status.held_out_loss), 3)
    assert status.tokens_per_second > 0
    assert same(engine, child, weights_of(status.config))


def test_a_recording_is_forked_by_making_its_steps_again(engine):
    recipe = replace(engine.store.open("reverse").config.recipe, steps=14)
    child = engine.fork("reverse", 10, ME, recipe=recipe)
    status = ended(engine, child)
    assert status.state == "finished" and status.recorded == (0, 10, 14)
    run = engine.store.open(child)
    assert run.state_steps == (10, 14)
    if run.is_exact:  # on a machine that rounds as the one that made the recording
        assert same(engine, child, weights_of(status.config))


def test_a_change_is_made_between_two_steps_and_is_part_of_the_run(engine):
    run_id = engine.submit(ENDLESS, ME)
    until(engine, run_id, lambda status: status.step > 5)
    engine.change(run_id, ME, factor=1.5, batch_size=8)
    changed = until(engine, run_id, lambda status: len(status.config.changes) == 2)
    at = changed.config.changes[0].step
    assert changed.config.changes == (Change(at, "factor", 1.5), Change(at, "batch_size", 8))
    going = until(engine, run_id, lambda status: status.step > at)
    rates = going.metrics["learning_rate"]
    assert rates[at - 1] / rates[at - 2] > 2.5
    with pytest.raises(RunRefused, match="not_yours"):
        engine.change(run_id, "a stranger", factor=1.0)
    with pytest.raises(RunRefused, match="setting name='seed'"):
        engine.change(run_id, ME, seed=3)
    with pytest.raises(RunRefused, match="range name='dropout'"):
        engine.change(run_id, ME, dropout=7.0)
    engine.stop(run_id, ME)
    stopped = ended(engine, run_id)
    run = engine.store.open(run_id)
    assert run.config.changes == changed.config.changes
    alike = Trainer.replayed(run.config, stopped.step).state_dict()
    assert all(torch.equal(run.weights(stopped.step)[name], each) for name, each in alike.items())


def test_what_waits_can_be_changed_too(tmp_path: Path):
    nursery = Nursery()
    engine = Engine(RunStore(tmp_path), Limits(workers=1, warm=0, lease=None, keep=None), nursery=nursery)
    first = engine.submit(ENDLESS, "a")
    second = engine.submit(CONFIG, ME)
    engine.change(second, ME, factor=1.5)
    assert engine.status(second).queue_place == 1
    engine.stop(first, "a")
    status = ended(engine, second)
    assert status.config.changes == (Change(1, "factor", 1.5),)
    assert same(engine, second, weights_of(status.config))
    engine.close()
    nursery.close()
