"""Workers on the machines of a Ray cluster: the same pipes and messages, however far the process at the other end is.

Between the engine and the cluster stands one process of this machine, the bridge (`playground.training.bridge`). It
alone has Ray in it: if the cluster is lost, Ray ends the process that was connected to it, and this must not be the
one that serves pages. The engine gives the bridge one end of a pipe for each worker, as it gives it to a nursery that
forks; the bridge carries messages to a process on the cluster and back, and writes down here, in the run's folder,
what the worker writes down there. So machines need share no disk.

Source: Moritz et al. 2018, "Ray: A Distributed Framework for Emerging AI Applications" (arXiv:1712.05889).
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Any

from playground.training.nursery import python

# Seconds between two attempts to reach the cluster: twice as long after each that failed.
FIRST, LONGEST = 1.0, 60.0

_log = logging.getLogger(__name__)


class Cluster:
    """Starts workers on a cluster. Nothing here waits for it: until it is reached, there is room for no run.

    Args:
        address: As `ray.init` takes it: `auto` for the cluster that this machine is part of, `host:6379`, or
            `ray://host:10001` for one that it is not part of.

    Raises:
        RuntimeError: If Ray is not installed, or this platform has no way to hand over a pipe.
    """

    is_here = False

    def __init__(self, address: str) -> None:
        if find_spec("ray") is None:
            raise RuntimeError("PLAYGROUND_CLUSTER is set, but there is no Ray: pip install -r requirements-ray.txt")
        if sys.platform == "win32":
            raise RuntimeError("PLAYGROUND_CLUSTER needs Linux or macOS on the machine that serves the pages")
        self._address = address
        self._bridge: subprocess.Popen[bytes] | None = None
        self._mailbox: Connection[Any, Any] | None = None
        self._room: Mapping[str, int] = {"cpu": 0}
        self._again, self._pause = 0.0, FIRST
        self._open()

    def room(self) -> Mapping[str, int]:
        """Return for each device how many runs can have it at once, as the bridge has told; 0 while it is cut off.

        A bridge that has ended is replaced, after a while.
        """
        try:
            while self._mailbox and self._mailbox.poll():
                self._room = self._mailbox.recv()
                self._pause = FIRST
        except (EOFError, OSError):
            self._lost()
        if self._mailbox is None and time.monotonic() >= self._again:
            with suppress(OSError):
                self._open()
        return self._room

    def born(self, device: str = "cpu") -> Connection[Any, Any]:
        """Start a worker on a machine that has the device free, and return our end of its pipe at once.

        Raises:
            RuntimeError: If the cluster is cut off.
        """
        if self._mailbox is None or self._bridge is None:
            raise RuntimeError("the cluster is cut off")
        ours, theirs = Pipe()
        try:
            self._mailbox.send(device)
            send_handle(self._mailbox, theirs.fileno(), self._bridge.pid)
        except OSError as error:
            ours.close()
            self._lost()
            raise RuntimeError("the cluster is cut off") from error
        finally:
            theirs.close()
        return ours

    def close(self) -> None:
        """End the bridge, and with it all workers on the cluster."""
        if self._mailbox:
            self._mailbox.close()
        if self._bridge:
            try:
                self._bridge.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._bridge.kill()
                self._bridge.wait()
        self._mailbox, self._bridge, self._again = None, None, float("inf")

    def _open(self) -> None:
        self._mailbox, theirs = Pipe()
        with theirs:
            self._bridge = python("playground.training.bridge", "serve", theirs.fileno(), self._address)

    def _lost(self) -> None:
        """Take note that the bridge has ended; pipes that it held end by themselves."""
        _log.warning("the cluster at %s is cut off; next attempt in %.0f s", self._address, self._pause)
        if self._mailbox:
            self._mailbox.close()
        if self._bridge:
            self._bridge.kill()
            self._bridge.wait()
        self._mailbox, self._bridge = None, None
        self._room = dict.fromkeys(self._room, 0)
        self._again = time.monotonic() + self._pause
        self._pause = min(LONGEST, 2 * self._pause)
