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
"""By how many explained failures a name must lead the next one to be final."""


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
    """Run all checks of the adapter's claims at these levels, of all schemes or those ``among``."""
    found = subjects(adapter, schemes())
    return [
        _run(check, Options(examples, seed))
        for scheme in (schemes() if among is None else among)
        for level in levels
        for check in checks_of(scheme, level, found)
    ]


def judge_until_named(adapter: object, named: str | None) -> list[Verdict]:
    """Run checks until one decides: it failed, and the failures so far establish ``named``.

    With no name, the first failure decides. A name decides when it explains at least LEAD more
    failures than any other. A whole run gives every miniature the same name;
    ``POSENC_LAB_STORE=fresh`` tests that.
    """
    found = subjects(adapter, schemes())
    verdicts: list[Verdict] = []
    for scheme in schemes():
        for level in LEVELS:
            for check in checks_of(scheme, level, found):
                verdicts.append(_run(check, Options(examples=3)))
                if verdicts[-1].verdict == "failed" and _decided(verdicts, named):
                    return verdicts
    return verdicts


def _decided(verdicts: Sequence[Verdict], named: str | None) -> bool:
    if named is None:
        return True
    told = Counter(
        id for each in failed(verdicts) for id in {pair[0] for pair in each.outcome.explanations}
    )
    return told.pop(named, 0) >= max(told.values(), default=0) + LEAD


def failed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [each for each in verdicts if each.verdict == "failed"]


def diagnoses(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the deviation ids named by failures, the one that explains most first."""
    return [found[0] for found in explained([each.outcome.explanations for each in verdicts])]


def _run(check: Check, options: Options) -> Verdict:
    found = execute(check, options)
    return Verdict(check, found.verdict, found.outcome, found.text)
