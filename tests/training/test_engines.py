"""One contract for both places where workers live: processes of this machine, and a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import Progress, RunStore
from playground.training.engine import Engine, RunStatus
from playground.training.limits import Limits
from playground.training.nursery import Nursery
from playground.training.trainer import Trainer

ENDLESS = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=20_000, batch_size=5),
)
SHORT = replace(ENDLESS, recipe=replace(ENDLESS.recipe, steps=23))
LIMITS = Limits(workers=2, waiting=2, warm=0, lease=None, keep=None, memory=2_000)
MACHINE = {"object_store_memory": 80_000_000}  # bytes; nothing large goes through Ray
# Waiting for something that comes; a test that waits this long has failed.
PATIENCE = 300.0


@pytest.fixture(scope="session")
def machines() -> Iterator[Any]:
    """A Ray cluster of two machines, both this one: a head without room, and one with two places."""
    if find_spec("ray") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("needs Ray: pip install -r requirements-ray.txt")
        pytest.skip("needs Ray: pip install -r requirements-ray.txt")
    from ray.cluster_utils import Cluster as Machines

    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 0, **MACHINE})
    machines.add_node(num_cpus=2, **MACHINE)
    yield machines
    machines.shutdown()


@pytest.fixture(scope="module", params=["here", "cluster"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    nursery: Any
    if request.param == "here":
        nursery = Nursery()
    else:
        from playground.training.cluster import Cluster

        nursery = Cluster(request.getfixturevalue("machines").address)
    engine = Engine(RunStore(tmp_path_factory.mktemp("runs")), LIMITS, nursery=nursery)
    yield engine
    engine.close()
    nursery.close()


on_the_cluster = pytest.mark.parametrize("engine", ["cluster"], indirect=True)


def wait_for(engine: Engine, run_id: str, holds: Callable[[RunStatus], bool]) -> RunStatus:
    deadline = time.monotonic() + PATIENCE
    while not holds(status := engine.status(run_id)):
        assert time.monotonic() < deadline and status.is_active, f"{status.state} at {status.step}: {status.message}"
        time.sleep(0.01)
    return status


def worker_of(engine: Engine, run_id: str) -> int:
    worker = engine._jobs[run_id].worker
    assert worker and worker.pid
    return worker.pid


def test_a_run_is_what_the_bare_loop_makes_and_so_is_its_fork(engine):
    run_id = engine.submit(SHORT, "a", "a title")
    status = wait_for(engine, run_id, lambda status: not status.is_active)
    assert (status.state, status.step, status.message) == ("finished", 23, None)
    np.testing.assert_array_equal(status.metrics["step"], np.arange(1, 24))
    assert status.recorded == (0, 10, 20, 23)
    assert status.samples and status.peek is not None and status.peek.step == 23 and status.exact_match[-1][0] == 23
    run = engine.store.open(run_id)
    assert run.progress == Progress("finished", 23) and run.steps == (0, 10, 20, 23) and run.title == "a title"
    np.testing.assert_allclose(run.metrics["loss"], status.metrics["loss"], rtol=1e-6)
    assert not [path for path in run.path.rglob("*") if path.name.startswith(".") or path.suffix == ".part"]

    trainer = Trainer(SHORT)
    for _ in trainer.run():
        pass
    fork = engine.fork(run_id, 10, "a")
    wait_for(engine, fork, lambda status: status.state == "finished")
    for each in (run_id, fork):
        weights = engine.store.open(each).weights(23)
        assert all(torch.equal(weights[name], value) for name, value in trainer.state_dict().items())


def test_commands_queue_limits_and_a_lost_worker(engine):
    first = engine.submit(ENDLESS, "a")
    second = engine.submit(ENDLESS, "a", companion_of=first)
    assert engine.active_runs("a") == (first, second)
    for companion, why in ((None, "one_each"), (first, "two_each"), ("another's", "one_each")):
        with pytest.raises(RunRefused, match=why):
            engine.submit(ENDLESS, "a", companion_of=companion)
    wait_for(engine, first, lambda status: status.step > 20)

    third, fourth = engine.submit(ENDLESS, "c"), engine.submit(ENDLESS, "d")
    assert [engine.status(each).queue_place for each in (first, third, fourth)] == [None, 1, 2]
    waits = [engine.status(each).wait for each in (third, fourth)]
    assert None not in waits and 0 <= waits[0] <= waits[1]
    with pytest.raises(RunRefused, match=r"queue_full.*n=2 minutes=\d+"):
        engine.submit(ENDLESS, "e")
    with pytest.raises(RunRefused, match="not_yours"):
        engine.stop(third, "d")
    engine.stop(fourth, "d")
    engine.stop(third, "c")
    assert engine.status(third).state == "stopped"

    engine.pause(first, "a")
    paused = wait_for(engine, first, lambda status: status.state == "paused")
    assert paused.step in paused.recorded
    engine.step(first, "a")
    stepped = wait_for(engine, first, lambda status: status.step > paused.step)
    assert (stepped.state, stepped.step) == ("paused", paused.step + 1)
    engine.change(first, "a", batch_size=7)
    engine.resume(first, "a")
    wait_for(engine, first, lambda status: status.state == "running" and status.step > stepped.step + 2)
    engine.stop(first, "a")
    stopped = wait_for(engine, first, lambda status: not status.is_active)
    assert stopped.state == "stopped"
    kept = engine.store.open(first)
    assert kept.steps[-1] == stopped.step and [each.value for each in kept.config.changes] == [7]

    wait_for(engine, second, lambda status: status.step > 20)
    os.kill(worker_of(engine, second), 9)
    lost = wait_for(engine, second, lambda status: not status.is_active)
    assert (lost.state, lost.message) == ("failed", "training.ended.died")
    left = engine.store.open(second)
    assert left.progress.state == "failed" and left.model(left.steps[-1])
    assert engine.active("a") is None


def test_who_is_gone_frees_the_worker_and_too_long_is_too_long(engine):
    run_id = engine.submit(ENDLESS, "a")
    wait_for(engine, run_id, lambda status: status.step > 3)
    job = engine._jobs[run_id]
    engine.limits = replace(LIMITS, seconds=1_000.0, keep=1_000.0)
    job.seen -= 2_000.0  # as if so much time had passed
    assert wait_for(engine, run_id, lambda status: not status.is_active).message == "training.ended.left"
    assert job.worker is None and engine.store.open(run_id).model(engine.store.open(run_id).steps[-1])
    again = engine.submit(ENDLESS, "a")
    wait_for(engine, again, lambda status: status.step > 3)
    engine._jobs[again].begun -= 2_000.0
    assert wait_for(engine, again, lambda status: not status.is_active).message == "training.ended.time"
    engine.limits = LIMITS


def test_a_run_whose_worker_was_lost_before_it_began_gets_another(engine):
    """An idle worker can be gone without anybody knowing; the next run is given it, and then another."""
    engine.limits = replace(LIMITS, warm=1)
    deadline = time.monotonic() + PATIENCE
    while not (engine._idle and engine._idle[0].pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with engine._lock:  # which keeps the engine from learning of it first
        engine.limits = LIMITS
        os.kill(engine._idle[0].pid, 9)
        run_id = engine.submit(SHORT, "a")
    assert wait_for(engine, run_id, lambda status: not status.is_active).state == "finished"
    assert len(engine.store.open(run_id).metrics["step"]) == 23


@on_the_cluster
def test_a_lost_machine_and_one_that_comes(engine, machines):
    run_id = engine.submit(ENDLESS, "a")
    wait_for(engine, run_id, lambda status: status.step > 3)
    machines.remove_node(next(iter(machines.worker_nodes)), allow_graceful=False)
    lost = wait_for(engine, run_id, lambda status: not status.is_active)
    assert (lost.state, lost.message) == ("failed", "training.ended.died")
    assert engine.store.open(run_id).model(0)
    machines.add_node(num_cpus=2, **MACHINE)
    again = engine.submit(SHORT, "a")
    assert wait_for(engine, again, lambda status: not status.is_active).state == "finished"


@on_the_cluster
def test_a_cluster_that_is_cut_off_ends_runs_and_lets_others_wait(engine):
    run_id = engine.submit(ENDLESS, "a")
    wait_for(engine, run_id, lambda status: status.step > 3)
    bridge = engine._nursery._bridge
    bridge.kill()
    bridge.wait()
    lost = wait_for(engine, run_id, lambda status: not status.is_active)
    assert (lost.state, lost.message) == ("failed", "training.ended.died")
    again = engine.submit(SHORT, "a")
    waiting = engine.status(again)
    assert (waiting.state, waiting.message, waiting.wait) == ("queued", "training.queued.nobody", None)
    assert wait_for(engine, again, lambda status: not status.is_active).state == "finished"


@on_the_cluster
def test_no_worker_is_left(engine):
    """Each of the workers above has been ended with its run."""
    deadline = time.monotonic() + PATIENCE
    while left := [path for path in Path("/proc").glob("[0-9]*/cmdline") if _is_trainee(path)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def _is_trainee(path: Path) -> bool:
    try:
        return path.read_bytes().startswith(b"ray::Trainee")
    except OSError:
        return False
