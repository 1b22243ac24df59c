"""The checks of a claim, in the order in which they run: one module per level."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

from posenc_conformance.cases import Case
from posenc_conformance.spec import Scheme
from posenc_conformance.subject import Subject

LEVELS = ("smoke", "golden", "invariant", "behaviour", "precision", "robust")


@dataclass(frozen=True)
class Options:
    """What the command line says about how to check."""

    examples: int
    seed: int = 0


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
    explanations: tuple[tuple[str, str], ...] = ()
    """Known deviations that explain a failure, the most special first: id, and words."""


class Verdict(StrEnum):
    """What a check says."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known"
    """Failed, and listed with a reason in the file of known failures."""
    BLOCKED = "blocked"
    """Not asked, because what it builds on failed already."""
    SILENT = "silent"
    """Bad input was answered instead of refused."""
    NOT_CLAIMED = "not_claimed"


@dataclass(frozen=True)
class Check:
    """One thing to check about one subject."""

    level: str
    id: str
    """Unique within its level and scheme; the part in brackets is the variant."""
    subject: Subject
    dtype: str | None
    """None where a check speaks about all claimed dtypes at once."""
    run: Callable[[Options], Outcome]
    """Returns if the implementation is right; raises Wrong if it is not."""
    case: Case | None = None
    """The call that it makes, if that is one and known beforehand."""


class Wrong(Exception):
    """The implementation failed a check."""

    def __init__(self, text: str, outcome: Outcome = Outcome(), case: Case | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.outcome = outcome
        self.case = case
        """The call whose result is wrong, if it is one."""


class Silent(Wrong):
    """Bad input was not refused."""


class NotClaimed(Exception):
    """Nothing of what a check asks is covered by the claims; seen only when it runs."""


class Blocked(Exception):
    """A check cannot tell anything, because what it builds on has failed already."""


def variant(subject: Subject) -> str:
    """The variant part of ids: call and combination."""
    return f"{subject.call.name}-{subject.label}"


def checks_of(scheme: Scheme, level: str, subjects: Iterable[Subject]) -> list[Check]:
    """The checks of one level of a scheme that some subject claims."""
    checks = import_module(f"{__name__}.{level}").checks
    return [check for subject in subjects if subject.scheme is scheme for check in checks(subject)]
