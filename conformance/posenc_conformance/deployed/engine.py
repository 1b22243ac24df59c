"""An engine that serves a probe, and which model the probe stands for."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from posenc_conformance.deployed.endpoint import Endpoint, Reading, connect
from posenc_conformance.deployed.families import Probe, probe_of
from posenc_conformance.deployed.instrument import SPECIAL, WHO
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.errors import UserError
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.models.file import Model, model_named, with_configuration

OWN = "config-"
"""How the name of a probe begins that was made of somebody's own configuration."""


@dataclass(frozen=True, eq=False)
class Deployed:
    """An engine that serves a probe."""

    endpoint: Endpoint
    model: Model
    probe: Probe
    in_words: bool
    """Whether prompts are texts: the engine does not take the numbers of tokens."""
    serials: Iterator[int] = field(default_factory=count)
    """Numbers of texts."""
    answered: list[Measured] = field(default_factory=list)
    """What was measured so far: a later answer may be that of an earlier text."""

    @property
    def context(self) -> int | None:
        """Length of the longest text that the engine takes, if it says so."""
        return self.endpoint.context

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Reading]:
        """Return, for each of some words written after a prompt, what it was chosen among."""
        if not self.in_words:
            return self.endpoint.read(prompt, steps)
        words = self.probe.plan.words
        return self.endpoint.read(" ".join(words[token] for token in prompt), steps)


def probe_for(model: Model) -> Probe:
    """Make the probe of a model of the spec, or of somebody's own configuration.

    Raises UserError if no probe can be made of it.
    """
    return probe_of(name_of(model), model.configuration, model.config, model.meaning)


def name_of(model: Model) -> str:
    """Return the word by which a model's probe says who it is."""
    if model.path.suffix == ".yaml":
        return model.id
    content = json.dumps(model.config, sort_keys=True).encode()
    return OWN + hashlib.sha256(content).hexdigest()[:8]


def model_of(name: str) -> Model:
    """Return the model of a name in the spec, or of a path of a config.json."""
    path = Path(name)
    return with_configuration(path) if path.suffix == ".json" else model_named(name)


def find_deployed(url: str, seconds: float | None, asked: Sequence[Model]) -> Deployed:
    """Ask an endpoint which probe it serves.

    ``asked`` are the models that the command line names: for a configuration of somebody's own it
    must be there. Raises UserError for an endpoint that serves no probe, or another one.
    """
    endpoint = connect(url, seconds)
    name, in_words = _who(endpoint)
    named = {name_of(model): model for model in asked}
    if asked and name not in named:
        raise UserError(
            f"{url} serves the probe {name!r}, and --posenc-model asks for {', '.join(named)}",
            "leave out --posenc-model, or serve the other probe",
        )
    if name.startswith(OWN) and name not in named:
        raise UserError(
            f"{url} serves a probe of somebody's own configuration, {name!r}",
            "say which: --posenc-model=config.json, the file that posenc probe was given",
        )
    model = named[name] if name in named else model_named(name)
    return Deployed(endpoint, model, probe_for(model), in_words)


def _who(endpoint: Endpoint) -> tuple[str, bool]:
    """Return the name of the probe that an endpoint serves, and whether it takes words only."""
    problem = ""
    for prompt in ([WHO], SPECIAL[WHO]):
        try:
            (answer,) = endpoint.read(prompt, 1)
        except Misbehaviour as error:
            problem = str(error)
            continue
        name = max(answer, key=answer.__getitem__, default="")
        if answer and name not in SPECIAL:
            return name, isinstance(prompt, str)
        problem = f"asked who it is, it answers {name!r}"
    raise UserError(
        f"{endpoint.url} serves {endpoint.model!r}, which is no probe: {problem}",
        "make one with posenc probe NAME --out FOLDER, and start the engine with that folder",
    )
