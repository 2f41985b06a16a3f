"""A training that is written down as it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from playground.recipe import recorded_steps
from playground.runs import COLUMNS, MAX_RECORDED, Progress, Run, RunWriter
from playground.training.messages import Look
from playground.training.trainer import Diverged, Report, Trainer

# How often what is trained is put by, seconds; and at most one part in so many of the time.
PUT_BY_EVERY, PUT_BY_SHARE = 5.0, 50


class Recording:
    """Keeps the measurements of each step, and weights and state at the recorded ones.

    Args:
        trainer: What is trained, from its first step or from where the folder ends.
        writer: Where it is written; made for the same configuration.

    Attributes:
        trainer: What is trained.
        writer: Where it is written.
        recorded: Steps whose weights are on the disk.
        looked: What closer looks measured, as in `playground.runs.CLOSER`; grows.
    """

    def __init__(self, trainer: Trainer, writer: RunWriter) -> None:
        self.trainer = trainer
        self.writer = writer
        self.recorded = list(Run.load(writer.path).steps)
        self.looked: list[Look] = []
        self._planned = frozenset(recorded_steps(trainer.config.recipe.steps))
        self._put_by, self._put_by_every = time.monotonic(), PUT_BY_EVERY

    @classmethod
    def continued(cls, writer: RunWriter, *, between: Callable[[int], None] = lambda step: None) -> Recording:
        """Return the recording of a run that goes on where its folder ends: at step 0 if nothing is in it yet.

        Args:
            writer: Of the run.
            between: Called after each step that must be made again, with its number; may raise, to break it off.

        Raises:
            RunRefused: If the folder is damaged.
        """
        run = Run.load(writer.path)
        trainer = Trainer.continued(run, between=between)
        if not trainer.is_exact:
            writer.changed(trainer.config, is_exact=False)
        if run.steps:
            writer.goes_on(trainer.step)
            if not run.state_steps:  # of a run without: so that it is made again once only
                writer.state(trainer.state())
        return cls(trainer, writer)

    def run(self) -> Iterator[Report | Diverged]:
        """Train as `Trainer.run` does, and write. What is yielded is on the disk, if its step is a recorded one."""
        if self.trainer.step == 0:
            self.record()
        for report in self.trainer.run():
            if isinstance(report, Report):
                self._measured(report)
                if report.step in self._planned:
                    self.record()
                elif time.monotonic() - self._put_by > self._put_by_every:
                    self._put_by_now()
            yield report

    def _measured(self, report: Report) -> None:
        self.writer.measured(**dict(zip(COLUMNS, report.row, strict=True)))
        self.writer.measured(step=report.step, gradients=report.gradients)
        if report.closer:
            loss, closer = self.trainer.held_out_loss(), report.closer
            self.looked.append((report.step, loss, closer.grads, closer.updates))
            self.writer.measured(step=report.step, held_out_loss=loss, grads=closer.grads, updates=closer.updates)

    def record(self) -> None:
        """Write the present weights and state, unless they are written already."""
        step = self.trainer.step
        if step not in self.recorded:
            self.writer.state(self.trainer.state())
            self.writer.progress(Progress("running", step))
            self.recorded.append(step)

    def _put_by_now(self) -> None:
        """Write where the training is in the place of where it was, so that little is lost if it is broken off."""
        start = time.monotonic()
        self.writer.latest(self.trainer.state())
        self._put_by = time.monotonic()
        self._put_by_every = max(PUT_BY_EVERY, PUT_BY_SHARE * (self._put_by - start))

    def change(self, name: str, value: float) -> None:
        """Let a setting have another value from the next step on; it is written down before that step is made.

        Raises:
            RunRefused: As `Trainer.change`.
        """
        self.trainer.change(name, value)
        self.writer.changed(self.trainer.config)

    def exact_match(self, share: float) -> None:
        """Take down what share of held-out sentences is translated word for word now, 0–1."""
        self.writer.measured(step=self.trainer.step, exact_match=share)

    def end(self, progress: Progress) -> None:
        """Write the last weights and how it ended."""
        if len(self.recorded) < MAX_RECORDED - len(self._planned):
            self.record()
            self.writer.progress(progress)
            self.writer.latest(None)
        else:  # it was stopped and resumed a hundred times, and places are for the planned steps
            self._put_by_now()
            self.writer.progress(progress)


def diverged(report: Diverged) -> Progress:
    """Return how a run ends whose step could not be made: at the weights before it, and what to change."""
    rate = float(f"{report.learning_rate:.3g}")
    return Progress("diverged", report.step - 1, "training.ended.diverged", {"step": report.step, "rate": rate})
