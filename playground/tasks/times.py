"""How long a fresh model takes to learn each task: measured once, written down with the date and the conditions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

_FILE = Path(__file__).with_name("times.toml")


@dataclass(frozen=True)
class Learnt:
    """When a model got 99 % of the held-out sentences word for word.

    Attributes:
        steps: Updates until then, to the next 50.
        seconds: CPU time of those on one thread, evaluations left out.
        reached: Share of the held-out sentences that was right then; below 0.99 if the model was given up.
    """

    steps: int
    seconds: float
    reached: float = 0.99


@dataclass(frozen=True)
class Better:
    """Settings under which a task is learnt that is not learnt under those set at first.

    Attributes:
        settings: What differs, as the page on training writes it.
        steps: As in `Learnt`.
        seconds: As in `Learnt`.
    """

    settings: Mapping[str, str]
    steps: int
    seconds: float


@dataclass(frozen=True)
class Conditions:
    """Under what the times were measured.

    Attributes:
        date: The day.
        machine: Processor and load.
        versions: Of Python and torch.
        settings: Of model and recipe.
        most_steps: Updates after which a model that had not learnt its task was given up.
    """

    date: str
    machine: str
    versions: str
    settings: str
    most_steps: int


@cache
def conditions() -> Conditions:
    """Return under what the times were measured."""
    return Conditions(**_found()["conditions"])


@cache
def times() -> Mapping[str, Learnt | None]:
    """Return what was measured, by the task's name; None for a task that has no one right answer to get to."""
    found = _found()["tasks"]
    return MappingProxyType({name: Learnt(**each) if each else None for name, each in found.items()})


@cache
def better() -> Mapping[str, Better]:
    """Return settings that a task needs, by its name; only for tasks that are not learnt without."""
    return MappingProxyType({name: Better(**each) for name, each in _found()["better"].items()})


def _found() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))
