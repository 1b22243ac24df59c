"""Values of a result that are changed alike, or were never written, read from results.

Changes are rounding, a common factor, or a mean in place of a sum.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of
from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import DTYPES, PRECISE, Flags, Floats, round_to
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import error_ratio

SHORT = ("bfloat16", "float16", "float32")
SEVERAL = ("rotary", "in-place", "layer", "scores", "sum")
"""Kinds of calls that round several times: products, and their sums."""
STEPS = 4.0
"""Bounds of a short dtype that a result may be off by if several steps are rounded to it."""
FEWEST = 8
"""Fewest values from which a common factor is reported."""
FEWEST_ZEROS = 4
"""Fewest zeros that count as a part that was not written."""


def describe_values(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words that all values are rounded, or the same multiple of the right ones.

    Or that sums are divided by the number of their terms. Empty if neither holds.
    """
    shown = [output[np.broadcast_to(case.judged, case.shape)] for case, output in answers]
    if shown and not any(values.any() for values in shown) and answers[0][0].call.kind == "bias":
        return "every value is 0: there is no bias at all"
    for dtype in SHORT:
        if answers and all(_is_rounded(*each, dtype) for each in answers):
            return f"every value is rounded to {dtype}"
    for dtype in SHORT:
        if answers and all(_is_rounded(*each, dtype, STEPS) for each in answers):
            return f"every value is one of {dtype}, and is as near as several roundings to it leave"
    if description := _describe_mean(answers):
        return description
    if description := _describe_added(answers):
        return description
    factors = [_factor(*each) for each in answers]
    if not any(factors) or sum(output.size for _, output in answers) < FEWEST:
        return ""
    if any(each is None for each in factors):
        return ""
    factor = float(np.median([each for each in factors if each is not None]))
    models = [(case, output, factor * case.truth) for case, output in answers]
    if all(residual_of(*each) <= 1 for each in models) and any(
        differs(case, model) for case, _, model in models
    ):
        return f"every value is {apart(factor, 1, digits=6)[0]} times what it should be"
    return ""


def _describe_added(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words that a number is added to all values of all results; empty if none is."""
    if any(case.dtype not in DTYPES for case, _ in answers):
        return ""
    shown = [case.judged & np.isfinite(case.truth) for case, _ in answers]
    off = [output[at] - case.truth[at] for at, (case, output) in zip(shown, answers, strict=True)]
    every = np.concatenate([each.ravel() for each in off]) if off else np.zeros(0)
    if len(every) < FEWEST or not np.isfinite(every).all():
        return ""
    number = float(f"{np.median(every):.6g}")
    models = [(case, output, case.truth + number) for case, output in answers]
    if number and all(residual_of(*each) <= 1 and differs(each[0], each[2]) for each in models):
        return f"{abs(number):g} is {'added to' if number > 0 else 'taken from'} every value"
    return ""


def _describe_mean(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words that a gradient has a mean in place of a sum; empty if it has none."""
    if not answers or answers[0][0].call.kind != "gradient":
        return ""
    for words, count in MEANS.items():
        models = [(case, output, case.truth / count(case)) for case, output in answers]
        if all(residual_of(*answer) <= 1 for answer in models) and any(
            differs(case, model) for case, _, model in models
        ):
            return f"a mean is computed instead of a sum: every value is divided by {words}"
    return ""


def _summed(case: Case) -> tuple[int, ...]:
    """Return the shape of the ``gradient`` argument."""
    shape: tuple[int, ...] = np.shape(case.arguments.get("gradient", ()))
    return shape


MEANS: Mapping[str, Callable[[Case], int]] = {
    "the number of queries and keys": lambda case: max(prod(_summed(case)[-2:]), 1),
    "the number of keys": lambda case: max(prod(_summed(case)[-1:]), 1),
    "the number of queries": lambda case: max(prod(_summed(case)[-2:-1]), 1),
    "the number of values of the gradient": lambda case: max(prod(_summed(case)), 1),
}
"""Possible divisors of a sum."""


def _is_rounded(case: Case, output: Floats, dtype: str, steps: float = 1.0) -> bool:
    """Return whether a result has values of a shorter dtype, not all 0, and is right in it.

    It is right if it is within ``steps`` bounds of the short dtype.
    """
    if case.dtype not in PRECISE or case.dtype == dtype or not output.any():
        return False
    if not np.array_equal(round_to(output, dtype), output):
        return False
    short = case.with_fields(dtype=dtype)
    if steps > 1:
        return case.call.kind in SEVERAL and residual_of(short, output, case.truth) <= steps
    held = case.judged & (round_to(case.truth, dtype) == case.truth)
    if (output != case.truth)[held].any():  # rounding changes no number that the dtype holds
        return False
    return residual_of(short, output, case.truth) <= 1


def _factor(case: Case, output: Floats) -> float | None:
    """Estimate the factor of a result from its largest value; None if nothing shows it."""
    if case.dtype not in DTYPES:
        return None
    truth = np.where(case.judged & np.isfinite(case.truth), case.truth, 0.0)
    place = np.unravel_index(np.abs(truth).argmax(), truth.shape) if truth.size else ()
    if not truth.size or not truth[place] or not np.isfinite(output[place]):
        return None
    return float(output[place] / truth[place])


def describe_missing(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which part of results is wrongly 0; empty if more is wrong.

    A result that is 0 throughout may have other causes, and in a mask half of all values are 0.
    """
    if any(case.dtype == "boolean" for case, _ in answers):
        return ""
    counts = [_missing(case, output) for case, output in answers]
    if not answers or not all(counts) or max(counts) < FEWEST_ZEROS:
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
