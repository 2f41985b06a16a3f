"""How long a run waits for a worker, from what the runs before it were measured to take."""

from __future__ import annotations

import heapq
import statistics
from collections import deque
from collections.abc import Sequence

from playground.recipe import RunConfig

REMEMBERED = 20  # runs whose pace counts


def expected_waits(left: Sequence[float], queue: Sequence[float], workers: int) -> list[float]:
    """Return for each run of a queue in how many seconds it gets a worker.

    Args:
        left: Seconds that each run with a worker still takes.
        queue: Seconds that each waiting run will take, the first in line first.
        workers: How many there are, busy or not.

    Returns:
        Seconds, one a waiting run, never falling; infinity if there are no workers.
    """
    if workers < 1:
        return [float("inf")] * len(queue)
    free = sorted([*left, *([0.0] * max(0, workers - len(left)))])  # when each worker is free
    while len(free) > workers:  # more runs than workers, after a limit was lowered: the first to end free nobody
        free.pop(0)
    heapq.heapify(free)
    waits = []
    for seconds in queue:
        start = heapq.heappop(free)
        waits.append(start)
        heapq.heappush(free, start + seconds)
    return waits


class Pace:
    """How much slower or faster than expected steps are made here; 1.0 until a run was measured."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=REMEMBERED)

    def measured(self, config: RunConfig, steps: int, seconds: float) -> None:
        """Take in how long a run took."""
        expected = config.expected_seconds * steps / config.recipe.steps
        if steps > 0 and seconds > 0 and expected > 0:
            self._ratios.append(seconds / expected)

    def seconds(self, config: RunConfig) -> float:
        """Return how long a run may take that was not begun."""
        return config.expected_seconds * (statistics.median(self._ratios) if self._ratios else 1.0)
