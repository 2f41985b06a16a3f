"""Attention Playground: `streamlit run app.py`.

The launcher: it warms up what every visitor needs, sends security headers, and hands `playground/main.py` to Streamlit.
"""

from __future__ import annotations

import base64
import gc
import gzip
import hashlib
import re
import secrets
import sys
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from functools import cache
from http.cookies import SimpleCookie
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from playground.ui import COOKIE, PLOTLY, asset  # noqa: E402  found by the path above

# Routes of ours do not get the base path from Streamlit.
BASE = "/" + st.get_option("server.baseUrlPath").strip("/")


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[MutableMapping[str, Any]]:
    """Import and compute once what every visitor needs; end the trainings when the server ends."""
    import playground.warm_up

    engine = playground.warm_up.start()
    # What is there now stays for good: no collection needs to visit it, and config.toml turns the forced ones off.
    gc.collect()
    gc.freeze()
    yield {}
    engine.close()


def policy() -> str:
    """Return the content security policy: everything from this server, and no script but Streamlit's own.

    Components are loaded as blobs. Streamlit's page has a script in the page itself, which is allowed by its hash.
    """
    page = _package("streamlit") / "static/index.html"
    inline = re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in inline]
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(["script-src 'self' blob:", *(f"'sha256-{each}'" for each in hashes)]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "connect-src 'self' ws: wss: blob: data:",
            "font-src 'self' data:",
            "worker-src blob: 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


class Headers:
    """Adds security headers to every answer, and to a page the cookie by which a visitor's runs are found again.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = {
            "Content-Security-Policy": policy(),
            "X-Content-Type-Options": "nosniff",
            # The address holds the id of a run, which only those should know who were given it.
            "Referrer-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI asks."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                is_page = headers.get("content-type", "").startswith("text/html")
                if is_page and COOKIE not in Request(scope).cookies:
                    headers.append("Set-Cookie", _visitor(is_secure=scope["scheme"] == "https"))
            await send(message)

        await self.app(scope, receive, send_with_headers)


def _visitor(*, is_secure: bool) -> str:
    """Return a cookie with an unguessable name for a new visitor. It ends with the browser's session."""
    cookie: SimpleCookie = SimpleCookie()
    cookie[COOKIE] = secrets.token_urlsafe(24)
    cookie[COOKIE] |= {"path": BASE, "httponly": True, "samesite": "Lax"}
    if is_secure:
        cookie[COOKIE]["secure"] = True
    return cookie.output(header="").strip()


def _package(name: str) -> Path:
    """Return the folder of an installed package, which need not be imported for it."""
    spec = find_spec(name)
    assert spec and spec.origin
    return Path(spec.origin).parent


@cache
def _plotly() -> tuple[bytes, bytes]:
    """Return the installed plotly's bundle, and the same compressed."""
    plain = (_package("plotly") / "package_data/plotly.min.js").read_bytes()
    return plain, gzip.compress(plain, compresslevel=6, mtime=0)


def plotly(request: Request) -> Response:
    """Send plotly.js, which the live figures draw with; a browser keeps it."""
    etag = f'"plotly-{version("plotly")}"'
    headers = {"ETag": etag, "Cache-Control": "public, max-age=86400", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    plain, compressed = _plotly()
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed, media_type="text/javascript", headers=headers | {"Content-Encoding": "gzip"})
    return Response(plain, media_type="text/javascript", headers=headers)


app = st.App(
    "playground/main.py",
    lifespan=lifespan,
    routes=[Route(asset(PLOTLY), plotly)],
    middleware=[Middleware(Headers)],
)
