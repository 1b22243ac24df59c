"""Judging an engine from outside with the kit as it is, in this process."""

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from posenc_conformance.checks import Check, Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.deployed.checkpoint.writing import write_checkpoint
from posenc_conformance.deployed.engine import PRODUCTS, Deployed, probe_for, with_cache
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import Model, with_configuration
from posenc_lab.deployed.engine import Engine, read_checkpoint
from posenc_lab.deployed.judging import InProcess
from posenc_lab.deployed.outside.cases import Case
from posenc_lab.deployed.outside.configs import CONFIGS
from posenc_lab.deployed.outside.naming import Answer, answer_of

NO_ANSWER = (Verdict.FAILED, Verdict.SILENT)


@dataclass(frozen=True)
class Judged:
    """What the kit said of a case."""

    case: Case
    answer: Answer
    said: tuple[str, ...]
    """Each failed check with the first line about it."""
    asked: int
    """Checks that ran."""
    seconds: float

    @property
    def is_miss(self) -> bool:
        """Whether a right engine was refused, or a wrong one passed that a probe could show."""
        passed = self.answer is Answer.PASSED and not self.case.unseen
        return passed or self.answer is Answer.REFUSED


@cache
def model_of(config: str) -> Model:
    """Return the model that a configuration describes, with its probe beside it."""
    path = Path(tempfile.mkdtemp(prefix="posenc-outside-")) / "config.json"
    path.write_text(json.dumps(CONFIGS[config]))
    model = with_configuration(path)
    write_checkpoint(probe_for(model), "float32", path.parent / "probe")
    return model


def made(case: Case) -> Engine:
    """Return the engine of a case, with the probe loaded."""
    return case.engine(*read_checkpoint(model_of(case.config).path.parent / "probe"))


def checks_of(case: Case, start: str = "") -> Iterator[Check]:
    """Return the checks of an engine whose ids begin with ``start``."""
    model = model_of(case.config)
    engine = Deployed(InProcess(made(case)), model, probe_for(model))
    engine = with_cache(engine, case.cache) if case.cache else engine
    engine = replace(engine, products=case.dtype) if case.dtype in PRODUCTS else engine
    every = checks(engine, subjects_of(engine, case.dtype), case.context)
    return (check for check in every if check.id.startswith(start))


def judge(case: Case) -> Judged:
    """Judge a case."""
    start = time.process_time()
    found = {check.id: execute(check, Options(1)) for check in checks_of(case)}
    failed = {id: each for id, each in found.items() if each.verdict in NO_ANSWER}
    first = {id: (each.text.strip().splitlines() or [""])[0] for id, each in failed.items()}
    names = {
        id: each.outcome.explanations[0][0] if each.outcome.explanations else ""
        for id, each in failed.items()
    }
    said = tuple(f"{id}: {names[id] or 'no name'}: {first[id][:120]}" for id in failed)
    answers = [(names[id], first[id]) for id in failed]
    ran = sum(each.verdict in (Verdict.PASSED, *NO_ANSWER) for each in found.values())
    return Judged(case, answer_of(case, answers), said, ran, time.process_time() - start)
