"""One request over HTTP and its answer, under one deadline.

No other run of the kit needs what this imports, so it is imported when an endpoint is asked.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
    proxy_bypass,
)

from posenc_conformance.deployed.http.address import Address

LARGEST_ANSWER = 2**26
"""Bytes of the largest answer that is read."""
LARGEST_PROBLEM = 2**12
"""Bytes that are read of an answer that says that something is wrong."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: bytes
    retry_after: str = ""
    """What the head of the answer says of when to ask again."""


class Silence(Exception):
    """No answer came; why."""


class Late(Silence):
    """No answer came in time."""


@dataclass
class _Exchange:
    """A request on its way, in a thread of its own: an answer may drip, or never come."""

    request: Request
    through_proxy: bool
    seconds: float
    sockets: list[socket.socket] = field(default_factory=list)
    reply: Reply | None = None
    problem: Exception | None = None

    def run(self) -> None:
        try:
            self.reply = self._answered()
        except Exception as error:  # told to whoever waits
            self.problem = error

    def _answered(self) -> Reply:
        handlers = [_Stay(), _Watched(self.sockets)]
        proxies = [] if self.through_proxy else [ProxyHandler({})]
        opener = build_opener(*handlers, *proxies)
        try:
            with opener.open(self.request, timeout=self.seconds) as answer:
                body = answer.read(LARGEST_ANSWER)
                if answer.length and len(body) < LARGEST_ANSWER:
                    raise IncompleteRead(body, answer.length)
                return Reply(answer.status, body)
        except HTTPError as error:
            with error:
                return Reply(error.code, _beginning(error), error.headers.get("Retry-After", ""))

    def cut(self) -> None:
        """Close what is open, so that nothing more is read."""
        for each in self.sockets:
            with suppress(OSError):
                # That of a socket itself: TLS would wait for its lock.
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class _Response(HTTPResponse):
    """An answer behind any number of others that say that it will come."""

    def begin(self) -> None:
        """Read the head of the answer itself; the usual one would stop at 102 and 103."""
        super().begin()
        while self.status in (HTTPStatus.PROCESSING, HTTPStatus.EARLY_HINTS):
            self.headers = None  # type: ignore[assignment]  # as it is before the first head
            super().begin()


class _Watched(HTTPHandler, HTTPSHandler):
    """Keep the sockets of connections: urllib forgets them when it has read the head."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def http_open(self, req: Request) -> HTTPResponse:
        """Ask without encryption."""
        return self.do_open(self._watched(HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        """Ask through TLS."""
        return self.do_open(self._watched(HTTPSConnection), req)

    def _watched(self, kind: type[HTTPConnection]) -> Callable[..., HTTPConnection]:
        def make(host: str, **options: Any) -> HTTPConnection:
            connection = kind(host, **options)
            connection.response_class = _Response
            usual = connection.connect

            def connect() -> None:
                usual()
                self._sockets.append(connection.sock)

            vars(connection)["connect"] = connect
            return connection

        return make


class _Stay(HTTPRedirectHandler):
    """Go nowhere else: the key is meant for this address."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request."""


def exchange(
    address: Address, name: str, headers: dict[str, str], body: bytes | None, seconds: float
) -> Reply:
    """Send a request, and return the answer, whatever its status.

    Raises Late if it is not through in time, and Silence if there is none for another reason.
    """
    request = Request(address.url(name), body, headers)
    asked = _Exchange(request, not address.is_here, seconds)
    thread = threading.Thread(target=asked.run, daemon=True)
    thread.start()
    thread.join(seconds)
    if asked.reply is not None:
        return asked.reply
    if asked.problem is None:
        asked.cut()
        raise Late(f"it has not ended after {seconds:g} s")
    raise _silence(asked.problem) from None


def _silence(problem: Exception) -> Silence:
    """Say why there is no answer."""
    reason = problem.reason if isinstance(problem, URLError) else problem
    kind = Late if isinstance(reason, TimeoutError) else Silence
    return kind(str(reason) or type(reason).__name__)


def _beginning(error: HTTPError) -> bytes:
    """Return the beginning of what comes with an error, as far as it comes."""
    try:
        return error.read(LARGEST_PROBLEM)
    except IncompleteRead as broken:
        return broken.partial
    except TimeoutError:
        raise
    except (OSError, HTTPException):
        return b""


def proxy_of(address: Address) -> str:
    """Return the machine of the environment's proxy through which requests go; empty if none."""
    proxy = getproxies().get(address.scheme, "")
    if not proxy or address.is_here or proxy_bypass(address.host):
        return ""
    with suppress(ValueError):
        return urlsplit(proxy if "//" in proxy else f"//{proxy}").hostname or ""
    return ""
