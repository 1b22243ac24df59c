"""The bound of a result: its size, the values that it judges, and errors as large as itself."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Options, checks_of
from posenc_conformance.checks.execution import execute
from posenc_conformance.families.biases import DistanceBias
from posenc_conformance.judge.arrays import DTYPES, UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees, compare, error_ratio
from posenc_conformance.judge.knowledge import CallKnowledge, KnownScheme
from posenc_conformance.judge.verdict import Verdict
from posenc_lab.judging import schemes


def case_of(scheme_id: str, combination: str, dtype: str, **arguments: Any) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == scheme_id)
    call = scheme.calls[scheme_id]
    conventions = call.combinations[combination].conventions
    return Case(scheme, call, conventions, arguments, dtype)


def sinusoid(*positions: int, dtype: str = "float32") -> Case:
    arguments = {"positions": np.array(positions), "dim": 2, "base": 10000.0}
    return case_of("sinusoidal", "paper", dtype, **arguments)


def turned(x: Array, dtype: str = "float16") -> Case:
    """Return a case of a rotation by 0."""
    zeros = np.zeros(len(x), np.int64)
    return case_of("rope", "half", dtype, x=x, positions=zeros, base=10000.0)


def bare(truth: Any, bound: Any, judged: Any = True) -> Any:
    """Return a stand-in for a case with the fields that comparisons need."""
    shape = np.shape(truth)
    return SimpleNamespace(
        truth=np.asarray(truth, np.float64),
        bound=np.broadcast_to(np.asarray(bound, np.float64), shape),
        judged=np.broadcast_to(judged, shape),
    )


def test_an_error_as_large_as_its_bound_is_right_and_the_next_number_is_not() -> None:
    case = bare([1.0, -1.0], 0.25)
    on_it = np.array([1.25, -0.75])
    assert compare(case, on_it).passes
    assert compare(case, on_it).worst == 1
    assert agrees(case, on_it)
    for beyond in (np.array([np.nextafter(1.25, 2), -1]), np.array([1, np.nextafter(-0.75, 0)])):
        assert compare(case, beyond).wrong == 1
        assert not agrees(case, beyond)


def test_a_comparison_reports_the_worst_element() -> None:
    case = bare([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.5], [0.5, 0.1]], [[True, True], [True, False]])
    result = compare(case, np.array([[1.0, 4.0], [3.75, np.nan]]))
    assert result.index == (0, 1)
    assert (result.got, result.expected, result.bound, result.worst) == (4, 2, 0.5, 4)
    assert (result.wrong, result.judged) == (2, 3)
    assert not agrees(case, np.array([[1.0, 4.0], [3.0, 4.0]]))
    assert agrees(case, np.array([[1.0, 2.0], [3.0, np.inf]]))


def test_an_empty_result_is_right() -> None:
    nothing = bare(np.zeros((0, 2)), 0.0)
    assert compare(nothing, np.zeros((0, 2))).passes
    assert compare(nothing, np.zeros((0, 2))).judged == 0
    assert compare(nothing, np.zeros((0, 2))).worst == 0


def test_an_error_at_bound_zero_has_an_infinite_ratio() -> None:
    def ratio(error: Any, bound: Any) -> list[float]:
        ratios: Floats = error_ratio(np.array(error, float), np.array(bound, float))
        return [float(value) for value in ratios]

    assert ratio([0, 1e-300, 1], [0, 0, 2]) == [0, np.inf, 0.5]
    assert ratio([np.nan, 1], [2, 2]) == [np.inf, 0.5]


def test_values_are_judged_if_a_wrong_result_could_fail() -> None:
    """Far out the bound of float32 reaches the values themselves: 4 u p is 1 at position 2**22."""
    quarter, most, whole, beyond = (n * 2**20 for n in (1, 3, 4, 5))
    case = sinusoid(quarter, most, whole, beyond)
    assert case.bound[:, 0] == pytest.approx([0.25, 0.75, 1, 1.25], rel=1e-4)
    assert case.judged.all(axis=1).tolist() == [True, True, False, False]


def test_an_error_of_the_whole_scale_is_found_near_the_bound() -> None:
    """An error of the whole scale is wrong even if 3/4 of the scale are allowed."""
    case = sinusoid(3 * 2**20)
    away = np.where(case.truth > 0, case.truth - 1, case.truth + 1)
    assert compare(case, away).wrong == 2
    assert compare(case, np.asarray(case.truth)).passes


def test_rounding_of_angles_is_added_to_that_of_the_result() -> None:
    case = sinusoid(0, 2**10)
    with_angles, without = case.bounds(), case.bounds(angles=False)
    assert np.all(without == 4 * 2.0**-24)
    assert np.array_equal(with_angles[0], without[0])
    assert np.all(with_angles[1] == without[1] + 4 * 2.0**-24 * 2**10)


@pytest.mark.parametrize(
    ("dtype", "result", "angles"),
    [("float64", 53, 53), ("float32", 24, 24), ("bfloat16", 8, 24), ("float16", 11, 24)],
)
def test_angles_are_at_least_as_good_as_float32(dtype: str, result: int, angles: int) -> None:
    case = sinusoid(1, dtype=dtype)
    rounding = case.bounds(angles=False)
    underflow = 4 * 2.0**-25 if dtype == "float16" else 0
    truth = np.spacing(np.abs(case.truth)) / 2 if dtype == "float64" else 0
    assert np.all(rounding == 4 * 2.0**-result + underflow + truth)
    assert case.bounds() - rounding == pytest.approx(4 * 2.0**-angles, rel=1e-6)


def test_an_honest_rounding_of_tiny_numbers_is_right_in_float16() -> None:
    """Below 2**-14 numbers of float16 are evenly spaced: half a step is more than v of them."""
    step = 2.0**-24
    case = turned(np.array([[7.5, 3.5, 0.0, 0.0]]) * step)
    rounded = case.truth.astype(DTYPES["float16"])
    assert np.abs(rounded - case.truth).max() == step / 2
    assert compare(case, rounded).passes
    assert not compare(case, rounded + np.array([4 * step, 0, 0, 0])).passes


def test_underflow_is_allowed_in_no_other_dtype_and_for_no_zero() -> None:
    tiny = np.array([[2.0**-30, 0.0, 0.0, 0.0]])
    assert not compare(turned(tiny, "float32"), np.zeros((1, 4))).passes
    zeros = turned(np.zeros((1, 4)))
    assert compare(zeros, np.zeros((1, 4))).passes
    assert not compare(zeros, np.array([[2.0**-25, 0, 0, 0]])).passes


def gauss(r1: Array, distance: Array) -> Floats:
    """Return a bias of -(d / r1)^2 / 2: a quotient, its square and a half, so that A is 3."""
    quotient = distance.astype(r1.dtype) / r1[:, None, None]
    return np.asarray(-(quotient * quotient) / 2)


GAUSSIAN = DistanceBias(lambda case, d: gauss(case.arguments["r1"], d), {"r1": 30.0, "r2": 1.0})


def behind(q_len: int, k_len: int) -> Array:
    """Return the distance of each key before each query, [q_len, k_len]; 0 for later keys."""
    return np.asarray(np.maximum(k_len - q_len + np.arange(q_len)[:, None] - np.arange(k_len), 0))


def rounded_once(r1: Array, r2: Array, q_len: int, k_len: int, **named: Any) -> Floats:
    """Return the same bias, rounded only once, at the end."""
    lag = behind(q_len, k_len)

    def exactly(sigma: float, distance: int) -> float:
        return float(-((distance / Fraction(sigma)) ** 2) / 2)

    return np.array([[[exactly(s, d) for d in row] for row in lag.tolist()] for s in r1.tolist()])


def gaussian_scheme() -> KnownScheme:
    """Return the scheme of KERPLE with another formula, whose derived A is 3."""
    kerple = next(candidate for candidate in schemes() if candidate.id == "kerple")
    knowledge = CallKnowledge(
        error_terms=GAUSSIAN.error_terms,
        arguments=GAUSSIAN.arguments,
        sweep=GAUSSIAN.sweep,
        sizes=GAUSSIAN.sizes,
        invariants={},
        deviations={},
    )
    return replace(
        kerple,
        invariants=(),
        bad_inputs=(),
        accuracy=replace(kerple.accuracy, rounding=3, angle=0),
        find_knowledge=lambda scheme: {"kerple_bias": knowledge},
        find_reference=lambda scheme, call: rounded_once,
    )


class Honest:
    """Implementation that rounds three times, and no more."""

    @claims("log", dtype=["float64", "float32"])
    def kerple_bias(self, r1: Array, r2: Array, q_len: int, k_len: int) -> Array:
        return gauss(r1, behind(q_len, k_len))


@pytest.mark.slow
def test_a_right_implementation_passes_although_the_truth_is_rounded_too() -> None:
    """Its own error is below 3 u, but it is further off from the rounded truth."""
    scheme = gaussian_scheme()
    (subject,) = subjects(Honest(), [scheme])
    for level in ("precision", "behaviour", "invariant"):
        for check in checks_of(scheme, level, [subject]):
            execution = execute(check, Options(examples=3))
            assert execution.verdict is not Verdict.FAILED, (check.id, execution.text)
    arguments = GAUSSIAN.of_heads(3) | {"q_len": 1, "k_len": 1000}
    case = subject.case(arguments, "float64")
    off = np.abs(subject.run(case) - case.truth)
    assert np.any(off > 3 * UNIT_ROUNDOFF["float64"] * np.abs(case.truth))
    assert agrees(case, subject.run(case))


@pytest.mark.parametrize(("dtype", "more"), [("float64", 0.5), ("float32", 0.0)])
def test_the_truth_may_be_off_by_half_a_unit_in_float64_only(dtype: str, more: float) -> None:
    arguments = GAUSSIAN.of_heads(2) | {"q_len": 1, "k_len": 50}
    case = subjects(Honest(), [gaussian_scheme()])[0].case(arguments, dtype)
    own = 3 * UNIT_ROUNDOFF[dtype] * np.abs(case.truth)
    assert case.bound == pytest.approx(own + more * np.spacing(np.abs(case.truth)) * (own > 0))
    assert case.bound[..., -1].max() == 0  # at distance 0 nothing is rounded
