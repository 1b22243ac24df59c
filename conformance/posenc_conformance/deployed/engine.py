"""An engine that serves a probe, and the model that the probe represents."""

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from typing import Protocol

from posenc_conformance.adapters.find import registered, target
from posenc_conformance.deployed.architectures.decoders import family_of
from posenc_conformance.deployed.callables import (
    AS_USUAL,
    Function,
    Kind,
    Running,
    is_folder,
    load_folder,
    name_in,
)
from posenc_conformance.deployed.http.address import Secrets
from posenc_conformance.deployed.http.client import Client
from posenc_conformance.deployed.http.endpoint import (
    Endpoint,
    Hanging,
    Reading,
    connect,
    is_endpoint,
)
from posenc_conformance.deployed.instrument import SPECIAL, WHO, Bucketed
from posenc_conformance.deployed.measure import Measured, words_read
from posenc_conformance.deployed.probe_checkpoint import Probe, probe_of
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.models.file import Model, model_named, with_configuration

FUNCTION = "logits:"
"""The prefix of ``--impl`` for a function of this process that returns logits."""
PRODUCTS = {"tf32": "float32"}
"""Formats in which products of matrices may be computed, and the dtype of everything else."""
VERSION = "@2"
"""The end of the word with which a probe identifies itself: another version has other tokens."""
ALL_HEADS = "+heads"
"""What comes before it in the word of a probe that has as many heads as the model."""
OWN = "config-"
"""The prefix of the name of a probe that was made from a user's own configuration."""


class Source(Protocol):
    """A source of log-probabilities."""

    @property
    def name(self) -> str:
        """The name of the source, for people."""

    @property
    def context(self) -> int | None:
        """Length of the longest text, if the source reports it."""

    def read(self, prompt: Sequence[int] | str, steps: int) -> Sequence[Reading]:
        """Generate ``steps`` tokens, and return the log-probabilities at each step."""

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> Sequence[Sequence[Reading]]:
        """Generate after several prompts in one request, as ``read`` does."""

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Reading]]:
        """Return an encoder's log-probabilities at ``places`` of each text, in one request."""

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> Sequence[Sequence[Reading]]:
        """Generate ``steps`` tokens after each decoder text in ``begun``, as ``read`` does."""


@dataclass(frozen=True, eq=False)
class Deployed:
    """An engine that serves a probe."""

    source: Source
    model: Model
    probe: Probe
    in_words: bool = False
    """Whether prompts are texts, because the engine does not accept token ids."""
    title: str = ""
    """The value of ``--impl``, for people; for an address only the parts that may be shown."""
    secrets: Secrets = field(default_factory=Secrets)
    """Texts that no output may contain."""
    serials: Iterator[int] = field(default_factory=count)
    """Serial numbers of texts."""
    shifts: int | None = None
    """Size in tokens of the context that the engine shifts when full; None if it shifts none."""
    products: str = ""
    """Format in which products are claimed to be computed, if it has fewer bits than the dtype."""
    concurrent: bool = True
    """Whether several texts may be sent at the same time."""
    batches: bool = False
    """Whether several texts in one request take less time than one after another."""
    gone: list[str] = field(default_factory=list)
    """Why the engine no longer answers; empty as long as it does."""
    answered: list[Measured] = field(default_factory=list)
    """Measurements so far: an engine may answer with the scores of an earlier text."""

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Reading]:
        """Generate ``steps`` tokens, and return the log-probabilities at each step."""
        return self.source.read(self._given(prompt), steps)

    def read_together(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> Sequence[Sequence[Reading]]:
        """Generate after several prompts in one request, as ``read`` does."""
        return self.source.read_together([self._given(prompt) for prompt in prompts], steps)

    def read_at(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Reading]]:
        """Return an encoder's log-probabilities at ``places`` of each text, in one request."""
        return self.source.read_at(texts, places)

    def read_after(
        self, texts: Sequence[Sequence[int]], begun: Sequence[Sequence[int]], steps: int
    ) -> Sequence[Sequence[Reading]]:
        """Generate ``steps`` tokens after each decoder text in ``begun``, as ``read`` does."""
        return self.source.read_after(texts, begun, steps)

    def _given(self, prompt: Sequence[int]) -> Sequence[int] | str:
        """Return a prompt in the form that the engine accepts."""
        if not self.in_words:
            return prompt
        words = self.probe.plan.words
        return " ".join(words[token] for token in prompt)


def probe_for(model: Model, *, all_heads: bool = False) -> Probe:
    """Make the probe for a model of the spec, or for a user's own configuration.

    With ``all_heads`` it has as many heads as the model, and as many keys heads share.

    Raises UserError if no probe can be made for the model.
    """
    word = name_of(model) + ALL_HEADS * all_heads + VERSION
    return probe_of(word, model.configuration, model.config, model.meaning, all_heads=all_heads)


def has_probe(model: Model) -> bool:
    """Return whether a probe can be made for a model."""
    try:
        probe_for(model)
    except UserError:
        return False
    return True


def is_encoder(model: Model) -> bool:
    """Return whether a model is, or has, an encoder, which completions do not expose."""
    family = family_of(model.configuration)
    return family is not None and (family.encoder or has_two_texts(model))


def has_two_texts(model: Model) -> bool:
    """Return whether a model has an encoder and a decoder, each with a text of its own."""
    return any(group.call == "t5_bucket" for group in model.meaning.groups)


def name_of(model: Model) -> str:
    """Return the word with which a model's probe identifies itself, without the version."""
    if model.path.suffix == ".yaml":
        return model.id
    content = json.dumps(model.config, sort_keys=True).encode()
    return OWN + hashlib.sha256(content).hexdigest()[:8]


def model_of(name: str) -> Model:
    """Return the model for a name in the spec, or for the path of a config.json."""
    path = Path(name)
    return with_configuration(path) if path.suffix == ".json" else model_named(name)


def is_deployed(name: str) -> bool:
    """Return whether ``--impl`` names an engine that serves a probe, rather than an adapter."""
    folder = is_folder(name) and name not in registered()
    return folder or is_endpoint(name) or name.startswith(FUNCTION)


def find_deployed(
    name: str,
    seconds: float | None,
    asked: Sequence[Model],
    dtype: str,
    cache: str = "",
    running: Running = AS_USUAL,
) -> Deployed:
    """Find the engine that ``--impl`` names, and the model whose probe it serves.

    ``cache`` is the claimed format of keys in the KV cache, if it has fewer bits than the dtype.

    ``asked`` are the models named on the command line; a probe of a user's own configuration, and
    a function, require one. Raises UserError for an engine that serves no probe or another one,
    and for a model to which ``cache`` does not apply.
    ``running`` says how transformers runs a folder; other engines decide that themselves.
    """
    if str(running) and not is_folder(name):
        raise UserError(
            f"--impl={name} runs as it was started, and not as these options say: {running}",
            "leave out --posenc-device, -attention, -compile and -static-cache: they are for "
            "--impl=FOLDER, which transformers runs",
        )
    engine = _found(name, seconds, asked, PRODUCTS.get(dtype, dtype), running)
    if dtype in PRODUCTS:
        engine = replace(engine, products=dtype)
    return with_cache(engine, cache) if cache else engine


def with_cache(engine: Deployed, cache: str) -> Deployed:
    """Return an engine that is claimed to cache keys in fewer bits than its dtype has.

    Raises UserError for a model with an encoder, and for one with latent attention.
    """
    probe = engine.probe
    reason = "no bound is derived for keys that are kept with their values, in one narrow row"
    if is_encoder(engine.model):
        reason = "an encoder keeps no keys"
    if can_cache(engine):
        return replace(engine, probe=replace(probe, cache=cache))
    raise UserError(
        f"--posenc-cache={cache} says nothing of {engine.model.title}: {reason}",
        "leave it out, and let the engine keep what it keeps in its dtype",
    )


def can_cache(engine: Deployed) -> bool:
    """Return whether an engine caches keys of whole heads."""
    return engine.probe.latent is None and not is_encoder(engine.model)


def _found(
    name: str, seconds: float | None, asked: Sequence[Model], dtype: str, running: Running
) -> Deployed:
    """Find the engine that ``--impl`` names."""
    if is_endpoint(name):
        client = Client.of(name, seconds)
        with client.secrets.hidden():
            return _served(client, asked)
    if is_folder(name):
        model, probe = _probe_served(name, name_in(Path(name)), asked)
        kind = Kind.WRITES
        if isinstance(probe.plan, Bucketed):
            kind = Kind.TWO_TEXTS
        elif probe.plan.encoder:
            kind = Kind.ENCODER
        source = load_folder(name, dtype, kind, running)
        together = source.concurrent and not running.static
        return Deployed(
            source, model, probe, title=name, concurrent=source.concurrent, batches=together
        )
    return _function(name, asked)


def _served(client: Client, asked: Sequence[Model]) -> Deployed:
    """Find the model whose probe an endpoint serves."""
    where = str(client.address)
    name, source, in_words, count = _who(connect(client))
    model, probe = _probe_served(where, name, asked)
    if is_encoder(model):
        raise UserError(
            f"{where} serves the probe of an encoder, of whose text a completion says nothing",
            "give its folder, --impl=FOLDER, or a function that gives logits, --impl=logits:…",
        )
    _demand_enough(count, probe)
    return Deployed(source, model, probe, in_words, where, client.secrets)


def _function(name: str, asked: Sequence[Model]) -> Deployed:
    """Return the engine for a function that returns the logits of a probe."""
    if len(asked) != 1:
        raise UserError(
            f"--impl={name} is a function, which does not say whose probe it runs",
            "name one model: --posenc-model=NAME, as posenc probe was given it",
        )
    function = target(name.removeprefix(FUNCTION))
    if not callable(function) or inspect.isclass(function):
        raise UserError(
            f"--impl={name} is no function", "it must give the logits after a list of tokens"
        )
    probe = probe_for(asked[0], all_heads=bool(vars(function).get("all_heads")))
    source = Function(function, probe.plan.words, name)
    return Deployed(source, asked[0], probe, title=name, concurrent=source.concurrent)


def _probe_served(where: str, word: str, asked: Sequence[Model]) -> tuple[Model, Probe]:
    """Return the model whose probe identifies itself with a word, and the probe.

    Raises UserError for a probe that another version of posenc has written, besides the errors of
    ``_model_named``.
    """
    name = word.removesuffix(VERSION)
    model = _model_named(where, name.removesuffix(ALL_HEADS), asked)
    if not word.endswith(VERSION):
        raise UserError(
            f"{where} serves a probe of {model.title} that another version of posenc has written",
            "write it again, with the same options: posenc probe NAME --out FOLDER",
        )
    return model, probe_for(model, all_heads=name.endswith(ALL_HEADS))


def _model_named(where: str, name: str, asked: Sequence[Model]) -> Model:
    """Return the model whose probe has a name.

    Raises UserError for the probe of a model that is not in ``asked``, and for an unknown probe.
    """
    named = {name_of(model): model for model in asked}
    if asked and name not in named:
        raise UserError(
            f"{where} serves the probe {in_line(name)!r}, not that of {', '.join(named)}",
            "serve the other probe, or ask for the model whose probe is served",
        )
    if name.startswith(OWN) and name not in named:
        raise UserError(
            f"{where} serves a probe of somebody's own configuration, {in_line(name)!r}",
            "say which: --posenc-model=config.json, the file that posenc probe was given",
        )
    if name in named:
        return named[name]
    try:
        return model_named(name)
    except UserError:
        raise UserError(
            f"{where} says that it is {in_line(name)!r}, which is no model of the spec",
            "if it is a probe, another version of posenc has written it: write it again",
        ) from None


def _demand_enough(count: int, probe: Probe) -> None:
    """Raise UserError if an endpoint returns too few log-probabilities for a probe."""
    needed = words_read(probe.plan)
    if count < needed:
        own = "the query itself, " if probe.plan.tied else ""
        raise UserError(
            f"the endpoint gives log-probabilities of {count} words, and {needed} are read of one "
            f"answer: the word that follows, {own}four of keys, and one whose logit is 0",
            f"allow {needed} in the engine's options, if it has one for that; its probe in "
            "transformers is judged by --impl=FOLDER",
        )


def _who(endpoint: Endpoint) -> tuple[str, Endpoint, bool, int]:
    """Ask an endpoint which probe it serves, in each form of request that engines support.

    Returns the name, the endpoint with the form that it supports, whether it accepts only texts,
    and the number of log-probabilities that it returns.
    """
    problems = []
    for in_words, as_chat in product((False, True), repeat=2):
        variant = replace(endpoint, as_chat=as_chat)
        try:
            (answer,) = variant.read(SPECIAL[WHO] if in_words else [WHO], 1)
        except Misbehaviour as error:
            problems.append(str(error))
            if isinstance(error, Hanging):  # another form would take as long
                break
            continue
        name = max(answer, key=answer.__getitem__, default="")
        if name.removeprefix("token_id:").isdigit():
            problems.append(f"it names tokens by numbers, such as {name!r}, and not by their words")
            continue
        if name and name not in SPECIAL:
            return name, variant, in_words, len(answer)
        problems.append(f"asked who it is, it answers {name!r}")
    raise UserError(
        f"the endpoint does not say which probe {endpoint.name!r} is: "
        f"{'; '.join(dict.fromkeys(problems))}",
        "start the engine with a folder that posenc probe has written; its own log may say more",
    )
