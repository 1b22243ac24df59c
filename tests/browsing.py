"""What a real browser finds on a page, in light and dark, on a telephone and on a desk."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    Response,
    sync_playwright,
)

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
PHONE, DESK = 390, 1280
DEVICES: dict[int, dict[str, Any]] = {
    PHONE: {"viewport": {"width": PHONE, "height": 844}, "is_mobile": True, "has_touch": True},
    DESK: {"viewport": {"width": DESK, "height": 800}},
}
Scheme = Literal["light", "dark"]
FIRST: dict[int, Scheme] = {PHONE: "dark", DESK: "light"}
"""The colour scheme in which a page is loaded; it then has to follow the other one by itself."""
OTHER: dict[Scheme, Scheme] = {"dark": "light", "light": "dark"}


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing: what fails is told by the browser."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address below which a folder is served, on this machine alone."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of the system, which finds no host but this machine."""
    name = os.environ.get("CHROMIUM", "chromium")
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(
            f"the site is tested in a real browser, and there is no {name!r}: `make chromium` "
            "installs Debian's; for another one set the environment variable CHROMIUM to its path"
        )
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    # Chromium refuses its sandbox to root, who is the user in a container.
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """Looks at pages with one browser; what it finds is one sentence each."""

    def __init__(self, browser: Browser) -> None:
        self._contexts = {width: browser.new_context(**DEVICES[width]) for width in DEVICES}
        self._axe = Axe().axe_script

    def findings(self, address: str) -> list[str]:
        """What is wrong with a page, and in which of its four appearances."""
        where: dict[str, list[str]] = {}
        for width in DEVICES:
            with self.page(width, FIRST[width]) as (page, noticed):
                page.goto(address)
                page.evaluate(self._axe)
                page.evaluate(f"window.look = {SCRIPT}; look.unfold()")
                for scheme in (FIRST[width], OTHER[FIRST[width]]):
                    page.emulate_media(color_scheme=scheme)
                    page.evaluate("look.drawn()")
                    found = page.evaluate("scheme => look.look(scheme)", scheme)
                    again = scheme != FIRST[width]
                    found += page.evaluate("again => look.violations(again)", again)
                    for each in found:
                        where.setdefault(each, []).append(f"{scheme} {width}")
                page.wait_for_load_state("networkidle")
            for each in dict.fromkeys(noticed):
                where.setdefault(each, []).append(f"{width}")
        return [f"{finding} [{', '.join(places)}]" for finding, places in where.items()]

    @contextmanager
    def page(self, width: int, scheme: Scheme) -> Iterator[tuple[Page, list[str]]]:
        """An empty page, and what will be noticed of its console and of its requests."""
        page = self._contexts[width].new_page()
        page.emulate_media(color_scheme=scheme)
        noticed: list[str] = []
        _listen(page, noticed)
        try:
            yield page, noticed
        finally:
            page.close()


def _listen(page: Page, noticed: list[str]) -> None:
    def requested(address: str) -> None:
        parts = urlsplit(address)
        if parts.hostname not in (None, "127.0.0.1") and parts.scheme not in ("data", "blob"):
            noticed.append(f"request to another host: {address}")

    def failed(request: Request) -> None:
        noticed.append(f"failed request: {request.url}: {request.failure}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            noticed.append(f"failed request: {response.url}: {response.status}")

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            noticed.append(f"console: {message.type}: {message.text}")

    page.on("request", lambda request: requested(request.url))
    page.on("websocket", lambda socket: requested(socket.url))
    page.on("requestfailed", failed)
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: noticed.append(f"error of a script: {error}"))
    page.on("crash", lambda _: noticed.append("the page crashed"))
