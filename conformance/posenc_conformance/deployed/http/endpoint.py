"""An engine that answers over HTTP, through OpenAI's completions API."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posenc_conformance.deployed.http.client import Client, NoAnswer, Refused, TooLate
from posenc_conformance.errors import LONGEST_WORD, UserError, in_line
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import NotClaimed

Reading = Mapping[str, float]
"""Log-probabilities by word; they include those of the likeliest words."""
ASKED = 10
"""Number of likeliest words that are requested; six are read."""
FORM = frozenset({400, 413, 415, 422, 501})
"""Status codes of an engine that does not support the form of a request."""
CERTAIN = 1.0
"""A log-probability above this is invalid. A right one is at most 0; in bfloat16, logits of up to
64 and their logarithm are each off by at most an eighth, and their difference by little more."""
LONGEST_NAME = 4096
"""Characters of the longest name of a model, which every request repeats."""


class Gone(Misbehaviour):
    """The engine no longer answers."""


class Hanging(Gone):
    """The answer of the engine takes too long."""


class FormRefused(Misbehaviour):
    """The engine does not support requests of this form."""


@dataclass(frozen=True)
class Endpoint:
    """An engine that completes prompts over HTTP."""

    client: Client
    """The client of the address that has ``/completions``."""
    model: str
    """Name of the model, as the engine lists it."""
    context: int | None
    """Length of the longest text, if the engine reports it."""
    as_chat: bool = False
    """Whether log-probabilities are requested as for a chat: by a flag and a number."""

    @property
    def name(self) -> str:
        """The name of the model, for people."""
        return self.client.shown(self.model)

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Generate ``steps`` tokens, and return the log-probabilities at each step.

        Raises Misbehaviour for an invalid answer, FormRefused for an engine that does not support
        the request, and Gone for one that no longer answers.
        """
        (readings,) = self._read(prompt if isinstance(prompt, str) else [*prompt], 1, steps)
        return readings

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[Reading]]:
        """Generate after several prompts in one request, as ``read`` does."""
        listed = [prompt if isinstance(prompt, str) else [*prompt] for prompt in prompts]
        return self._read(listed, len(prompts), steps)

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a completion has no log-probabilities of the prompt's positions."""
        raise NotClaimed("an endpoint completes a text, and says nothing of its places")

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[Reading]]:
        """Raise NotClaimed: a completion takes a single text."""
        raise NotClaimed("an endpoint completes a text, and takes no other one beside it")

    def _read(self, prompt: object, count: int, steps: int) -> list[list[Reading]]:
        """Request completions of a prompt or a list of prompts; return the log-probabilities."""
        request = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": steps,
            "temperature": 0,
            **({"logprobs": True, "top_logprobs": ASKED} if self.as_chat else {"logprobs": ASKED}),
        }
        answer = self._answer(request)
        readings = _readings(answer)
        if len(readings) != count:
            raise Misbehaviour(f"{count} prompts were given, and {len(readings)} answered")
        for choice in readings:
            if not choice:
                text = self.client.shown(json.dumps(answer))
                raise Misbehaviour(f"the answer has no log-probabilities: {text}")
            values = [value for reading in choice for value in reading.values()]
            if any(math.isnan(value) for value in values):
                raise Misbehaviour("log-probabilities are no numbers (NaN)")
            if max(values, default=0.0) > CERTAIN:
                raise Misbehaviour(
                    f"log-probabilities up to {max(values):.3g} cannot be: those of a word that is "
                    "certain are 0"
                )
            if len(choice) < steps:
                raise Misbehaviour(f"the engine stopped after {len(choice)} of {steps} words")
        return [choice[:steps] for choice in readings]

    def _answer(self, asked: Mapping[str, Any]) -> Any:
        """Return the engine's answer to a request for completions."""
        try:
            return self.client.ask("completions", asked)
        except UserError as error:
            kind, hint = Misbehaviour, error.hint
            if isinstance(error, TooLate):
                kind = Hanging
            elif isinstance(error, NoAnswer):
                kind, hint = Gone, "see whether it still runs; its own log may say why it ended"
            elif isinstance(error, Refused) and error.status in FORM:
                kind = FormRefused
            raise kind(f"{error.cause}; {hint}") from None


def is_endpoint(name: str) -> bool:
    """Return whether ``--impl`` names an address."""
    return re.match(r"\s*https?://", name, re.IGNORECASE) is not None


def connect(client: Client) -> Endpoint:
    """Find the model that an endpoint serves; a name after ``#`` in the address decides.

    Raises UserError if there is no endpoint, or it does not serve a single model.
    """
    if client.address.model:
        return Endpoint(client, client.address.model, None)
    listed = client.ask("models")
    models = listed.get("data") if isinstance(listed, dict) else None
    models = models if isinstance(models, list) else []
    models = [model for model in models if isinstance(model, dict)]
    if len(models) != 1:
        names = ", ".join(str(model.get("id")) for model in models)
        raise UserError(
            f"{client.address}/models lists {len(models)} models: {client.shown(names)}",
            "serve a probe alone, or say what it is called there: --impl=http://…/v1#NAME",
        )
    name = str(models[0].get("id"))
    if len(name) > LONGEST_NAME:
        raise UserError(
            f"{client.address}/models lists a model whose name has {len(name):,} letters",
            f"serve the probe under a name of at most {LONGEST_NAME:,} letters",
        )
    return Endpoint(client, name, _context(models[0]))


def _context(model: Mapping[str, Any]) -> int | None:
    """Return the length of the longest text, if vLLM or llama.cpp reports it."""
    meta = model.get("meta")
    length = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return length if type(length) is int and length > 0 else None


def _readings(answer: Any) -> list[list[Reading]]:
    """Return the log-probabilities of each choice in an answer; empty if there are none.

    Raises Misbehaviour for choices with invalid indices.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices:
        return [[]]
    return [_of_choice(choice) for choice in _in_order(choices)]


def _in_order(choices: list[Any]) -> list[Any]:
    """Sort choices by their indices, if they have any."""
    indices = [choice.get("index") if isinstance(choice, dict) else None for choice in choices]
    if all(index is None for index in indices):
        return choices
    numbers = [index for index in indices if type(index) is int]
    if len(numbers) < len(indices):
        listed = in_line(", ".join(map(str, indices)))
        raise Misbehaviour(f"the choices of the answer are numbered {listed}")
    order = sorted(range(len(choices)), key=numbers.__getitem__)
    return [choices[place] for place in order]


def _of_choice(choice: Any) -> list[Reading]:
    """Return the log-probabilities of a choice; empty if there are none.

    There are two forms: a list of mappings from words, and a list of objects.
    """
    try:
        logprobs = choice["logprobs"]
        if logprobs.get("content") is not None:
            steps = [
                [(entry["token"], entry["logprob"]) for entry in step["top_logprobs"]]
                for step in logprobs["content"]
            ]
        else:
            steps = [step.items() for step in logprobs["top_logprobs"]]
        return [
            {_word(token): float(value) for token, value in step if value is not None}
            for step in steps
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        return []


def _word(token: str) -> str:
    """Return the word of a token, without the markers that tokenizers put before a word.

    The result is safe to show; a word longer than any of a probe is replaced by its length.
    """
    word = token.strip(" \u2581\u0120")
    return in_line(word) if len(word) <= LONGEST_WORD else f"({len(word):,} letters)"
