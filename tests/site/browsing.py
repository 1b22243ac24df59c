"""Findings of a real browser on a page, in light and dark, at phone and desktop widths.

No finding may depend on the machine: fonts, scroll bars, language, time zone and motion are
fixed, and nothing waits for a time, only for events.
"""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    Response,
)

from posenc_lab.dependencies import browser
from tests.site import fonts
from tests.site.explorer import NODE
from tests.site.fonts import Fonts

# Playwright's own Node needs a library that a bare Debian lacks.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(NODE))

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
PATIENCE = 120_000
"""Milliseconds after which an expected event counts as missing, on any machine."""
NARROW, PHONE, DESK = 320, 390, 1280
DEVICES: dict[int, dict[str, Any]] = {
    PHONE: {"viewport": {"width": PHONE, "height": 844}, "is_mobile": True, "has_touch": True},
    DESK: {"viewport": {"width": DESK, "height": 800}},
}
Scheme = Literal["light", "dark"]
FIRST: dict[int, Scheme] = {PHONE: "dark", DESK: "light"}
"""The colour scheme in which a page is loaded, before it has to follow the other one by itself."""
OTHER: dict[Scheme, Scheme] = {"dark": "light", "light": "dark"}
Appearances = Mapping[int, Collection[Scheme]]
"""Colour schemes by width."""
ALL: Appearances = {PHONE: OTHER, DESK: OTHER}
QUARTERS: tuple[Appearances, ...] = tuple(
    {device: [scheme] if device == width else [] for device in DEVICES}
    for width in DEVICES
    for scheme in ("light", "dark")
)
"""axe takes over a second for a page in one appearance, and colours do not depend on the width.
So it checks each page in one appearance, and each appearance on some page."""
COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules of axe whose outcome depends on colours only."""
PINNED: dict[str, Any] = {
    "device_scale_factor": 1,
    "forced_colors": "none",
    "locale": "en-US",
    "reduced_motion": "reduce",
    "timezone_id": "UTC",
}


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Suppress request logs; the browser reports failures."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine only, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@contextmanager
def chromium(
    playwright: Playwright, letters: Fonts = "ordinary", *, scroll_bars: bool = False
) -> Iterator[Browser]:
    """Yield the system's Chromium, which finds no font but ours and no host but this machine.

    Scroll bars take room, as on most desktops, or none, as on a phone.
    """
    name = browser()
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(
            f"the site is tested in a real browser, and there is no {name!r}: `make chromium` "
            "installs Debian's; for another one set the environment variable CHROMIUM to its path"
        )
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    # Chromium refuses its sandbox to root, who is the user in a container.
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    options += ["--disable-features=OverlayScrollbar"] if scroll_bars else []
    with TemporaryDirectory() as folder:
        launched = playwright.chromium.launch(
            executable_path=path,
            args=options,
            ignore_default_args=["--hide-scrollbars"] if scroll_bars else None,
            env={**os.environ, **fonts.environment(letters, Path(folder))},
            timeout=PATIENCE,
        )
        try:
            yield launched
        finally:
            launched.close()


def context(browser: Browser, **options: Any) -> BrowserContext:
    """Return a fresh profile in which nothing depends on the machine."""
    made = browser.new_context(**PINNED, **options)
    made.set_default_timeout(PATIENCE)
    return made


class Visitor:
    """Inspector of pages with one browser; each finding is a sentence."""

    def __init__(self, browser: Browser) -> None:
        self._contexts = {width: context(browser, **DEVICES[width]) for width in DEVICES}
        self._axe = Axe().axe_script
        self.version = browser.version

    def findings(self, address: str, by_axe: Appearances = ALL) -> list[str]:
        """Return findings on a page, each with those of the four appearances that it concerns.

        axe checks only the appearances of ``by_axe``; everything else is checked in all.
        """
        where: dict[str, list[str]] = {}
        for width in DEVICES:
            rules = None
            with self._shown(address, width) as (page, noticed):
                if by_axe[width]:  # half a megabyte
                    page.evaluate(self._axe)
                for scheme in (FIRST[width], OTHER[FIRST[width]]):
                    page.emulate_media(color_scheme=scheme)
                    page.evaluate("look.drawn()")
                    problems = page.evaluate("scheme => look.look(scheme)", scheme)
                    if scheme in by_axe[width]:
                        problems += page.evaluate("rules => look.violations(rules)", rules)
                        rules = COLOURS
                    _add(where, problems, f"{scheme} {width}")
            _add(where, noticed, f"{width}")
        return _sentences(where)

    def findings_at_widths(self, address: str) -> list[str]:
        """Return findings on a page in a window that becomes narrower, each with its widths."""
        where: dict[str, list[str]] = {}
        with self._shown(address, DESK) as (page, noticed):
            for width in (DESK, PHONE, NARROW):
                page.set_viewport_size({"width": width, "height": 800})
                page.evaluate("look.drawn()")
                problems = page.evaluate("scheme => look.look(scheme)", FIRST[DESK])
                _add(where, problems, f"{width}")
        _add(where, noticed, "any")
        return _sentences(where)

    @contextmanager
    def _shown(self, address: str, width: int) -> Iterator[tuple[Page, list[str]]]:
        """Yield a page that is loaded and unfolded; at the end, wait for its requests."""
        with self.page(width, FIRST[width]) as (page, noticed):
            page.goto(address)
            page.wait_for_function("!document.querySelector('[aria-busy=true]')")
            page.evaluate(f"window.look = {SCRIPT}; look.unfold()")
            yield page, noticed
            page.wait_for_load_state("networkidle")

    @contextmanager
    def page(self, width: int, scheme: Scheme) -> Iterator[tuple[Page, list[str]]]:
        """Yield an empty page, and a list for problems in its console and requests."""
        page = self._contexts[width].new_page()
        page.emulate_media(color_scheme=scheme)
        noticed: list[str] = []
        _listen(page, noticed)
        try:
            yield page, noticed
        finally:
            page.close()


def _add(where: dict[str, list[str]], findings: list[str], place: str) -> None:
    for finding in dict.fromkeys(findings):
        where.setdefault(finding, []).append(place)


def _sentences(where: dict[str, list[str]]) -> list[str]:
    return [f"{finding} [{', '.join(places)}]" for finding, places in where.items()]


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
