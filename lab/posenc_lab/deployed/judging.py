"""Judging a small engine in this process, without a server."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.deployed.checkpoint.writing import write_checkpoint
from posenc_conformance.deployed.engine import Deployed, probe_for, with_cache
from posenc_conformance.deployed.http.endpoint import Reading
from posenc_conformance.models.file import Model, with_configuration
from posenc_lab.deployed import (
    caches,
    encoders,
    gemma_4,
    hybrids,
    lengths,
    older,
    recent,
    right,
    shifting,
    two_texts,
    wrong,
)
from posenc_lab.deployed.cases import CONFIGS, Case
from posenc_lab.deployed.engine import Engine, read_checkpoint

LISTED = (
    caches,
    encoders,
    gemma_4,
    hybrids,
    lengths,
    older,
    recent,
    right,
    shifting,
    two_texts,
    wrong,
)  # importing them fills the lists of cases
LENGTH = 512
"""Length of the longest text in tokens."""


@dataclass(frozen=True)
class InProcess:
    """An engine that is called without a server."""

    served: Engine
    name: str = "small"
    context: int | None = None

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        """Return the log-probabilities of each step."""
        assert not isinstance(prompt, str)
        return [*self.served.complete(prompt, steps)]

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[dict[str, float]]]:
        """Return the log-probabilities of each step for each prompt of one request."""
        tokens = [prompt for prompt in prompts if not isinstance(prompt, str)]
        return self.served.complete_all(tokens, steps)

    def read_at(
        self, texts: Sequence[Sequence[int] | str], places: Sequence[Sequence[int]]
    ) -> list[list[dict[str, float]]]:
        """Return an encoder's log-probabilities at some places of each text."""
        tokens = [text for text in texts if not isinstance(text, str)]
        return self.served.say(tokens, places)

    def read_after(
        self,
        texts: Sequence[Sequence[int] | str],
        begun: Sequence[Sequence[int] | str],
        steps: int,
    ) -> list[list[dict[str, float]]]:
        """Return a decoder's log-probabilities as it continues the begun output of each text."""
        both = [
            (text, start)
            for text, start in zip(texts, begun, strict=True)
            if not isinstance(text, str) and not isinstance(start, str)
        ]
        return self.served.translate(both, steps)


@cache
def model_of(config: str) -> Model:
    """Return the model of a configuration without weights, as ``posenc probe`` reads it."""
    path = Path(tempfile.mkdtemp(prefix="posenc-probe-")) / "config.json"
    path.write_text(json.dumps(CONFIGS[config]))
    return with_configuration(path)


@lru_cache
def folder_of(config: str) -> Path:
    """Return a folder with a configuration and its probe; each is written once."""
    model = model_of(config)
    write_checkpoint(probe_for(model), "float32", model.path.parent / "probe")
    return model.path.parent


def made(case: Case) -> Engine:
    """Return the engine of a case, with the probe loaded."""
    return case.engine(*read_checkpoint(folder_of(case.config) / "probe"))


def judge(case: Case) -> dict[str, Execution]:
    """Run all checks of an engine; return the result of each, by id."""
    model = model_of(case.config)
    engine = Deployed(InProcess(made(case)), model, probe_for(model))
    engine = with_cache(engine, case.cache) if case.cache else engine
    engine = replace(engine, shifts=case.shifts)
    subjects = subjects_of(engine, case.dtype)
    return {check.id: execute(check, Options(1)) for check in checks(engine, subjects, LENGTH)}
