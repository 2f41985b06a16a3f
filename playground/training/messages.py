"""What goes through the pipe between the engine and a worker: plain data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from playground.recipe import Change
from playground.runs import Progress
from playground.training.watching import Peek, Sample

# Step, loss of held-out sentences, and for each part of the model gradients and update.
Look = tuple[int, float, tuple[float, ...], tuple[float, ...]]

# What the engine may ask of a worker that has a run. An answer is due within a second.
Command = Literal["pause", "resume", "step", "stop"]


@dataclass(frozen=True)
class Start:
    """To a worker: train the run in this folder.

    Attributes:
        path: The folder.
        memory: Megabytes that the worker may take for it; None any number.
    """

    path: str
    memory: int | None = None


@dataclass(frozen=True)
class Alter:
    """To a worker: let a setting have another value from the next step on.

    Attributes:
        name: A key of `playground.recipe.CHANGEABLE`.
        value: Within its limits.
    """

    name: str
    value: float


@dataclass(frozen=True)
class Altered:
    """From a worker: what has been changed on the way, now that it is written down.

    Attributes:
        changes: All changes of the run.
    """

    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Ready:
    """From a worker: it can be given a run.

    Attributes:
        pid: Its process.
        host: Name of its machine; empty if it is the engine's own.
    """

    pid: int
    host: str = ""


@dataclass(frozen=True)
class Measured:
    """From a worker: what the steps since the last such message measured.

    Attributes:
        rows: A row a step, a number a name in `playground.runs.COLUMNS`.
    """

    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Looked:
    """From a worker: what closer looks since the last such message measured.

    Attributes:
        rows: One a look, as in `playground.runs.CLOSER`.
    """

    rows: tuple[Look, ...]


@dataclass(frozen=True)
class Watched:
    """From a worker: a look at the model between two steps. What is None was not looked at.

    Attributes:
        step: Updates made.
        peek: Attention maps of one sentence.
        samples: Translations of held-out sentences.
        exact_match: Share of held-out sentences translated word for word, 0–1.
    """

    step: int
    peek: Peek | None = None
    samples: tuple[Sample, ...] | None = None
    exact_match: float | None = None


@dataclass(frozen=True)
class Recorded:
    """From a worker: the weights of this step are on the disk.

    Attributes:
        step: Updates made.
    """

    step: int


@dataclass(frozen=True)
class Heard:
    """From a worker: it was asked to stop, and is putting its things away."""


@dataclass(frozen=True)
class Changed:
    """From a worker: the run's state. Any but `running` and `paused` is the last message.

    Attributes:
        progress: State, step and what there is to say about it.
    """

    progress: Progress
