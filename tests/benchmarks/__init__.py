"""Measurements. A module here has `measure() -> list[Measure]`; `python -m tests.benchmarks` runs them all.

Pytest never runs one: a shared machine's clock is no test. What is compared runs in turns in one process, so that a
ratio means something where a second does not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One number that was measured.

    Attributes:
        name: What was measured, in words.
        value: The number, the median of its repeats.
        unit: `×` for a ratio, `s`, `ms`, `CPU-s`, `MB`, …
        at_most: The bound it is held to, in the same unit; None if it is only watched.
        note: How it was measured: configuration, repeats, smallest and largest.
    """

    name: str
    value: float
    unit: str = "×"
    at_most: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the number is within its bound."""
        return self.at_most is None or self.value <= self.at_most
