"""Asking an engine over HTTP, as OpenAI's completions are asked for."""

import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from posenc_conformance.door import parse_json
from posenc_conformance.errors import UserError, printable
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import NotClaimed

if TYPE_CHECKING:
    from http.client import HTTPResponse

Reading = Mapping[str, float]
"""Log-probabilities of some words, the likeliest among them."""
KEY = "POSENC_API_KEY"
"""Variable of the environment that may hold the key of an endpoint; it is never shown."""
ASKED = 10
"""Likeliest words that are asked for: six are read."""
SECONDS = 600.0
"""Seconds that an answer may take: a long prompt takes long on a slow machine."""
LONGEST_SHOWN = 200
"""Most characters of an answer that are shown."""
LOADING = 503
"""What an engine answers that is not ready yet."""
PAUSE = 0.5
"""Seconds until an engine is asked again that is not ready."""
LARGEST_ANSWER = 2**26
"""Bytes of the largest answer that is read."""


class Gone(Misbehaviour):
    """The engine does not answer any more."""


class NoAnswer(UserError):
    """There is no answer, or it takes too long."""


@dataclass(frozen=True)
class Endpoint:
    """An engine that completes prompts over HTTP."""

    url: str
    """Address under which ``/completions`` stands."""
    name: str
    """Name of the model, as the engine lists it."""
    context: int | None
    """Length of the longest text, if the engine says one."""
    seconds: float
    as_chat: bool = False
    """Whether log-probabilities are asked for as in a chat: yes or no, and how many."""

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Let the engine write some words, and return what each was chosen among.

        Raises Misbehaviour for an engine that answers something else, and Gone for one that does
        not answer any more.
        """
        (found,) = self._read(prompt if isinstance(prompt, str) else [*prompt], 1, steps)
        return found

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Do the same for several prompts in one request."""
        listed = [each if isinstance(each, str) else [*each] for each in prompts]
        return self._read(listed, len(prompts), steps)

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a completion says nothing of what is given."""
        raise NotClaimed("an endpoint completes a text, and says nothing of its places")

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a completion takes one text."""
        raise NotClaimed("an endpoint completes a text, and takes no other one beside it")

    def _read(self, prompt: object, count: int, steps: int) -> list[list[Reading]]:
        """Ask for one prompt, or for a list of them, and read what was chosen among."""
        asked = {
            "model": self.name,
            "prompt": prompt,
            "max_tokens": steps,
            "temperature": 0,
            **({"logprobs": True, "top_logprobs": ASKED} if self.as_chat else {"logprobs": ASKED}),
        }
        try:
            answer = _ask(f"{self.url}/completions", self.seconds, asked)
        except NoAnswer as error:
            raise Gone(f"{error.cause}; {error.hint}") from None
        except UserError as error:
            raise Misbehaviour(f"{error.cause}; {error.hint}") from None
        found = _readings(answer)
        if len(found) != count:
            raise Misbehaviour(f"{count} prompts were given, and {len(found)} answered")
        for each in found:
            if not each:
                raise Misbehaviour(f"the answer has no log-probabilities: {_shown(answer)}")
            if any(math.isnan(value) for reading in each for value in reading.values()):
                raise Misbehaviour("log-probabilities are no numbers (NaN)")
            if len(each) < steps:
                raise Misbehaviour(f"the engine stopped after {len(each)} of {steps} words")
        return [each[:steps] for each in found]


def is_endpoint(name: str) -> bool:
    """Return whether what ``--impl`` names is an address."""
    return re.match(r"https?://", name) is not None


def connect(url: str, seconds: float | None) -> Endpoint:
    """Find out which model an endpoint serves; what stands behind ``#`` is its name.

    Raises UserError if there is no endpoint, or it does not serve a single model.
    """
    address, _, name = url.partition("#")
    address = address.rstrip("/").removesuffix("/completions")
    if not urlsplit(address).path:
        address += "/v1"
    limit = SECONDS if seconds is None else seconds
    if name:
        return Endpoint(address, name, None, limit)
    listed = _ask(f"{address}/models", limit)
    models = listed.get("data") if isinstance(listed, dict) else None
    models = models if isinstance(models, list) else []
    models = [each for each in models if isinstance(each, dict)]
    if len(models) != 1:
        names = ", ".join(str(each.get("id")) for each in models)
        raise UserError(
            f"{address}/models lists {len(models)} models: {_shown(names)}",
            "serve a probe alone, or say what it is called there: --impl=http://…/v1#NAME",
        )
    return Endpoint(address, str(models[0].get("id")), _context(models[0]), limit)


def _context(model: Mapping[str, Any]) -> int | None:
    """Return the length of the longest text, where vLLM or llama.cpp says it."""
    meta = model.get("meta")
    said = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return said if type(said) is int and said > 0 else None


def _ask(url: str, seconds: float, body: Mapping[str, Any] | None = None) -> Any:
    """Send a request, and return the JSON of the answer; wait while the engine is loading.

    Raises UserError if there is no answer, or one that says that something is wrong.
    """
    began = time.monotonic()
    while True:
        try:
            return _ask_once(url, seconds, body)
        except _Loading as error:
            waited = time.monotonic() - began
            if waited + PAUSE >= seconds:
                raise UserError(
                    f"{url} answers {LOADING} for {seconds:.0f} s: {error}",
                    "wait until the engine has loaded the probe; its own log says more",
                ) from None
            if waited < PAUSE:
                print(f"{url} answers {LOADING}, it is loading: waiting", file=sys.stderr)
            time.sleep(PAUSE)


class _Loading(Exception):
    """The engine is not ready; what it says."""


def _ask_once(url: str, seconds: float, body: Mapping[str, Any] | None) -> Any:
    """Send a request once."""
    # Imported here: no other run of the kit needs it.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """Go nowhere else: the key is meant for this address."""

        def redirect_request(self, *_: Any) -> None:
            """Return no request."""

    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(KEY):
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with build_opener(Stay).open(Request(url, data, headers), timeout=seconds) as answer:
            return parse_json(_read_soon(answer, seconds))
    except HTTPError as error:
        said = error.read(4096).decode("utf-8", errors="replace")
        if error.code == LOADING:
            raise _Loading(_shown(said)) from None
        hint = "read what the engine says"
        if error.code in (401, 403):
            hint = f"put the key of the endpoint into the variable {KEY}"
        raise UserError(f"{url} answers {error.code}: {_shown(said)}", hint) from None
    except (URLError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        hint = "start the engine, and give the address it prints"
        if isinstance(reason, TimeoutError):
            hint = "give it longer: --posenc-timeout=SECONDS; its own log says whether it computes"
        raise NoAnswer(f"{url} does not answer: {_shown(str(reason))}", hint) from None
    except (ValueError, RecursionError):
        raise UserError(
            f"{url} answers something that is not JSON, or is no address",
            "give the address that ends in /v1; for a model that the engine does not list, "
            "http://…/v1#NAME",
        ) from None


def _read_soon(answer: "HTTPResponse", seconds: float) -> bytes:
    """Read an answer, up to the largest size; one that comes in drops has a deadline as well."""
    parts: list[bytes] = []
    left, end = LARGEST_ANSWER, time.monotonic() + seconds
    while left > 0 and (part := answer.read1(min(left, 2**16))):
        parts.append(part)
        left -= len(part)
        if time.monotonic() > end:
            raise TimeoutError(f"it has not ended after {seconds:g} s")
    return b"".join(parts)


def _readings(answer: Any) -> list[list[Reading]]:
    """Return the log-probabilities of each choice of an answer; none of one that has none."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices:
        return [[]]
    with suppress(KeyError, TypeError):
        choices = sorted(choices, key=lambda choice: int(choice["index"]))
    return [_of_choice(choice) for choice in choices]


def _of_choice(choice: Any) -> list[Reading]:
    """Return the log-probabilities of a choice; none if it has none.

    There are two forms: a list of mappings from words, and a list of objects.
    """
    try:
        found = choice["logprobs"]
        if "content" in found:
            return [
                {_word(each["token"]): float(each["logprob"]) for each in step["top_logprobs"]}
                for step in found["content"]
            ]
        return [
            {_word(token): float(value) for token, value in step.items()}
            for step in found["top_logprobs"]
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _word(token: str) -> str:
    """Return the word of a token, without the signs that tokenizers put where a word begins."""
    return token.strip(" \u2581\u0120")


def _shown(answer: Any) -> str:
    """Return the beginning of what an engine said, in one line."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return printable(" ".join(text.split()), LONGEST_SHOWN)
