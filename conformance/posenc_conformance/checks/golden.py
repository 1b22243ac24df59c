"""Goldens: calls with the values that the spec prints for them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from math import prod

import numpy as np

from posenc_conformance.checks import Check, Extent, Options
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.door import named
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Outcome, Wrong
from posenc_conformance.scheme_file.scheme import Golden

LARGEST = 2**28
"""Maximum number of values in a golden's result; those in the spec have far fewer."""


def checks(subject: Subject) -> Iterator[Check]:
    """Yield one check per golden and dtype, where the golden can tell right from wrong."""
    for golden in _of(subject):
        for dtype in subject.dtypes:
            case = golden_case(subject.scheme, golden, dtype)
            if subject.claimed(case) and can_fail(subject.scheme, golden, dtype):

                def run(
                    subject: Subject, options: Options, golden: Golden = golden, dtype: str = dtype
                ) -> Outcome:
                    case = golden_case(subject.scheme, golden, dtype)
                    subject.require_claimed(case)
                    return judge(subject, case, f"golden {golden.id}")

                id = f"{golden.id}[{dtype}]"
                yield Check("golden", id, subject, dtype, run, Extent.of(case))


def require_small(scheme: KnownScheme) -> None:
    """Raise UserError for a golden whose result is too large to compute.

    Also for a golden that describes no call, and for values that do not fit its result.
    """
    for golden in scheme.goldens:
        hint = "correct its arguments and values; posenc goldens --write computes the values"
        with named(f"{scheme.path}: golden {golden.id}", hint, "describes no call"):
            _require_small(scheme, golden)


def _require_small(scheme: KnownScheme, golden: Golden) -> None:
    case = case_described_by(scheme, golden, "float64")
    if prod(case.shape) > LARGEST:
        shape = " x ".join(map(str, case.shape))
        raise UserError(
            f"{scheme.path}: golden {golden.id}: its result would have the shape {shape}",
            "give it a smaller call: all of a result is computed and judged",
        )
    printed = printed_truth(golden, case)
    if printed.shape != case.shape:
        raise ValueError(f"values of shape {printed.shape} for a result of {case.shape}")


def cases(subject: Subject, dtype: str) -> Iterator[Case]:
    """Yield the calls of a subject's goldens that may run and can tell right from wrong."""
    for golden in _of(subject):
        for case in subject.runnable([golden_case(subject.scheme, golden, dtype)]):
            if can_fail(subject.scheme, golden, dtype):
                yield case


def _of(subject: Subject) -> list[Golden]:
    place = (subject.call.name, subject.combination.name)
    return [entry for entry in subject.scheme.goldens if (entry.call, entry.combination) == place]


def judge(subject: Subject, case: Case, title: str) -> Outcome:
    """Call the implementation, and compare its result with the truth of the case.

    Raises Wrong with the whole explanation.
    """
    try:
        output = ask(subject, case)
    except Misbehaviour as problem:
        raise Wrong(f"{title}: {problem}") from None
    return require_agreement(subject, case, output, title)


def golden_case(scheme: KnownScheme, golden: Golden, dtype: str) -> Case:
    """Make the case that a golden describes, with the printed values as its truth."""
    return replace(_printed(scheme, golden), dtype=dtype)


@lru_cache(maxsize=1)
def _printed(scheme: KnownScheme, golden: Golden) -> Case:
    """Make the case of a golden in float64; a narrower dtype represents its arguments exactly."""
    case = case_described_by(scheme, golden, "float64")
    return replace(case, printed=printed_truth(golden, case))


def printed_truth(golden: Golden, case: Case) -> Array:
    """Return a golden's printed values in the shape of the result; nan where it prints nothing."""
    if golden.values is not None:
        return np.array(golden.values, dtype=np.float64)
    truth = np.full(case.shape, np.nan)
    for *index, value in golden.probes or ():
        truth[probe_index(case, index)] = value
    return truth


def probe_index(case: Case, index: list[float]) -> tuple[int, ...]:
    """Return the index of the element that a probe of a golden names.

    If rows have positions, the probe names the position instead of the row.
    """
    place = [int(part) for part in index]
    if "positions" in case.arguments and case.arguments["positions"].ndim == 1:
        place[-2] = int(np.flatnonzero(case.arguments["positions"] == index[-2])[0])
    return tuple(place)


@cache
def can_fail(scheme: KnownScheme, golden: Golden, dtype: str) -> bool:
    """Return whether any printed value can tell right from wrong in this dtype."""
    return bool(golden_case(scheme, golden, dtype).judged.any())
