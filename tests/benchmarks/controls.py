"""What the server needs to answer a control: each page run again at another training step, and with another sentence.

Every answer makes model and pass anew, which is the slowest that a control of the frame can ask for.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import torch
from streamlit.testing.v1 import AppTest

from playground.ui.frame import PAGES
from tests.benchmarks import Measure

ROOT = Path(__file__).parents[2]
TURNS = 10  # counted
FIRST = 2  # not counted
PATIENCE = 60  # seconds


def measure() -> list[Measure]:
    """Return the median seconds that one run of each page takes."""
    torch.set_num_threads(1)
    return [_page(page.name) for page in PAGES]


def _page(name: str) -> Measure:
    visitor = AppTest.from_file(ROOT / "playground" / "main.py", default_timeout=PATIENCE)
    visitor.query_params["v"] = "1"
    visitor.switch_page(str(ROOT / "pages" / f"{name}.py"))
    visitor.run()
    steps = visitor.select_slider(key="pick_step").options
    texts = ("the black cat sleeps", "these small girls are not tired")
    times = []
    for turn in range(FIRST + TURNS):
        if turn % 2:
            visitor.text_input(key="type_text").set_value(texts[turn // 2 % 2])
        else:
            step = steps[turn // 2 % len(steps)]
            visitor.select_slider(key="pick_step").set_value(int(step.replace(",", "")))
        start = time.perf_counter()
        visitor.run()
        if turn >= FIRST:
            times.append(time.perf_counter() - start)
    if visitor.exception:
        raise RuntimeError(visitor.exception[0].value)
    note = f"{TURNS} changes of step or sentence, {min(times):.3f} to {max(times):.3f}"
    return Measure(f"{name}: a control answered by the server", statistics.median(times), "s", at_most=0.2, note=note)
