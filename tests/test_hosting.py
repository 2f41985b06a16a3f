"""What a host is promised: headers, cookies, origins, an own copy of plotly, and a process that stays quick."""

from __future__ import annotations

import ast
import gzip
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
BASE = "attn"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the app below a path, as behind a proxy, and return its address."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.baseUrlPath", BASE]
    address = f"http://127.0.0.1:{port}/{BASE}"
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PLAYGROUND_RUNS": str(folder / "runs")},
        )
        try:
            for _ in range(600):
                try:
                    fetch(f"{address}/_stcore/health")
                    break
                except OSError:
                    assert process.poll() is None, (folder / "log.txt").read_text()
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
    assert "Traceback" not in (folder / "log.txt").read_text(errors="replace")


def fetch(address: str, **headers: str) -> tuple[dict[str, str], bytes]:
    """Return the headers, in lower case, and the body of an answer."""
    request = urllib.request.Request(
        address, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def policy_of(headers: dict[str, str]) -> dict[str, list[str]]:
    parts = [part.split() for part in headers["content-security-policy"].split(";")]
    return {name: values for name, *values in parts}


# --- Headers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/", "/one_head?v=1&step=40", "/_stcore/health", "/assets/plotly.min.js"])
def test_every_answer_has_security_headers(server, place):
    headers, _ = fetch(server + place)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # a link holds the id of a run
    assert "camera=()" in headers["permissions-policy"]
    policy = policy_of(headers)
    assert policy["default-src"] == ["'self'"]
    assert policy["frame-ancestors"] == ["'self'"]
    assert policy["object-src"] == ["'none'"]


def test_nothing_is_allowed_from_outside(server):
    policy = policy_of(fetch(server + "/")[0])
    sources = {source for values in policy.values() for source in values}
    assert not [source for source in sources if re.match(r"https?:|\*", source)]
    assert "'unsafe-eval'" not in policy["script-src"]
    assert "'unsafe-inline'" not in policy["script-src"]


def test_streamlits_own_script_is_the_only_one_in_the_page(server):
    headers, page = fetch(server + "/")
    scripts = re.findall(rb"<script>", page)
    hashes = [source for source in policy_of(headers)["script-src"] if source.startswith("'sha256-")]
    assert len(hashes) == len(scripts)


def test_a_visitor_gets_a_token_that_scripts_cannot_read(server):
    first, again = (fetch(server + "/")[0]["set-cookie"] for _ in range(2))
    name, _, rest = first.partition("=")
    token = rest.split(";")[0]
    assert len(token) == 32
    assert token not in again
    assert "HttpOnly" in first
    assert "SameSite=Lax" in first
    assert f"Path=/{BASE}" in first
    assert "set-cookie" not in fetch(server + "/", Cookie=f"{name}={token}")[0]
    assert "set-cookie" not in fetch(f"{server}/assets/plotly.min.js")[0]


@pytest.mark.parametrize(("origin", "status"), [("https://elsewhere.example", 403), (None, 101)])
def test_a_websocket_from_another_site_is_refused(server, origin, status):
    port = int(re.search(r":(\d+)/", server)[1])
    lines = [
        f"GET /{BASE}/_stcore/stream HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Origin: {origin or f'http://127.0.0.1:{port}'}",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert connection.recv(100).startswith(f"HTTP/1.1 {status}".encode())


# --- The copy of plotly ----------------------------------------------------------------------------------------------


def test_plotly_comes_from_the_installed_package(server):
    headers, plain = fetch(f"{server}/assets/plotly.min.js")
    assert headers["content-type"].startswith("text/javascript")
    assert b"plotly.js v" in plain[:200]
    headers, compressed = fetch(f"{server}/assets/plotly.min.js", Accept_Encoding="gzip")
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed) == plain
    assert len(compressed) < 0.4 * len(plain)


def test_plotly_is_sent_once(server):
    headers, _ = fetch(f"{server}/assets/plotly.min.js")
    assert "max-age" in headers["cache-control"]
    with pytest.raises(urllib.error.HTTPError) as unchanged:
        fetch(f"{server}/assets/plotly.min.js", If_None_Match=headers["etag"])
    assert unchanged.value.code == 304
    unchanged.value.close()


# --- Settings --------------------------------------------------------------------------------------------------------


def test_production_settings():
    assert CONFIG["server"]["enableXsrfProtection"] is True
    assert CONFIG["server"]["fileWatcherType"] == "none"
    assert CONFIG["client"]["showErrorDetails"] == "none"
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert "enableAgentApi" not in CONFIG["server"]
    assert CONFIG["client"]["toolbarMode"] == "viewer"  # visitors still choose light or dark


def test_every_setting_exists():
    from streamlit import config

    for section, values in CONFIG.items():
        for name, value in values.items():
            if not isinstance(value, dict):
                assert f"{section}.{name}" in config._config_options_template


def test_no_collection_is_forced_and_the_heap_is_frozen():
    """The largest effect there is on how quick a click is: see docs/hosting.md."""
    asked = """
import asyncio, gc
import app, streamlit as st
async def start():
    async with app.lifespan(app.app):
        print(st.get_option("runner.postScriptGC"), gc.get_freeze_count(), len(gc.get_objects()))
asyncio.run(start())
"""
    answer = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert answer.returncode == 0, answer.stderr
    forced, frozen, left = answer.stdout.split()[-3:]
    assert forced == "False"
    assert int(frozen) > 100_000  # torch, pandas, streamlit
    assert int(left) < 0.05 * int(frozen)


# --- Source ----------------------------------------------------------------------------------------------------------


def test_the_router_does_nothing_when_it_is_imported():
    """While a script runs, `__main__` is the router, and a worker process that is started then imports it again."""
    docstring, guard = ast.parse((ROOT / "playground/main.py").read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(guard, ast.If)
    assert ast.unparse(guard.test) == "__name__ == '__main__'"


def test_no_text_becomes_markup():
    """Neither in Python nor in a component: user text is never HTML, and no script comes from a string."""
    banned = {
        "*.py": r"unsafe_allow_html|unsafe_allow_javascript|components\.v1|st\.iframe",
        "*.js": r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|ContextualFragment",
    }
    found = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()}"
        for kind, words in banned.items()
        for folder in ("playground", "pages")
        for path in (ROOT / folder).rglob(kind)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(words, line)
    ]
    assert not found


def test_no_other_host_is_named_in_what_a_browser_gets():
    named = [
        f"{path.relative_to(ROOT)}: {address}"
        for kind in ("*.js", "*.css", "*.svg")
        for path in (ROOT / "playground").rglob(kind)
        for address in re.findall(r"(?:https?:)?//[\w.-]+\.\w{2,}[^\s\"')]*", path.read_text(encoding="utf-8"))
        if not address.startswith("http://www.w3.org/")  # the names of SVG and XLink, never asked for
    ]
    assert not named
