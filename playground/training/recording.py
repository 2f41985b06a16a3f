"""A training that is written down as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from playground.recipe import recorded_steps
from playground.runs import Progress, RunWriter
from playground.training.trainer import Diverged, Report, Trainer


class Recording:
    """Keeps the measurements of each step and the weights at the recorded ones.

    Args:
        trainer: What is trained.
        writer: Where it is written; made for the same configuration.
    """

    def __init__(self, trainer: Trainer, writer: RunWriter) -> None:
        self.trainer = trainer
        self.writer = writer
        self.recorded: list[int] = []
        self._planned = frozenset(recorded_steps(trainer.config.recipe.steps))

    def run(self) -> Iterator[Report | Diverged]:
        """Train as `Trainer.run` does, and write. What is yielded is on the disk, if its step is a recorded one."""
        if self.trainer.step == 0:
            self.record()
        for report in self.trainer.run():
            if isinstance(report, Report):
                self.writer.measured(**asdict(report))
                if report.step in self._planned:
                    self.record()
            yield report

    def record(self) -> None:
        """Write the present weights, unless they are written already."""
        step = self.trainer.step
        if step not in self.recorded:
            self.writer.weights(step, self.trainer.state_dict())
            self.writer.progress(Progress("running", step))
            self.recorded.append(step)

    def exact_match(self, share: float) -> None:
        """Take down what share of held-out sentences is translated word for word now, 0–1."""
        self.writer.measured(step=self.trainer.step, exact_match=share)

    def end(self, progress: Progress) -> None:
        """Write the last weights and how it ended."""
        self.record()
        self.writer.progress(progress)


def diverged(report: Diverged) -> Progress:
    """Return how a run ends whose step could not be made: at the weights before it, and what to change."""
    rate = float(f"{report.learning_rate:.3g}")
    return Progress("diverged", report.step - 1, "training.ended.diverged", {"step": report.step, "rate": rate})
