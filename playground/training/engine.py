"""The engine: takes runs, gives them to worker processes, knows how each is doing. The one seam to training."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from playground.recipe import RunConfig, RunRefused
from playground.runs import COLUMNS, Progress, RunStore, RunWriter
from playground.training.messages import Changed, Command, Heard, Measured, Ready, Recorded, Start, Watched
from playground.training.nursery import Nursery
from playground.training.trainer import available_devices
from playground.training.watching import Peek, Sample

ACTIVE = ("queued", "running", "paused")
WORKER_BYTES = 250_000_000  # memory to count on for a worker, most of it torch's
FREE_DISK = 500_000_000  # bytes left on the disk below which no run is begun
TICK = 0.25  # seconds between two looks at leases and the queue

_log = logging.getLogger(__name__)

Columns = Mapping[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Limits:
    """What an engine allows itself and its visitors.

    Attributes:
        workers: Runs that are trained or paused at once; the others wait.
        waiting: Runs that may wait.
        warm: Idle workers kept for the next click.
        lease: Seconds without a sign of the visitor after which a run is paused; None never.
        keep: Seconds without a sign after which it is ended; None never.
        remember: Seconds for which samples and maps of an ended run are kept.
        grace: Seconds in which a worker must heed a stop before it is ended by force.
    """

    workers: int = 4
    waiting: int = 100
    warm: int = 2
    lease: float | None = 60.0
    keep: float | None = 600.0
    remember: float = 600.0
    grace: float = 0.9

    @classmethod
    def here(cls) -> Self:
        """Return limits for this machine: four workers a core if memory allows; `PLAYGROUND_…` in the environment wins.

        `PLAYGROUND_WORKERS` is a number; `PLAYGROUND_LEASE` and `PLAYGROUND_KEEP` are seconds, 0 for never.
        """
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        workers = max(1, min(4 * cores, _memory() // 2 // WORKER_BYTES))
        return cls(
            workers=int(_from_environment("WORKERS", workers) or workers),
            lease=_from_environment("LEASE", 60.0),
            keep=_from_environment("KEEP", 600.0),
        )


@dataclass(frozen=True, eq=False)
class RunStatus:
    """How a run is doing, at one moment; plain data that nobody changes any more.

    Attributes:
        run_id: The run.
        version: Larger whenever anything here is new.
        state: `queued`, `running`, `paused`, `finished`, `stopped`, `diverged` or `failed`.
        step: Updates made.
        steps: Updates planned.
        queue_place: Place in the queue, from 1; None if it is not waiting.
        message: Key of what there is to say, such as why it ended or what to change; None if nothing.
        values: What stands at the placeholders of the message.
        seconds: Time spent in steps.
        steps_per_second: Of the last steps; 0.0 before there are any.
        metrics: An array a name in `COLUMNS`, each `[step]`.
        exact_match: Share of held-out sentences translated word for word, 0–1, at the steps where it was measured.
        samples: Some held-out sentences and what the model makes of them.
        peek: Attention maps of one sentence; None before the first.
        recorded: Steps whose weights are on the disk.
        config: Task, model and recipe.
    """

    run_id: str
    version: int
    state: str
    step: int
    steps: int
    queue_place: int | None
    message: str | None
    values: Mapping[str, object]
    seconds: float
    steps_per_second: float
    metrics: Columns
    exact_match: tuple[tuple[int, float], ...]
    samples: tuple[Sample, ...]
    peek: Peek | None
    recorded: tuple[int, ...]
    config: RunConfig

    @property
    def is_active(self) -> bool:
        """Whether it is waiting, training or paused."""
        return self.state in ACTIVE


class Engine:
    """Trains runs in worker processes on this machine. Any thread may call it; no call waits for a training.

    Args:
        store: Where runs are written.
        limits: What it allows; `Limits.here()` if None.
        nursery: Where workers come from; a new one, closed with the engine, if None.
    """

    def __init__(
        self, store: RunStore | None = None, limits: Limits | None = None, *, nursery: Nursery | None = None
    ) -> None:
        self.store = store or RunStore()
        self.limits = limits or Limits.here()
        self._devices = available_devices()
        self._lock = threading.RLock()
        self._jobs: dict[str, _Job] = {}
        self._idle: list[_Worker] = []
        self._stillborn = 0  # idle workers in a row that ended before they were ready
        self._born_after = 0.0
        self._version = 0
        self._closed = False
        self._nursery = nursery or Nursery()
        self._own_nursery = nursery is None
        self._doorbell, self._bell = Pipe(duplex=False)
        with self._lock:
            self._fill()
        self._reader = threading.Thread(target=self._read, name="training engine", daemon=True)
        self._reader.start()

    def submit(self, config: RunConfig, owner: str, title: str = "") -> str:
        """Begin a run, or put it in the queue, and return its id.

        Args:
            config: Task, model and recipe.
            owner: The visitor's token; who shows it may command the run.
            title: What the visitor calls it.

        Raises:
            RunRefused: If the visitor has a run already, the queue is full, the disk is, or there is no such device.
        """
        if config.recipe.device not in self._devices:
            raise RunRefused("training.refused.no_device", device=config.recipe.device)
        with self._lock:
            if self._closed:
                raise RunRefused("training.refused.closed")
            if self.active(owner):
                raise RunRefused("training.refused.one_each")
            if sum(job.state == "queued" for job in self._jobs.values()) >= self.limits.waiting:
                raise RunRefused("training.refused.queue_full", n=self.limits.waiting)
            try:
                self.store.root.mkdir(parents=True, exist_ok=True)
                if shutil.disk_usage(self.store.root).free < FREE_DISK:
                    raise RunRefused("training.refused.disk_full")
                writer = self.store.create(config, title, owner)
            except OSError as error:
                raise RunRefused("training.refused.disk") from error
            self._jobs[writer.run_id] = _Job(writer.run_id, owner, config, writer.path, version=self._next_version())
            with suppress(OSError, RuntimeError):  # no process to be had just now: the run waits
                self._tick()
        self._ring()
        return writer.run_id

    def status(self, run_id: str) -> RunStatus:
        """Return how a run is doing. Who knows the id may ask; an ended run is read from its folder.

        Raises:
            RunRefused: If there is no such run, or its folder is not what this version writes.
        """
        with self._lock:
            if job := self._jobs.get(run_id):
                return job.status(self._place(job))
        run = self.store.open(run_id)
        progress = run.progress
        if progress.state in ACTIVE:  # and nobody trains it: its worker died together with the server
            progress = Progress("stopped", max(run.steps, default=0), "training.ended.died")
        return RunStatus(
            run_id=run_id,
            version=0,
            state=progress.state,
            step=progress.step,
            steps=run.config.recipe.steps,
            queue_place=None,
            message=progress.message,
            values=progress.values,
            seconds=float(run.metrics["seconds"][-1]) if len(run.metrics["seconds"]) else 0.0,
            steps_per_second=_rate(run.metrics["seconds"]),
            metrics=run.metrics,
            exact_match=run.exact_match,
            samples=(),
            peek=None,
            recorded=run.steps,
            config=run.config,
        )

    def pause(self, run_id: str, owner: str) -> None:
        """Let the run rest after its present step.

        Raises:
            RunRefused: If the run is another's, or there is none.
        """
        self._command(run_id, owner, "pause")

    def resume(self, run_id: str, owner: str) -> None:
        """Let a paused run go on.

        Raises:
            RunRefused: As `pause`.
        """
        self._command(run_id, owner, "resume")

    def step(self, run_id: str, owner: str) -> None:
        """Let a paused run make one step.

        Raises:
            RunRefused: As `pause`.
        """
        self._command(run_id, owner, "step")

    def stop(self, run_id: str, owner: str) -> None:
        """End the run, its weights kept. A worker that does not heed this within the grace is ended by force.

        Raises:
            RunRefused: As `pause`.
        """
        self._command(run_id, owner, "stop")

    def keep_alive(self, run_id: str) -> None:
        """Say that somebody still looks at the run. One that was paused because nobody did goes on."""
        with self._lock:
            if job := self._jobs.get(run_id):
                job.seen = time.monotonic()
                if job.left:
                    job.left = False
                    job.say(None)
                    job.version = self._next_version()
                    self._send(job, "resume")

    def active(self, owner: str) -> str | None:
        """Return the visitor's run that is waiting, training or paused."""
        with self._lock:
            found = (job.run_id for job in self._jobs.values() if job.is_owned_by(owner) and job.state in ACTIVE)
            return next(found, None)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more runs."""
        return self._closed

    def close(self) -> None:
        """End all runs, their weights kept, and all workers."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for job in self._jobs.values():
                self._stop(job)
        deadline = time.monotonic() + 2 * self.limits.grace
        while time.monotonic() < deadline and any(job.state in ACTIVE for job in self._jobs.values()):
            time.sleep(0.02)
        with self._lock:
            for job in self._jobs.values():
                if job.worker:
                    self._bury(job)
            for worker in self._idle:
                worker.connection.close()
            self._idle.clear()
            self._bell.close()
        self._reader.join(timeout=5)
        self._doorbell.close()
        if self._own_nursery:
            self._nursery.close()
        atexit.unregister(self.close)

    # --- The queue and the workers; the lock is held -----------------------------------------------------------------

    def _command(self, run_id: str, owner: str, command: Command) -> None:
        with self._lock:
            job = self._jobs.get(run_id)
            if job is None:
                self.store.open(run_id)  # ended long ago, or refused here
                return
            if not job.is_owned_by(owner):
                raise RunRefused("training.refused.not_yours")
            job.seen = time.monotonic()
            job.left = False
            if command == "stop":
                self._stop(job)
            else:
                self._send(job, command)

    def _send(self, job: _Job, command: Command | Start) -> None:
        if job.worker and job.state in ACTIVE:
            with suppress(OSError):  # a worker that has just died: the reader will find its pipe ended
                job.worker.connection.send(command)

    def _stop(self, job: _Job, message: str | None = None) -> None:
        if job.state == "queued":
            self._end(job, Progress("stopped", 0, message))
            _write_down(job)
        elif job.state in ACTIVE and job.stop_by is None:
            job.stop_by = time.monotonic() + self.limits.grace
            job.stop_message = message
            self._send(job, "stop")

    def _end(self, job: _Job, progress: Progress) -> None:
        if progress.state == "stopped" and progress.message is None and job.stop_message:
            progress = Progress("stopped", progress.step, job.stop_message)
        job.progress = progress
        job.ended = time.monotonic()
        job.version = self._next_version()
        if job.worker:
            job.worker.connection.close()
            job.worker = None

    def _tick(self) -> None:
        """Look after leases, stops that were not heeded, the queue, and the workers in waiting."""
        now = time.monotonic()
        lease, keep = self.limits.lease, self.limits.keep
        for job in list(self._jobs.values()):
            if job.state not in ACTIVE:
                if now - max(job.seen, job.ended) > self.limits.remember:
                    del self._jobs[job.run_id]
                continue
            if job.stop_by is not None and now > job.stop_by and job.worker and not job.worker.kill():
                self._bury(job)  # it is not born yet, and will find its pipe ended when it is
            alone = now - job.seen
            if (keep is not None and alone > keep) or (lease is not None and alone > lease and job.state == "queued"):
                self._stop(job, "training.ended.left")
            elif lease is not None and alone > lease and job.state == "running" and not job.left:
                job.left = True
                job.say("training.paused.left")
                job.version = self._next_version()
                self._send(job, "pause")
        queue = [job for job in self._jobs.values() if job.state == "queued"]
        busy = sum(job.worker is not None for job in self._jobs.values())
        while queue and busy < self.limits.workers and not self._closed:
            busy += 1
            queue[0].worker = self._warmest()
            for each in queue:  # all move up
                each.version = self._next_version()
            job = queue.pop(0)
            job.progress = Progress("running", 0)
            self._send(job, Start(str(job.path)))
        if queue:
            # A run that nobody looks at makes room for one that somebody waits for.
            for job in sorted(self._jobs.values(), key=lambda job: job.seen):
                unseen = lease is not None and now - job.seen > lease
                if unseen and job.state == "paused" and job.stop_by is None:
                    self._stop(job, "training.ended.left")
                    break
        self._fill()

    def _warmest(self) -> _Worker:
        self._idle.sort(key=lambda worker: worker.pid is None)
        return self._idle.pop(0) if self._idle else _Worker(self._nursery.born())

    def _fill(self) -> None:
        """Keep as many idle workers as there should be: none beyond the cap."""
        busy = sum(job.worker is not None for job in self._jobs.values())
        wanted = min(self.limits.warm, self.limits.workers - busy)
        while len(self._idle) < wanted and time.monotonic() >= self._born_after and not self._closed:
            self._idle.append(_Worker(self._nursery.born()))

    def _place(self, job: _Job) -> int | None:
        if job.state != "queued":
            return None
        return 1 + [each for each in self._jobs if self._jobs[each].state == "queued"].index(job.run_id)

    def _next_version(self) -> int:
        self._version += 1
        return self._version

    def _ring(self) -> None:
        """Wake the reader: there is a pipe it does not know yet."""
        with suppress(OSError):
            self._bell.send_bytes(b"!")

    # --- The reader's thread ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take in what workers say, for as long as the engine is open."""
        while True:
            with self._lock:
                speakers: dict[object, _Worker] = {worker.connection: worker for worker in self._idle}
                speakers |= {job.worker.connection: job.worker for job in self._jobs.values() if job.worker}
            try:
                heard = wait([*speakers, self._doorbell], timeout=TICK)  # type: ignore[list-item]
            except (OSError, ValueError):  # a pipe was closed meanwhile
                heard = []
            with self._lock:
                try:
                    for each in heard:
                        if each is self._doorbell:
                            self._doorbell.recv_bytes()
                        else:
                            self._hear(speakers[each])
                    if not self._closed:
                        self._tick()
                except EOFError:  # of the doorbell: the engine is closed
                    return
                except Exception:
                    # Such as no process or file to be had just now. The runs go on; the next round tries again.
                    _log.exception("the training engine stumbled")

    def _hear(self, worker: _Worker) -> None:
        job = next((job for job in self._jobs.values() if job.worker is worker), None)
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            if job:
                self._bury(job)
            else:
                worker.connection.close()
                self._idle = [each for each in self._idle if each is not worker]
                # What fails at once would fail again at once, for ever.
                self._stillborn += worker.pid is None
                self._born_after = time.monotonic() + min(60.0, 2.0**self._stillborn - 1)
            return
        if isinstance(message, Ready):
            worker.pid = message.pid
            self._stillborn = 0
        elif job:
            job.version = self._next_version()
            if isinstance(message, Changed) and message.progress.state not in ACTIVE:
                self._end(job, message.progress)
            else:
                job.take(message)

    def _bury(self, job: _Job) -> None:
        """Write down how a run ended whose worker is gone without having said so."""
        recorded = max(job.recorded, default=0)
        asked = job.stop_by is not None
        state, message = ("stopped", None) if asked else ("failed", "training.ended.died")
        self._end(job, Progress(state, recorded, message))
        _write_down(job)


def _write_down(job: _Job) -> None:
    """Write how a run ended, if its folder still takes it."""
    with suppress(OSError, RunRefused):
        RunWriter(job.path).progress(job.progress)


_shared: dict[str, Engine] = {}
_shared_lock = threading.Lock()


def shared_engine() -> Engine:
    """Return the server's one engine, made at the first call; another after that one was closed."""
    with _shared_lock:
        engine = _shared.get("engine")
        if engine is None or engine.is_closed:
            engine = _shared["engine"] = Engine()
            atexit.register(engine.close)
        return engine


@dataclass(eq=False)
class _Worker:
    """A worker process as the engine sees it; `pid` is None until it is ready."""

    connection: Connection[Any, Any]
    pid: int | None = None

    def kill(self) -> bool:
        """End it by force, if it has said who it is. As long as its pipe is open, the pid is its own."""
        if self.pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        return True


@dataclass(eq=False)
class _Job:
    """A run in the engine's hands. Guarded by the engine's lock."""

    run_id: str
    owner: str
    config: RunConfig
    path: Path
    version: int
    progress: Progress = field(default_factory=lambda: Progress("queued", 0))
    worker: _Worker | None = None
    rows: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((64, len(COLUMNS))))
    measured: int = 0
    exact_match: tuple[tuple[int, float], ...] = ()
    samples: tuple[Sample, ...] = ()
    peek: Peek | None = None
    recorded: tuple[int, ...] = ()
    seen: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    left: bool = False  # paused because nobody looked
    stop_by: float | None = None
    stop_message: str | None = None

    @property
    def state(self) -> str:
        return self.progress.state

    def is_owned_by(self, owner: str) -> bool:
        return compare_digest(self.owner.encode(), owner.encode())

    def say(self, message: str | None) -> None:
        self.progress = Progress(self.progress.state, self.progress.step, message)

    def take(self, message: object) -> None:
        """Take in one message of the worker."""
        match message:
            case Measured(rows=rows):
                self._append(np.array(rows))
            case Watched(step=step, peek=peek, samples=samples, exact_match=exact_match):
                self.peek = peek or self.peek
                self.samples = samples or self.samples
                if exact_match is not None:
                    self.exact_match = (*self.exact_match, (step, exact_match))
            case Recorded(step=step):
                self.recorded = (*self.recorded, step)
            case Heard():
                # It is writing its last weights, which may take a moment on a busy machine.
                self.stop_by = time.monotonic() + 30.0
            case Changed(progress=progress):
                self.progress = Progress(progress.state, progress.step, self.progress.message if self.left else None)

    def _append(self, rows: npt.NDArray[np.float64]) -> None:
        """Add measurements behind those there are, which published arrays show and nobody changes."""
        wanted = self.measured + len(rows)
        if wanted > len(self.rows):
            larger = np.empty((2 * wanted, len(COLUMNS)))
            larger[: self.measured] = self.rows[: self.measured]
            self.rows = larger
        self.rows[self.measured : wanted] = rows
        self.measured = wanted
        self.progress = Progress(self.progress.state, int(rows[-1, 0]), self.progress.message, self.progress.values)

    def status(self, place: int | None) -> RunStatus:
        rows = self.rows[: self.measured]
        rows.flags.writeable = False
        metrics = MappingProxyType({name: rows[:, i] for i, name in enumerate(COLUMNS)})
        message, values = self.progress.message, self.progress.values
        if message is None and (hint := at_chance(self.config, metrics["loss"])):
            message, values = hint
        return RunStatus(
            run_id=self.run_id,
            version=self.version,
            state=self.state,
            step=self.progress.step,
            steps=self.config.recipe.steps,
            queue_place=place,
            message=message,
            values=values,
            seconds=float(metrics["seconds"][-1]) if self.measured else 0.0,
            steps_per_second=_rate(metrics["seconds"]),
            metrics=metrics,
            exact_match=self.exact_match,
            samples=self.samples,
            peek=self.peek,
            recorded=self.recorded,
            config=self.config,
        )


def at_chance(config: RunConfig, loss: npt.NDArray[np.float64]) -> tuple[str, Mapping[str, float]] | None:
    """Return a hint if, past the warm-up, the model still does no better than guessing (loss at ln V), else None."""
    if len(loss) < max(50, 2 * config.recipe.warmup) or np.mean(loss[-20:]) < 0.95 * config.chance_loss:
        return None
    return "training.hint.at_chance", {
        "loss": round(float(np.mean(loss[-20:])), 2),
        "chance": round(config.chance_loss, 2),
    }


def _rate(seconds: npt.NDArray[np.float64]) -> float:
    """Return steps a second over the last steps, by the time spent in them."""
    last = seconds[-50:]
    return float((len(last) - 1) / (last[-1] - last[0])) if len(last) > 1 and last[-1] > last[0] else 0.0


def _memory() -> int:
    """Return the memory that this machine, or the container in it, has, in bytes; 4 GB where it does not say."""
    found = [4_000_000_000]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # no such file, or "max"
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found)


def _from_environment(name: str, default: float) -> float | None:
    """Return a number of the environment, None if it is 0, or the default if it is none."""
    try:
        value = float(os.environ[f"PLAYGROUND_{name}"])
    except (KeyError, ValueError):
        return default
    return value if value > 0 else None
