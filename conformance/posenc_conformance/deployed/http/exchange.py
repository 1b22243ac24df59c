"""One HTTP request and its answer, under one deadline.

Imported only when an endpoint is used: no other run of the kit needs these imports.
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
"""Bytes that are read of an answer that reports an error."""


@dataclass(frozen=True)
class Reply:
    """An HTTP answer."""

    status: int
    body: bytes
    retry_after: str = ""
    """The Retry-After header."""


class Silence(Exception):
    """No answer came; the message says why."""


class Late(Silence):
    """No answer came in time."""


@dataclass
class _Exchange:
    """A request in a thread of its own: an answer may arrive slowly, or never."""

    request: Request
    through_proxy: bool
    seconds: float
    sockets: list[socket.socket] = field(default_factory=list)
    reply: Reply | None = None
    problem: Exception | None = None

    def run(self) -> None:
        try:
            self.reply = self._answered()
        except Exception as error:  # reported by the waiting thread
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
        """Close all open sockets, so that nothing more is read."""
        for connection in self.sockets:
            with suppress(OSError):
                # Bypass the TLS socket's own method, which would wait for its lock.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Response(HTTPResponse):
    """An answer after any number of interim responses."""

    def begin(self) -> None:
        """Read the head of the final answer; the base class would stop at 102 and 103."""
        super().begin()
        while self.status in (HTTPStatus.PROCESSING, HTTPStatus.EARLY_HINTS):
            self.headers = None  # type: ignore[assignment]  # as before the first head
            super().begin()


class _Watched(HTTPHandler, HTTPSHandler):
    """A handler that keeps the sockets of connections: urllib drops them after the head."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def http_open(self, req: Request) -> HTTPResponse:
        """Open a connection without encryption."""
        return self.do_open(self._watched(HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        """Open a connection through TLS."""
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
    """A handler that follows no redirect: the key is meant for this address."""

    def redirect_request(self, *_: Any) -> None:
        """Return no request, so that the redirect is not followed."""


def exchange(
    address: Address, name: str, headers: dict[str, str], body: bytes | None, seconds: float
) -> Reply:
    """Send a request, and return the answer, whatever its status.

    Raises Late if the answer is not complete in time, and Silence if there is none for another
    reason.
    """
    request = Request(address.url(name), body, headers)
    pending = _Exchange(request, not address.is_here, seconds)
    thread = threading.Thread(target=pending.run, daemon=True)
    thread.start()
    thread.join(seconds)
    if pending.reply is not None:
        return pending.reply
    if pending.problem is None:
        pending.cut()
        raise Late(f"it has not ended after {seconds:g} s")
    raise _silence(pending.problem) from None


def _silence(problem: Exception) -> Silence:
    """Make the exception that says why there is no answer."""
    reason = problem.reason if isinstance(problem, URLError) else problem
    kind = Late if isinstance(reason, TimeoutError) else Silence
    return kind(str(reason) or type(reason).__name__)


def _beginning(error: HTTPError) -> bytes:
    """Return the beginning of an error's body, as far as it arrives."""
    try:
        return error.read(LARGEST_PROBLEM)
    except IncompleteRead as broken:
        return broken.partial
    except TimeoutError:
        raise
    except (OSError, HTTPException):
        return b""


def proxy_of(address: Address) -> str:
    """Return the host of the environment's proxy for requests; empty if there is none."""
    proxy = getproxies().get(address.scheme, "")
    if not proxy or address.is_here or proxy_bypass(address.host):
        return ""
    with suppress(ValueError):
        return urlsplit(proxy if "//" in proxy else f"//{proxy}").hostname or ""
    return ""
