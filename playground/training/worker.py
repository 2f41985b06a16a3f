"""A worker: one process that trains one run, tells how it goes, and does as it is told. It ends when its pipe does."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import torch

from playground.recipe import Recipe, RunConfig, RunRefused, model_for
from playground.runs import COLUMNS, MAX_RECORDED, Progress, Run, RunWriter
from playground.tasks import TASKS
from playground.training.messages import (
    Alter,
    Altered,
    Changed,
    Command,
    Heard,
    Looked,
    Measured,
    Ready,
    Recorded,
    Start,
    Watched,
)
from playground.training.recording import Recording, diverged
from playground.training.trainer import Diverged, Report, Trainer, sentences

NICENESS = 10  # below the web process: a page that is clicked goes first
SENTENCES = 64  # held-out sentences of an exact-match measurement
# How often the model is looked at, seconds; and at most one part in so many of the time.
PEEK_EVERY, SAMPLES_EVERY, MATCH_EVERY, SEND_EVERY = 0.45, 0.9, 1.5, 0.1
WATCH_SHARE = 40

# Said of a run that goes on from weights which this machine's arithmetic did not make again.
_DIFFERS = "training.hint.differs"

_log = logging.getLogger(__name__)


class _Interrupted(Exception):
    """A command has come while the model was being looked at."""


class _Stopped(Exception):
    """The run is to end here."""


def preload() -> None:
    """Import and prepare what every worker needs, without starting a thread."""
    import torch._dynamo  # noqa: F401  (an optimizer imports it when the first one is made, which takes a second)

    for task in TASKS.values():
        sentences(task)


def main(connection: Connection[Any, Any]) -> None:
    """Be a worker until the run given to it has ended, or the pipe.

    Args:
        connection: Our end of the pipe to the engine.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the server, whose end then is ours
    prepare()
    inbox: SimpleQueue[Start | Command | Alter] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, inbox), daemon=True).start()
    # The engine is gone when a message can't be delivered.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.send(Ready(os.getpid()))
        start = inbox.get()
        while not isinstance(start, Start):
            start = inbox.get()
        limit_memory(start.memory)
        Work(connection, inbox, Path(start.path)).run()


def prepare() -> None:
    """Let this process be a worker: one thread, behind the web process in every queue, warmed up."""
    if sys.platform != "win32":
        os.nice(NICENESS)
    with suppress(OSError):  # where the kernel ends a process for memory, it is a worker
        Path("/proc/self/oom_score_adj").write_text("500")
    torch.set_num_threads(1)
    warm_up()


def limit_memory(megabytes: int | None) -> None:
    """Let this process take so much memory beyond what it has, where the platform holds it to that: on Linux."""
    if megabytes is None or sys.platform != "linux":
        return
    import resource

    has = re.search(r"^VmData:\s*(\d+) kB$", Path("/proc/self/status").read_text(), flags=re.MULTILINE)
    if has:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = int(has[1]) * 1024 + megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def lacks_memory(error: Exception) -> bool:
    """Say whether there was not enough memory. Torch says so of a CPU in words only."""
    said = "can't allocate memory" in str(error) or "bad_alloc" in str(error)
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (isinstance(error, RuntimeError) and said)


def warm_up() -> None:
    """Make a few steps of a tiny model, so that a visitor's first step does not wait for what torch prepares lazily."""
    name = next(iter(TASKS))
    model = model_for(name, d_model=8, n_heads=2, d_ff=8, n_layers=1)
    trainer = Trainer(RunConfig(task=name, model=model, recipe=Recipe(steps=2, batch_size=2)))
    for _ in trainer.run():
        pass
    trainer.evaluate(2)
    trainer.peek()


def _listen(connection: Connection[Any, Any], inbox: SimpleQueue[Start | Command | Alter]) -> None:
    """Take in what the engine sends; end the process, in mid-step too, when the engine is gone."""
    while True:
        try:
            inbox.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


class Outlet(Protocol):
    """The way to the engine, whatever it is."""

    def send(self, message: Any, /) -> None:
        """Send one message, or raise `BrokenPipeError` if the engine is gone."""


class Looks:
    """When the model is looked at in one way: so often, but never for more than a small share of the time.

    Args:
        every: Seconds between two looks.
        at_once: Whether the first is due now.
    """

    def __init__(self, every: float, *, at_once: bool = True) -> None:
        self._least = self._every = every
        self._began = time.monotonic()
        self._ended = float("-inf") if at_once else self._began

    def are_due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() - self._ended >= self._every

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *exception: object) -> None:
        self._ended = time.monotonic()
        self._every = max(self._least, WATCH_SHARE * (self._ended - self._began))


class Work:
    """One run, from its folder to its end.

    Args:
        connection: The way to the engine.
        inbox: Commands, as they come.
        path: The run's folder.
    """

    def __init__(self, connection: Outlet, inbox: SimpleQueue[Start | Command | Alter], path: Path) -> None:
        self._connection = connection
        self._inbox = inbox
        self._writer = RunWriter(path)
        self._paused = False
        self._single_steps = 0
        self._rows: list[tuple[float, ...]] = []
        self._recorded = self._looked = 0
        self._waiting: list[Start | Command | Alter] = []  # commands that came while steps were made again
        self._sent = float("-inf")
        self._peeks, self._samples = Looks(PEEK_EVERY), Looks(SAMPLES_EVERY)
        self._matches = Looks(MATCH_EVERY, at_once=False)

    def run(self) -> None:
        """Train, and say how it ended. Whatever goes wrong here ends this run only."""
        try:
            self._recording = Recording.continued(self._writer, between=self._made_again)
            self._tell_past()
            progress = self._train()
        except _Stopped:  # while steps were made again: the folder is as it was
            progress = Progress("stopped", max(Run.load(self._writer.path).steps, default=0))
            self._writer.progress(progress)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:
            if not lacks_memory(error):
                _log.exception("run %s failed", self._writer.run_id)
            progress = self._failed("training.ended.memory" if lacks_memory(error) else "training.ended.error")
        self._connection.send(Changed(progress))

    def _made_again(self, step: int) -> None:
        """Tell of a step that was made again, because the run it is from kept no state there.

        Raises:
            _Stopped: If it was to stop.
        """
        with suppress(Empty):
            while True:
                self._waiting.append(self._inbox.get(block=False))
        if "stop" in self._waiting:
            self._connection.send(Heard())
            raise _Stopped
        if time.monotonic() - self._sent >= SEND_EVERY:
            goal = max(Run.load(self._writer.path).steps)
            values = {"step": step, "steps": goal}
            self._connection.send(Changed(Progress("running", goal, "training.hint.made_again", values)))
            self._sent = time.monotonic()

    def _tell_past(self) -> None:
        """Tell what is in the folder already, and from which step the training goes on."""
        trainer = self._recording.trainer
        if trainer.step == 0:
            return
        run = Run.load(self._writer.path)
        self._connection.send(Changed(Progress("running", trainer.step, None if run.is_exact else _DIFFERS)))
        self._rows = list(zip(*(run.metrics[name].tolist() for name in COLUMNS), strict=True))
        looks = zip(run.held_out_loss, run.part_grads.tolist(), run.part_updates.tolist(), strict=True)
        self._recording.looked = [(step, loss, tuple(grads), tuple(updates)) for (step, loss), grads, updates in looks]
        self._send_rows()
        for step, share in run.exact_match:
            self._connection.send(Watched(step, exact_match=share))
        self._send_recorded()

    def _train(self) -> Progress:
        recording, trainer = self._recording, self._recording.trainer
        progress: Progress | None = None
        try:
            for report in recording.run():
                if isinstance(report, Diverged):
                    progress = diverged(report)
                    break
                self._tell(report)
                self._watch()
                self._obey()
        except _Stopped:
            progress = Progress("stopped", trainer.step)
        if progress is None:
            progress = Progress("finished", trainer.step)
        if progress.state == "finished":
            self._watch(everything=True)
        self._send_rows()
        recording.end(progress)
        self._send_recorded()
        return progress

    def _obey(self) -> None:
        """Do what has been asked; while paused, wait here for what is asked next.

        Raises:
            _Stopped: If it was to stop.
        """
        if self._paused and self._single_steps == 0:
            self._watch(everything=True)
        while True:
            waits = self._paused and self._single_steps == 0
            try:
                command = self._waiting.pop(0) if self._waiting else self._inbox.get(block=waits)
            except Empty:
                break
            match command:
                case Alter(name=name, value=value):
                    with suppress(RunRefused):  # such as one change too many: the setting stays what it is
                        self._recording.change(name, value)
                    self._connection.send(Altered(self._recording.trainer.config.changes))
                case "stop":
                    self._connection.send(Heard())
                    raise _Stopped
                case "pause" if not self._paused:
                    self._rest()
                case "resume" if self._paused:
                    self._paused, self._single_steps = False, 0
                    self._connection.send(Changed(Progress("running", self._recording.trainer.step)))
                case "step" if self._paused:
                    self._single_steps += 1
        if self._paused:
            self._single_steps -= 1

    def _rest(self) -> None:
        """Come to a rest: everything written, shown and measured as it is at this step."""
        self._paused = True
        step = self._recording.trainer.step
        self._send_rows()
        if len(self._recording.recorded) < MAX_RECORDED // 2:  # the other half is for the planned steps
            self._recording.record()
        self._writer.progress(Progress("paused", step))
        self._send_recorded()
        self._connection.send(Changed(Progress("paused", step)))
        self._watch(everything=True)

    def _tell(self, report: Report) -> None:
        self._rows.append(report.row)
        if self._paused or time.monotonic() - self._sent >= SEND_EVERY:
            self._send_rows()
        self._send_recorded()

    def _send_rows(self) -> None:
        if self._rows:
            self._writer.flush()  # first: what is told is on the disk
            self._connection.send(Measured(tuple(self._rows)))
            self._rows.clear()
        if rows := tuple(self._recording.looked[self._looked :]):
            self._connection.send(Looked(rows))
            self._looked += len(rows)
        self._sent = time.monotonic()

    def _send_recorded(self) -> None:
        for step in self._recording.recorded[self._recorded :]:
            self._connection.send(Recorded(step))
        self._recorded = len(self._recording.recorded)

    def _watch(self, *, everything: bool = False) -> None:
        """Look at the model, if it is time to. A command that comes meanwhile is more important."""
        trainer = self._recording.trainer
        with suppress(_Interrupted):
            if everything or self._peeks.are_due():
                with self._peeks:
                    self._connection.send(Watched(trainer.step, peek=trainer.peek()))
            if everything or self._samples.are_due():
                with self._samples:
                    seen = trainer.samples(between=self._interrupted)
                    self._connection.send(Watched(trainer.step, samples=seen))
            if everything or self._matches.are_due():
                with self._matches:
                    share = trainer.evaluate(SENTENCES, between=self._interrupted)
                    self._recording.exact_match(share)
                    self._connection.send(Watched(trainer.step, exact_match=share))

    def _interrupted(self) -> None:
        if not self._inbox.empty():
            raise _Interrupted

    def _failed(self, message: str) -> Progress:
        """Write that the run failed, if that can still be done."""
        step = self._recording.recorded[-1] if hasattr(self, "_recording") and self._recording.recorded else 0
        progress = Progress("failed", step, message)
        with suppress(OSError):
            self._writer.progress(progress)
        return progress
