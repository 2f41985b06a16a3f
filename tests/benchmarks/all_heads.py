"""The grid of all heads: 6 layers of 8 heads at 64 words in headless Chromium, and the page's controls on the server.

A small app of its own draws random maps, so that the sizes can be larger than any sentence of a task. It is the
component as pages call it, over a real server.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from tests.benchmarks import Measure
from tests.benchmarks.start import FLAGS, answers, chromium

ROOT = Path(__file__).parents[2]
LAYERS, HEADS = 6, 8
CHANGES = 15
HOVERS = 200
CONTROLS = 12
WORDS = (64, 256)
PATIENCE = 60  # seconds
VIEWS = ("grid", "lines", "values", "rollout", "off", "shared")

APP = f"""
import numpy as np
import streamlit as st
from playground.figures.theme import LIGHT
from playground.i18n import Translate
from playground.labelled import Axis, LabelledArray
from playground.ui.components.attention_grid import HeadMaps, attention_grid

words = int(st.query_params.get("words", "64"))
count = st.session_state.setdefault("count", 0)
def more():
    st.session_state["count"] += 1
st.button("more", on_click=more)
rng = np.random.default_rng(st.session_state["count"])
names = tuple(f"w{{i}}" for i in range(words))
axes = (Axis("head", tuple("01234567")), Axis("query", names), Axis("key", names))
layers = []
for layer in range({LAYERS}):
    raised = np.exp(2 * rng.normal(size=({HEADS}, words, words)).astype(np.float32))
    layers.append(LabelledArray(f"{{layer}}", raised / raised.sum(axis=-1, keepdims=True), axes))
group = HeadMaps("encoder", "Encoder", tuple(layers))
attention_grid([group], key="grid", alt="maps", note=f"{{st.session_state['count']}}", t=Translate("en"), theme=LIGHT)
"""

# From pressing the button to the second frame after the maps have changed; the note changes in the same task.
CHANGED = """() => new Promise((resolve) => {
  const note = () => window.gridUnderTest().querySelector(".grid-note")?.textContent;
  const before = note();
  let pressed = 0;
  addEventListener("pointerdown", () => { pressed = performance.now(); }, { capture: true, once: true });
  const look = () => {
    if (pressed && note() !== before) {
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - pressed)));
    } else {
      requestAnimationFrame(look);
    }
  };
  look();
})"""
FIND = """() => { window.gridUnderTest = () => {
  const roots = [document];
  while (roots.length) {
    const root = roots.pop();
    const found = root.querySelector(".attention-grid");
    if (found) return found;
    roots.push(...[...root.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean));
  }
  return document.createElement("div");
}; }"""
# What the browser does for one movement of the pointer: the handlers, and the style and layout that they ask for.
HOVERED = """(n) => {
  const stage = window.gridUnderTest().querySelector(".stage");
  const { left, top, width, height } = stage.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < n; i += 1) {
    const [clientX, clientY] = [left + ((i * 37) % width), top + ((i * 53) % height)];
    const at = { clientX, clientY, bubbles: true, composed: true };
    const before = performance.now();
    stage.dispatchEvent(new PointerEvent("pointermove", at));
    void stage.offsetHeight;
    times.push(performance.now() - before);
  }
  return times;
}"""


def measure() -> list[Measure]:
    """Measure the maps in the browser, then the page's controls in this process."""
    measures: list[Measure] = []
    with app() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for words in WORDS:
            page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
            page.set_default_timeout(PATIENCE * 1000)
            page.goto(f"{address}?words={words}")
            page.evaluate(FIND)
            page.wait_for_function("window.gridUnderTest().querySelector('canvas')?.height > 200")
            measures += _in_browser(page, words)
            page.close()
        browser.close()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [*measures, *(_control(view) for view in VIEWS)]
    finally:
        torch.set_num_threads(threads)


def _in_browser(page: Page, words: int) -> list[Measure]:
    changes = []
    for turn in range(CHANGES + 2):
        waiting = page.evaluate_handle(f"() => {{ window.waited = ({CHANGED})(); }}")
        page.get_by_role("button", name="more").click()
        seconds = float(page.evaluate("() => window.waited")) / 1000
        waiting.dispose()
        if turn >= 2:  # the first two warm up
            changes.append(seconds)
    hovers = sorted(float(each) for each in page.evaluate(HOVERED, HOVERS))
    size = f"{LAYERS} × {HEADS} heads at {words} words"
    return [
        Measure(
            f"{size}: from a change to rest",
            statistics.median(changes),
            "s",
            at_most=0.3 if words == WORDS[0] else None,
            note=f"{CHANGES} changes, {min(changes):.3f} to {max(changes):.3f}",
        ),
        Measure(
            f"{size}: one hover",
            hovers[int(0.95 * len(hovers))],
            "ms",
            at_most=16,
            note=f"95th percentile of {HOVERS}, median {statistics.median(hovers):.2f}, largest {hovers[-1]:.2f}",
        ),
    ]


def _control(view: str) -> Measure:
    """Measure one run of the page's script after its training step or head was changed, default model."""
    visitor = AppTest.from_file(ROOT / "playground" / "main.py", default_timeout=PATIENCE)
    for name, value in {"v": "1", "heads": view}.items():
        visitor.query_params[name] = value
    visitor.switch_page(str(ROOT / "pages" / "all_heads.py"))
    visitor.run()
    steps = visitor.select_slider(key="pick_step").options
    times = []
    for turn in range(CONTROLS + 2):
        slider = visitor.select_slider(key="pick_step")
        slider.set_value(int(steps[turn % len(steps)].replace(",", "")))
        start = time.process_time()
        visitor.run()
        if turn >= 2:
            times.append(time.process_time() - start)
    if visitor.exception:
        raise RuntimeError(visitor.exception[0].value)
    note = f"{CONTROLS} training steps, {min(times):.3f} to {max(times):.3f}, model and pass made anew for each"
    return Measure(f"all heads, {view}: one run of the page", statistics.median(times), "CPU-s", at_most=0.2, note=note)


@contextmanager
def app() -> Iterator[str]:
    """Start the small app on a free port and yield its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "maps.py"
        script.write_text(APP, encoding="utf-8")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "streamlit", "run", str(script)),
                *(f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        address = f"http://127.0.0.1:{port}"
        started = time.perf_counter()
        try:
            while not answers(address):
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with status {process.returncode}")
                if time.perf_counter() - started > PATIENCE:
                    raise TimeoutError(f"no answer from the server in {PATIENCE} s")
                time.sleep(0.05)
            yield address
        finally:
            process.terminate()
            process.wait(20)
