"""Prepared comparisons: what each design choice of the paper does, shown by runs that differ in it alone.

`PREPARED` says what is compared with what, `RECORDED` how each run is trained. The runs are shipped in
`playground/experiments/`, and made again by `python -m playground record --experiments`; the same command trains every
one of them from three seeds, so that a text can say what a seed alone changes (`measured`).
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from playground.comparing import names
from playground.i18n import Translate
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import EXPERIMENTS, Run, RunStore

# What a link can hold: a prepared comparison or runs, what is drawn over what, and what a fork is to change.
ASKED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(,[A-Za-z0-9][A-Za-z0-9_-]{0,63}){0,3}")
CHANGES = re.compile(r"-|[a-z0-9_]{1,32}:[A-Za-z0-9_.-]{1,32}(,[a-z0-9_]{1,32}:[A-Za-z0-9_.-]{1,32}){0,3}")
MEASURES = ("loss", "accuracy", "grad_norm", "learning_rate")
OVER = ("step", "tokens", "seconds")

SEEDS = range(3)
MEASURED = EXPERIMENTS / "measured.json"
JUDGED_ON = 200  # held-out sentences
JUDGED_EVERY = 50  # steps between two measurements of exact match


@dataclass(frozen=True)
class Prepared:
    """One comparison.

    Attributes:
        id: Its name in links and in the words.
        runs: Keys of `RECORDED`, two to four of them; the first is as in the paper, or nearest to it.
        measure: What is drawn at first: a name of `playground.runs.COLUMNS`.
        over: What it is drawn over at first: `step` or `tokens`.
        where: Whose maps are shown at first, a key of `playground.head.PLACES`.
        head: Layer and head at first, such as `0-2`; `best` for the one of each run that aligns best.
    """

    id: str
    runs: tuple[str, ...]
    measure: str = "loss"
    over: str = "step"
    where: str = "cross"
    head: str = "best"


def _recorded() -> Mapping[str, RunConfig]:
    """Return the runs: small enough to be shipped, and large enough that the task is learnt where it can be."""
    small: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 64, "n_layers": 2, "dropout": 0.0}
    wide = {**small, "d_model": 64, "n_layers": 1}
    deep = {**small, "d_ff": 32, "n_layers": 4}
    usual = {"steps": 800, "factor": 0.5, "warmup": 100}

    def run(sizes: Mapping[str, Any] = small, recipe: Mapping[str, Any] = usual, **choices: Any) -> RunConfig:
        task = "english-french"
        names = choices.keys() & set(Recipe.__dataclass_fields__)
        trained = {**recipe, **{name: choices.pop(name) for name in names}}
        return RunConfig(task=task, model=model_for(task, **{**sizes, **choices}), recipe=Recipe(**trained))

    slower = {**usual, "factor": 0.4}
    return MappingProxyType(
        {
            "compare-base": run(),
            "compare-no-positions": run(positions="none"),
            "compare-one-head": run(n_heads=1),
            "compare-eight-heads": run(n_heads=8),
            "compare-grouped": run(n_kv_heads=2),
            "compare-one-key": run(n_kv_heads=1),
            "compare-look-ahead": run(causal=False),
            "compare-no-residual": run(residual=False),
            "compare-constant": run(schedule="constant"),
            "compare-constant-low": run(schedule="constant", factor=0.15),
            "compare-no-smoothing": run(label_smoothing=0.0),
            "compare-batch-8": run(batch_size=8),
            "compare-batch-128": run(batch_size=128),
            "compare-wide": run(wide, n_heads=1),
            "compare-wide-unscaled": run(wide, n_heads=1, scale_scores=False),
            "compare-narrow": run(wide, n_heads=8),
            "compare-narrow-unscaled": run(wide, n_heads=8, scale_scores=False),
            "compare-post": run(deep, slower),
            "compare-post-cold": run(deep, slower, schedule="inverse_sqrt"),
            "compare-pre": run(deep, slower, norm_placement="pre"),
            "compare-pre-cold": run(deep, slower, norm_placement="pre", schedule="inverse_sqrt"),
        }
    )


RECORDED = _recorded()

PREPARED: Mapping[str, Prepared] = MappingProxyType(
    {
        each.id: each
        for each in (
            Prepared("positions", ("compare-base", "compare-no-positions")),
            Prepared("causal", ("compare-base", "compare-look-ahead"), where="decoder", head="0-2"),
            Prepared(
                "scaling",
                ("compare-wide", "compare-wide-unscaled", "compare-narrow", "compare-narrow-unscaled"),
            ),
            Prepared("residual", ("compare-base", "compare-no-residual")),
            Prepared("norm", ("compare-post", "compare-post-cold", "compare-pre", "compare-pre-cold")),
            Prepared("heads", ("compare-base", "compare-one-head", "compare-eight-heads")),
            Prepared("grouped", ("compare-base", "compare-grouped", "compare-one-key")),
            Prepared("schedule", ("compare-base", "compare-constant", "compare-constant-low")),
            Prepared("smoothing", ("compare-base", "compare-no-smoothing"), measure="accuracy"),
            Prepared("batch", ("compare-base", "compare-batch-8", "compare-batch-128"), over="tokens"),
        )
    }
)


@dataclass(frozen=True)
class Seeds:
    """What a run's settings led to from each of `SEEDS`.

    Attributes:
        shares: Share of held-out sentences exactly right at the end, 0–1.
        steps: The first measured step at which 99 % were; None where that was never.
        losses: Mean loss of the last 20 steps, nats per target token.
    """

    shares: tuple[float, ...]
    steps: tuple[int | None, ...]
    losses: tuple[float, ...]

    @property
    def share(self) -> float:
        """The middle share."""
        return statistics.median(self.shares)

    @property
    def good(self) -> int:
        """How many seeds reached 99 % at some time."""
        return sum(step is not None for step in self.steps)


def runs_of(prepared: Prepared) -> tuple[Run, ...]:
    """Return a comparison's recorded runs, in order.

    Raises:
        RunRefused: If one is not there.
    """
    store = RunStore()
    return tuple(store.open(run_id) for run_id in prepared.runs)


@lru_cache(maxsize=1)
def measured() -> Mapping[str, Seeds]:
    """Return what every run of `RECORDED` led to from each seed, as it was measured when the runs were made."""
    plain = json.loads(MEASURED.read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            run_id: Seeds(*(tuple(each[name]) for name in ("shares", "steps", "losses")))
            for run_id, each in plain.items()
        }
    )


def experiment_name(run_id: str, t: Translate) -> str:
    """Return what a run of `RECORDED` is called: what sets it apart from the first of them."""
    base = next(iter(RECORDED.values()))
    return names((base, RECORDED[run_id]), t)[1] or t("compare.base")
