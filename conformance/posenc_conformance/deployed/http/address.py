"""The address of an endpoint as people write it, and the secrets in it that are never shown."""

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from posenc_conformance.errors import LONGEST_WORD, UserError, in_line, printable
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Wrong

HIDDEN = "***"
"""The replacement of a secret."""
SHORTEST_SECRET = 4
"""Characters of the shortest secret that is hidden in texts: shorter ones occur in every text."""
LONG_SECRET = 8
"""Least number of characters of a secret that is hidden within words too."""
ORDINARY = frozenset(
    ("api", "completions", "engines", "inference", "llm", "models", "openai", "v1", "v2", "v3")
)
"""Parts of a path that many addresses have. Any other part may give access, and is hidden."""
HINT = (
    "give the address as the engine prints it: http://HOST:PORT/v1; in a name or a password, "
    "a character such as @, / or # is written %40, %2F or %23"
)


@dataclass(frozen=True)
class Secrets:
    """Texts that are replaced in everything that is shown."""

    values: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        texts = {text for value in self.values for text in (value, quote(value, safe=""))}
        parts = [
            re.escape(text) if len(text) >= LONG_SECRET else rf"(?<!\w){re.escape(text)}(?!\w)"
            for text in sorted(texts, key=len, reverse=True)
            if len(text) >= SHORTEST_SECRET
        ]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def hide(self, text: str) -> str:
        """Return a text with the secrets replaced."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the secrets in the messages of raised exceptions."""
        try:
            yield
        except UserError as error:
            raise UserError(self.hide(error.cause), self.hide(error.hint)) from None
        except Wrong as wrong:
            raise Wrong(self.hide(wrong.text), wrong.outcome, wrong.case) from None
        except (NotClaimed, Blocked) as reason:
            raise type(reason)(self.hide(str(reason))) from None


@dataclass(frozen=True)
class Address:
    """The location of an endpoint; its text form may be shown."""

    scheme: str
    host: str
    """Name or IP address of the machine."""
    port: int | None
    path: str = field(repr=False)
    query: str = field(repr=False)
    user: str = field(repr=False)
    password: str = field(repr=False)
    model: str
    """The name of a model at the address, after ``#``."""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse an address.

        Raises UserError, which shows nothing of the text, for an invalid address.
        """
        base, _, model = text.partition("#")
        base = base.strip()
        if re.search(r"[\s\x00-\x1f\x7f]", base):
            raise UserError("--impl is an address with a blank or an unprintable character", HINT)
        try:
            parts = urlsplit(base)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
        except ValueError:
            raise UserError("--impl begins as an address, and is none", HINT) from None
        if not host:
            raise UserError("--impl is an address that names no machine", HINT)
        path = parts.path.rstrip("/").removesuffix("/completions")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(parts.scheme, host, port, path or "/v1", parts.query, user, password, model)

    def __str__(self) -> str:
        """Return the address with all possible secrets replaced."""
        own = f"{HIDDEN}@" if self.user or self.password else ""
        path = "/".join(part if self._is_ordinary(part) else HIDDEN for part in self._parts)
        fields = [part.rpartition("=")[:2] for part in self.query.split("&") if part]
        query = "?" + "&".join(f"{in_line(''.join(part))}{HIDDEN}" for part in fields)
        model = f"#{in_line(self.model)}" if self.model else ""
        return f"{self.scheme}://{own}{self._machine}{path}{query if fields else ''}{model}"

    def url(self, name: str) -> str:
        """Return the URL of a resource under the address, without user and password."""
        path = quote(f"{self.path}/{name}", safe="/%:@!$&'()*+,;=~")
        query = f"?{quote(self.query, safe='/%:@!$&()*+,;=~?')}" if self.query else ""
        return f"{self.scheme}://{self._machine}{path}{query}"

    @property
    def basic(self) -> str:
        """User and password encoded for HTTP; empty if there are none."""
        if not self.user and not self.password:
            return ""
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

    @property
    def is_here(self) -> bool:
        """Whether the host is this machine."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            number = ip_address(self.host)
        except ValueError:
            return False
        return number.is_loopback or number.is_unspecified

    def secrets(self, key: str) -> Secrets:
        """Return the secrets: a key, and the parts of the address that give access."""
        long = [part for part in self._parts if not self._is_ordinary(part)]
        long += [value for _, value in parse_qsl(self.query)]
        own = (key, self.basic, self.password, "" if self.password else self.user)
        return Secrets((*own, *(part for part in long if len(part) >= LONG_SECRET)))

    @property
    def _machine(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def _parts(self) -> list[str]:
        return self.path.split("/")

    def _is_ordinary(self, part: str) -> bool:
        return not part or part.lower() in ORDINARY


def shown(text: str, secrets: Secrets, longest: int = LONGEST_WORD) -> str:
    """Return the beginning of a text from outside, in one line and without secrets."""
    return printable(" ".join(secrets.hide(text).split()), longest)
