"""What a check says, and what it found out."""

from dataclasses import dataclass
from enum import StrEnum

from posenc_conformance.judge.case import Case


@dataclass(frozen=True)
class Outcome:
    """What a check found out besides passing or failing."""

    worst: float | None = None
    """Largest error in units of its bound."""
    exact_angles: bool | None = None
    horizon: int | None = None
    """Largest power of two up to which errors stay below bfloat16 resolution."""
    horizon_is_claim: bool | None = None
    """Whether the horizon lies where the claim ends, not where the precision does."""
    curve: tuple[tuple[int, float, float], ...] = ()
    """Of a sweep: positions, and the largest error and bound there in units of the scale."""
    left_out: str = ""
    """What the implementation was not asked, and why; empty if nothing was left out."""
    explanations: tuple[tuple[str, str], ...] = ()
    """Known deviations that explain a failure, the most special first: id, and words."""
    recovered: str = ""
    """What the implementation does, read from its results, where no known deviation explains it."""


TOO_LARGE = "a call would take more memory than --posenc-largest allows"
"""Why a check did not run, or made fewer calls than it would."""


class Verdict(StrEnum):
    """What a check says."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known"
    """Failed, and listed with a reason in the file of known failures."""
    BLOCKED = "blocked"
    """Not asked, because what it builds on failed already."""
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
        """The call whose result is wrong; None if no single call is."""


class Silent(Wrong):
    """Bad input was not refused, or an empty one not answered: a failure if that is asked for."""


class NotClaimed(Exception):
    """Nothing of what a check asks is covered by the claims; seen only when it runs."""


class Declined(NotClaimed):
    """The implementation says of a call that it does not do this, by NotImplementedError."""


class Blocked(Exception):
    """A check cannot tell anything, because what it builds on has failed already."""


NO_VERDICT = "no verdict: "
"""How the reason of a check begins that was neither passed nor failed for want of time."""


class TookTooLong(Blocked):
    """A call took longer than it may. It may be slow, and right."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{NO_VERDICT}{reason}")
        self.reason = reason
