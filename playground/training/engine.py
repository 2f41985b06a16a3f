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
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from models import ModelConfig
from playground.parts import parts
from playground.recipe import Change, Recipe, RunConfig, RunRefused, altered, forked
from playground.runs import COLUMNS, Progress, Run, RunStore, RunWriter, digest
from playground.training import keeping
from playground.training.limits import Limits
from playground.training.messages import (
    Alter,
    Altered,
    Changed,
    Command,
    Heard,
    Look,
    Looked,
    Measured,
    Ready,
    Recorded,
    Start,
    Watched,
)
from playground.training.nursery import Nursery, Workplace
from playground.training.trainer import available_devices
from playground.training.waiting import Pace, expected_waits
from playground.training.watching import Peek, Sample

ACTIVE = ("queued", "running", "paused")
FREE_DISK = 500_000_000  # bytes left on the disk below which no run is begun
TICK = 0.25  # seconds between two looks at leases and the queue
TRIES = 3  # workers that a run may lose before one of them has spoken of it
PRUNE_EVERY = 3_600.0  # seconds between two looks at what is kept

_log = logging.getLogger(__name__)

Columns = Mapping[str, npt.NDArray[np.float64]]


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
        config: Task, model and recipe; what was changed on the way, and what the run was forked from.
        held_out_loss: Loss of held-out sentences, nats a token, after the steps where it was measured.
        parts: Parts of the model that are measured each for itself: `embedding`, `encoder.0`, …
        part_steps: Steps at which they were, `[n]`.
        part_grads: Root of the sum of a part's squared gradients, `[n, part]`.
        part_updates: Length of a part's update against that of its weights, `[n, part]`.
        wait: Seconds after which it will about get a worker, if it waits; None if it does not, or nobody knows.
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
    held_out_loss: tuple[tuple[int, float], ...]
    parts: tuple[str, ...]
    part_steps: npt.NDArray[np.int64]
    part_grads: npt.NDArray[np.float64]
    part_updates: npt.NDArray[np.float64]
    wait: float | None = None

    @property
    def is_active(self) -> bool:
        """Whether it is waiting, training or paused."""
        return self.state in ACTIVE

    @property
    def can_resume(self) -> bool:
        """Whether it ended before its last step, and could go on from where it was."""
        return self.state in ("stopped", "failed") and self.step < self.steps

    @property
    def tokens_per_second(self) -> float:
        """Target tokens learnt from in a second of the last steps; 0.0 before there are any."""
        seconds, tokens = self.metrics["seconds"][-50:], self.metrics["tokens"][-50:]
        return float(tokens[1:].sum() / (seconds[-1] - seconds[0])) if len(seconds) > 1 and _rate(seconds) else 0.0


class Engine:
    """Trains runs in worker processes. Any thread may call it; no call waits for a training.

    Where the workers live is the nursery's affair: in processes on this machine, or on the machines of a cluster. Who
    may train what, who waits, how each run is doing, when it ends and how long it is kept is the same for both.

    Args:
        store: Where runs are written.
        limits: What it allows; `Limits.here()` if None.
        nursery: Where workers come from; if None a new one, closed with the engine: `PLAYGROUND_CLUSTER` chooses it.
    """

    def __init__(
        self, store: RunStore | None = None, limits: Limits | None = None, *, nursery: Workplace | None = None
    ) -> None:
        self.store = store or RunStore()
        self.limits = limits or Limits.here()
        self._lock = threading.RLock()
        self._jobs: dict[str, _Job] = {}
        self._idle: list[_Worker] = []
        self._stillborn = 0  # idle workers in a row that ended before they were ready
        self._born_after = 0.0
        self._version = 0
        self._closed = False
        self._pace = Pace()
        self._pruned = float("-inf")
        self._nursery = nursery or _nursery()
        self._own_nursery = nursery is None
        self._doorbell, self._bell = Pipe(duplex=False)
        with self._lock:
            self._fill()
        self._reader = threading.Thread(target=self._read, name="training engine", daemon=True)
        self._reader.start()

    def submit(self, config: RunConfig, owner: str, title: str = "", *, companion_of: str | None = None) -> str:
        """Begin a run, or put it in the queue, and return its id.

        Args:
            config: Task, model and recipe.
            owner: The visitor's token; who shows it may command the run.
            title: What the visitor calls it.
            companion_of: The visitor's run that is under way, if this one is to be trained beside it.

        Raises:
            RunRefused: If the visitor has a run already (with a companion: two), the run is larger than the limits,
                the queue is full, the disk is, or there is no such device.
        """
        with self._lock:
            self._admit(config, owner, companion_of)
            try:
                writer = self.store.create(config, title)
            except OSError as error:
                raise RunRefused("training.refused.disk") from error
            self._take_in(writer, owner)
        self._ring()
        return writer.run_id

    def fork(
        self,
        run_id: str,
        step: int,
        owner: str,
        *,
        model: ModelConfig | None = None,
        recipe: Recipe | None = None,
        title: str = "",
        companion_of: str | None = None,
    ) -> str:
        """Begin a run that goes on from a recorded step of another, on the same batches, and return its id.

        Args:
            run_id: The run that is forked: anybody's whose id is known, or a recording.
            step: A recorded step of it; with 0 the fork begins with weights of its own.
            owner: The visitor's token.
            model: Sizes and choices from then on; as they were if None.
            recipe: How it is trained from then on; as it was if None.
            title: What the visitor calls it.
            companion_of: As in `submit`; the run that is forked if it is the visitor's own and under way.

        Raises:
            RunRefused: As `submit`; or if the step is not recorded, or its weights do not fit the settings.
        """
        run = self.store.open(run_id)
        config = forked(run.config, run_id, step, model=model, recipe=recipe)
        with self._lock:
            if companion_of is None and run_id in self.active_runs(owner):
                companion_of = run_id
            self._admit(config, owner, companion_of)
            try:
                child = self.store.fork(run, step, config, title)
            except OSError as error:
                raise RunRefused("training.refused.disk") from error
            self._take_in(RunWriter(self.store.root / child), owner)
        self._ring()
        return child

    def change(self, run_id: str, owner: str, **settings: float) -> None:
        """Let settings have other values from the run's next step on. They become part of the run.

        Args:
            run_id: A run that is waiting, training or paused; of any other nothing is changed.
            owner: The visitor's token.
            settings: Keys of `playground.recipe.CHANGEABLE` with their new values.

        Raises:
            RunRefused: As `pause`; or if there is no such setting, or a value is outside its limits.
        """
        alters = [Alter(name, Change(1, name, value).value) for name, value in settings.items()]
        for alter in alters:
            self._command(run_id, owner, alter)

    def status(self, run_id: str) -> RunStatus:
        """Return how a run is doing. Who knows the id may ask; an ended run is read from its folder.

        Raises:
            RunRefused: If there is no such run, or its folder is not what this version writes.
        """
        with self._lock:
            if job := self._jobs.get(run_id):
                return job.status(*self._place(job))
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
            held_out_loss=run.held_out_loss,
            parts=run.parts,
            part_steps=run.part_steps,
            part_grads=run.part_grads,
            part_updates=run.part_updates,
        )

    def pause(self, run_id: str, owner: str) -> None:
        """Let the run rest after its present step.

        Raises:
            RunRefused: If the run is another's, or there is none.
        """
        self._command(run_id, owner, "pause")

    def resume(self, run_id: str, owner: str) -> None:
        """Let a paused run go on, and one that was stopped, failed or was broken off: from the last step on the disk.

        Raises:
            RunRefused: As `pause`; for one that has ended also as `submit`, or if it has no step left to make.
        """
        with self._lock:
            job = self._jobs.get(run_id)
            if job is None or job.state not in ACTIVE:
                self._take_up(run_id, owner)
            else:
                self._command(run_id, owner, "resume")
        self._ring()

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
        """Return the visitor's run that is waiting, training or paused; of two the one that was begun first."""
        return next(iter(self.active_runs(owner)), None)

    def active_runs(self, owner: str) -> tuple[str, ...]:
        """Return the visitor's runs that are waiting, training or paused: at most one and its companion."""
        with self._lock:
            return tuple(job.run_id for job in self._jobs.values() if job.is_owned_by(owner) and job.state in ACTIVE)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that can be chosen for a run."""
        with self._lock:
            return tuple(self._nursery.room())

    def prune(self, now: float | None = None) -> tuple[str, ...]:
        """Remove runs that have expired, and those of a visitor that are too many; return their ids.

        The engine does it by itself, at its start and every hour.

        Args:
            now: Seconds since 1970; the clock's if None.
        """
        with self._lock:
            spare = {job.run_id for job in self._jobs.values() if job.state in ACTIVE}
        return keeping.prune(self.store, days=self.limits.days, runs=self.limits.runs, spare=spare, now=now)

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

    def _admit(self, config: RunConfig, owner: str, companion_of: str | None) -> None:
        """Refuse a run that may not be begun now.

        Raises:
            RunRefused: As `submit`.
        """
        if self._closed:
            raise RunRefused("training.refused.closed")
        device = config.recipe.device
        if device not in self._nursery.room():
            raise RunRefused("training.refused.no_device", device=device)
        self.limits.check(config)
        active = self.active_runs(owner)
        if active and companion_of not in active:
            raise RunRefused("training.refused.one_each")
        if len(active) > 1:
            raise RunRefused("training.refused.two_each")
        if sum(job.state == "queued" for job in self._jobs.values()) >= self.limits.waiting:
            wait = self._waits(device)[-1]
            if wait < float("inf"):
                raise RunRefused("training.refused.queue_full", n=self.limits.waiting, minutes=minutes(wait))
            raise RunRefused("training.refused.nobody_trains")
        try:
            self.store.root.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.store.root).free
        except OSError as error:
            raise RunRefused("training.refused.disk") from error
        if free < FREE_DISK:
            raise RunRefused("training.refused.disk_full")

    def _take_in(self, writer: RunWriter, owner: str) -> None:
        """Put a run whose folder has been made in line."""
        keeping.mark(writer.path, owner)
        steps = Run.load(writer.path).steps
        progress = Progress("queued", max(steps, default=0))
        job = _Job(writer.run_id, owner, writer.config, writer.path, self._next_version(), progress, recorded=steps)
        self._jobs[writer.run_id] = job
        with suppress(OSError, RuntimeError):  # no process to be had just now: the run waits
            self._tick()

    def _take_up(self, run_id: str, owner: str) -> None:
        """Put a run in line that has ended before its last step.

        Raises:
            RunRefused: As `resume`.
        """
        run = self.store.open(run_id)
        if run.is_recording or run.label.owner != digest(owner):
            raise RunRefused("training.refused.not_yours")
        if run.progress.state in ("finished", "diverged"):
            raise RunRefused(f"training.refused.{run.progress.state}")
        self._admit(run.config, owner, None)
        self._jobs.pop(run_id, None)
        self._take_in(RunWriter(run.path), owner)

    def _command(self, run_id: str, owner: str, command: Command | Alter) -> None:
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
            elif isinstance(command, Alter) and job.state == "queued":
                job.config = altered(job.config, Change(job.progress.step + 1, command.name, command.value))
                RunWriter(job.path).changed(job.config)
            else:
                self._send(job, command)

    def _send(self, job: _Job, command: Command | Alter | Start) -> None:
        if job.worker and job.state in ACTIVE:
            with suppress(OSError):  # a worker that has just died: the reader will find its pipe ended
                job.worker.connection.send(command)

    def _stop(self, job: _Job, message: str | None = None) -> None:
        if job.state == "queued":
            self._end(job, Progress("stopped", job.progress.step, message))
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
        self._pace.measured(job.config, job.measured, job.seconds)
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
            elif job.worker and self.limits.seconds is not None and now - job.begun > self.limits.seconds:
                self._stop(job, "training.ended.time")
            elif lease is not None and alone > lease and job.state == "running" and not job.left:
                job.left = True
                job.say("training.paused.left")
                job.version = self._next_version()
                self._send(job, "pause")
        for job in self._next_in_line():
            job.worker = self._worker(job.device)
            job.begun = now
            job.progress = Progress("running", job.progress.step)
            for each in self._queue():  # all move up
                each.version = self._next_version()
            self._send(job, Start(str(job.path), self.limits.memory))
        if queue := self._queue():
            # A run that nobody looks at makes room for one that somebody waits for.
            is_full = sum(job.worker is not None for job in self._jobs.values()) >= self._places()
            for job in sorted(self._jobs.values(), key=lambda job: job.seen):
                unseen = lease is not None and now - job.seen > lease
                helps = is_full or job.device == queue[0].device
                if unseen and helps and job.state == "paused" and job.stop_by is None:
                    self._stop(job, "training.ended.left")
                    break
        self._fill()

    def _queue(self, device: str | None = None) -> list[_Job]:
        """Return the runs that wait, the first in line first; only those for a device, if one is given."""
        return [job for job in self._jobs.values() if job.state == "queued" and device in (None, job.device)]

    def _next_in_line(self) -> list[_Job]:
        """Return the runs for which there is a worker now. Who waits for another device is passed by."""
        busy = [job.device for job in self._jobs.values() if job.worker]
        room = self._nursery.room()
        chosen = []
        for job in self._queue():
            if len(busy) < self._places() and busy.count(job.device) < room.get(job.device, 0):
                busy.append(job.device)
                chosen.append(job)
        return [] if self._closed else chosen

    def _places(self) -> int:
        """Return how many runs can have a worker at once. A worker needs a place on a CPU, whatever it computes on."""
        return min(self.limits.workers, self._nursery.room()["cpu"])

    def _worker(self, device: str) -> _Worker:
        """Return a worker for a device: one in waiting if it fits, a ready one first."""
        self._idle.sort(key=lambda worker: worker.pid is None)
        if fits := next((each for each in self._idle if device == "cpu" or self._nursery.is_here), None):
            self._idle.remove(fits)
            return fits
        if self._idle:  # it stands on a place that is wanted now
            self._idle.pop().connection.close()
        return _Worker(self._nursery.born(device))

    def _fill(self) -> None:
        """Keep as many idle workers as there should be: none beyond the cap."""
        busy = sum(job.worker is not None for job in self._jobs.values())
        wanted = min(self.limits.warm, self._places() - busy)
        while len(self._idle) < wanted and time.monotonic() >= self._born_after and not self._closed:
            self._idle.append(_Worker(self._nursery.born()))

    def _place(self, job: _Job) -> tuple[int | None, float | None]:
        """Return a waiting run's place in the queue, from 1, and after how many seconds it will about be its turn."""
        if job.state != "queued":
            return None, None
        place = self._queue(job.device).index(job)
        wait = self._waits(job.device)[place]
        return 1 + place, wait if wait < float("inf") else None

    def _waits(self, device: str) -> list[float]:
        """Return in how many seconds each run that waits for a device will about begin; last, one that came now."""
        now = time.monotonic()
        left = [self._left(job, now) for job in self._jobs.values() if job.worker and job.device == device]
        queue = [self._left(job, now) for job in self._queue(device)]
        return expected_waits(left, [*queue, 0.0], min(self._places(), self._nursery.room().get(device, 0)))

    def _left(self, job: _Job, now: float) -> float:
        """Return how many seconds a run will about still have its worker: by its own steps, else by those before it."""
        if job.stop_by is not None:
            return 0.0
        rate = _rate(job.rows[: job.measured, COLUMNS.index("seconds")])
        steps = job.config.recipe.steps - job.progress.step
        seconds = steps / rate if rate else self._pace.seconds(job.config)
        longest = float("inf") if self.limits.seconds is None else self.limits.seconds
        return min(seconds, max(0.0, longest - (now - job.begun) if job.worker else longest))

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
            if time.monotonic() - self._pruned > PRUNE_EVERY:
                self._pruned = time.monotonic()
                self.prune()

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
            worker.pid, worker.is_here = message.pid, not message.host
            self._stillborn = 0
        elif job:
            job.version = self._next_version()
            job.is_taken = True
            if isinstance(message, Changed) and message.progress.state not in ACTIVE:
                self._end(job, message.progress)
            else:
                job.take(message)

    def _bury(self, job: _Job) -> None:
        """Write down how a run ended whose worker is gone without having said so; or let it wait for another worker.

        The latter if the worker has not said a word of it, as one in waiting that went with its machine.
        """
        if job.stop_by is None and not job.is_taken and job.tries < TRIES and job.worker and not self._closed:
            job.worker.connection.close()
            job.worker = None
            job.tries += 1
            job.progress = Progress("queued", job.progress.step)
            job.version = self._next_version()
            return
        recorded = max(job.recorded, default=0)
        asked = job.stop_by is not None
        state, message = ("stopped", None) if asked else ("failed", "training.ended.died")
        self._end(job, Progress(state, recorded, message))
        _write_down(job)


def _write_down(job: _Job) -> None:
    """Write how a run ended, if its folder still takes it."""
    with suppress(OSError, RunRefused):
        RunWriter(job.path).progress(job.progress)


def minutes(seconds: float) -> int:
    """Return a wait as it is told: in whole minutes, at least one."""
    return max(1, round(seconds / 60))


def _nursery() -> Workplace:
    """Return where the environment says that workers live."""
    if address := os.environ.get("PLAYGROUND_CLUSTER", "").strip():
        from playground.training.cluster import Cluster

        return Cluster(address)
    return Nursery()


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


def offered_devices() -> tuple[str, ...]:
    """Return the devices that a run can be given; on this machine they are known without an engine."""
    return shared_engine().devices if os.environ.get("PLAYGROUND_CLUSTER") else available_devices()


@dataclass(eq=False)
class _Worker:
    """A worker process as the engine sees it; `pid` is None until it is ready."""

    connection: Connection[Any, Any]
    pid: int | None = None
    is_here: bool = False

    def kill(self) -> bool:
        """End it by force, if it is on this machine and has said who it is.

        As long as its pipe is open, the pid is its own. A worker elsewhere is ended when its pipe is closed.
        """
        if self.pid is None or not self.is_here:
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
    looks: tuple[Look, ...] = ()
    seen: float = field(default_factory=time.monotonic)
    begun: float = 0.0  # when it got its worker
    is_taken: bool = False  # its worker has spoken of it
    tries: int = 0  # workers that it lost before that
    ended: float = 0.0
    left: bool = False  # paused because nobody looked
    stop_by: float | None = None
    stop_message: str | None = None

    @property
    def state(self) -> str:
        return self.progress.state

    @property
    def device(self) -> str:
        return self.config.recipe.device

    @property
    def seconds(self) -> float:
        """Time spent in steps."""
        return float(self.rows[self.measured - 1, COLUMNS.index("seconds")]) if self.measured else 0.0

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
                if step not in self.recorded:
                    self.recorded = (*self.recorded, step)
            case Looked(rows=looks):
                self.looks = (*self.looks, *looks)
            case Altered(changes=changes):
                self.config = replace(self.config, changes=changes)
            case Heard():
                # It is writing its last weights, which may take a moment on a busy machine.
                self.stop_by = time.monotonic() + 30.0
            case Changed(progress=progress):
                self.progress = progress
                if self.left:
                    self.say("training.paused.left")

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

    def status(self, place: int | None, wait: float | None) -> RunStatus:
        rows = self.rows[: self.measured]
        rows.flags.writeable = False
        metrics = MappingProxyType({name: rows[:, i] for i, name in enumerate(COLUMNS)})
        message, values = self.progress.message, self.progress.values
        if message is None and place is not None and wait is None:
            message = "training.queued.nobody"
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
            seconds=self.seconds,
            steps_per_second=_rate(metrics["seconds"]),
            metrics=metrics,
            exact_match=self.exact_match,
            samples=self.samples,
            peek=self.peek,
            recorded=self.recorded,
            config=self.config,
            held_out_loss=tuple((step, loss) for step, loss, *_ in self.looks),
            parts=(names := parts(self.config.model)),
            part_steps=np.array([look[0] for look in self.looks], dtype=np.int64),
            part_grads=np.array([look[2] for look in self.looks]).reshape(len(self.looks), len(names)),
            part_updates=np.array([look[3] for look in self.looks]).reshape(len(self.looks), len(names)),
            wait=wait,
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
