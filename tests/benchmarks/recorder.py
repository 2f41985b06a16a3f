"""A forward pass that keeps every tensor, against one that nobody watches and that is fused. One thread."""

from __future__ import annotations

import statistics
import time

import torch

from models import NO_TAP, ModelConfig, Recorder, Tap, Transformer
from tests.benchmarks import Measure

PAIRS = 200


def measure() -> list[Measure]:
    """Measure one sentence, as every page reads it, and a batch, where fresh memory for the record takes the time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_compare("one sentence of 12", 1, 1.3), _compare("32 sentences of 12", 32, None)]
    finally:
        torch.set_num_threads(threads)


def _compare(name: str, batch: int, at_most: float | None) -> Measure:
    config = ModelConfig(vocab_size=250, d_model=64, n_heads=4, d_ff=256, n_layers=2, max_len=12)
    model = Transformer(config, torch.Generator().manual_seed(0)).eval()
    src, tgt = torch.randint(3, 250, (2, batch, 12), generator=torch.Generator().manual_seed(1))

    def cpu_seconds(tap: Tap) -> float:
        start = time.process_time()
        model(src, tgt, tap=tap)
        return time.process_time() - start

    ratios, milliseconds = [], []
    with torch.no_grad():
        for pair in range(-10, PAIRS):  # the first ten warm up
            watched, unwatched = cpu_seconds(Recorder()), cpu_seconds(NO_TAP)
            if pair >= 0:
                ratios.append(watched / unwatched)
                milliseconds.append(1e3 * watched)
    low, _, high = statistics.quantiles(ratios, n=4)
    ours = statistics.median(milliseconds)
    return Measure(
        f"forward pass with a Recorder against the fused pass, {name}",
        statistics.median(ratios),
        at_most=at_most,
        note=f"{PAIRS} pairs, quartiles {low:.2f} and {high:.2f}; recorded {ours:.1f} CPU-ms",
    )
