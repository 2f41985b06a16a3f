"""Measure and print: `python -m tests.benchmarks` runs every module, `python -m tests.benchmarks start` one.

The exit status is the number of measures that are over their bound.
"""

from __future__ import annotations

import importlib
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import Measure

HERE = Path(__file__).parent
MODULES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
COLUMNS = ("what", "measured", "at most", "", "how")


def main(names: Sequence[str]) -> int:
    """Run the named modules, all if none is named; return how many measures are over their bound."""
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        print(f"no benchmark {unknown}; there are {MODULES}", file=sys.stderr)
        return 2
    print(f"{platform.machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}\n", flush=True)
    measures: list[Measure] = []
    for name in names or MODULES:
        print(f"… {name}", file=sys.stderr, flush=True)
        measures += importlib.import_module(f"tests.benchmarks.{name}").measure()
    print(table(measures))
    return sum(not measure.holds for measure in measures)


def table(measures: Sequence[Measure]) -> str:
    """Return the measures as a table, a line each, columns aligned, `✗` where a bound is broken."""
    rows = [COLUMNS, *(cells(measure) for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def cells(measure: Measure) -> tuple[str, str, str, str, str]:
    """Return one measure's line, a text a column."""
    bound = "" if measure.at_most is None else f"{measure.at_most:.3g} {measure.unit}"
    verdict = "" if measure.at_most is None else "✓" if measure.holds else "✗"
    return measure.name, f"{measure.value:.3g} {measure.unit}", bound, verdict, measure.note


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
