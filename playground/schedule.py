"""Learning rates over a training: Noam's and four others, for any width, warm-up and factor, beside a run's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from models import SCHEDULES, learning_rate, peak_rate
from playground.labelled import Axis, LabelledArray
from playground.recipe import RunConfig

Numbers = npt.NDArray[np.float64]

# What the page shows, as its links say it.
VIEWS = ("rate", "adam")

# What a visitor may set, by its name in a link; a run's own value is offered beside these.
SPEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "rate_width": ("16", "32", "64", "128", "256", "512", "1024"),
        "rate_warmup": ("10", "50", "100", "200", "400", "1000", "2000", "4000", "8000", "16000"),
        "rate_factor": ("0.1", "0.25", "0.5", "1", "2", "5"),
        "rate_steps": ("400", "1000", "4000", "20000", "100000", "250000", "300000"),
    }
)
OTHERS = tuple(each for each in SCHEDULES if each != "noam")

_POINTS = 200  # of a curve, on each of a linear and a logarithmic scale


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a learning rate depends on.

    Attributes:
        d_model: Width of the model.
        warmup: Number of the step with the peak rate.
        factor: Multiplies the rate.
        steps: Updates planned.
    """

    d_model: int
    warmup: int
    factor: float
    steps: int

    @property
    def peak(self) -> float:
        """The largest rate of every schedule: factor / √(d_model · warmup)."""
        return peak_rate(d_model=self.d_model, warmup=self.warmup, factor=self.factor)

    @property
    def at(self) -> Numbers:
        """Steps at which curves are drawn, rising: from the first to the last, the peak among them."""
        even = np.linspace(1, self.steps, _POINTS)
        log = np.geomspace(1, self.steps, _POINTS)
        kept = {*np.rint(even).tolist(), *np.rint(log).tolist()}
        if self.warmup <= self.steps:
            kept.add(float(self.warmup))
        return np.array(sorted(kept))

    def rate(self, step: int, schedule: str = "noam") -> float:
        """Return the rate of an update, counted from 1."""
        return learning_rate(
            step,
            schedule=schedule,
            d_model=self.d_model,
            warmup=self.warmup,
            factor=self.factor,
            steps=self.steps,
        )

    def curve(self, schedule: str) -> LabelledArray:
        """Return a schedule's rates at the steps of `at`."""
        steps = self.at
        rates = np.array([self.rate(int(step), schedule) for step in steps])
        return LabelledArray(schedule, rates, (Axis("step", tuple(f"{int(step)}" for step in steps)),))

    def branches(self) -> tuple[LabelledArray, LabelledArray]:
        """Return both sides of Noam's minimum, each at all steps of `at`: what rises with the step, and what falls.

        Source: Vaswani et al. 2017, section 5.3, equation 3.
        """
        steps = self.at
        size = self.factor * self.d_model**-0.5
        axes = (Axis("step", tuple(f"{int(step)}" for step in steps)),)
        rising, falling = size * steps * self.warmup**-1.5, size * steps**-0.5
        return LabelledArray("rising", rising, axes), LabelledArray("falling", falling, axes)


# Settings that were published. Warm-up and factor of the paper are those of both its models.
PUBLISHED: Mapping[str, Setting] = MappingProxyType(
    {
        "base": Setting(d_model=512, warmup=4_000, factor=1.0, steps=100_000),
        "big": Setting(d_model=1_024, warmup=4_000, factor=1.0, steps=300_000),
        "tensor2tensor": Setting(d_model=512, warmup=8_000, factor=2.0, steps=250_000),
    }
)


def own_setting(config: RunConfig) -> Setting:
    """Return the setting that a run was trained with."""
    recipe = config.recipe
    return Setting(d_model=config.model.d_model, warmup=recipe.warmup, factor=recipe.factor, steps=recipe.steps)


def factor_changes(config: RunConfig) -> tuple[tuple[int, float], ...]:
    """Return when the factor was changed on the way, and to what: pairs of step and factor."""
    return tuple((each.step, each.value) for each in config.changes if each.name == "factor")


def planned(config: RunConfig, steps: int) -> Numbers:
    """Return the rates that a run's configuration gives its first updates, changes on the way among them: `[step]`."""
    found: list[float] = []
    for turn, following in pairwise((*config.turns, steps + 1)):
        setting, schedule = own_setting(now := config.at(turn)), now.recipe.schedule
        found += [setting.rate(step, schedule) for step in range(turn, min(following, steps + 1))]
    return np.array(found)


def logged(steps: Numbers, rates: Numbers, most: int = 60) -> LabelledArray:
    """Return rates that a run wrote down while it trained, at most so many of them, the first and the last among them.

    Args:
        steps: `[step]`, from 1, rising.
        rates: `[step]`, the rate of each of these updates.
        most: How many are kept, evenly on a logarithmic scale.
    """
    if not len(steps):
        return LabelledArray("learning_rate", np.empty(0), (Axis("step", ()),))
    wanted = np.geomspace(1, len(steps), min(most, len(steps)))
    kept = np.unique(np.rint(wanted).astype(int)) - 1
    return LabelledArray("learning_rate", rates[kept], (Axis("step", tuple(f"{int(s)}" for s in steps[kept])),))
