"""What goes wrong in a training, told from its measurements, and what to change: pure, and tested on real small runs.

Each kind of trouble has a test of a few lines; of those that fit, the first in the order of `KINDS` is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from playground.plan import DEFAULTS, choices_of, notch
from playground.recipe import RunConfig
from playground.tasks import Task
from playground.training.trainer import sentences

Numbers = npt.NDArray[np.float64]

KINDS = ("broke_down", "diverged", "at_chance", "frequencies", "copies", "overfitting", "unfinished")

LEAST = 50  # steps below which nothing is said
WINDOW = 50  # steps whose mean loss is compared, fewer in a short run
LEARNT = 0.95  # share of held-out sentences with which a run has learnt its task

# Of the way from guessing to the least that smoothing leaves possible:
BROKEN = 0.3  # what a loss that was lower must have lost again
RESTS = 0.03  # less than this over half of all steps is no progress
STILL = 0.02  # more than this over the last quarter is progress
BY_HEART = 0.04  # what the loss on held-out sentences must have risen by


@dataclass(frozen=True, eq=False)
class Course:
    """What is known of a training.

    Attributes:
        config: Task, model and recipe.
        loss: Of each step's batch, nats per real token.
        step: Numbers of the steps.
        held_out: Pairs of step and loss on held-out sentences; empty if that was not measured.
        exact_match: Pairs of step and share of held-out sentences that come out right, 0–1.
        state: `running`, `paused`, `finished`, `stopped`, `diverged`, …
    """

    config: RunConfig
    loss: Numbers
    step: Numbers
    held_out: tuple[tuple[int, float], ...]
    exact_match: tuple[tuple[int, float], ...]
    state: str


@dataclass(frozen=True)
class Finding:
    """Something that goes wrong.

    Attributes:
        kind: One of `KINDS`.
        values: Numbers that show it, by name.
        remedies: What may help, each some settings by their names in `playground.plan.OPTIONS`, by the name of the
            setting that matters.
    """

    kind: str
    values: Mapping[str, float] = field(default_factory=dict)
    remedies: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def diagnose(course: Course) -> Finding | None:
    """Return what goes wrong in a training, or None if nothing is to be seen."""
    kind, values = _kind(course)
    return None if kind is None else Finding(kind, values, remedies(kind, course.config))


@lru_cache(maxsize=32)
def frequency_loss(task: Task, smoothing: float) -> float:
    """Return the least loss of a model that knows how frequent each word is, and nothing else; nats per real token.

    It says the same distribution everywhere. The best there is is the mean of the smoothed targets, and its loss is
    the entropy of that.

    Args:
        task: Whose training sentences are counted.
        smoothing: Share of label smoothing.
    """
    targets = sentences(task)[2]
    counts = np.bincount(targets[targets != 0], minlength=len(task.vocabulary.tokens))
    share = (1 - smoothing) * counts / counts.sum() + smoothing / len(counts)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())


def _kind(course: Course) -> tuple[str | None, dict[str, float]]:
    if course.state == "diverged":
        return "broke_down", {}
    loss = course.loss
    if len(loss) < LEAST:
        return None, {}
    config = course.config
    chance, span = config.chance_loss, config.chance_loss - config.least_loss
    width = max(10, min(WINDOW, len(loss) // 5))
    means = np.convolve(loss, np.full(width, 1 / width), mode="valid")  # [window]
    now, least = float(means[-1]), float(means.min())
    frequencies = frequency_loss(config.data, config.recipe.label_smoothing)
    share = course.exact_match[-1][1] if course.exact_match else None
    is_over = course.state in ("finished", "stopped")
    rested = float(means[len(means) // 2]) - now < RESTS * span
    is_warm = len(loss) >= min(2 * config.recipe.warmup, config.recipe.steps)
    if now - least > BROKEN * span and least < 0.9 * chance:
        return "diverged", {"loss": now, "least": least}
    if now >= 0.95 * chance and is_warm:
        return "at_chance", {"loss": now, "chance": chance}
    if now >= 0.93 * frequencies and rested and is_warm and len(loss) >= 2 * LEAST:
        return "frequencies", {"loss": now, "frequencies": frequencies}
    is_low = now < config.least_loss + 0.2 * span
    if share is not None and share < 0.5 and is_low and not config.model.causal:
        return "copies", {"loss": now, "share": share}
    if found := _overfits(course, means, width, span):
        return "overfitting", found
    fall = float(means[max(0, len(means) - 1 - len(loss) // 4)]) - now
    if is_over and share is not None and share < LEARNT and fall > STILL * span:
        return "unfinished", {"fall": fall, "share": share}
    return None, {}


def _overfits(course: Course, means: Numbers, width: int, span: float) -> dict[str, float] | None:
    """Return the losses that show it, if that of held-out sentences has risen while that of training still fell."""
    if len(course.held_out) < 4:
        return None
    steps, losses = np.array(course.held_out, dtype=np.float64).T
    best = int(losses.argmin())
    since = len(losses) - 1 - best
    now = float(losses[-2:].mean())
    if since < 2 or now - losses[best] <= BY_HEART * span:
        return None
    ends = course.step[width - 1 :]  # the last step of each window
    then = float(means[min(int(np.searchsorted(ends, steps[best])), len(means) - 1)])
    if means[-1] >= then:
        return None
    return {"least": float(losses[best]), "held_out": now, "loss": float(means[-1])}


def remedies(kind: str, config: RunConfig) -> dict[str, dict[str, str]]:
    """Return what may help against a kind of trouble, as far as it is not so already, by the name of what matters."""
    now = choices_of(config)
    calmer = {
        "factor": notch("factor", now["factor"], -1),
        "warmup": notch("warmup", now["warmup"], 2),
        "norm_placement": "pre" if now["norm_placement"] == "post" else None,
    }
    # A rate far above the default is led back to it at once.
    if float(now["factor"]) > 2 * float(DEFAULTS["factor"]):
        calmer["factor"] = DEFAULTS["factor"]
    if int(now["warmup"]) < int(DEFAULTS["warmup"]):
        calmer["warmup"] = DEFAULTS["warmup"]
    undone = {name: "yes" if now[name] == "no" else None for name in ("residual", "scale_scores", "train_causal")}
    longer = {"steps": notch("steps", now["steps"], 1)}
    wanted: Mapping[str, str | None] = {
        "broke_down": calmer | {"residual": undone["residual"]},
        "diverged": calmer | {"residual": undone["residual"]},
        "at_chance": undone | calmer,
        "frequencies": undone | {"positions": "sinusoidal" if now["positions"] == "none" else None} | calmer | longer,
        "copies": {"train_causal": undone["train_causal"]},
        "overfitting": {
            "dropout": notch("dropout", now["dropout"], 1),
            "label_smoothing": notch("label_smoothing", now["label_smoothing"], 1),
            "d_model": notch("d_model", now["d_model"], -1),
            "n_layers": notch("n_layers", now["n_layers"], -1),
        },
        "unfinished": longer | {"factor": notch("factor", now["factor"], 1) if float(now["factor"]) < 0.5 else None},
    }[kind]
    return {name: {name: value} for name, value in wanted.items() if value is not None}
