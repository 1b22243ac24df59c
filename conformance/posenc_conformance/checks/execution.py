"""Running one check."""

from dataclasses import dataclass, field

from posenc_conformance.checks import Check, Options
from posenc_conformance.checks.smoke import callable_part
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Silent, Verdict, Wrong


@dataclass(frozen=True)
class Execution:
    """What came of running a check."""

    verdict: Verdict
    outcome: Outcome = field(default_factory=Outcome)
    text: str = ""
    """The whole explanation, or why the check did not run; empty if it passed."""
    case: Case | None = None
    """The call whose result is wrong, or None."""


def execute(check: Check, options: Options) -> Execution:
    """Run a check, unless smoke failed in all dtypes that it speaks about."""
    try:
        return Execution(Verdict.PASSED, check.run(callable_part(check), options))
    except NotClaimed as reason:
        return Execution(Verdict.NOT_CLAIMED, text=str(reason))
    except Blocked as reason:
        return Execution(Verdict.BLOCKED, text=str(reason))
    except Wrong as wrong:
        verdict = Verdict.SILENT if isinstance(wrong, Silent) else Verdict.FAILED
        return Execution(verdict, wrong.outcome, wrong.text, wrong.case)
