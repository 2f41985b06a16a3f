"""What an engine allows itself and its visitors: defaults by the machine, each set by a variable of its own."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from playground.recipe import MODEL_LIMITS, RECIPE_LIMITS, RunConfig, RunRefused

WORKER_BYTES = 250_000_000  # memory to count on for a worker, most of it torch's
LEAST_MEMORY = 500  # megabytes below which a worker would fail for no fault of the visitor's

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """What an engine allows itself and its visitors. Where None is said to be possible, it is no limit.

    Attributes:
        workers: Runs that are trained or paused at once; the others wait.
        waiting: Runs that may wait.
        warm: Idle workers kept for the next click.
        lease: Seconds without a sign of the visitor after which a run is paused; or None.
        keep: Seconds without a sign after which it is ended; or None.
        seconds: Seconds that a run may have a worker; or None.
        steps: Largest number of updates of a run.
        parameters: Largest number of a model's parameters.
        tokens: Largest number of tokens, padding included, that a batch may come to.
        memory: Megabytes that a worker may take for itself, where the platform can hold it to that; or None.
        runs: Ended runs of one visitor that are kept; or None.
        days: Days since it was last written or opened after which an ended run is removed; or None.
        remember: Seconds for which samples and maps of an ended run are kept.
        grace: Seconds in which a worker must heed a stop before it is ended by force.
    """

    workers: int = 4
    waiting: int = 100
    warm: int = 2
    lease: float | None = 60.0
    keep: float | None = 600.0
    seconds: float | None = 3_600.0
    steps: int = int(RECIPE_LIMITS["steps"][1])
    parameters: int = MODEL_LIMITS["n_parameters"]
    tokens: int = 65_536
    memory: int | None = None
    runs: int | None = 20
    days: float | None = 30.0
    remember: float = 600.0
    grace: float = 0.9

    @classmethod
    def here(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return the limits of this machine, as far as the environment does not set others.

        Workers: four a core, as far as half the memory goes. Memory of a worker: a quarter of the machine's.

        Args:
            environment: Variables, as in `SETTINGS`; the process's own if None.
        """
        found = os.environ if environment is None else environment
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        memory = machine_memory()
        machine = {
            "workers": max(1, min(4 * cores, memory // 2 // WORKER_BYTES)),
            "memory": max(LEAST_MEMORY, memory // 4_000_000),
        }
        plain = cls()
        values = {
            each.field: each.read(found, machine.get(each.field, getattr(plain, each.field))) for each in SETTINGS
        }
        return cls(**values)  # type: ignore[arg-type]  # a setting is of its field's type

    def check(self, config: RunConfig) -> None:
        """Refuse a run that is larger than is allowed here.

        Raises:
            RunRefused: If it is; the key says in what.
        """
        if (steps := config.recipe.steps) > self.steps:
            raise RunRefused("training.refused.steps", value=steps, high=self.steps)
        if (parameters := config.model.n_parameters) > self.parameters:
            raise RunRefused("training.refused.parameters", value=parameters, high=self.parameters)
        if (tokens := batch_tokens(config)) > self.tokens:
            raise RunRefused("training.refused.tokens", value=tokens, high=self.tokens)


@dataclass(frozen=True)
class Setting:
    """How a host sets one limit.

    Attributes:
        variable: Name in the environment.
        field: The field of `Limits`.
        least: Smallest value; 0 where it stands for no limit.
        whole: Whether it is a whole number.
    """

    variable: str
    field: str
    least: float = 1
    whole: bool = True

    def read(self, environment: Mapping[str, str], default: float | None) -> float | None:
        """Return what the environment says, or the default if it says nothing that makes sense."""
        text = environment.get(self.variable, "").strip()
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (self.least <= value < math.inf) or (self.whole and value != int(value)):
            _log.warning("%s=%r makes no sense; it stays at %s", self.variable, text, default)
            return default
        if value == 0 and self.field not in ("warm", "waiting"):
            return None
        return int(value) if self.whole else value


# How a host sets the limits; docs/hosting.md has the same table for its reader.
SETTINGS = (
    Setting("PLAYGROUND_WORKERS", "workers"),
    Setting("PLAYGROUND_WAITING", "waiting", least=0),
    Setting("PLAYGROUND_WARM", "warm", least=0),
    Setting("PLAYGROUND_LEASE", "lease", least=0, whole=False),
    Setting("PLAYGROUND_KEEP", "keep", least=0, whole=False),
    Setting("PLAYGROUND_SECONDS", "seconds", least=0, whole=False),
    Setting("PLAYGROUND_STEPS", "steps"),
    Setting("PLAYGROUND_PARAMETERS", "parameters"),
    Setting("PLAYGROUND_TOKENS", "tokens"),
    Setting("PLAYGROUND_MEMORY", "memory", least=0),
    Setting("PLAYGROUND_RUNS_KEPT", "runs", least=0),
    Setting("PLAYGROUND_DAYS_KEPT", "days", least=0, whole=False),
)


def batch_tokens(config: RunConfig) -> int:
    """Return how many tokens the largest batch can come to, padding included: what its memory grows with."""
    sides = 2 if config.model.architecture == "encoder-decoder" else 1
    return config.recipe.batch_size * sides * config.data.max_len


def machine_memory() -> int:
    """Return the memory that this machine, or the container in it, has, in bytes; 4 GB where it does not say."""
    found = [4_000_000_000]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # no such file, or "max"
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found)
