"""The checks of a claim, in the order in which they run: one module per level."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.scheme_file.scheme import Scheme

LEVELS = ("smoke", "golden", "invariant", "behaviour", "precision", "robust")


@dataclass(frozen=True)
class Options:
    """Command-line options that checks use."""

    examples: int = 3
    seed: int = 0


@dataclass(frozen=True)
class Extent:
    """The size of a call. Its arguments are created only when the check runs, to save memory."""

    shape: tuple[int, ...]
    largest_position: int

    @classmethod
    def of(cls, case: Case) -> "Extent":
        """Return the extent of a case."""
        return cls(case.shape, case.largest_position)


@dataclass(frozen=True)
class Check:
    """A check of one property of one subject."""

    level: str
    id: str
    """Unique within its level and scheme; the part in brackets is the variant."""
    subject: Subject
    dtype: str | None
    """None if the check covers all claimed dtypes."""
    run: Callable[[Subject, Options], Outcome]
    """Returns an Outcome if the implementation is right; raises Wrong if it is not. The subject
    passed to it has only dtypes whose smoke check passes."""
    extent: Extent | None = None
    """Size of the check's only call; None if it makes several calls, or draws its call."""


def variant(subject: Subject) -> str:
    """Return the part of check ids that names the call and the combination."""
    return f"{subject.name}-{subject.label}"


def checks_of(scheme: Scheme, level: str, subjects: Iterable[Subject]) -> list[Check]:
    """List the checks at one level for those subjects that claim the scheme."""
    checks = import_module(f"{__name__}.{level}").checks
    return [check for subject in subjects if subject.scheme is scheme for check in checks(subject)]
