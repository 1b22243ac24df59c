"""Judging an adapter in this process up to the first failed check."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Check, Options, checks_of, invariant
from posenc_conformance.checks.execution import execute
from posenc_conformance.diagnose import explain
from posenc_conformance.diagnose.diagnosis import Diagnosis
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Verdict

LEVELS = ("smoke", "golden", "robust", "precision", "behaviour", "invariant")
"""Cheap levels first: one failure is enough."""
OPTIONS = Options(examples=3)
"""The options of a plain ``pytest --impl=…``."""


@dataclass(frozen=True)
class Failed:
    """The first check that failed."""

    level: str
    id: str
    scheme: str
    text: str

    @property
    def raised(self) -> bool:
        """Whether the implementation raised instead of returning a result."""
        return "() raised " in self.text.splitlines()[0]


def checks(some: Sequence[Subject], schemes: Sequence[KnownScheme]) -> Iterator[Check]:
    """Yield all checks of the claims, scheme by scheme."""
    for scheme in schemes:
        for level in LEVELS:
            yield from checks_of(scheme, level, some)


def failing(check: Check, *, silence_fails: bool = True) -> Failed | None:
    """Run a check and return its failure, if any; ``silence_fails`` counts accepted bad input."""
    result = execute(check, OPTIONS)
    if result.verdict is Verdict.FAILED or (silence_fails and result.verdict is Verdict.SILENT):
        return Failed(check.level, check.id, check.subject.scheme.id, result.text)
    return None


def first_failure(
    adapter: object, schemes: Sequence[KnownScheme], *, silence_fails: bool = True
) -> Failed | None:
    """Return the first check that an adapter fails; None if it passes all."""
    return first_failure_of(subjects(adapter, schemes), schemes, silence_fails=silence_fails)


def first_failure_of(
    some: Sequence[Subject], schemes: Sequence[KnownScheme], *, silence_fails: bool = True
) -> Failed | None:
    """Return the first check that the claims ``some`` fail; None if they pass all."""
    for check in checks(some, schemes):
        if not silence_fails and check.level == "robust":
            continue
        if failure := failing(check, silence_fails=silence_fails):
            return failure
    return None


@contextmanager
def without_diagnosis() -> Iterator[None]:
    """Disable the diagnosis of failures, which takes long, while the context lasts."""
    nothing = Diagnosis((), otherwise="not asked")
    with (
        patch.object(explain, "diagnose", lambda *_: nothing),
        patch.object(explain, "diagnose_subject", lambda *_: nothing),
        patch.object(invariant, "diagnose_subject", lambda *_: nothing),
    ):
        yield
