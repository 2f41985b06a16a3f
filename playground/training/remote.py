"""A worker on a machine of a cluster: it trains in a folder there, and sends what it writes with what it says."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playground.runs import Progress
from playground.training import worker
from playground.training.messages import Changed, Ready, Start

PREFIX = "attention-playground-"  # of a worker's folder; its process follows

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Written:
    """Part of a file in a run's folder.

    Attributes:
        name: Its place in the folder, `/` between parts; with one at its end, an empty folder.
        data: The bytes.
        append: Whether they follow what is there; else they are the whole file.
    """

    name: str
    data: bytes
    append: bool = False

    def write(self, folder: Path) -> None:
        """Write it down in a run's folder, a whole file at once.

        Raises:
            ValueError: If the name leads out of the folder.
        """
        path = folder / self.name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{self.name!r} leads out of the run's folder")
        if self.name.endswith("/"):
            path.mkdir(exist_ok=True)
            return
        path.parent.mkdir(exist_ok=True)
        if self.append:
            with path.open("ab") as file:
                file.write(self.data)
            return
        beside = path.with_name(f".{path.name}.part")
        with beside.open("wb") as file:
            file.write(self.data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)


class Mirror:
    """Tells what has changed in a run's folder since it was last asked.

    Files are written whole and renamed into place, or, those of lines, only ever appended to.

    Args:
        folder: The run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = dict(self._look())

    def changes(self) -> Iterator[Written]:
        """Yield what is new, `run.json` last: it speaks of what the others hold."""
        now = dict(self._look())
        new = [name for name in now if now[name] != self._known.get(name)]
        for name in sorted(new, key=lambda name: (name == "run.json", name)):
            path = self._folder / name
            if name.endswith(".jsonl"):
                start = self._known[name].size if name in self._known else 0
                with path.open("rb") as file:
                    file.seek(start)
                    yield Written(name, file.read(now[name].size - start), append=True)
            else:
                yield Written(name, path.read_bytes())
        self._known = now

    def _look(self) -> Iterator[tuple[str, _State]]:
        for path in self._folder.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                found = path.stat()
                yield path.relative_to(self._folder).as_posix(), _State(found.st_mtime_ns, found.st_size, found.st_ino)


class _State(NamedTuple):
    """What is another as soon as a file is written again, be it within one tick of the clock."""

    time: int
    size: int
    number: int


def pack(folder: Path) -> tuple[Written, ...]:
    """Return what is in a run's folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            found.append(Written(f"{name}/", b""))
        elif path.is_file() and not path.name.startswith("."):
            found.append(Written(name, path.read_bytes()))
    return tuple(found)


class Trainee:
    """The process on the cluster, as Ray calls it. Its calls run beside each other, each in a thread of its own."""

    def __init__(self) -> None:
        worker.prepare()
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._mirror: Mirror | None = None
        self._outbox.put(Ready(os.getpid(), socket.gethostname()))

    def start(self, start: Start, files: tuple[Written, ...]) -> None:
        """Begin to train the run whose folder has these files."""
        threading.Thread(target=self._work, args=(start, files), daemon=True).start()

    def tell(self, command: Any) -> None:
        """Pass a command on to the training."""
        self._inbox.put(command)

    def heard(self) -> list[Any]:
        """Return what was said and written since the last call; wait until there is something."""
        found = [self._outbox.get()]
        with suppress(Empty):
            while True:
                found.append(self._outbox.get_nowait())
        return found

    def send(self, message: Any) -> None:
        """Say something to the engine; what was written before goes first."""
        if self._mirror:
            for change in self._mirror.changes():
                self._outbox.put(change)
        self._outbox.put(message)

    def _work(self, start: Start, files: tuple[Written, ...]) -> None:
        try:
            _sweep()
            with TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as folder:
                for each in files:
                    each.write(Path(folder))
                self._mirror = Mirror(Path(folder))
                worker.limit_memory(start.memory)
                worker.Work(self, self._inbox, Path(folder)).run()
        except Exception:  # such as a full disk there
            _log.exception("a run failed on %s", socket.gethostname())
            self._mirror = None
            self.send(Changed(Progress("failed", 0, "training.ended.error")))


def _sweep() -> None:
    """Remove the folders of workers of this machine that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        process = path.name.removeprefix(PREFIX).partition("-")[0]
        if process.isdecimal() and not _lives(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
