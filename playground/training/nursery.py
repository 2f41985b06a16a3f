"""Where workers are born: a process that has imported torch, the models and the trainer, and forks when asked.

Importing takes seconds, a fork a few milliseconds. Python's own forkserver would do the same, but it has every child
import the parent's `__main__` again, and while a Streamlit page runs, `__main__` is that page. Here a worker is given
one end of a pipe and nothing else of its parent. Where forking is not safe (Windows has none; Apple's frameworks break
in a forked child), each worker is a fresh process: slow to be born, so a few are kept in waiting.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from playground.training.trainer import available_devices

ROOT = Path(__file__).parents[2]
FORKS = sys.platform not in ("win32", "darwin")


class Workplace(Protocol):
    """Where workers live: all that an engine needs to know of it. One thread at a time may ask it.

    Attributes:
        is_here: Whether the processes of its workers are this machine's.
    """

    is_here: bool

    def room(self) -> Mapping[str, int]:
        """Return for each device how many runs can have it at once, `cpu` always among them; at once."""

    def born(self, device: str = "cpu") -> Connection[Any, Any]:
        """Start a worker for a device and return our end of its pipe at once.

        It says `Ready` when it is, then awaits a `Start`; if it dies, the pipe ends. It ends when we close the pipe.

        Raises:
            OSError, RuntimeError: If none can be started just now.
        """

    def close(self) -> None:
        """Start no more workers. Those that are there end when their pipes do."""


class Nursery:
    """Starts workers on this machine. One thread at a time may ask it to.

    Args:
        forks: Whether workers are forked from one warm process, or each started afresh.
    """

    is_here = True

    def __init__(self, *, forks: bool = FORKS) -> None:
        self._forks = forks
        self._room = dict.fromkeys(available_devices(), sys.maxsize)  # the engine's limits decide
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._spawned: list[subprocess.Popen[bytes]] = []
        if forks:
            self._open()

    def room(self) -> Mapping[str, int]:
        """Return for each device of this machine how many runs can have it at once."""
        return self._room

    def born(self, device: str = "cpu") -> Connection[Any, Any]:
        """Start a worker, which takes a run for any device, and return our end of its pipe at once.

        It says `Ready` when it is; if it dies, the pipe ends.
        """
        ours, theirs = Pipe()
        try:
            if self._forks:
                self._send(theirs.fileno())
            else:
                self._spawned = [each for each in self._spawned if each.poll() is None]
                self._spawned.append(python(__name__, "spawned", theirs.fileno()))
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        """End the warm process. Workers end when their pipes do."""
        if self._socket:
            self._socket.close()
        for process in [self._server, *self._spawned]:
            if process:
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._socket, self._server, self._spawned = None, None, []

    def _send(self, handle: int) -> None:
        for _ in range(2):
            if self._socket and self._server and self._server.poll() is None:
                with suppress(OSError):
                    socket.send_fds(self._socket, [b"w"], [handle])
                    return
            # Somebody ended the warm process: start another.
            self._open()
        raise RuntimeError("the process that starts workers ends as soon as it is started")

    def _open(self) -> None:
        if self._server:
            self._server.kill()
            self._server.wait()
        if self._socket:
            self._socket.close()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._server = python(__name__, "serve", theirs.fileno())


def serve(handle: int) -> None:
    """Be the warm process: fork a worker for each pipe end that arrives, until the socket closes.

    Args:
        handle: File descriptor of a Unix socket.
    """
    # A Ctrl-C in the terminal is for the server, whose end then is ours. Children that end need no burial.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    from playground.training import worker

    worker.preload()
    # What is there now is shared by all workers until somebody writes to it; a collection would.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=handle) as mailbox:
        while True:
            message, handles, _, _ = socket.recv_fds(mailbox, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                code = 1
                try:
                    mailbox.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    worker.main(Connection(handles[0]))
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            os.close(handles[0])


def spawned(handle: int) -> None:
    """Be a worker in a process of its own.

    Args:
        handle: File descriptor (on Windows, handle) of its end of a pipe.
    """
    from playground.training import worker

    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        worker.main(PipeConnection(handle))
    else:
        worker.main(Connection(handle))


def python(module: str, function: str, handle: int, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a function of this project in a fresh Python, and hand it a file descriptor (on Windows, a handle)."""
    code = f"from {module} import {function}; {function}{(handle, *arguments)}"
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    # One thread each: two gain little alone and lose much beside each other.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), **threads}
    command = [sys.executable, "-P", "-c", code]
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        info = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, startupinfo=info)
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[handle])
