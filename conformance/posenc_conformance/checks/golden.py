"""Goldens: the values that the spec prints."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache

import numpy as np

from posenc_conformance.checks import Check, Extent, Options
from posenc_conformance.diagnose.explain import compared
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.asking import asked
from posenc_conformance.judge.case import Case, described
from posenc_conformance.judge.subject import Misbehaviour, Subject
from posenc_conformance.judge.verdict import Outcome, Wrong
from posenc_conformance.scheme_file.model import Golden, Scheme


def checks(subject: Subject) -> Iterator[Check]:
    """One check per golden and dtype, where the golden can tell right from wrong."""
    for golden in _of(subject):
        for dtype in subject.dtypes:
            case = golden_case(subject.scheme, golden, dtype)
            if subject.claimed(case) and can_fail(subject.scheme, golden, dtype):

                def run(
                    subject: Subject, options: Options, golden: Golden = golden, dtype: str = dtype
                ) -> Outcome:
                    case = golden_case(subject.scheme, golden, dtype)
                    subject.demand_claimed(case)
                    return judge(subject, case, f"golden {golden.id}")

                id = f"{golden.id}[{dtype}]"
                yield Check("golden", id, subject, dtype, run, Extent.of(case))


def cases(subject: Subject, dtype: str) -> Iterator[Case]:
    """The calls of its goldens, as far as they can be asked and tell right from wrong."""
    for golden in _of(subject):
        case = golden_case(subject.scheme, golden, dtype)
        if subject.covers(case) and can_fail(subject.scheme, golden, dtype):
            yield case


def _of(subject: Subject) -> list[Golden]:
    place = (subject.call.name, subject.combination.name)
    return [each for each in subject.scheme.goldens if (each.call, each.combination) == place]


def judge(subject: Subject, case: Case, title: str) -> Outcome:
    """Ask the implementation and compare with the truth of the case.

    Raises Wrong with the whole explanation.
    """
    try:
        output = asked(subject, case)
    except Misbehaviour as problem:
        raise Wrong(f"{title}: {problem}") from None
    return compared(subject, case, output, title)


def golden_case(scheme: Scheme, golden: Golden, dtype: str) -> Case:
    """The call that a golden describes, with the printed values for its truth."""
    return replace(_printed(scheme, golden), dtype=dtype)


@lru_cache(maxsize=1)
def _printed(scheme: Scheme, golden: Golden) -> Case:
    """The same in float64; a narrower dtype holds its arguments exactly."""
    case = described(scheme, golden, "float64")
    return replace(case, printed=printed_truth(golden, case))


def printed_truth(golden: Golden, case: Case) -> Array:
    """Printed values in the shape of the result; nan where the golden says nothing."""
    if golden.values is not None:
        return np.array(golden.values, dtype=np.float64)
    truth = np.full(case.shape, np.nan)
    for *index, value in golden.probes or ():
        truth[probe_index(case, index)] = value
    return truth


def probe_index(case: Case, index: list[float]) -> tuple[int, ...]:
    """Index of an element; where rows stand for positions, a probe names the position itself."""
    place = [int(part) for part in index]
    if "positions" in case.arguments and case.arguments["positions"].ndim == 1:
        place[-2] = int(np.flatnonzero(case.arguments["positions"] == index[-2])[0])
    return tuple(place)


@cache
def can_fail(scheme: Scheme, golden: Golden, dtype: str) -> bool:
    """Whether any printed value says something about a result of this dtype."""
    return bool(golden_case(scheme, golden, dtype).judged.any())
