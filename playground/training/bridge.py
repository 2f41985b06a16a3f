"""The bridge: one process between the engine and a Ray cluster, the only one that has Ray in it."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any

import ray

import models
import playground
from playground.training import remote
from playground.training.messages import Start

LOOK_EVERY = 1.0  # seconds between two looks at what the cluster has
CONNECT = 60  # seconds in which the cluster must answer
GRACE = 8.0  # seconds in which the cluster must let us go

_log = logging.getLogger(__name__)


def serve(handle: int, address: str) -> None:
    """Be the bridge until the engine closes its end.

    The engine sends the name of a device and then the end of a pipe, for each worker that it wants. It is sent what
    room there is, whenever that changes.

    Args:
        handle: File descriptor of our end of the pipe to the engine.
        address: Of the cluster, as `ray.init` takes it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the server, whose end then is ours
    mailbox: Connection[Any, Any] = Connection(handle)
    # Looking for a cluster that is not there, Ray lets no other thread run; this watch is none of Python's threads.
    faulthandler.dump_traceback_later(CONNECT, exit=True)
    ray.init(
        address=address,
        # Machines of the cluster need this project's requirements, and get its code from here.
        runtime_env={"py_modules": [models, playground], "excludes": ["recordings", "__pycache__"]},
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    faulthandler.cancel_dump_traceback_later()
    threading.Thread(target=_tell_room, args=(mailbox,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            device = mailbox.recv()
            connection: Connection[Any, Any] = Connection(recv_handle(mailbox))
            threading.Thread(target=Tended(connection, device).tend, daemon=True).start()
    threading.Timer(GRACE, os._exit, (1,)).start()  # without an answer from the cluster, which ends the workers too
    ray.shutdown()
    os._exit(0)


def room(resources: Mapping[str, float], share: float) -> dict[str, int]:
    """Return how many runs can have each device at once.

    Args:
        resources: Of the cluster, by Ray's names.
        share: Of a GPU that a run takes.
    """
    found = {"cpu": int(resources.get("CPU", 0))}
    if graphics := int(resources.get("GPU", 0) / share):
        found["cuda"] = graphics
    return found


def gpu_share() -> float:
    """Return what part of a GPU a run takes: `PLAYGROUND_GPU_SHARE`, or a whole one."""
    try:
        share = float(os.environ.get("PLAYGROUND_GPU_SHARE", "1"))
    except ValueError:
        share = 1.0
    return share if 0 < share <= 1 else 1.0


def _tell_room(mailbox: Connection[Any, Any]) -> None:
    """Tell the engine what the cluster has, whenever it changes: machines come and go."""
    told = None
    try:
        while True:
            now = room(ray.cluster_resources(), gpu_share())
            if now != told:
                mailbox.send(now)
                told = now
            time.sleep(LOOK_EVERY)
    except Exception as error:  # there is no cluster any more: the engine will start another bridge
        _log.warning("the cluster is lost: %s", error)
        os._exit(1)


class Tended:
    """One worker on the cluster, and the pipe by which the engine speaks with it.

    Args:
        connection: The worker's end of the pipe.
        device: What it computes on.
    """

    def __init__(self, connection: Connection[Any, Any], device: str) -> None:
        self._connection = connection
        self._folder: Path | None = None
        graphics = gpu_share() if device == "cuda" else 0
        # A worker that is lost is lost: the engine says so, and the run can be continued from what was recorded.
        options = {"num_cpus": 1, "num_gpus": graphics, "max_restarts": 0, "max_concurrency": 3}
        self._actor = ray.remote(remote.Trainee).options(**options).remote()

    def tend(self) -> None:
        """Carry messages both ways until one side ends, then end the other."""
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        with suppress(EOFError, OSError, ray.exceptions.RayError):
            while True:
                message = self._connection.recv()
                if isinstance(message, Start):
                    self._folder = Path(message.path)
                    self._actor.start.remote(message, remote.pack(self._folder))
                else:
                    self._actor.tell.remote(message)
        ray.kill(self._actor)
        listener.join()
        self._connection.close()

    def _listen(self) -> None:
        """Pass on what the worker says; what it wrote is written here before."""
        try:
            while True:
                for message in ray.get(self._actor.heard.remote()):
                    if isinstance(message, remote.Written):
                        assert self._folder
                        message.write(self._folder)
                    else:
                        self._connection.send(message)
        except (OSError, ray.exceptions.RayError) as error:
            if not isinstance(error, ray.exceptions.RayActorError):
                _log.warning("a worker on the cluster is given up: %s", error)
        finally:
            # The other thread waits at this pipe, and the engine at its other end.
            with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)
