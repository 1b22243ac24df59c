"""Errors of a sweep over positions: their curve, and the horizon of precise angles."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.checks.precision import BFLOAT16_RESOLUTION, curve, horizon
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes

FAR = np.array([0, 1, 2, 3, 4, 7, 8, 1000, 1024])


def sinusoid(positions: Any = FAR, dim: int = 4, dtype: str = "float32", **options: Any) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "sinusoidal")
    call = scheme.calls["sinusoidal"]
    arguments = {"positions": np.asarray(positions), "dim": dim, "base": 10000.0}
    conventions = {**call.combinations["paper"].conventions, **options}
    return Case(scheme, call, conventions, arguments, dtype)


def off(case: Case, by: dict[int, float]) -> Any:
    """Return the truth plus errors in one channel; ``by`` maps positions to errors."""
    output = case.truth.copy()
    for position, error in by.items():
        output[np.flatnonzero(np.abs(case.arguments["positions"]) == position)[0], 1] += error
    return output


def test_a_curve_has_the_worst_between_two_powers_of_two() -> None:
    case = sinusoid()
    errors = {at: error for at, error, _ in curve(case, off(case, {2: 3e-6, 3: 1e-6, 7: 2e-6}))}
    assert set(errors) == {0, 1, 2, 7, 8, 1000, 1024}
    wrong = {at: error for at, error in errors.items() if error > 1e-9}
    assert wrong == {2: pytest.approx(3e-6), 7: pytest.approx(2e-6)}


def test_a_curve_has_the_bound_at_the_error() -> None:
    case = sinusoid()
    for at, _, bound in curve(case, off(case, {7: 1e-6})):
        row = int(np.flatnonzero(at == FAR)[0])
        assert bound == case.bound[row].max()


def test_errors_are_shares_of_the_scale_and_of_none_where_that_is_0() -> None:
    """A column of zeros has scale 0, so an error in it is no share of anything."""
    case = sinusoid(dim=5, odd_dim="zero")
    assert (case.terms.scale == 0).any()
    with np.errstate(all="raise"):
        points = curve(case, case.truth + 1e-6)
    assert all(error == pytest.approx(1e-6, rel=1e-3) for _, error, _ in points)


def test_a_result_without_rows_of_channels_has_no_curve() -> None:
    assert curve(sinusoid(), np.zeros(9)) == ()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_the_horizon_is_where_angles_cost_less_than_bfloat16_resolution(dtype: str) -> None:
    case = sinusoid(dtype=dtype)
    rounding = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float64": 2.0**-53}[dtype]
    allowed = BFLOAT16_RESOLUTION + case.scheme.accuracy.rounding * rounding
    assert BFLOAT16_RESOLUTION == 2.0**-8
    assert horizon(case, off(case, {7: 0.999 * allowed})) == (1024, True)
    assert horizon(case, off(case, {7: 1.001 * allowed})) == (4, False)
    assert horizon(case, off(case, {7: -1.001 * allowed, 1000: 1.0})) == (4, False)


@pytest.mark.parametrize(
    ("wrong", "reach"), [(1024, 512), (1000, 512), (8, 4), (4, 2), (3, 2), (2, 1), (1, 0), (0, 0)]
)
def test_the_horizon_is_a_power_of_two_before_what_is_wrong(wrong: int, reach: int) -> None:
    case = sinusoid()
    assert horizon(case, off(case, {wrong: 1.0})) == (reach, False)


def test_the_horizon_of_a_right_result_is_its_last_power_of_two() -> None:
    for last, reach in ((1024, 1024), (1023, 512), (1, 1)):
        case = sinusoid(np.arange(last + 1))
        assert horizon(case, np.asarray(case.truth)) == (reach, True)
