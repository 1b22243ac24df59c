"""Judging an adapter without pytest."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, Options, checks_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.truth_cache import TRUTHS
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.registry import load_all
from posenc_conformance.report.document import explained

TRUTHS.room = 2**29  # hundreds of implementations of a claim are checked with the same cases


LEAD = 2
"""A name is final once it explains at least this number of failures more than any other."""


@dataclass(frozen=True)
class Verdict:
    """The verdict of one check."""

    check: Check
    verdict: str
    outcome: Outcome
    text: str = ""

    @property
    def id(self) -> str:
        return f"{self.check.subject.scheme.path.name}::{self.check.level}::{self.check.id}"


@lru_cache(maxsize=1)
def schemes() -> tuple[KnownScheme, ...]:
    return tuple(load_all())


def judge(
    adapter: object,
    levels: Sequence[str] = LEVELS,
    examples: int = 3,
    seed: int = 0,
    among: Sequence[KnownScheme] | None = None,
) -> list[Verdict]:
    """Run all checks of the adapter's claims at ``levels``, for all schemes or those ``among``."""
    claimed = subjects(adapter, schemes())
    return [
        _run(check, Options(examples, seed))
        for scheme in (schemes() if among is None else among)
        for level in levels
        for check in checks_of(scheme, level, claimed)
    ]


def judge_until_named(adapter: object, named: str | None) -> list[Verdict]:
    """Run checks until the failures establish the name ``named``.

    If ``named`` is None, the first failure is enough. A name is established when it explains at
    least LEAD more failures than any other. A whole run gives every miniature the same name, which
    ``POSENC_LAB_STORE=fresh`` tests.
    """
    claimed = subjects(adapter, schemes())
    verdicts: list[Verdict] = []
    for scheme in schemes():
        for level in LEVELS:
            for check in checks_of(scheme, level, claimed):
                verdicts.append(_run(check, Options(examples=3)))
                if verdicts[-1].verdict == "failed" and _decided(verdicts, named):
                    return verdicts
    return verdicts


def _decided(verdicts: Sequence[Verdict], named: str | None) -> bool:
    if named is None:
        return True
    told = Counter(
        id
        for verdict in failed(verdicts)
        for id in {pair[0] for pair in verdict.outcome.explanations}
    )
    return told.pop(named, 0) >= max(told.values(), default=0) + LEAD


def failed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.verdict == "failed"]


def diagnoses(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the deviation ids named by failures, the one that explains most first."""
    return [
        explanation[0]
        for explanation in explained([verdict.outcome.explanations for verdict in verdicts])
    ]


def _run(check: Check, options: Options) -> Verdict:
    result = execute(check, options)
    return Verdict(check, result.verdict, result.outcome, result.text)
