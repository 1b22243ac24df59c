"""The name of a claim's failure: the mistake that explains all of its wrong answers together.

One wrong answer may match several mistakes, or one that the implementation does not make. So the
kit makes follow-up calls, of small sizes and with other parameters.
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
    Fit,
    differs,
    find_fits,
    fits_of_deviation,
    predict_wrong,
    residual_of,
)
from posenc_conformance.diagnose.distances import describe_distances
from posenc_conformance.diagnose.inexact import unless_larger
from posenc_conformance.diagnose.part_of_head import describe_unturned
from posenc_conformance.diagnose.predictors import apply_constant
from posenc_conformance.diagnose.recover import LAST, describe_reading, recover
from posenc_conformance.diagnose.rows import describe_limit, find_rule
from posenc_conformance.judge.arrays import PRECISE, UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.deviation import Constant
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Pick, Seeded, Trial
from posenc_conformance.judge.verdict import NotClaimed, TookTooLong

T = TypeVar("T")
SIMPLE = 5
"""Number of values, the first and simplest ones, from which one is drawn."""
FEW = 12
"""Largest difference of a drawn number from the lowest one."""
NUMBER = re.compile(r"\d")
"""A digit in the words of a mistake. The number may be that of one call only."""
MORE_THAN_ANY = 10**9
"""More models than any mistake has, so that no right answer has as many."""
LARGEST_PRINTED = 2**17
"""Largest result, in values, of a golden that is called to confirm a name."""
DRAWN = 4
"""Number of calls drawn, in addition to the simplest one."""

Answered = tuple[Case, Floats]
"""A call and its result."""
Name = tuple[str, tuple[Constant | None, ...]]
"""Id of a deviation, or ids of a pair joined by ``+``; and the number that each uses in every
call."""


class Small(Seeded):
    """Picks drawn from a seed, but small ones: mistakes look alike at large values."""

    def one_of(self, values: Sequence[T]) -> T:
        """Draw one of the simpler values."""
        return super().one_of(values[:SIMPLE])

    def integer(self, low: int, high: int) -> int:
        """Draw a number at most FEW above the lowest."""
        return super().integer(low, min(high, low + FEW))


@dataclass(frozen=True)
class FollowUp:
    """The answer to a follow-up question."""

    case: Case
    output: Floats
    wrong: bool
    names: Mapping[Name, Fit] = field(default_factory=dict)
    """The mistakes that explain the answer, if it is wrong."""
    words: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    """All the words in which each of these mistakes explains it."""
    excluded: frozenset[str] = frozenset()
    """Words for the mistakes that would make the answer wrong, if it is right."""

    def explained(self, name: Name, elsewhere: Fit) -> Fit | None:
        """Return the fit of a mistake from another answer if it explains this one, else None.

        One mistake of a pair may have no effect here. If a number is hard to estimate here, the
        estimate from the other answer is tried.
        """
        if name in self.names:
            return self.names[name]
        ids, constants = name
        for id, constant in zip(ids.split("+"), constants, strict=True):
            if (alone := self.names.get((id, (constant,)))) is not None:
                return replace(elsewhere, explanation=elsewhere.mistake, residual=alone.residual)
        if len(constants) > 1 or elsewhere.constants[0] is None:
            return None
        other = apply_constant(self.case, elsewhere.constants[0])
        if other is None:
            return None
        residual = residual_of(self.case, self.output, other.truth, other.bound)
        if residual > 1:
            return None
        return replace(elsewhere, explanation=elsewhere.mistake, residual=residual)

    def refutes(self, fit: Fit) -> bool:
        """Return whether a mistake from another answer would make this right answer wrong.

        It is recognised by its words, or by the numbers that it uses in every call.
        """
        if fit.mistake in self.excluded:
            return True
        return self.shows(fit)

    def shows(self, fit: Fit) -> bool:
        """Return whether the numbers that a mistake uses in every call would change this result.

        False for a mistake without a number.
        """
        others = [apply_constant(self.case, each) for each in fit.constants if each is not None]
        return any(each is not None and differs(self.case, each.truth) for each in others)


@dataclass(frozen=True)
class FollowUps:
    """The answers to follow-up questions."""

    answers: tuple[FollowUp, ...]
    stateful: bool
    """Whether repeating the same questions changes an answer."""

    @property
    def wrong(self) -> list[FollowUp]:
        """The wrong answers."""
        return [reply for reply in self.answers if reply.wrong]

    def by_name(self, fits: Iterable[Fit]) -> dict[Name, Fit]:
        """Map the name of each mistake to its first model.

        If earlier calls change answers, names have no numbers: the state left by those calls
        varies.
        """
        named: dict[Name, Fit] = {}
        for fit in fits:
            constants = [None if self.stateful else round_constant(pair) for pair in fit.constants]
            named.setdefault((fit.deviation, tuple(constants)), fit)
        return named

    def by_likelihood(self, fits: Iterable[Fit]) -> list[Fit]:
        """Sort models by the number of wrong answers that their words explain, most first."""

        def count(fit: Fit) -> int:
            names = self.by_name([fit])
            return sum(
                fit.mistake in reply.words.get(name, ()) for reply in self.wrong for name in names
            )

        return sorted(fits, key=count, reverse=True)

    def words_of(self, fits: Iterable[Fit]) -> dict[Name, frozenset[str]]:
        """Map the name of each mistake to all the words of its models."""
        both = [(name, fit.mistake) for fit in fits for name in self.by_name([fit])]
        return {name: frozenset(words for key, words in both if key == name) for name, _ in both}

    def words_for(self, name: Name) -> frozenset[str]:
        """Collect the words in which a mistake explains wrong answers."""
        return frozenset().union(*(reply.words.get(name, ()) for reply in self.wrong))

    @cached_property
    def counts(self) -> dict[Name, int]:
        """Number of wrong answers that each mistake explains."""
        return {
            name: sum(reply.explained(name, fit) is not None for reply in self.wrong)
            for name, fit in self.first_fits.items()
        }

    @property
    def first_fits(self) -> dict[Name, Fit]:
        """Every mistake that explains a wrong answer, with its model of the first such answer."""
        fits: dict[Name, Fit] = {}
        for reply in self.wrong:
            for name, fit in reply.names.items():
                fits.setdefault(name, fit)
        return fits


def round_constant(constant: Constant | None) -> Constant | None:
    """Round an estimated number to three digits, so that estimates of several calls agree."""
    return constant and (constant[0], float(f"{constant[1]:.3g}"))


def fits_of_one(subject: Subject, case: Case, output: Floats) -> list[Fit]:
    """Find the explanations of one wrong result when the small questions are answered correctly.

    An explanation must agree with other answers: no right one refutes it, and a single mistake
    explains all wrong goldens, except large ones.
    """
    small = ask_followups(subject, case.dtype)
    return [
        fit
        for fit in find_fits(case, output)
        if not any(reply.refutes(fit) for reply in small.answers)
        and not _refuted(subject, case.dtype, (fit.deviation, fit.constants), fit.mistake)
        and ("+" in fit.deviation or all(_explained_goldens(subject, case.dtype, fit)))
    ]


@once_per_subject
def kept_from_first(subject: Subject, dtype: str) -> tuple[str, ...]:
    """Name the numbers of the very first call that explain all wrong answers."""
    wrong = ask_followups(subject, dtype).wrong
    return state.kept_from_first(subject, [(reply.case, reply.output) for reply in wrong])


@once_per_subject
def common_names(subject: Subject, dtype: str) -> list[Name]:
    """Find the mistakes that explain the most wrong answers, and more than half of them.

    Leaves out a mistake that would make a right answer wrong, and a mistake in a short dtype that
    does not occur in a finer one. Of several that these answers cannot distinguish, returns those
    that explain the most goldens.
    """
    seen = ask_followups(subject, dtype)
    right = [reply for reply in seen.answers if not reply.wrong]
    counts = {
        name: count
        for name, count in seen.counts.items()
        if not any(reply.shows(seen.first_fits[name]) for reply in right)
        and not all(_refuted(subject, dtype, name, words) for words in seen.words_for(name))
        and not (right and _elsewhere(subject, dtype, seen.first_fits[name]))
        and not (count < len(seen.wrong) and _nowhere(subject, dtype, seen.first_fits[name]))
    }
    if (finer := finest_wrong(subject, dtype)) is not None:
        told = {id for id, _ in common_names(subject, finer)}
        counts = {name: count for name, count in counts.items() if name[0] in told}
    most = max(counts.values(), default=0)
    equal = [name for name, count in counts.items() if count == most]
    if 2 * most <= len(seen.wrong):
        return []
    if len({id for id, _ in equal}) > 1:
        more = ask_all(subject, _goldens(subject, dtype, LARGEST_PAIRED)).counts
        best = max(more.get(name, 0) for name in equal)
        return [name for name in equal if more.get(name, 0) == best]
    return equal


def contradicted(subject: Subject, dtype: str, names: Sequence[Name]) -> bool:
    """Return whether each of some mistakes fails to explain some wrong answer to a small question.

    A description read from all answers then says more. Pairs never count as contradicted, nor do
    mistakes with a number, or with a number in their words: it may be hard to estimate, or hold for
    one call only.
    """
    seen = ask_followups(subject, dtype)
    answers = [(reply.case, reply.output) for reply in seen.wrong] + [
        reply for reply in _printed(subject, dtype) if not agrees(*reply)
    ]

    def leaves(name: Name) -> bool:
        id, constants = name
        if "+" in id or any(constants):
            return False
        models = [fits_of_deviation(*reply, id) for reply in answers]
        if any(NUMBER.search(fit.mistake) for fits in models for fit in fits):
            return False
        return any(fits and not any(fit.fits for fit in fits) for fits in models)

    return all(leaves(name) for name in names)


def finest_wrong(subject: Subject, dtype: str) -> str | None:
    """Return the finest claimed dtype if answers in it are wrong and only ``dtype`` is short.

    Else return None. A short dtype has wide bounds, so that its explanation must hold in the finer
    one.
    """
    finest = min(subject.dtypes, key=UNIT_ROUNDOFF.__getitem__)
    if dtype in PRECISE or finest not in PRECISE or not ask_followups(subject, finest).wrong:
        return None
    return finest


@once_per_subject
def limit_of_positions(subject: Subject, dtype: str) -> str:
    """Say beyond which position all wrong goldens have the last row; empty if there is none."""
    printed = _printed(subject, dtype)
    answers = [(case.with_fields(), output) for case, output in printed]
    return describe_limit(*_told_apart(answers))


@once_per_subject
def read_by_all(subject: Subject, dtype: str, names: tuple[Name, ...]) -> str:
    """Describe a mistake without an id that explains all wrong answers; empty if none does.

    Empty as well if any of ``names`` explains all of them.
    """
    seen = ask_followups(subject, dtype)
    answers = [(reply.case, reply.output) for reply in seen.answers] + _printed(subject, dtype)
    wrong, right = _told_apart(answers)
    if seen.stateful or any("+" in id or any(constants) for id, constants in names):
        return ""
    for id, _ in names:
        if all(any(fit.fits for fit in fits_of_deviation(*each, id)) for each in wrong):
            return ""
    return describe_reading(wrong, right)


@once_per_subject
def _printed(subject: Subject, dtype: str) -> list[tuple[Case, Floats]]:
    """Run the goldens that are not large, and return the results that can be judged."""
    results = ((case, answer(subject, case)) for case in _goldens(subject, dtype, LARGEST_PRINTED))
    return [(case, output) for case, output in results if output is not None]


def _refuted(subject: Subject, dtype: str, name: Name, words: str) -> bool:
    """Return whether an answer is right where a mistake, in these words, would show.

    An answer within the bound of both the truth and the mistake refutes neither.
    A number in the words may be that of one call only. Then a right answer counts only if the
    mistake has as many models of it as of any wrong one. Pairs, and mistakes with a number in every
    call, are never refuted here.
    """
    id, constants = name
    if "+" in id or any(constants):
        return False
    seen = ask_followups(subject, dtype)
    right = [(each.case, each.output) for each in seen.answers if not each.wrong]
    right += [each for each in _printed(subject, dtype) if agrees(*each)]
    least = 1
    if NUMBER.search(words):
        models = (len(fits_of_deviation(each.case, each.output, id)) for each in seen.wrong)
        least = max(models, default=MORE_THAN_ANY)
    shown = (fits_of_deviation(*each, id) for each in right)
    return any(
        len(models) >= least and any(each.mistake == words and not each.fits for each in models)
        for models in shown
    )


def _elsewhere(subject: Subject, dtype: str, fit: Fit) -> bool:
    """Return whether a mistake leaves more than half of the wrong goldens unexplained.

    False for a pair of mistakes, which is not checked.
    """
    explained = _explained_goldens(subject, dtype, fit)
    return "+" not in fit.deviation and 2 * sum(explained) < len(explained)


def _nowhere(subject: Subject, dtype: str, fit: Fit) -> bool:
    """Return whether several goldens are wrong, and a mistake explains none of them."""
    explained = _explained_goldens(subject, dtype, fit)
    return "+" not in fit.deviation and len(explained) > 1 and not any(explained)


def _explained_goldens(subject: Subject, dtype: str, fit: Fit) -> list[bool]:
    """Return for each wrong golden whether a mistake explains it."""
    name: Name = fit.deviation, fit.constants
    explained = []
    for case, output in _printed(subject, dtype):
        if not agrees(case, output):
            fits = fits_of_deviation(case, output, fit.deviation)
            own = next((model for model in fits if model.fits), None)
            witness = FollowUp(case, output, True, {name: own} if own else {})
            explained.append(witness.explained(name, fit) is not None)
    return explained


@once_per_subject
def recovered(subject: Subject, dtype: str) -> str:
    """Describe what wrong answers have in common; empty if earlier calls change answers."""
    if (finer := finest_wrong(subject, dtype)) is not None:
        return recovered(subject, finer)
    seen = ask_followups(subject, dtype)
    if seen.stateful:
        return ""
    answers = [(reply.case, reply.output) for reply in seen.answers]
    # Distances are also read from larger results, which distinguish sizes.
    if distances := describe_distances(*_told_apart([*answers, *_printed(subject, dtype)])):
        return distances
    wrong, right = _told_apart(answers)
    unturned = [describe_unturned(*each) for each in wrong]
    by_rule = find_rule(wrong, right)[1] is not None
    if all(unturned) and wrong and not by_rule:
        return max(unturned)
    words = recover(wrong, right)
    if wrong and is_chance(subject, *wrong[0], words):
        words = recover(wrong, right, LAST)
    return unless_larger(words, _told_apart(_printed(subject, dtype))[0])


def is_chance(subject: Subject, case: Case, output: Floats, words: str) -> bool:
    """Return whether a description of few exact values is one that wrong goldens refute.

    It is that of a mistake without an id; few buckets, as of short distances, may fit any rule.
    """
    if not words or case.bound.any() or describe_reading([(case, output)]) != words:
        return False
    wrong, right = _told_apart([(case, output), *_printed(subject, case.dtype)])
    return describe_reading(wrong, right) != words


def _told_apart(answers: Sequence[Answered]) -> tuple[list[Answered], list[Answered]]:
    """Split answers into the wrong ones and the right ones."""
    wrong = [pair for pair in answers if not agrees(*pair)]
    return wrong, [pair for pair in answers if agrees(*pair)]


@once_per_subject
def ask_followups(subject: Subject, dtype: str) -> FollowUps:
    """Ask small follow-up questions, drawn once for all failures of a subject in a dtype."""
    return ask_all(subject, _followups(subject, dtype))


def ask_all(subject: Subject, questions: Iterable[Case]) -> FollowUps:
    """Ask an implementation some questions, and find the explanations of its wrong answers."""
    results = [(case, answer(subject, case)) for case in questions]
    answered = [(case, output) for case, output in results if output is not None]
    stateful = not all(_answers_again(subject, case, output) for case, output in answered)
    seen = FollowUps((), stateful)
    answers = []
    for case, output in answered:
        if agrees(case, output):
            answers.append(FollowUp(case, output, False, excluded=predict_wrong(case, output)))
        else:
            fits = find_fits(case, output)
            answers.append(FollowUp(case, output, True, seen.by_name(fits), seen.words_of(fits)))
    return FollowUps(tuple(answers), stateful)


def answer(subject: Subject, case: Case) -> Floats | None:
    """Return the result of a call; None if it cannot be judged."""
    with suppress(Misbehaviour, TookTooLong):
        return subject.run(case).astype(np.float64)
    return None


@once_per_subject
def is_right_when_new(subject: Subject, dtype: str) -> bool:
    """Return whether each wrong answer is right as the only call of a new instance.

    False if no answer is wrong.
    """
    wrong = ask_followups(subject, dtype).wrong
    return bool(wrong) and all(state.is_fresh_right(subject, reply.case) for reply in wrong)


@once_per_subject
def describe_unsteady(subject: Subject, dtype: str) -> str:
    """Say in words that a small call, repeated, gives several results.

    Empty if each call gives one. Random results are not state, and allow no further conclusion.
    """
    for case in _followups(subject, dtype):
        answer(subject, case)  # the first answer may show state of the previous call
        if repeats := state.describe_repeats(subject, case):
            return repeats
    return ""


def _answers_again(subject: Subject, case: Case, output: Floats) -> bool:
    again = answer(subject, case)
    return again is not None and np.array_equal(again, output, equal_nan=True)


def _followups(subject: Subject, dtype: str) -> Iterator[Case]:
    drawn = subject.knowledge.arguments
    picks: list[Pick] = [First(), *(Small(number) for number in range(DRAWN))]
    for pick in picks:
        scope = pick.one_of(subject.scopes)
        if dtype not in scope.dtypes:
            continue
        with suppress(NotClaimed):
            trial = Trial(subject, scope, dtype, {}, pick)
            case = trial.case(**drawn(trial))
            subject.require_claimed(case)
            yield case


def _goldens(subject: Subject, dtype: str, largest: int) -> Iterator[Case]:
    """Yield claimed goldens whose results have at most ``largest`` values."""
    for golden in subject.scheme.goldens:
        if (golden.call, golden.combination) == (subject.call.name, subject.combination.name):
            case = case_described_by(subject.scheme, golden, dtype)
            if subject.covers(case) and prod(case.shape) <= largest:
                yield case
