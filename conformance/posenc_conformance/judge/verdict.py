"""The verdict of a check, and its findings."""

from dataclasses import dataclass
from enum import StrEnum

from posenc_conformance.judge.case import Case
from posenc_conformance.pictures.picture import Picture


@dataclass(frozen=True)
class Outcome:
    """Findings of a check in addition to its verdict."""

    worst: float | None = None
    """Largest error in units of its bound."""
    exact_angles: bool | None = None
    horizon: int | None = None
    """Largest power of two up to which errors stay below bfloat16 resolution."""
    horizon_is_claim: bool | None = None
    """Whether the claim, not the precision, limits the horizon."""
    curve: tuple[tuple[int, float, float], ...] = ()
    """For a sweep: positions, and the largest error and bound there in units of the scale."""
    left_out: str = ""
    """The calls that were skipped, and why; empty if none was."""
    explanations: tuple[tuple[str, str], ...] = ()
    """Known deviations that explain a failure, most specific first: id and description."""
    recovered: str = ""
    """Description of the implementation, read from its results, if no known deviation explains
    them."""
    pictures: tuple[Picture, ...] = ()
    """Pictures of a wrong result: its errors first."""


TOO_LARGE = "a call would take more memory than --posenc-largest allows"
"""Reason for which a check did not run, or made fewer calls than planned."""


class Verdict(StrEnum):
    """The verdict of a check."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known"
    """Failed, and listed with a reason in the file of known failures."""
    BLOCKED = "blocked"
    """Not run, because a check that it builds on has failed."""
    SILENT = "silent"
    """Bad input was answered instead of refused, or an empty input refused instead of answered."""
    NOT_CLAIMED = "not_claimed"


class Wrong(Exception):
    """The implementation failed a check."""

    def __init__(self, text: str, outcome: Outcome = Outcome(), case: Case | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.outcome = outcome
        self.case = case
        """The call whose result is wrong; None if there is no single one."""


class Silent(Wrong):
    """Bad input was not refused, or empty input not answered: a failure only on request."""


class NotClaimed(Exception):
    """No claim covers any call of a check, as turns out only when it runs."""


class Declined(NotClaimed):
    """The implementation raised NotImplementedError: it declines the call."""


class Blocked(Exception):
    """A check has no verdict, because a check that it builds on has failed."""


NO_VERDICT = "no verdict: "
"""Prefix of the reason of a check that neither passed nor failed, because it ran out of time."""


class TookTooLong(Blocked):
    """A call exceeded the time limit; the implementation may be slow but right."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{NO_VERDICT}{reason}")
        self.reason = reason
