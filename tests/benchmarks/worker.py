"""Training in a worker, watched, measured, recorded and sent as the app does it, against the bare loop. One thread.

The bare loop is what one would write in a notebook: the same model, batches, dropout, loss, rate and optimizer, and the
loss read at each step; nothing is kept, looked at or told. Whole runs of the app's own default, in turns.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from models import Transformer, label_smoothed_loss, learning_rate
from playground.recipe import Recipe, RunConfig, model_for
from playground.runs import RunStore
from playground.training.messages import Changed, Measured, Start
from playground.training.nursery import Nursery
from playground.training.trainer import Order
from tests.benchmarks import Measure

TURNS = 5
CONFIG = RunConfig(task="english-french", model=model_for("english-french"), recipe=Recipe(steps=600))


def measure() -> list[Measure]:
    """Measure the seconds of a step in a worker against those in the bare loop: by the clock, and of the CPU."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    nursery = Nursery()
    try:
        with TemporaryDirectory() as folder:
            store = RunStore(Path(folder))
            _bare(50)
            pairs = [(_in_worker(store, nursery), _bare(CONFIG.recipe.steps)) for _ in range(TURNS)]
    finally:
        nursery.close()
        torch.set_num_threads(threads)
    return [_ratio(name, pairs, at) for at, name in enumerate(("by the clock", "of the CPU"))]


def _ratio(name: str, pairs: list[tuple[tuple[float, float], tuple[float, float]]], at: int) -> Measure:
    ratios = [worker[at] / bare[at] for worker, bare in pairs]
    rate = statistics.median(1 / worker[at] for worker, _ in pairs)
    return Measure(
        f"a step in a worker against the bare loop, {name}",
        statistics.median(ratios),
        at_most=1 / 0.9,
        note=f"{TURNS} runs of 600 steps, {min(ratios):.2f} to {max(ratios):.2f}; {rate:.0f} steps a second there",
    )


def _in_worker(store: RunStore, nursery: Nursery) -> tuple[float, float]:
    """Return the seconds that a step takes by the clock, and of the CPU, from the first told to the run's end."""
    with nursery.born() as connection:
        pid = connection.recv().pid
        connection.send(Start(str(store.create(CONFIG).path)))
        first: tuple[int, float, float] | None = None
        while True:
            message = connection.recv()
            if isinstance(message, Measured) and first is None:
                first = int(message.rows[-1][0]), time.perf_counter(), _cpu_seconds(pid)
            if isinstance(message, Measured) and message.rows[-1][0] == CONFIG.recipe.steps:
                break
        assert first
        steps = CONFIG.recipe.steps - first[0]
        seconds = (time.perf_counter() - first[1]) / steps, (_cpu_seconds(pid) - first[2]) / steps
        while not (isinstance(message, Changed) and message.progress.state == "finished"):
            message = connection.recv()
    return seconds


def _bare(steps: int) -> tuple[float, float]:
    """Return the same of a loop that does nothing else."""
    recipe = CONFIG.recipe
    model = Transformer(CONFIG.model, torch.Generator().manual_seed(0))
    model.dropout.generator = torch.Generator().manual_seed(1)
    order = Order(CONFIG.data, np.random.default_rng(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()
    start = time.perf_counter(), time.process_time()
    for step in range(1, steps + 1):
        batch = order.batch(recipe.batch_size)
        logits = model(*map(torch.from_numpy, batch.read))
        loss = label_smoothed_loss(logits, torch.from_numpy(batch.tgt_out), 0, recipe.label_smoothing)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(
                step, schedule="noam", d_model=CONFIG.model.d_model, warmup=recipe.warmup, factor=0.5, steps=steps
            )
        optimizer.step()
        loss.item()
    return (time.perf_counter() - start[0]) / steps, (time.process_time() - start[1]) / steps


def _cpu_seconds(pid: int) -> float:
    """Return what a process has used of the CPU, where the system tells."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
