"""How soon a fresh model translates: CPU-seconds from the first step to 99 % of held-out sentences word for word."""

from __future__ import annotations

import statistics
import time

import torch

from playground.recipe import Recipe, RunConfig, model_for
from playground.training.shipped import GOOD_ENOUGH, JUDGED_ON
from playground.training.trainer import Trainer
from tests.benchmarks import Measure

SEEDS = range(5)
EVERY = 20  # steps between two evaluations, whose time is not counted
MOST = 1_200  # steps
TASTE = 100  # sentences tried first; only if nearly all of them are right, all are


def measure() -> list[Measure]:
    """Train with the default recipe from five seeds, on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        runs = [learn(seed) for seed in SEEDS]
    finally:
        torch.set_num_threads(before)
    seconds, steps = [run[0] for run in runs], [run[1] for run in runs]
    note = (
        f"{len(runs)} seeds, {min(seconds):.1f}–{max(seconds):.1f} CPU-s, {min(steps)}–{max(steps)} steps; "
        f"factor {Recipe.factor:g}, warm-up {Recipe.warmup}; evaluated each {EVERY} steps, not counted"
    )
    return [Measure("English → French to 99 % exact", statistics.median(seconds), "CPU-s", at_most=10.0, note=note)]


def learn(seed: int) -> tuple[float, int]:
    """Return the CPU-seconds and the steps until the held-out sentences are right; infinity if they never are."""
    name = "english-french"
    trainer = Trainer(RunConfig(task=name, model=model_for(name), recipe=Recipe(steps=MOST, seed=seed)))
    seconds = 0.0
    while trainer.step < MOST:
        start = time.thread_time()
        trainer.advance()
        seconds += time.thread_time() - start
        good = trainer.step % EVERY == 0 and trainer.evaluate(TASTE) >= GOOD_ENOUGH - 0.02
        if good and trainer.evaluate(JUDGED_ON) >= GOOD_ENOUGH:
            return seconds, trainer.step
    return float("inf"), MOST
