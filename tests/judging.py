"""Judging an adapter without a pytest run of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, Options, checks_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.judge.truths import TRUTHS
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.report.document import explained
from posenc_conformance.scheme_file.model import Scheme
from posenc_conformance.scheme_file.read import load_all

TRUTHS.room = 2**29  # hundreds of implementations of one claim are asked the same


@dataclass(frozen=True)
class Verdict:
    """What one check said."""

    check: Check
    verdict: str
    outcome: Outcome
    text: str = ""

    @property
    def id(self) -> str:
        return f"{self.check.subject.scheme.path.name}::{self.check.level}::{self.check.id}"


@lru_cache(maxsize=1)
def schemes() -> tuple[Scheme, ...]:
    return tuple(load_all())


def judge(
    adapter: object, levels: Sequence[str] = LEVELS, examples: int = 3, seed: int = 0
) -> list[Verdict]:
    """Every check that the adapter's claims call for, at these levels."""
    found = subjects(adapter, schemes())
    return [
        _run(check, Options(examples, seed))
        for scheme in schemes()
        for level in levels
        for check in checks_of(scheme, level, found)
    ]


def failed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [each for each in verdicts if each.verdict == "failed"]


def diagnoses(verdicts: Sequence[Verdict]) -> list[str]:
    """Deviation ids named by failures, the one that explains most first."""
    return [found[0] for found in explained([each.outcome.explanations for each in verdicts])]


def _run(check: Check, options: Options) -> Verdict:
    found = execute(check, options)
    return Verdict(check, found.verdict, found.outcome, found.text)
