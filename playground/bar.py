"""A line on a terminal that says how far something is; on anything else, a line now and then."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Self, TextIO

WIDTH = 24  # characters of the bar
PER_SECOND = 10  # redrawn at most so often
EIGHTHS = " ▏▎▍▌▋▊▉"


class Bar:
    """How far something of known length is. Used as a context, which ends the line.

    Args:
        total: Steps in all.
        file: Where it is drawn; standard error if None, so that an answer on standard output stays clean.
        every: Where there is no terminal, a line is written at every so-many-th step and at the last.
    """

    def __init__(self, total: int, *, file: TextIO | None = None, every: int = 50) -> None:
        self.total = max(1, total)
        self.file = sys.stderr if file is None else file
        self.every = every
        self.is_live = self.file.isatty()
        self._drawn = float("-inf")
        self._begun = 0.0
        self._first: int | None = None
        self._width = 0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the line."""
        self.clear()

    def show(self, step: int, told: str) -> None:
        """Say that a step is done.

        Args:
            step: Its number.
            told: What else there is to say, one short line.
        """
        now = time.monotonic()
        if self._first is None:  # what came before it was no step
            self._first, self._begun = step, now
        if not self.is_live:
            if step % self.every == 0 or step == self.total:
                print(told, file=self.file)
            return
        if now - self._drawn < 1 / PER_SECOND and step < self.total:
            return
        self._drawn = now
        done = step - self._first
        left = f" · −{clock((now - self._begun) / done * (self.total - step))}" if done > 0 else ""
        line = f"{drawn(step / self.total)} {told}{left}"[: shutil.get_terminal_size().columns - 1]
        print("\r" + line.ljust(self._width), end="", file=self.file, flush=True)
        self._width = len(line)

    def say(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        self.clear()
        print(line, file=self.file)

    def clear(self) -> None:
        """Take the bar away; what is shown next draws it again."""
        if self.is_live and self._width:
            print("\r" + " " * self._width + "\r", end="", file=self.file, flush=True)
            self._width = 0
            self._drawn = float("-inf")


def drawn(share: float) -> str:
    """Return a bar that is full to a share of its width, 0 to 1, in eighths of a character."""
    eighths = round(max(0.0, min(1.0, share)) * WIDTH * 8)
    full, rest = divmod(eighths, 8)
    return f"▕{('█' * full + (EIGHTHS[rest] if rest else '')).ljust(WIDTH)}▏"


def clock(seconds: float) -> str:
    """Return a time such as `1:05`."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02d}"
