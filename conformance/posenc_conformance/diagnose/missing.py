"""Parts of a result that were never written, read from results."""

from collections.abc import Sequence

import numpy as np

from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.judge.arrays import Flags, Floats
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import error_ratio

FEWEST = 4
"""Fewest zeros that count as a part that was not written."""


def describe_missing(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which part of results is wrongly 0; empty if more is wrong.

    A result that is 0 throughout may have other causes, and in a mask half of all values are 0.
    """
    if any(case.dtype == "boolean" for case, _ in answers):
        return ""
    counts = [_missing(case, output) for case, output in answers]
    if not answers or not all(counts) or max(counts) < FEWEST:
        return ""
    case, output = answers[int(np.argmax(counts))]
    where = pattern(case, output, KINDS[case.call.kind].axes).replace("; got 0", "")
    return f"a part of the result is 0, as if it were not written: {where}"


def _missing(case: Case, output: Floats) -> int:
    """Count the wrong values of a result if all of them are 0 and others are not; else return 0."""
    if output.shape != case.shape or not np.isfinite(output[_looked_at(case)]).all():
        return 0
    error = np.where(case.judged, output - np.where(case.judged, case.truth, 0.0), 0.0)
    wrong = error_ratio(np.abs(error), case.bound) > 1
    if output[wrong].any() or not output[_looked_at(case) & ~wrong].any():
        return 0
    return int(np.count_nonzero(wrong))


def _looked_at(case: Case) -> Flags:
    return np.broadcast_to(case.judged, case.shape)
