"""Workers and servers that are killed at random moments of a training, a hundred times in a row.

After each kill the run must open, with all that had been told of it; when it has been resumed to its end, its weights
must be those of a run that nothing disturbed, bit for bit. `kill_workers` and `kill_servers` do this and raise if it is
not so; the suite calls them a few times, `python -m tests.benchmarks kills` a hundred.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from playground.recipe import Change, Recipe, RunConfig, model_for
from playground.runs import Progress, RunStore, RunWriter
from playground.training.messages import Changed, Measured, Start
from playground.training.nursery import Nursery
from playground.training.recording import Recording
from playground.training.trainer import Trainer
from tests.benchmarks import Measure

ROOT = Path(__file__).parents[2]
KILLS = 50  # of workers, and as many of servers
OWNER = "the visitor"
CONFIG = RunConfig(
    task="reverse",
    model=model_for("reverse", d_model=12, n_heads=3, d_ff=7, n_layers=1),
    recipe=Recipe(steps=500, batch_size=5),
    # Something that is changed on the way must be found again as well.
    changes=(Change(100, "factor", 0.8), Change(200, "batch_size", 6), Change(300, "dropout", 0.2)),
)


@dataclass
class Toll:
    """What a series of kills found.

    Attributes:
        kills: How many there were.
        finished: Runs that came to their end between kills, and were what they would have been.
        states: How many steps were on the disk, a kill.
        silences: Seconds between the last measurement that is on the disk and the kill, where there was one.
    """

    kills: int = 0
    finished: int = 0
    states: list[int] = field(default_factory=list)
    silences: list[float] = field(default_factory=list)


def measure() -> list[Measure]:
    """Kill fifty workers and fifty servers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with TemporaryDirectory() as folder:
            store = RunStore(Path(folder))
            workers = kill_workers(store, KILLS, seed=1)
            servers = kill_servers(store, KILLS, seed=2)
    finally:
        torch.set_num_threads(threads)
    return [_told("worker", workers), _told("server", servers)]


def _told(what: str, toll: Toll) -> Measure:
    note = f"{toll.kills} kills, at steps {min(toll.states)} to {max(toll.states)}; {toll.finished} runs finished alike"
    return Measure(f"metrics lost by a killed {what}, the most", max(toll.silences), "s", 1.0, note)


def kill_workers(store: RunStore, kills: int, *, seed: int, nursery: Nursery | None = None) -> Toll:
    """Kill workers, each at a random moment of going on with a run.

    Raises:
        AssertionError: If a run does not open, has lost what was told, or becomes another one.
    """
    chance, toll, wanted = random.Random(seed), Toll(), undisturbed()
    own = nursery or Nursery()
    path: Path | None = None
    while toll.kills < kills:
        path = path or store.create(CONFIG).path
        with own.born() as connection:
            pid = connection.recv().pid
            connection.send(Start(str(path)))
            told, when, ended = 0, None, False
            deadline = time.monotonic() + chance.uniform(0.0, 1.2)
            while not ended and (left := deadline - time.monotonic()) > 0:
                if connection.poll(left):
                    message = connection.recv()
                    if isinstance(message, Measured):
                        told, when = int(message.rows[-1][0]), time.monotonic()
                    ended = isinstance(message, Changed) and message.progress.state == "finished"
            killed = time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
            _gone(pid)
        if not ended:
            toll.kills += 1
            toll.silences += [] if when is None else [killed - when]
        path = _judge(store, path, told, wanted, toll)
    if nursery is None:
        own.close()
    _finish(store, path, wanted, toll)
    return toll


SERVER = """
import sys, time
from pathlib import Path
from playground.runs import RunStore
from playground.training.engine import Engine
from playground.training.limits import Limits
from tests.benchmarks.kills import CONFIG, OWNER

if __name__ == "__main__":
    store = RunStore(Path(sys.argv[1]))
    engine = Engine(store, Limits(workers=1, warm=1, lease=None, keep=None, days=None, runs=None))
    run_id = sys.argv[2]
    if run_id == "new":
        run_id = engine.submit(CONFIG, OWNER)
    else:
        engine.resume(run_id, OWNER)
    print(run_id, flush=True)
    version = 0
    while (status := engine.status(run_id)).is_active:
        if status.version != version:
            version = status.version
            print(status.step if len(status.metrics["step"]) else 0, flush=True)
        time.sleep(0.01)
    print(status.state, flush=True)
"""


def kill_servers(store: RunStore, kills: int, *, seed: int) -> Toll:
    """Kill servers together with all they started, each at a random moment of going on with a run.

    Raises:
        AssertionError: As `kill_workers`.
    """
    chance, toll, wanted = random.Random(seed), Toll(), undisturbed()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    path: Path | None = None
    while toll.kills < kills:
        command = [sys.executable, "-c", SERVER, str(store.root), path.name if path else "new"]
        server = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
        assert server.stdout
        with server.stdout:
            path = store.root / server.stdout.readline().strip()
            told, when, ended = 0, None, False
            deadline = time.monotonic() + chance.uniform(0.0, 2.5)
            while not ended and time.monotonic() < deadline and (line := server.stdout.readline().strip()):
                if line.isdecimal():
                    told, when = max(told, int(line)), time.monotonic()
                ended = line == "finished"
            killed = time.monotonic()
            server.kill()
            server.stdout.read()  # until the last process that it started has ended
        server.wait()
        if not ended:
            toll.kills += 1
            toll.silences += [] if when is None else [killed - when]
        path = _judge(store, path, told, wanted, toll)
    _finish(store, path, wanted, toll)
    return toll


def undisturbed() -> dict[str, Tensor]:
    """Return the last weights of a run that nothing disturbs."""
    trainer = Trainer(CONFIG)
    for _ in trainer.run():
        pass
    return trainer.state_dict()


def _judge(store: RunStore, path: Path, told: int, wanted: dict[str, Tensor], toll: Toll) -> Path | None:
    """Open what a kill left; return its folder, or None if it has come to its end and another is to be begun."""
    run = store.open(path.name)
    last = int(run.metrics["step"][-1]) if len(run.metrics["step"]) else 0
    assert last >= told, f"step {told} had been told, but the last on the disk is {last}"
    assert run.metrics["step"].tolist() == [*range(1, last + 1)], "a step is missing, or there twice"
    for step in run.steps:
        assert run.model(step)
    for step in run.state_steps:
        assert run.state(step).step == step
    furthest = run.furthest()
    assert furthest is None or max(run.steps) <= furthest.step <= last
    toll.states.append(last)
    if run.progress.state != "finished":
        return path
    weights = run.weights(CONFIG.recipe.steps)
    assert run.is_exact and all(torch.equal(weights[name], wanted[name]) for name in wanted), "it became another run"
    assert run.config == replace(CONFIG, recipe=run.config.recipe)
    toll.finished += 1
    return None


def _finish(store: RunStore, path: Path | None, wanted: dict[str, Tensor], toll: Toll) -> None:
    """Let the last run, which has been killed, come to its end in peace, and judge it."""
    if path:
        recording = Recording.continued(RunWriter(path))
        for _ in recording.run():
            pass
        recording.end(Progress("finished", recording.trainer.step))
        assert _judge(store, path, CONFIG.recipe.steps, wanted, toll) is None


def _gone(pid: int) -> None:
    """Wait until a process that was killed has ended."""
    status = Path(f"/proc/{pid}/status")
    while True:
        try:
            os.kill(pid, 0)
            if status.exists() and "\nState:\tZ" in status.read_text():
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.005)
