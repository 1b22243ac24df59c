"""Find the known mistake that explains one wrong result, which may be large.

Every model of a mistake costs as much as the call itself, and there are many models, so they are
tried on a few rows of a large result. A single mistake is named only if it explains all of it.
"""

from collections.abc import Sequence

from posenc_conformance.diagnose.diagnosis import (
    LARGEST_PAIRED,
    NONE,
    Diagnosis,
    Fit,
    find_fits,
    first_fit,
    to_diagnosis,
)
from posenc_conformance.diagnose.recover import recover
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.diagnose.sample import Answer, can_be_taken_apart, neighbours, sample
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

ROWS = 32
"""Rows of a large result on which models of mistakes are tried."""
ROWS_OF_PAIRS = 4
"""Rows of one head on which pairs of mistakes are tried, since there are many pairs."""
ROWS_OF_ALL = 512
"""Rows that a pair of mistakes must explain besides those few; a single mistake must explain the
whole result."""


def name_mistake(case: Case, output: Floats, index: tuple[int, ...]) -> Diagnosis:
    """Find the mistake that explains a wrong result, whose largest error is at ``index``.

    Mistakes that come from state left by earlier calls are ignored: one result cannot show them.
    """
    few, part = sample(case, output, index, ROWS)
    fits = _of_call(find_fits(few, part))
    if not fits and part.size > LARGEST_PAIRED:
        fits = _of_call(find_fits(*sample(case, output, index, ROWS_OF_PAIRS, heads=1)))
    if few is not case:
        many = sample(case, output, index, ROWS_OF_ALL)
        fits = [fit for fit in fits if _explains(fit, (case, output), many)]
    if fits:
        return to_diagnosis(fits)
    description = ""
    if can_be_taken_apart(case):
        description = describe_rows([neighbours(case, output, index)])
    return to_diagnosis([], NONE, description or recover([(few, part)]))


def _of_call(fits: Sequence[Fit]) -> list[Fit]:
    return [fit for fit in fits if not fit.of_state]


def _explains(fit: Fit, whole: Answer, many: Answer) -> bool:
    """Return whether a mistake explains a whole result, or a pair of mistakes many rows of it."""
    ids = fit.deviation.split("+")
    if len(ids) == 1:
        return first_fit(*whole, fit.deviation) is not None
    fits = find_fits(*many, only=ids)
    return any(other.deviation == fit.deviation for other in fits)
