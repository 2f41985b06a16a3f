"""The app in a real browser: one server and one Chromium for all tests, a fresh visitor for each.

Where there is no browser the tests say so and are skipped; with `CI=true` they fail instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
SIZES = {"laptop": (1440, 900), "projector": (1280, 720), "phone": (390, 844)}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
PATIENCE = 60_000  # ms; a loaded machine is slow, and a test that waits for something need not be fast

# Something is on the page, and its script has come to rest.
AT_REST = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app?.getAttribute("data-test-script-state") === "notRunning"
    && document.querySelector('[data-testid="stMain"] h1') !== null;
}"""

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return where the browser is."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        reason = "needs Chromium or Chrome, and there is none on this machine"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def server(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app as a visitor's host would, with runs of its own, and return its address."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PLAYGROUND_RUNS": str(folder / "runs")},
        )
        try:
            _wait_for(address, process)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
    said = (folder / "log.txt").read_text(errors="replace")
    assert "Traceback" not in said, said


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """Start the browser."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(server: str, browser: Browser) -> Iterator[Visit]:
    """Return what opens a page as a new visitor: `visit("one_head", lang="zh", size="phone", theme="dark")`.

    Whatever a test does, its pages may raise no error, ask no other host and be no wider than the window.
    """
    faults: list[str] = []
    pages: list[Page] = []

    def open_page(name: str = "", *, size: str = "laptop", theme: str = "light", **query: str) -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, locale="en-GB", reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: faults.append(f"{name}: {error}"))
        page.on("request", lambda request: _is_ours(request.url, server) or faults.append(f"asked for {request.url}"))
        page.goto(f"{server}/{name}?{urlencode(query)}")
        page.wait_for_function(AT_REST)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        if page.locator('[data-testid="stException"]').count():
            faults.append(page.locator('[data-testid="stException"]').first.inner_text())
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if too_wide > 0:
            faults.append(f"{too_wide} px wider than the window")
        page.context.close()
    assert faults == []


def _is_ours(url: str, server: str) -> bool:
    return urlsplit(url).scheme in ("data", "blob") or urlsplit(url).netloc == urlsplit(server).netloc


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1) as answer:
                answer.read()
            return
        except OSError:
            if process.poll() is not None:
                pytest.fail("the server ended before it answered; `streamlit run app.py` says why")
            time.sleep(0.1)
    pytest.fail("the server did not answer within a minute")
