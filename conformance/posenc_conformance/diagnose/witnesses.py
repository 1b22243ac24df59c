"""A name for a claim: the mistake that explains all of its wrong answers together.

One wrong answer may look like several mistakes, or like one that the implementation does not make.
So it is asked further questions, of small sizes and other parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np

from posenc_conformance.diagnose import state
from posenc_conformance.diagnose.diagnosis import (
    LARGEST_PAIRED,
    NONE,
    Diagnosis,
    Fit,
    differs,
    explaining,
    left,
    of_deviation,
    predicted,
    told,
)
from posenc_conformance.diagnose.mistakes import Constant, applied
from posenc_conformance.diagnose.recover import recovered
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, described
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Misbehaviour, Subject, remembered
from posenc_conformance.judge.trial import First, Pick, Seeded, Trial
from posenc_conformance.judge.verdict import NotClaimed

T = TypeVar("T")
STATE = "the same call gives another result now: earlier calls leave something behind"
SIMPLE = 5
FEW = 12
NUMBER = re.compile(r"\d")
LARGEST = 10**9
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
    told: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    """All the words in which each mistake does."""
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
        return self.shows(fit)

    def shows(self, fit: Fit) -> bool:
        """The same of a mistake that has a number in every call."""
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

    def words(self, fits: Iterable[Fit]) -> dict[Name, frozenset[str]]:
        """All the words of each mistake."""
        some = [(name, fit.told) for fit in fits for name in self.named([fit])]
        return {name: frozenset(told for each, told in some if each == name) for name, _ in some}

    def told(self, name: Name) -> frozenset[str]:
        """The words in which a mistake explains wrong answers."""
        return frozenset().union(*(each.told.get(name, ()) for each in self.wrong))

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

    Of a result that the same call does not give again, what explains it alone. A number that was
    estimated is rather one that was kept, if that explains as much.
    """
    again = _answer(subject, case)
    if again is None or not np.array_equal(again, output, equal_nan=True):
        fits = alone(subject, case, output)
        otherwise = _kept(subject, case, output, STATE)
        earlier = otherwise != STATE and not any(fit.of_state for fit in fits)
        return told([] if earlier else fits, otherwise)
    seen = testimony(subject, case.dtype)
    names = common(subject, case.dtype) if seen.wrong else []
    estimated = all(any(constants) for _, constants in names)
    if estimated and (kept := _kept_first(subject, case.dtype)):
        return told([], state.of_the_first_in(subject, case, output, kept) or NONE)
    if not seen.wrong:
        return told(alone(subject, case, output), _kept(subject, case, output, NONE))
    if not names:
        if kept_here := state.of_the_first_here(subject, case, output):
            return told([], kept_here)
        otherwise = STATE if seen.stateful else NONE
        said = _recovered(subject, case.dtype)
        return told([], otherwise if said else _kept(subject, case, output, otherwise), said)
    ids = {id for name, _ in names for id in name.split("+")}
    this = Witness(case, output, True, seen.named(explaining(case, output, only=ids)))
    fits = [fit for name in names if (fit := this.explained(name, seen.found[name]))]
    return told(fits[:1])


def alone(subject: Subject, case: Case, output: Floats) -> list[Fit]:
    """What explains a result where small questions are answered rightly, and speaks for the rest.

    No right answer refutes it, and it explains more than half of the goldens that are wrong.
    """
    small = testimony(subject, case.dtype)
    return [
        fit
        for fit in explaining(case, output)
        if not any(each.refutes(fit) for each in small.answers)
        and not _refuted(subject, case.dtype, (fit.deviation, fit.constants), fit.told)
        and not _elsewhere(subject, case.dtype, fit)
    ]


def _kept(subject: Subject, case: Case, output: Floats, otherwise: str) -> str:
    """What a result has of an earlier call, in words; if nothing, what is said otherwise."""
    return state.of_an_earlier(subject, case, output) or otherwise


@remembered
def _kept_first(subject: Subject, dtype: str) -> tuple[str, ...]:
    """The numbers of the very first call that explain all wrong answers."""
    wrong = testimony(subject, dtype).wrong
    return state.of_the_first(subject, [(each.case, each.output) for each in wrong])


@remembered
def common(subject: Subject, dtype: str) -> list[Name]:
    """The mistakes that explain most wrong answers, and more than half of them.

    None that would make a right answer wrong. Of several that these cannot tell apart, those that
    explain most goldens.
    """
    seen = testimony(subject, dtype)
    right = [each for each in seen.answers if not each.wrong]
    counts = {
        name: count
        for name, count in seen.counts.items()
        if not any(each.shows(seen.found[name]) for each in right)
        and not all(_refuted(subject, dtype, name, words) for words in seen.told(name))
        and not (right and _elsewhere(subject, dtype, seen.found[name]))
    }
    most = max(counts.values(), default=0)
    equal = [name for name, count in counts.items() if count == most]
    if 2 * most <= len(seen.wrong):
        return []
    if len({id for id, _ in equal}) > 1:
        more = answers(subject, _goldens(subject, dtype)).counts
        best = max(more.get(name, 0) for name in equal)
        return [name for name in equal if more.get(name, 0) == best]
    return equal


@remembered
def _printed(subject: Subject, dtype: str) -> list[tuple[Case, Floats]]:
    """Answers to goldens."""
    found = ((case, _answer(subject, case)) for case in _goldens(subject, dtype))
    return [(case, output) for case, output in found if output is not None]


def _refuted(subject: Subject, dtype: str, name: Name, words: str) -> bool:
    """Whether an answer is right where a mistake, in these words, would show.

    A number in them may be that of one call: then all its models must show as well, as many as of
    a wrong answer. Of two mistakes together this is not asked.
    """
    id, constants = name
    if "+" in id or any(constants):
        return False
    seen = testimony(subject, dtype)
    right = [(each.case, each.output) for each in seen.answers if not each.wrong]
    right += [each for each in _printed(subject, dtype) if agrees(*each)]
    least = 1
    if NUMBER.search(words):
        models = (len(of_deviation(each.case, each.output, id)) for each in seen.wrong)
        least = max(models, default=LARGEST)
    shown = (of_deviation(*each, id) for each in right)
    return any(
        len(models) >= least and any(each.told == words for each in models) for models in shown
    )


def _elsewhere(subject: Subject, dtype: str, fit: Fit) -> bool:
    """Whether more than half of the goldens that are wrong are wrong in another way."""
    if "+" in fit.deviation:
        return False
    wrong = [each for each in _printed(subject, dtype) if not agrees(*each)]
    explained = 0
    for case, output in wrong:
        name: Name = fit.deviation, fit.constants
        own = next((e for e in of_deviation(case, output, fit.deviation) if e.right), None)
        witness = Witness(case, output, True, {name: own} if own else {})
        explained += witness.explained(name, fit) is not None
    return 2 * explained < len(wrong)


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
        if agrees(case, output):
            found.append(Witness(case, output, False, excluded=predicted(case, output)))
        else:
            fits = explaining(case, output)
            found.append(Witness(case, output, True, seen.named(fits), seen.words(fits)))
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
