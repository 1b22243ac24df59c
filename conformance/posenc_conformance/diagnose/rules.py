"""The rules that diagnose a wrong result, in order: the first one that applies decides.

Chance and history precede known mistakes, because they can look like any of them. Features of all
wrong answers precede those of a single result.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posenc_conformance.diagnose import state
from posenc_conformance.diagnose.diagnosis import (
    NONE,
    Diagnosis,
    Fit,
    find_fits,
    nothing_fits,
    to_diagnosis,
)
from posenc_conformance.diagnose.distances import describe_distances
from posenc_conformance.diagnose.followups import (
    NUMBER,
    FollowUp,
    FollowUps,
    Name,
    answer,
    ask_followups,
    common_names,
    contradicted,
    describe_unsteady,
    fits_of_one,
    is_chance,
    is_right_when_new,
    kept_from_first,
    limit_of_positions,
    read_by_all,
    recovered,
)
from posenc_conformance.diagnose.inexact import unless_larger
from posenc_conformance.diagnose.part_of_head import describe_unturned
from posenc_conformance.diagnose.recover import OF_MODELS, recover
from posenc_conformance.diagnose.rows import find_rule
from posenc_conformance.diagnose.sample import can_be_taken_apart, neighbours
from posenc_conformance.diagnose.values import describe_missing
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.axis_names import forms_of

CHANGED = (
    "the same call gives another result now: earlier calls leave something behind, or it is not "
    "always deterministic"
)
STAYS = (
    "as the only call of a new instance, this call is right: earlier calls leave something behind "
    "that stays"
)
IN_PART = re.compile(r"in \d+ of \d+ small calls, (.*)")
"""Words that hold for a part of small calls, as where others are right."""
ATTEMPTS = 20
"""Number of calls that search for a rare result of a call."""
LARGEST_READ = 2**15
"""Largest result, in values, that is read whole."""


@dataclass(frozen=True)
class WrongResult:
    """A wrong result of a call, and the findings from follow-up questions."""

    subject: Subject
    case: Case
    output: Floats

    @cached_property
    def is_repeated(self) -> bool:
        """Whether repeating the call gives the same result."""
        again = answer(self.subject, self.case)
        return again is not None and np.array_equal(again, self.output, equal_nan=True)

    @cached_property
    def fits(self) -> list[Fit]:
        """The mistakes that explain this result, whatever explains the others."""
        return fits_of_one(self.subject, self.case, self.output)

    @cached_property
    def followups(self) -> FollowUps:
        """The answers to small questions."""
        return ask_followups(self.subject, self.case.dtype)

    @cached_property
    def names(self) -> list[Name]:
        """The mistakes that explain most wrong answers to small questions."""
        return common_names(self.subject, self.case.dtype) if self.followups.wrong else []

    @property
    def unsteady(self) -> str:
        """Words for a small call that gives several results; empty if none does."""
        return describe_unsteady(self.subject, self.case.dtype)

    @property
    def recovered(self) -> str:
        """What all wrong answers share, in words; empty if it cannot be read."""
        return recovered(self.subject, self.case.dtype)

    def earlier_or(self, otherwise: str) -> str:
        """Describe an earlier call's arguments that explain the result, or return ``otherwise``."""
        return state.describe_earlier(self.subject, self.case, self.output) or otherwise


Rule = Callable[[WrongResult], Diagnosis | None]
"""Diagnoses a wrong result; returns None if the rule does not apply."""


def not_deterministic(wrong: WrongResult) -> Diagnosis | None:
    """Report results that vary between equal calls: they allow no conclusion."""
    if wrong.is_repeated:
        return None
    fits = wrong.fits
    repeats = state.describe_repeats(wrong.subject, wrong.case, ATTEMPTS) or wrong.unsteady
    return to_diagnosis([fit for fit in fits if fit.of_state], repeats) if repeats else None


def changed_since(wrong: WrongResult) -> Diagnosis | None:
    """Explain a result that a repeated call does not give; other calls cannot show its cause."""
    if wrong.is_repeated:
        return None
    message = wrong.earlier_or(CHANGED)
    is_earlier = message != CHANGED and not any(fit.of_state for fit in wrong.fits)
    return to_diagnosis([] if is_earlier else wrong.fits, message)


def unsteady_elsewhere(wrong: WrongResult) -> Diagnosis | None:
    """Report other calls with several results: they may refute or support any mistake by chance."""
    message = wrong.unsteady if wrong.followups.stateful else ""
    return to_diagnosis([], message) if message else None


def numbers_of_first_call(wrong: WrongResult) -> Diagnosis | None:
    """Prefer numbers kept from the very first call over a mistake with an estimated number.

    An estimated number can be any number. Mistakes without a number have precedence.
    """
    if not all(any(constants) for _, constants in wrong.names):
        return None
    names = kept_from_first(wrong.subject, wrong.case.dtype)
    if not names:
        return None
    description = state.describe_first(wrong.subject, wrong.case, wrong.output, names)
    return to_diagnosis([], description or NONE)


def only_here(wrong: WrongResult) -> Diagnosis | None:
    """Explain the result by itself if all small questions are answered correctly."""
    if wrong.followups.wrong:
        return None
    if limit := limit_of_positions(wrong.subject, wrong.case.dtype):
        return to_diagnosis([], NONE, limit)
    none = nothing_fits(wrong.output.size)
    otherwise = none if wrong.fits else wrong.earlier_or(none)
    description = "" if wrong.fits or otherwise != none else _described_alone(wrong)
    if is_chance(wrong.subject, wrong.case, wrong.output, description):
        description = ""
    return to_diagnosis(wrong.fits, otherwise, description)


def of_one_earlier_call(wrong: WrongResult) -> Diagnosis | None:
    """Describe an earlier call's arguments that explain the result, if no mistake was named.

    Names have precedence: among many earlier calls, some explain a result by accident.
    """
    if wrong.names:
        return None
    first = state.describe_first_of_one(wrong.subject, wrong.case, wrong.output)
    description = first or wrong.earlier_or("")
    return to_diagnosis([], description) if description else None


def right_when_new(wrong: WrongResult) -> Diagnosis | None:
    """Report state that stays: no formula is wrong that a new instance computes rightly.

    Mistakes that are state themselves keep their names.
    """
    if not is_right_when_new(wrong.subject, wrong.case.dtype):
        return None
    if not state.is_fresh_right(wrong.subject, wrong.case):
        return None
    if any(fit.of_state for fit in find_fits(wrong.case, wrong.output)):
        return None
    return to_diagnosis([], wrong.earlier_or(STAYS))


def read_from_results(wrong: WrongResult) -> Diagnosis | None:
    """Describe what all wrong answers show, if no mistake was named."""
    if wrong.names:
        return None
    return to_diagnosis([], CHANGED if wrong.followups.stateful else NONE, wrong.recovered)


def read_by_readings(wrong: WrongResult) -> Diagnosis | None:
    """Describe a mistake without an id that explains all wrong answers, where no name does."""
    words = read_by_all(wrong.subject, wrong.case.dtype, tuple(wrong.names))
    return to_diagnosis([], NONE, words) if words else None


def read_against_names(wrong: WrongResult) -> Diagnosis | None:
    """Describe what wrong answers show, if each named mistake fails to explain some of them."""
    if not contradicted(wrong.subject, wrong.case.dtype, wrong.names):
        return None
    description = wrong.recovered
    return to_diagnosis([], NONE, description) if description else None


def named(wrong: WrongResult) -> Diagnosis:
    """Name the mistake that explains most answers, and say how it explains this one."""
    ids = {id for name, _ in wrong.names for id in name.split("+")}
    likely = wrong.followups.by_likelihood(find_fits(wrong.case, wrong.output, only=ids))
    this = FollowUp(wrong.case, wrong.output, True, wrong.followups.by_name(likely))
    first = wrong.followups.first_fits
    fits = [fit for name in wrong.names if (fit := this.explained(name, first[name]))]
    return to_diagnosis(fits[:1])


RULES: tuple[Rule, ...] = (
    not_deterministic,
    changed_since,
    unsteady_elsewhere,
    numbers_of_first_call,
    only_here,
    of_one_earlier_call,
    right_when_new,
    read_from_results,
    read_by_readings,
    read_against_names,
)
"""Rules in their order of use; ``named`` is the fallback."""


def diagnose_subject(subject: Subject, case: Case, output: Floats) -> Diagnosis:
    """Explain a wrong result of a subject together with its other answers."""
    wrong = WrongResult(subject, case, output)
    results = (rule(wrong) for rule in RULES)
    return next((result for result in results if result is not None), None) or named(wrong)


def _described_alone(wrong: WrongResult) -> str:
    """Describe in words what one result shows and small ones do not.

    For a large result, a few consecutive rows are read. A mistake that other calls refute is
    reported for this call only.
    """
    case, output = wrong.case.with_fields(), wrong.output
    right = [(reply.case, reply.output) for reply in wrong.followups.answers]
    if can_be_taken_apart(case):
        few = neighbours(case, output, compare(case, output).index)
        if find_rule([few])[1] is None and (words := describe_unturned(case, output)):
            return words
        if words := unless_larger(recover([few], right), [(case, output)]):
            return _only_mistake(wrong, words) or words
    if output.size > LARGEST_READ:
        words = recover([(case, output)], right, OF_MODELS)
        words = words or describe_distances([(case, output)], right)
        words = words or describe_missing([(case, output)])
    else:
        words = recover([(case, output)], right)
        words = _only_mistake(wrong, words) or words
    return words or _only_in_this_call(wrong)


def _only_mistake(wrong: WrongResult, words: str) -> str:
    """Name the one mistake that explains this call, in place of numbers that hold for it alone.

    Empty if several mistakes do, as others are right and tell nothing apart, or if the one has a
    number of its own.
    """
    part = IN_PART.match(words)
    if part is None or not NUMBER.search(part[1]):
        return ""
    fits = find_fits(wrong.case, wrong.output, largest_paired=0)
    has_number = any(any(fit.constants) for fit in fits)
    is_one = len({fit.deviation for fit in fits}) == 1 and not has_number
    return _only_in_this_call(wrong) if is_one else ""


def _only_in_this_call(wrong: WrongResult) -> str:
    """Name the mistake that explains the result of this call, although others refute it."""
    fits = [fit for fit in find_fits(wrong.case, wrong.output) if fit.fits and not fit.of_state]
    which = "this call, of one row" if _rows(wrong.case) == 1 else "this call"
    return f"in {which}, and not in others: {fits[0].explanation}" if fits else ""


def _rows(case: Case) -> int | None:
    """Return the number of rows of a call; None if its arguments have none."""
    for name, form in forms_of(case.call).items():
        if form.has_rows:
            return int(case.arguments[name].shape[-2])
    return None
