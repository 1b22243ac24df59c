"""Choose the cases of a scheme to export, and their elements.

Every golden is exported, with the elements that it prints, and a call whose inputs use the full
precision of their dtype. To these a greedy search adds as little as it can: elements of goldens
that print only a part, and calls from the goldens of other combinations. It ends when the export
rejects every form of every deviation that the whole result of one of these calls rejects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc_conformance.adapters.resolve import FARTHEST
from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.arrays import Flags
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.error_model import error_ratio
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Trial
from posenc_conformance.scheme_file.scheme import Call, Golden, Value

Form = tuple[str, str]
"""A deviation's id, and the explanation of one of its forms."""
Group = tuple[str, tuple[tuple[str, Value], ...]]
"""A combination, and the options claimed with it."""

FEW = 32
"""Most judged elements of a result that is exported whole."""
EXTRA_ELEMENTS = 16
"""The number of elements of a larger result that are exported in addition to the needed ones."""
LARGEST_INPUT = 512
"""The most numbers in the arguments of an added call; goldens may have more."""
LARGEST_EXPORTED = 4096
"""The most elements in the result of an added call."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A call that may be exported."""

    name: str
    """The golden's id, or the name of a call that is no golden's."""
    comment: str
    """The golden's description of the mistakes that it kills."""
    group: Group
    case: Case
    """The call under the conventions of the group, with its whole truth."""
    printed: Flags
    """Elements that the golden prints."""
    own: bool
    """Whether the candidate is a golden of the group."""
    kept: bool
    """Whether the candidate is exported even if others reject the same forms."""

    @cached_property
    def judged(self) -> Flags:
        """Elements that can tell right from wrong."""
        return np.broadcast_to(self.case.judged, self.case.shape).ravel()

    @cached_property
    def wrong(self) -> Mapping[Form, Flags]:
        """The elements that each form of a deviation gets wrong; all False if it is right here."""
        return dict(self._predicted())

    def _predicted(self) -> Iterator[tuple[Form, Flags]]:
        case = self.case
        models = case.knowledge.deviations
        bound = case.bound.ravel()
        truth = np.where(self.judged, np.broadcast_to(case.truth, case.shape).ravel(), 0.0)
        with np.errstate(all="ignore"):
            for deviation, predictions in models.items():
                for model in predictions(case, np.asarray(case.truth, dtype=np.float64)):
                    if model.output.shape == case.shape:
                        error = np.abs(model.output.ravel() - truth)
                        ratio = error_ratio(np.where(self.judged, error, 0.0), bound)
                        yield (deviation, model.explanation), ratio > 1

    @cached_property
    def forms(self) -> frozenset[Form]:
        """Forms of deviations that the whole result rejects."""
        return frozenset(form for form, wrong in self.wrong.items() if wrong.any())

    def rejects(self, elements: Flags) -> frozenset[Form]:
        """Return the forms of deviations that ``elements`` reject."""
        return frozenset(form for form in self.forms if (self.wrong[form] & elements).any())

    @cached_property
    def first(self) -> Flags:
        """The elements to export first, before others are added."""
        shown = self.printed & self.judged
        if self.own or 0 < shown.sum() <= FEW:
            return shown
        places = np.flatnonzero(self.judged)
        if len(places) > FEW:
            places = places[np.linspace(0, len(places) - 1, EXTRA_ELEMENTS).astype(int)]
        return self._at(places)

    def rejecting(self, forms: frozenset[Form]) -> Flags:
        """Return a few elements that together reject all of ``forms``."""
        places: list[int] = []
        left = [self.wrong[form] for form in sorted(forms)]
        while left:
            place = int(np.argmax(np.sum(left, axis=0)))
            places.append(place)
            left = [wrong for wrong in left if not wrong[place]]
        return self._at(places)

    def _at(self, places: Any) -> Flags:
        flags = np.zeros(self.judged.shape, dtype=bool)
        flags[places] = True
        return flags

    @property
    def size(self) -> int:
        """The number of values in the array arguments of the call."""
        arguments = self.case.arguments.values()
        return sum(value.size for value in arguments if isinstance(value, np.ndarray))


@dataclass(frozen=True, eq=False)
class Choice:
    """An exported call, with its exported elements."""

    candidate: Candidate
    elements: Flags
    telling: frozenset[Form]
    """Forms of deviations that some call of the group can reject."""

    @cached_property
    def kills(self) -> tuple[str, ...]:
        """Deviations for which the choice rejects every form that the group can reject."""
        left = self._here - self._rejected
        return tuple(name for name in self._named if name not in {form[0] for form in left})

    @cached_property
    def kills_some(self) -> tuple[str, ...]:
        """Deviations for which the choice rejects only some forms."""
        return tuple(name for name in self._named if name not in self.kills)

    @cached_property
    def _here(self) -> frozenset[Form]:
        return self.telling & self.candidate.wrong.keys()

    @cached_property
    def _rejected(self) -> frozenset[Form]:
        return self.candidate.rejects(self.elements)

    @property
    def _named(self) -> list[str]:
        """Ids of the rejected deviations, in the scheme's order."""
        rejected = {form[0] for form in self._rejected}
        order = self.candidate.case.knowledge.deviations
        return [name for name in order if name in rejected]


def choices(scheme: KnownScheme, call: Call, dtype: str) -> Iterator[Choice]:
    """Yield the exported cases of a call in one dtype, combination by combination."""
    goldens = [golden for golden in scheme.goldens if golden.call == call.name]
    groups = dict.fromkeys(_group(golden) for golden in goldens)
    for group in groups:
        candidates = list(_candidates(scheme, call, group, goldens, dtype))
        taken = _choose(candidates)
        telling = frozenset().union(*(contender.forms for contender in candidates))
        for candidate, elements in taken.items():
            if elements.any():
                yield Choice(candidate, elements, telling)


def _group(golden: Golden) -> Group:
    return golden.combination, tuple(sorted(golden.options.items()))


def _candidates(
    scheme: KnownScheme, call: Call, group: Group, goldens: Sequence[Golden], dtype: str
) -> Iterator[Candidate]:
    """Yield the goldens of a group, then calls of other goldens that its conventions allow.

    Between them is the call in full precision, if a result has the dtype of the inputs.
    """
    own = [golden for golden in goldens if _group(golden) == group]
    cases = {golden.id: golden_case(scheme, golden, dtype) for golden in goldens}
    forms = {_form(cases[golden.id]) for golden in own}
    conventions = cases[own[0].id].conventions
    for golden in own:
        case = cases[golden.id]
        printed = np.broadcast_to(np.isfinite(case.truth), case.shape).ravel()
        yield Candidate(golden.id, golden.kills, group, case.with_fields(), printed, True, True)
    if call.dtype == "inputs" and not own[0].options:
        candidate = _in_full_precision(scheme, call, group, dtype)
        if candidate.size <= LARGEST_INPUT:
            yield candidate
    used = [golden.arguments for golden in own]
    for golden in goldens:
        case = cases[golden.id]
        fits = golden.options.keys() <= own[0].options.keys()
        if golden in own or not fits or golden.arguments in used or _form(case) not in forms:
            continue
        printed = np.broadcast_to(np.isfinite(case.truth), case.shape).ravel()
        other = case.with_fields(conventions=conventions)
        if other.shape != case.shape:  # as when a class token adds a row
            continue
        candidate = Candidate(golden.id, "", group, other, printed, False, False)
        small = candidate.size <= LARGEST_INPUT and printed.size <= LARGEST_EXPORTED
        if small and other.has_result:
            used.append(golden.arguments)
            yield candidate


def _in_full_precision(scheme: KnownScheme, call: Call, group: Group, dtype: str) -> Candidate:
    """Make the kit's smallest call, whose inputs use the full precision of their dtype.

    The inputs of goldens are exact in narrower dtypes, too.
    """
    scope = Scope({}, {}, (dtype,), FARTHEST)
    subject = Subject(scheme, call, call.combinations[group[0]], (scope,), str, None)
    trial = Trial(subject, scope, dtype, {}, First())
    case = trial.case(**scheme.knowledge[call.name].arguments(trial))
    name = f"{call.name.replace('_', '-')}-in-full-precision"
    return Candidate(name, "", group, case, np.ones(case.truth.size, dtype=bool), False, True)


def _form(case: Case) -> frozenset[tuple[str, str]]:
    """Return the names of a call's arguments, with the kind of dtype of those that are arrays."""
    return frozenset(
        (name, value.dtype.kind if isinstance(value, np.ndarray) else "")
        for name, value in case.arguments.items()
    )


def _choose(candidates: Sequence[Candidate]) -> dict[Candidate, Flags]:
    """Return the candidates to export, each with its elements."""
    taken = {candidate: candidate.first for candidate in candidates if candidate.kept}
    for is_kept in (True, False):
        group = [candidate for candidate in candidates if candidate.kept is is_kept]
        while left := _missing_forms(group, taken):
            best = max(group, key=lambda candidate: (len(candidate.forms & left), -candidate.size))
            elements = taken.get(best, best.first) | best.rejecting(best.forms & left)
            taken[best] = elements
    return taken


def _missing_forms(some: Sequence[Candidate], taken: Mapping[Candidate, Flags]) -> frozenset[Form]:
    """Return the forms that ``some`` candidates can reject, but the taken elements do not."""
    possible = frozenset[Form]().union(*(candidate.forms for candidate in some))
    return possible.difference(*(candidate.rejects(flags) for candidate, flags in taken.items()))
