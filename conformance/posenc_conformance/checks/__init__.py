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
    """Options of the command line for checks."""

    examples: int
    seed: int = 0


@dataclass(frozen=True)
class Extent:
    """The size of a call. The call itself is made only when it runs, to save memory."""

    shape: tuple[int, ...]
    largest_position: int

    @classmethod
    def of(cls, case: Case) -> "Extent":
        """Return the extent of a case."""
        return cls(case.shape, case.largest_position)


@dataclass(frozen=True)
class Check:
    """One thing to check about one subject."""

    level: str
    id: str
    """Unique within its level and scheme; the part in brackets is the variant."""
    subject: Subject
    dtype: str | None
    """None if the check covers all claimed dtypes."""
    run: Callable[[Subject, Options], Outcome]
    """Returns an outcome if the implementation is right; raises Wrong if it is not. Its subject has
    only those dtypes in which it can be called at all."""
    extent: Extent | None = None
    """Size of the only call; None if there are several calls, or if the call is drawn."""


def variant(subject: Subject) -> str:
    """Return the variant part of ids: call and combination."""
    return f"{subject.name}-{subject.label}"


def checks_of(scheme: Scheme, level: str, subjects: Iterable[Subject]) -> list[Check]:
    """List the checks of one level of a scheme that some subject claims."""
    checks = import_module(f"{__name__}.{level}").checks
    return [check for subject in subjects if subject.scheme is scheme for check in checks(subject)]
