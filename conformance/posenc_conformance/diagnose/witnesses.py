"""A name for a claim: the mistake that explains all of its wrong answers together.

One wrong answer may look like several mistakes, or like one that the implementation does not make.
So it is asked further questions, of small sizes and other parameters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np

from posenc_conformance.diagnose.diagnosis import (
    LARGEST_PAIRED,
    NONE,
    Diagnosis,
    Fit,
    differs,
    explaining,
    left,
    predicted,
    told,
)
from posenc_conformance.diagnose.mistakes import Constant, applied
from posenc_conformance.diagnose.recover import recovered
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, described
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Misbehaviour, Subject, remembered
from posenc_conformance.judge.trial import First, Pick, Seeded, Trial
from posenc_conformance.judge.verdict import NotClaimed

T = TypeVar("T")
STATE = "the same call gives another result now: earlier calls leave something behind"
SIMPLE = 5
FEW = 12
DRAWN = 4
"""So many calls are drawn, besides the simplest."""

Name = tuple[str, tuple[Constant | None, ...]]
"""Id of a deviation, or ids of a pair, with what it has in every call."""


class Small(Seeded):
    """Drawn from a seed, but small: far out much looks alike."""

    def one_of(self, values: Sequence[T]) -> T:
        """Any of the simpler values."""
        return super().one_of(values[:SIMPLE])

    def integer(self, low: int, high: int) -> int:
        """A number no more than a few above the lowest."""
        return super().integer(low, min(high, low + FEW))


@dataclass(frozen=True)
class Witness:
    """An answer to a further question."""

    case: Case
    output: Floats
    wrong: bool
    names: Mapping[Name, Fit] = field(default_factory=dict)
    """What explains it, if it is wrong."""
    excluded: frozenset[str] = frozenset()
    """Mistakes that would make it wrong, if it is right."""

    def explained(self, name: Name, elsewhere: Fit) -> Fit | None:
        """How a mistake that was found elsewhere is all that is wrong here, if it is.

        Of a pair one may have no effect here; a number may be hard to estimate here.
        """
        if name in self.names:
            return self.names[name]
        ids, constants = name
        for id, each in zip(ids.split("+"), constants, strict=True):
            if (alone := self.names.get((id, (each,)))) is not None:
                return replace(elsewhere, explanation=elsewhere.told, residual=alone.residual)
        if len(constants) > 1 or elsewhere.constants[0] is None:
            return None
        other = applied(self.case, elsewhere.constants[0])
        if other is None or (residual := left(self.case, self.output, other.truth)) > 1:
            return None
        return replace(elsewhere, explanation=elsewhere.told, residual=residual)

    def refutes(self, fit: Fit) -> bool:
        """Whether it is right where a mistake, as it was elsewhere, would make it wrong."""
        if fit.told in self.excluded:
            return True
        others = [applied(self.case, each) for each in fit.constants if each is not None]
        return any(each is not None and differs(self.case, each.truth) for each in others)


@dataclass(frozen=True)
class Testimony:
    """Answers to further questions."""

    answers: tuple[Witness, ...]
    stateful: bool
    """Whether the same questions, asked once more, are answered otherwise."""

    @property
    def wrong(self) -> list[Witness]:
        """The wrong ones."""
        return [each for each in self.answers if each.wrong]

    def named(self, fits: Iterable[Fit]) -> dict[Name, Fit]:
        """Models by their mistakes; what is left of earlier calls is not the same in all."""
        found: dict[Name, Fit] = {}
        for fit in fits:
            constants = [None if self.stateful else rounded(each) for each in fit.constants]
            found.setdefault((fit.deviation, tuple(constants)), fit)
        return found

    @cached_property
    def counts(self) -> dict[Name, int]:
        """How many wrong answers each mistake explains."""
        return {
            name: sum(each.explained(name, fit) is not None for each in self.wrong)
            for name, fit in self.found.items()
        }

    @property
    def found(self) -> dict[Name, Fit]:
        """Every mistake that explains a wrong answer, as it does first."""
        found: dict[Name, Fit] = {}
        for each in self.wrong:
            for name, fit in each.names.items():
                found.setdefault(name, fit)
        return found


def rounded(constant: Constant | None) -> Constant | None:
    """What was estimated, to three digits."""
    return constant and (constant[0], float(f"{constant[1]:.3g}"))


def diagnosed(subject: Subject, case: Case, output: Floats) -> Diagnosis:
    """What explains a wrong result of a subject, and its other answers as well.

    Of a result that the same call does not give again, what explains it alone.
    """
    again = _answer(subject, case)
    if again is None or not np.array_equal(again, output, equal_nan=True):
        return told(explaining(case, output), otherwise=STATE)
    seen = testimony(subject, case.dtype)
    if not seen.wrong:
        here = explaining(case, output)
        return told([fit for fit in here if not any(each.refutes(fit) for each in seen.answers)])
    names = common(subject, case.dtype)
    if not names:
        return told([], STATE if seen.stateful else NONE, _recovered(subject, case.dtype))
    this = Witness(case, output, True, seen.named(explaining(case, output)))
    fits = [fit for name in names if (fit := this.explained(name, seen.found[name]))]
    return told(fits[:1])


@remembered
def common(subject: Subject, dtype: str) -> list[Name]:
    """The mistakes that explain most wrong answers, and more than half of them.

    Of several that these cannot tell apart, those that explain most goldens.
    """
    seen = testimony(subject, dtype)
    most = max(seen.counts.values(), default=0)
    equal = [name for name, count in seen.counts.items() if count == most]
    if 2 * most <= len(seen.wrong):
        return []
    if len({id for id, _ in equal}) > 1:
        more = answers(subject, _goldens(subject, dtype)).counts
        best = max(more.get(name, 0) for name in equal)
        return [name for name in equal if more.get(name, 0) == best]
    return equal


def unexplained(subject: Subject, dtype: str) -> bool:
    """Whether small questions are answered wrongly, always alike, and no mistake explains it.

    Then what explains a single answer is no name, and no earlier call is to blame.
    """
    seen = testimony(subject, dtype)
    return bool(seen.wrong) and not seen.stateful and not common(subject, dtype)


@remembered
def _recovered(subject: Subject, dtype: str) -> str:
    """What wrong answers have in common, in words."""
    seen = testimony(subject, dtype)
    if seen.stateful:
        return ""
    return recovered(
        [(each.case, each.output) for each in seen.wrong],
        [(each.case, each.output) for each in seen.answers if not each.wrong],
    )


@remembered
def testimony(subject: Subject, dtype: str) -> Testimony:
    """Answers to small questions, drawn once for all failures of a subject in a dtype."""
    return answers(subject, _questions(subject, dtype))


def answers(subject: Subject, questions: Iterable[Case]) -> Testimony:
    """What an implementation answers to some questions, and what explains it."""
    asked = [(case, _answer(subject, case)) for case in questions]
    answered = [(case, output) for case, output in asked if output is not None]
    stateful = not all(_answers_again(subject, case, output) for case, output in answered)
    seen = Testimony((), stateful)
    found = []
    for case, output in answered:
        if compare(case, output).right:
            found.append(Witness(case, output, False, excluded=predicted(case, output)))
        else:
            found.append(Witness(case, output, True, seen.named(explaining(case, output))))
    return Testimony(tuple(found), stateful)


def _answer(subject: Subject, case: Case) -> Floats | None:
    """The result of a call; None if it gives none that can be judged."""
    with suppress(Misbehaviour):
        return subject.run(case).astype(np.float64)
    return None


def _answers_again(subject: Subject, case: Case, output: Floats) -> bool:
    again = _answer(subject, case)
    return again is not None and np.array_equal(again, output, equal_nan=True)


def _questions(subject: Subject, dtype: str) -> Iterator[Case]:
    drawn = knowledge_of(subject.scheme).ARGUMENTS[subject.call.name]
    picks: list[Pick] = [First(), *(Small(number) for number in range(DRAWN))]
    for pick in picks:
        scope = pick.one_of(subject.scopes)
        if dtype not in scope.dtypes:
            continue
        with suppress(NotClaimed):
            trial = Trial(subject, scope, dtype, {}, pick)
            case = trial.case(**drawn(trial))
            subject.demand_claimed(case)
            yield case


def _goldens(subject: Subject, dtype: str) -> Iterator[Case]:
    for golden in subject.scheme.goldens:
        if (golden.call, golden.combination) == (subject.call.name, subject.combination.name):
            case = described(subject.scheme, golden, dtype)
            if subject.covers(case) and prod(case.shape) <= LARGEST_PAIRED:
                yield case
