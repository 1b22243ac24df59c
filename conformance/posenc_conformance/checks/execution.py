"""Execution of one check."""

from dataclasses import dataclass, field, replace

from posenc_conformance.checks import Check, Options
from posenc_conformance.checks.smoke import callable_part
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import (
    TOO_LARGE,
    Blocked,
    NotClaimed,
    Outcome,
    Silent,
    Verdict,
    Wrong,
)


@dataclass(frozen=True)
class Execution:
    """The result of running a check."""

    verdict: Verdict
    outcome: Outcome = field(default_factory=Outcome)
    text: str = ""
    """The whole explanation, or why the check did not run; empty if it passed."""
    case: Case | None = None
    """The call whose result is wrong, or None."""


def execute(check: Check, options: Options) -> Execution:
    """Run a check, unless smoke failed in all dtypes that it covers."""
    subject = check.subject
    subject.history.too_large = False
    try:
        outcome = check.run(callable_part(check), options)
        if subject.history.too_large:
            also = filter(None, (outcome.left_out, TOO_LARGE))
            outcome = replace(outcome, left_out="; ".join(also))
        return Execution(Verdict.PASSED, outcome)
    except NotClaimed as reason:
        return Execution(
            Verdict.NOT_CLAIMED, text=TOO_LARGE if subject.history.too_large else str(reason)
        )
    except Blocked as reason:
        return Execution(Verdict.BLOCKED, text=str(reason))
    except Misbehaviour as problem:  # unexpected: the process may have been killed
        return Execution(Verdict.FAILED, text=str(problem))
    except Wrong as wrong:
        verdict = Verdict.SILENT if isinstance(wrong, Silent) else Verdict.FAILED
        return Execution(verdict, wrong.outcome, wrong.text, wrong.case)
