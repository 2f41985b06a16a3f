"""The engine: runs in workers of their own, told what to do, and never in anybody's way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import Progress, Run, RunStore
from playground.tasks.own import read_pairs, read_text
from playground.training.engine import Engine, RunStatus, shared_engine
from playground.training.limits import Limits
from playground.training.messages import Start
from playground.training.nursery import FORKS, Nursery
from playground.training.trainer import Trainer

ROOT = Path(__file__).parents[2]
ENDLESS = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=20_000, batch_size=5),
)
SHORT = replace(ENDLESS, recipe=replace(ENDLESS.recipe, steps=23))
# Waiting for something that comes; a test that waits this long has failed.
PATIENCE = 300.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """One warm process for all engines here: it takes seconds to import torch."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def engine(store: RunStore, nursery: Nursery) -> Iterator[Engine]:
    engine = Engine(store, Limits(workers=2, warm=1, lease=None, keep=None), nursery=nursery)
    yield engine
    engine.close()


@pytest.fixture
def limited(tmp_path: Path, nursery: Nursery) -> Iterator[Callable[[Limits], Engine]]:
    """Makes engines with limits of their own, and closes them."""
    made: list[Engine] = []

    def make(limits: Limits) -> Engine:
        made.append(Engine(RunStore(tmp_path), limits, nursery=nursery))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def owner(request: pytest.FixtureRequest, engine: Engine) -> Iterator[str]:
    """A visitor, whose run is stopped at the end of the test."""
    name = request.node.name
    yield name
    if run_id := engine.active(name):
        engine.stop(run_id, name)
        until(engine, run_id, lambda status: not status.is_active)


def until(engine: Engine, run_id: str, holds: Callable[[RunStatus], bool]) -> RunStatus:
    deadline = time.monotonic() + PATIENCE
    while not holds(status := engine.status(run_id)):
        patient = time.monotonic() < deadline and status.is_active
        assert patient, f"{status.state} at step {status.step}: {status.message}"
        time.sleep(0.01)
    return status


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True
    except (ProcessLookupError, FileNotFoundError):  # it may end between the two looks
        return False


def pid_of(engine: Engine, run_id: str) -> int:
    worker = engine._jobs[run_id].worker
    assert worker and worker.pid
    return worker.pid


def gone(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} lives on"
        time.sleep(0.01)
    return True


# --- One run ---------------------------------------------------------------------------------------------------------


def test_a_run_goes_from_its_first_step_to_its_last(engine, store, owner):
    run_id = engine.submit(SHORT, owner, "a title")
    assert engine.active(owner) == run_id
    status = until(engine, run_id, lambda status: not status.is_active)
    assert (status.state, status.step, status.message) == ("finished", 23, None)
    np.testing.assert_array_equal(status.metrics["step"], np.arange(1, 24))
    assert status.recorded == (0, 10, 20, 23)
    assert len(status.samples) == 4 and status.peek is not None and status.peek.step == 23
    assert status.exact_match[-1][0] == 23
    assert engine.active(owner) is None
    run = store.open(run_id)
    assert run.progress == Progress("finished", 23) and run.title == "a title"
    assert run.steps == (0, 10, 20, 23)
    np.testing.assert_allclose(run.metrics["loss"], status.metrics["loss"], rtol=1e-6)


@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_a_visitors_own_data_is_learnt(engine, store, owner, kind):
    if kind == "pairs":
        data = read_pairs("\n".join(f"{a} {b},{b} {a}" for a in "abcdefgh" for b in "abcdefgh")).data
    else:
        data = read_text("to be or not to be, that is the question. " * 20).data
    model = model_for(data.task(), d_model=12, n_heads=3, d_ff=7, n_layers=1)
    run_id = engine.submit(RunConfig(task=data.name, model=model, recipe=Recipe(steps=12), own=data), owner)
    status = until(engine, run_id, lambda status: not status.is_active)
    assert (status.state, status.step, status.message) == ("finished", 12, None)
    assert status.samples and status.peek is not None
    assert store.open(run_id).config.own == data


def test_a_worker_trains_what_a_plain_loop_trains(engine, store, owner):
    run_id = engine.submit(SHORT, owner)
    until(engine, run_id, lambda status: not status.is_active)
    trainer = Trainer(SHORT)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    for _ in trainer.run():
        pass
    torch.set_num_threads(before)
    weights = store.open(run_id).weights(23)
    assert all(torch.equal(weights[name], value) for name, value in trainer.state_dict().items())


def test_a_status_is_frozen_plain_data(engine, owner):
    run_id = engine.submit(ENDLESS, owner)
    status = until(engine, run_id, lambda status: status.step > 3)
    with pytest.raises(FrozenInstanceError):
        status.state = "finished"
    with pytest.raises(ValueError, match="read-only"):
        status.metrics["loss"][0] = 0.0
    steps = status.metrics["step"].copy()
    later = until(engine, run_id, lambda status: status.step > 200)
    np.testing.assert_array_equal(status.metrics["step"], steps)
    assert later.version > status.version
    np.testing.assert_array_equal(later.metrics["step"], np.arange(1, later.step + 1))


def test_pause_one_step_resume_stop(engine, store, owner):
    run_id = engine.submit(ENDLESS, owner)
    until(engine, run_id, lambda status: status.step > 3)
    engine.pause(run_id, owner)
    paused = until(engine, run_id, lambda status: status.state == "paused")
    assert paused.step in paused.recorded  # what is paused can be looked at
    until(engine, run_id, lambda status: status.peek is not None and status.peek.step == paused.step)
    engine.step(run_id, owner)
    stepped = until(engine, run_id, lambda status: status.step > paused.step)
    assert (stepped.state, stepped.step) == ("paused", paused.step + 1)
    until(engine, run_id, lambda status: status.peek is not None and status.peek.step == stepped.step)
    assert engine.status(run_id).step == stepped.step
    engine.resume(run_id, owner)
    going = until(engine, run_id, lambda status: status.state == "running" and status.step > stepped.step + 2)
    pid = pid_of(engine, run_id)
    engine.stop(run_id, owner)
    stopped = until(engine, run_id, lambda status: not status.is_active)
    assert stopped.state == "stopped" and stopped.step >= going.step
    assert store.open(run_id).steps[-1] == stopped.step
    assert gone(pid)


def test_a_paused_run_stops(engine, owner):
    run_id = engine.submit(ENDLESS, owner)
    engine.pause(run_id, owner)
    until(engine, run_id, lambda status: status.state == "paused")
    engine.stop(run_id, owner)
    assert until(engine, run_id, lambda status: not status.is_active).state == "stopped"


def test_only_the_owner_commands_and_everybody_with_the_id_watches(engine, owner):
    run_id = engine.submit(ENDLESS, owner)
    for command in (engine.pause, engine.resume, engine.step, engine.stop):
        with pytest.raises(RunRefused, match="not_yours"):
            command(run_id, "a stranger")
    assert engine.status(run_id).is_active
    assert engine.active("a stranger") is None


def test_one_run_each(engine, owner):
    engine.submit(ENDLESS, owner)
    with pytest.raises(RunRefused, match="one_each"):
        engine.submit(ENDLESS, owner)


def test_a_run_that_nobody_knows_is_refused(engine):
    for act in (engine.status, lambda run_id: engine.stop(run_id, "somebody")):
        with pytest.raises(RunRefused, match="no_run"):
            act("no-such-run")
    engine.keep_alive("no-such-run")


def test_a_device_that_is_not_here_is_refused(engine):
    missing = next(device for device in ("mps", "cuda") if device not in engine.devices)
    with pytest.raises(RunRefused, match="no_device"):
        engine.submit(replace(SHORT, recipe=replace(SHORT.recipe, device=missing)), "somebody")


def test_a_run_that_diverges_keeps_its_last_finite_weights(engine, store, owner, monkeypatch):
    config = replace(
        ENDLESS,
        model=replace(ENDLESS.model, norm_placement="pre", norm="rms"),
        recipe=replace(ENDLESS.recipe, factor=1_000.0, warmup=1, label_smoothing=0.0, beta1=0.0, beta2=0.0),
    )
    run_id = engine.submit(config, owner)
    status = until(engine, run_id, lambda status: not status.is_active or status.step > 400)
    for step in store.open(run_id).steps:
        assert store.open(run_id).weights(step)
    assert status.state == "diverged" or status.message == "training.hint.at_chance" or status.step > 400


# --- Workers that die, and workers that outlive ----------------------------------------------------------------------


def test_a_killed_worker_leaves_a_run_that_opens_and_an_engine_that_works(engine, store, owner):
    run_id = engine.submit(ENDLESS, owner)
    until(engine, run_id, lambda status: status.step > 20)
    os.kill(pid_of(engine, run_id), 9)
    status = until(engine, run_id, lambda status: not status.is_active)
    assert (status.state, status.message) == ("failed", "training.ended.died")
    run = store.open(run_id)
    assert run.progress.state == "failed" and run.model(run.steps[-1])
    again = engine.submit(SHORT, owner)
    assert until(engine, again, lambda status: not status.is_active).state == "finished"


def test_a_run_opens_after_its_worker_was_killed_at_any_moment(engine, store, nursery):
    """Fifteen workers, each killed somewhere in its first steps, with nobody there to tidy up; what they left opens."""
    states = set()
    for moment in np.random.default_rng(7).uniform(0.0, 0.25, size=15):
        path = store.create(SHORT).path
        with nursery.born() as connection:
            pid = connection.recv().pid
            connection.send(Start(str(path)))
            time.sleep(moment)
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
            assert gone(pid)
        run = Run.load(path)
        states.add((run.progress.state, len(run.steps)))
        assert len(run.metrics["loss"]) <= 23 and run.exact_match is not None
        for step in run.steps:
            assert run.model(step)
        assert engine.status(path.name).state in ("stopped", "finished")
    assert len(states) > 1, "all were killed at the same point"


def test_a_worker_that_does_not_heed_a_stop_is_ended_by_force(engine, owner):
    run_id = engine.submit(ENDLESS, owner)
    until(engine, run_id, lambda status: status.step > 3)
    pid = pid_of(engine, run_id)
    os.kill(pid, 19)  # SIGSTOP: as good as a step that takes for ever
    engine.stop(run_id, owner)
    assert until(engine, run_id, lambda status: not status.is_active).state == "stopped"
    assert gone(pid)


@pytest.mark.skipif(not FORKS, reason="workers are not forked here")
def test_a_killed_nursery_is_replaced(engine, owner):
    server = engine._nursery._server
    assert server
    server.kill()
    server.wait()
    for _ in range(3):  # uses up those that were born before
        run_id = engine.submit(SHORT, owner)
        assert until(engine, run_id, lambda status: not status.is_active).state == "finished"


SCRIPT = """
import os, sys, time
print("imported as", __name__, flush=True)
from pathlib import Path
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import RunStore
from playground.training.engine import Engine
from playground.training.limits import Limits

def start():
    engine = Engine(RunStore(Path(sys.argv[1])), Limits(workers=2, warm=1, lease=None, keep=None))
    model = model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1)
    run_id = engine.submit(RunConfig(task="reverse", model=model, recipe=Recipe(steps=20_000, batch_size=5)), "me")
    while engine.status(run_id).step < 5 or not all(each.pid for each in engine._idle):
        time.sleep(0.02)
    workers = [engine._jobs[run_id].worker, *engine._idle]
    print("pids", engine._nursery._server.pid, *(worker.pid for worker in workers), flush=True)
    print("run", run_id, flush=True)
    time.sleep(600)

start()
"""


@pytest.mark.skipif(not FORKS, reason="workers are not forked here")
def test_workers_do_not_import_main_and_end_with_a_server_that_is_killed(tmp_path):
    """A script without a guard, as a Streamlit page is one: no child runs it, and no child outlives it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "runs")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines: list[str] = []
    assert process.stdout
    for line in process.stdout:
        lines.append(line)
        if line.startswith("run "):
            break
    process.kill()
    lines += process.stdout.readlines()  # until the last child has closed it
    process.wait()
    process.stdout.close()
    assert [line.split()[0] for line in lines] == ["imported", "pids", "run"], "".join(lines)
    assert all(gone(int(pid)) for pid in lines[1].split()[1:])
    store = RunStore(tmp_path / "runs")
    run_id = lines[2].split()[1]
    assert store.open(run_id).model(0)
    # A new server finds the run, and says that nobody trains it.
    engine = Engine(store, Limits(workers=1, warm=0))
    status = engine.status(run_id)
    engine.close()
    assert (status.state, status.message) == ("stopped", "training.ended.died")


def test_workers_can_be_started_without_forking(tmp_path):
    nursery = Nursery(forks=False)
    engine = Engine(RunStore(tmp_path), Limits(workers=1, warm=1), nursery=nursery)
    run_id = engine.submit(SHORT, "me")
    assert until(engine, run_id, lambda status: not status.is_active).state == "finished"
    engine.close()
    nursery.close()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_run_that_takes_too_much_memory_ends_and_says_so(limited):
    engine = limited(Limits(workers=1, warm=0, lease=None, keep=None, memory=20))
    large = replace(ENDLESS, model=model_for("reverse", d_model=256, n_heads=2, d_ff=2_048, n_layers=4))
    run_id = engine.submit(large, "me")
    status = until(engine, run_id, lambda status: not status.is_active)
    assert (status.state, status.message) == ("failed", "training.ended.memory")
    again = engine.submit(SHORT, "me")  # which is small, and is not told of it
    assert until(engine, again, lambda status: not status.is_active).state == "finished"


# --- Queue, leases ---------------------------------------------------------------------------------------------------


def test_more_runs_than_workers_wait_in_line(limited):
    engine = limited(Limits(workers=1, waiting=2, warm=1, lease=None, keep=None))
    first, second, third = (engine.submit(ENDLESS, name) for name in "abc")
    assert [engine.status(each).queue_place for each in (first, second, third)] == [None, 1, 2]
    with pytest.raises(RunRefused, match="queue_full"):
        engine.submit(ENDLESS, "d")
    engine.stop(second, "b")
    assert engine.status(second).state == "stopped"
    assert engine.status(third).queue_place == 1
    engine.stop(first, "a")
    assert until(engine, third, lambda status: status.step > 0).state == "running"
    engine.close()
    assert engine.status(third).state == "stopped"
    with pytest.raises(RunRefused, match="closed"):
        engine.submit(ENDLESS, "e")


def test_a_run_without_its_visitor_is_paused_and_goes_on_when_the_visitor_is_back(limited):
    engine = limited(Limits(workers=1, warm=1, lease=0.2, keep=None))
    run_id = engine.submit(ENDLESS, "me")
    paused = until(engine, run_id, lambda status: status.state == "paused")
    assert paused.message == "training.paused.left"
    engine.keep_alive(run_id)
    going = until(engine, run_id, lambda status: status.state == "running")
    assert going.message is None


def test_a_run_without_its_visitor_is_ended_in_the_end(limited):
    engine = limited(Limits(workers=1, warm=0, lease=0.5, keep=1.5))
    run_id = engine.submit(ENDLESS, "me")
    until(engine, run_id, lambda status: engine.keep_alive(run_id) or status.step > 0)
    pid = pid_of(engine, run_id)
    ended = until(engine, run_id, lambda status: not status.is_active)
    assert (ended.state, ended.message) == ("stopped", "training.ended.left")
    assert gone(pid)


def test_a_run_without_its_visitor_makes_room_for_one_that_waits(limited):
    engine = limited(Limits(workers=1, warm=0, lease=0.2, keep=None))
    first = engine.submit(ENDLESS, "gone")
    until(engine, first, lambda status: status.state == "paused")
    second = engine.submit(ENDLESS, "here")

    until(engine, second, lambda status: engine.keep_alive(second) or status.step > 0)
    assert engine.status(first).message == "training.ended.left"


def test_a_run_paused_by_its_visitor_stays_paused(limited):
    engine = limited(Limits(workers=1, warm=0, lease=0.2, keep=None))
    run_id = engine.submit(ENDLESS, "me")
    until(engine, run_id, lambda status: status.step > 0)
    engine.pause(run_id, "me")
    until(engine, run_id, lambda status: status.state == "paused")
    time.sleep(0.5)
    engine.keep_alive(run_id)
    assert engine.status(run_id).state == "paused" and engine.status(run_id).message is None


def test_limits_come_from_the_machine_and_the_environment(monkeypatch):
    assert Limits.here().workers >= 1 and Limits.here().lease == 60.0
    monkeypatch.setenv("PLAYGROUND_WORKERS", "3")
    monkeypatch.setenv("PLAYGROUND_LEASE", "0")
    monkeypatch.setenv("PLAYGROUND_KEEP", "nonsense")
    assert (Limits.here().workers, Limits.here().lease, Limits.here().keep) == (3, None, 600.0)


def test_a_server_has_one_engine_and_another_after_it_was_closed(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAYGROUND_RUNS", str(tmp_path))
    engine = shared_engine()
    assert shared_engine() is engine
    engine.close()
    engine.close()
    another = shared_engine()
    assert another is not engine
    another.close()
