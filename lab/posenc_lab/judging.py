"""Judging an adapter without a pytest run of its own."""

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

TRUTHS.room = 2**29  # hundreds of implementations of one claim are asked the same


LEAD = 2
"""A name explains so many failures more than the next one before it is taken for the last word."""


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
def schemes() -> tuple[KnownScheme, ...]:
    return tuple(load_all())


def judge(
    adapter: object,
    levels: Sequence[str] = LEVELS,
    examples: int = 3,
    seed: int = 0,
    among: Sequence[KnownScheme] | None = None,
) -> list[Verdict]:
    """Every check that the adapter's claims call for, at these levels; of all schemes, or some."""
    found = subjects(adapter, schemes())
    return [
        _run(check, Options(examples, seed))
        for scheme in (schemes() if among is None else among)
        for level in levels
        for check in checks_of(scheme, level, found)
    ]


def judge_until_named(adapter: object, named: str | None) -> list[Verdict]:
    """The checks up to the one that decides: it failed, and the mistake is told by its name.

    With no name, the first failure decides. A name decides when it explains more failures than any
    other, by LEAD. A whole run says the same name of every miniature that there is;
    ``POSENC_LAB_STORE=fresh`` holds that.
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
    """Deviation ids named by failures, the one that explains most first."""
    return [found[0] for found in explained([each.outcome.explanations for each in verdicts])]


def _run(check: Check, options: Options) -> Verdict:
    found = execute(check, options)
    return Verdict(check, found.verdict, found.outcome, found.text)
