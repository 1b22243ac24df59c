"""JSON requests to an address: the key, time limits, retries, and the errors for a refusal."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from posenc_conformance.deployed.http.address import Address, Secrets, shown
from posenc_conformance.door import parse_json
from posenc_conformance.errors import UserError

if TYPE_CHECKING:
    from posenc_conformance.deployed.http.exchange import Reply

KEY = "POSENC_API_KEY"
"""Environment variable that may contain the key of an endpoint; the key is never shown."""
SECONDS = 600.0
"""Time limit of an answer in seconds: a long prompt takes long on a slow machine."""
WAITED_FOR = {429: "it is asked too often", 503: "it is loading"}
"""Status codes after which the request is repeated, with the reason."""
PAUSE = 0.5
"""Least seconds before a request is repeated, and the default if the engine names none."""


class NoAnswer(UserError):
    """There is no answer, or it takes too long."""


class TooLate(NoAnswer):
    """The answer takes too long."""


class Refused(UserError):
    """The answer reports an error."""

    def __init__(self, cause: str, hint: str, status: int) -> None:
        super().__init__(cause, hint)
        self.status = status


@dataclass(frozen=True)
class Client:
    """An address, and the settings of requests to it."""

    address: Address
    seconds: float
    """Time limit of one answer, including all pauses."""
    headers: Mapping[str, str] = field(repr=False)
    secrets: Secrets

    @classmethod
    def of(cls, text: str, seconds: float | None) -> "Client":
        """Make the client of an address, with the key from the environment or from the address.

        Warns on the standard error stream who may read the key, before it is sent. Raises UserError
        for an invalid address, and for a key that cannot be sent.
        """
        address = Address.parse(text)
        key = _key(address)
        own = f"Bearer {key}" if key else f"Basic {address.basic}" if address.basic else ""
        headers = {"Content-Type": "application/json", **({"Authorization": own} if own else {})}
        client = cls(
            address, SECONDS if seconds is None else seconds, headers, address.secrets(key)
        )
        if own:
            client._tell_who_may_read_it()
        return client

    def ask(self, name: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request, and return the JSON of the answer; wait if the engine asks for it.

        Raises TooLate or NoAnswer if there is no answer, Refused for an answer that reports an
        error, and UserError for an answer that is not JSON.
        """
        end, told = time.monotonic() + self.seconds, False
        data = None if body is None else json.dumps(body).encode()
        while True:
            reply = self._reply(name, data)
            if reply.status not in WAITED_FOR:
                return self._content(name, reply)
            why, pause = WAITED_FOR[reply.status], _pause(reply.retry_after)
            if time.monotonic() + pause >= end:
                raise Refused(
                    f"{self.address} answers {reply.status} for {self.seconds:g} s, and asks to "
                    f"wait {pause:g} s more: {self._said(reply)}",
                    "wait until the engine is ready; its own log says more",
                    reply.status,
                )
            if not told:
                print(f"{self.address} answers {reply.status}, {why}: waiting", file=sys.stderr)
            told = True
            time.sleep(pause)

    def shown(self, text: str) -> str:
        """Return the beginning of the endpoint's text, in one line and without secrets."""
        return shown(text, self.secrets)

    def _reply(self, name: str, data: bytes | None) -> "Reply":
        from posenc_conformance.deployed.http.exchange import Late, Silence, exchange

        try:
            return exchange(self.address, name, dict(self.headers), data, self.seconds)
        except Late as error:
            raise TooLate(
                f"{self.address} does not answer: {self.shown(str(error))}",
                "give it longer: --posenc-timeout=SECONDS; its own log says whether it computes",
            ) from None
        except Silence as error:
            raise NoAnswer(
                f"{self.address} does not answer: {self.shown(str(error))}",
                "start the engine, and give the address it prints",
            ) from None

    def _content(self, name: str, reply: "Reply") -> Any:
        """Return the JSON of an answer."""
        if not 200 <= reply.status < 300:
            hint = "read what the engine says"
            if name == "models":
                hint = (
                    "if it lists no models, say what the probe is called: --impl=http://…/v1#NAME"
                )
            if reply.status in (401, 403):
                hint = f"put the key of the endpoint into the variable {KEY}"
            text = self._said(reply)
            cause = f"{self.address} answers {reply.status} to /{name}: {text}"
            raise Refused(cause, hint, reply.status)
        try:
            return parse_json(reply.body)
        except (ValueError, RecursionError):
            text = self._said(reply)
            raise UserError(
                f"{self.address} answers something that is not JSON to /{name}: {text}",
                "give the address that ends in /v1; for a model that the engine does not list, "
                "http://…/v1#NAME",
            ) from None

    def _said(self, reply: "Reply") -> str:
        return self.shown(reply.body.decode("utf-8", errors="replace")) or "nothing"

    def _tell_who_may_read_it(self) -> None:
        """Warn who may read the key in transit, unless it is encrypted or stays on this machine."""
        from posenc_conformance.deployed.http.exchange import proxy_of

        if self.address.scheme != "http" or self.address.is_here:
            return
        proxy = proxy_of(self.address)
        through = f", through the proxy {proxy} of the environment" if proxy else ""
        print(
            f"posenc: the key goes to {self.address.host} unencrypted{through}: whoever is between "
            "can read it; https:// prevents that",
            file=sys.stderr,
        )


def _key(address: Address) -> str:
    """Return the key from the environment.

    Raises UserError for a key that cannot be sent, or if the address has a user or password too.
    """
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"the variable {KEY} holds a character that HTTP cannot send",
            "give the key alone, in ASCII and on one line",
        )
    if key and address.basic:
        raise UserError(
            f"{address} has a user or a password, and the variable {KEY} a key: only one is sent",
            f"leave them out of the address, or unset {KEY}",
        )
    return key


def _pause(said: str) -> float:
    """Return the seconds to wait, from a Retry-After header: a number or a date."""
    try:
        if said.strip().isdigit():
            return max(float(said), PAUSE)
        return max(parsedate_to_datetime(said).timestamp() - time.time(), PAUSE)
    except (ValueError, OverflowError, OSError):
        return PAUSE
