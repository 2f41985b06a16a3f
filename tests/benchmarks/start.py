"""How long a visitor waits, in headless Chromium: for the first picture, and for another head's picture."""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks import Measure

ROOT = Path(__file__).parents[2]
STARTS = 5
CLICKS = 20
PATIENCE = 60  # seconds until a picture is given up
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Home's drawing of the model, and the row of steps in One head, whose label names the head that is drawn.
DRAWING = "svg.drawing"
CHAIN = "[role=tablist]"

# The time from pressing the mouse to the second frame after the label of the chain has changed, in the browser's clock.
CHANGED = """(chain) => new Promise((resolve) => {
  const before = chain.getAttribute("aria-label");
  let pressed = 0;
  addEventListener("pointerdown", () => { pressed = performance.now(); }, { capture: true, once: true });
  const look = () => {
    const now = window.chainUnderTest();
    if (pressed && now && now.getAttribute("aria-label") !== before) {
      requestAnimationFrame(() => resolve(performance.now() - pressed));
    } else {
      requestAnimationFrame(look);
    }
  };
  look();
})"""
# A component may be mounted anew, so the chain is looked up in each frame, also inside shadow roots.
FIND = """() => { window.chainUnderTest = () => {
  const roots = [document];
  while (roots.length) {
    const root = roots.pop();
    const found = root.querySelector("[role=tablist][aria-label]");
    if (found && root !== document) return found;
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
  }
  return null;
}; }"""


def measure() -> list[Measure]:
    """Measure several starts of the server, then several changes of the head."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            starts = [first_picture(browser) for _ in range(STARTS)]
            with server() as (address, _):
                changes = head_changes(browser, address)
        finally:
            browser.close()
    return [
        Measure("server start to answering", *summary([healthy for healthy, _ in starts], "s", "starts")),
        Measure("server start to the first picture on Home", *summary([shown for _, shown in starts], "s", "starts")),
        Measure("a head changed to its picture changed", *summary(changes, "ms", "clicks")),
    ]


def summary(values: list[float], unit: str, of: str) -> tuple[float, str, None, str]:
    """Return the last four fields of a `Measure`: the median, and the range it comes from."""
    note = f"{len(values)} {of}, {min(values):.3g} to {max(values):.3g} {unit}, headless Chromium"
    return statistics.median(values), unit, None, note


def first_picture(browser: Browser) -> tuple[float, float]:
    """Return the seconds from starting the server until it answers, and until a new visitor sees Home's drawing."""
    with server() as (address, started), visit(browser) as page:
        healthy = time.perf_counter() - started
        page.goto(address, wait_until="commit")
        page.locator(DRAWING).first.wait_for(state="visible")
        return healthy, time.perf_counter() - started


def head_changes(browser: Browser, address: str) -> list[float]:
    """Return the milliseconds from pressing another head until the chain of matrices shows it, click by click."""
    with visit(browser) as page:
        page.goto(f"{address}/one_head")
        page.locator(CHAIN).first.wait_for(state="visible")
        page.evaluate(FIND)
        heads = page.locator(".st-key-pick_head [data-testid=stButtonGroup]").last.get_by_role("radio")
        heads.last.wait_for(state="visible")
        page.wait_for_timeout(1000)  # the page is at rest before the first click
        times = []
        for click in range(CLICKS + 2):
            handle = page.evaluate_handle("() => window.chainUnderTest()")
            page.evaluate(f"(chain) => {{ window.waiting = ({CHANGED})(chain); }}", handle)
            heads.nth(1 + click % 2).click()
            times.append(float(page.evaluate("() => window.waiting")))
            page.wait_for_timeout(200)
        return times[2:]  # the first clicks only warm up


@contextmanager
def visit(browser: Browser) -> Iterator[Page]:
    """Open a window for a visitor who was never here."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def server(environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, float]]:
    """Start the app on a free port and yield its address once it answers, with the moment of the start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = [f"--server.port={port}", "--server.address=127.0.0.1"]
    with tempfile.TemporaryDirectory() as runs:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            env={**os.environ, "PLAYGROUND_RUNS": runs, **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not answers(address):
                if process.poll() is not None:
                    raise RuntimeError(f"the server ended with status {process.returncode}")
                if time.perf_counter() - started > PATIENCE:
                    raise TimeoutError(f"no answer from the server in {PATIENCE} s")
                time.sleep(0.02)
            yield address, started
        finally:
            process.terminate()
            process.wait(20)


def answers(address: str) -> bool:
    """Say whether the server is up."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def chromium() -> str:
    """Return where Chromium or Chrome is.

    Raises:
        FileNotFoundError: If there is none.
    """
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("this measurement needs Chromium or Chrome; .ci/browser installs it on Debian")
