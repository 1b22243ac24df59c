"""One request over HTTP and its answer, under one deadline.

No other run of the kit needs what this imports, so it is imported when an endpoint is asked.
"""

import socket
import threading
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

from posenc_conformance.deployed.address import Address

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
        handlers: list[Any] = [_Stay, self._handler_of_http(), self._handler_of_https()]
        opener = build_opener(*handlers, *([] if self.through_proxy else [ProxyHandler({})]))
        try:
            with opener.open(self.request, timeout=self.seconds) as answer:
                body = answer.read(LARGEST_ANSWER)
                if answer.length and len(body) < LARGEST_ANSWER:
                    raise IncompleteRead(body, answer.length)
                return Reply(answer.status, body)
        except HTTPError as error:
            with error:
                return Reply(error.code, _beginning(error), error.headers.get("Retry-After", ""))

    def _handler_of_http(self) -> HTTPHandler:
        sockets = self.sockets

        class Connection(HTTPConnection):
            response_class = _Response

            def connect(self) -> None:
                super().connect()
                sockets.append(self.sock)

        class Handler(HTTPHandler):
            def http_open(self, req: Request) -> HTTPResponse:
                return self.do_open(Connection, req)

        return Handler()

    def _handler_of_https(self) -> HTTPSHandler:
        sockets = self.sockets

        class Connection(HTTPSConnection):
            response_class = _Response

            def connect(self) -> None:
                super().connect()
                sockets.append(self.sock)

        class Handler(HTTPSHandler):
            def https_open(self, req: Request) -> HTTPResponse:
                return self.do_open(Connection, req)

        return Handler()

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
