"""The pattern of an error: where it is, what all wrong values share, and how it grows."""

import numpy as np
import pytest

from posenc_conformance.diagnose import pattern as diagnosis
from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes

FAR = 2.0 ** np.arange(13)


def sinusoid(positions: Array, dim: int = 8) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "sinusoidal")
    call = scheme.calls["sinusoidal"]
    arguments = {"positions": positions.astype(np.int64), "dim": dim, "base": 10000.0}
    return Case(scheme, call, call.combinations["paper"].conventions, arguments, "float64")


def seen(case: Case, error: Floats) -> str:
    return pattern(case, case.truth + error, KINDS[case.call.kind].axes)


def uneven(rows: Array, channels: int = 8) -> Floats:
    """Return errors of the sizes ``rows``, of both signs, without a common factor or difference."""
    signs = (-1.0) ** np.arange(channels)
    return np.outer(rows, signs * np.linspace(1, 0.5, channels))


def growth(power: float, positions: Array = FAR) -> str:
    return seen(sinusoid(positions), uneven(1e-6 * positions**power)).split("; ")[-1]


@pytest.mark.parametrize("power", [-0.1, 0.0, 0.1])
def test_an_error_that_hardly_grows_is_as_large_everywhere(power: float) -> None:
    assert "at all positions" in growth(power)


@pytest.mark.parametrize("power", [0.9, 1.0, 1.1])
def test_an_error_that_grows_as_an_angle_does_is_in_proportion(power: float) -> None:
    assert "proportion" in growth(power)


@pytest.mark.parametrize("power", [0.2, 0.3, 0.5, 0.7, 0.8, 1.2, 1.4])
def test_any_other_growth_is_named_by_its_power(power: float) -> None:
    assert f"^{power:g}" in growth(power)


def test_an_error_that_shrinks_has_no_growth() -> None:
    assert "position^" not in growth(-0.5)
    assert "positions" not in growth(-0.5)


def test_no_growth_is_read_from_few_or_close_positions() -> None:
    assert "proportion" not in growth(1.0, np.array([1.0, 20.0, 400.0]))
    assert "proportion" in growth(1.0, np.array([1.0, 4.0, 8.0, 16.0]))
    assert "proportion" not in growth(1.0, np.array([1.0, 4.0, 8.0, 15.0]))


def test_no_growth_is_read_where_the_error_is_as_large_as_the_values() -> None:
    """The error of a wrong frequency: proportional to the position until the wave turns around."""
    turned = np.minimum(2e-3 * FAR, 1.0)
    assert "proportion" in seen(sinusoid(FAR), uneven(turned))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([0], "position 10 only"),
        ([1, 3, 4, 6], "position 11, 13, 14, 16 only"),
        ([3, 4, 5, 6, 7], "position 13 and later only"),
        ([0, 1, 2, 3, 4], "position 14 and earlier only"),
        ([0, 2, 4, 6, 8], "even positions only"),
        ([1, 3, 5, 7, 9], "odd positions only"),
        ([1, 2, 3, 4, 6], "5 of "),
    ],
)
def test_places_are_named_by_what_they_have_in_common(rows: list[int], said: str) -> None:
    count = 8 if rows[-1] < 8 else 10
    error = np.zeros(count)
    error[rows] = 1e-3
    assert seen(sinusoid(np.arange(10, 10 + count)), uneven(error)).startswith(said)


def test_a_common_factor_or_difference_is_named() -> None:
    case = sinusoid(np.arange(1, 6))
    assert "1.5 times" in seen(case, 0.5 * case.truth)
    assert "off by 0.25" in seen(case, np.full(case.shape, 0.25))
    mixed = seen(case, uneven(np.full(5, 0.1)))
    assert "times" not in mixed
    assert "off by" not in mixed


def test_a_right_result_has_no_pattern() -> None:
    case = sinusoid(FAR)
    assert seen(case, np.zeros(case.shape)) == ""


def test_growth_is_read_along_positions_only() -> None:
    """A bias has heads, queries and keys, but no positions along which an error could grow."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "alibi")
    call = scheme.calls["alibi_bias"]
    arguments = {"heads": 2, "q_len": 40, "k_len": 40}
    case = Case(scheme, call, call.combinations["symmetric"].conventions, arguments, "float64")
    error = 1e-6 * case.truth * np.arange(40)[:, None]
    assert "position" not in seen(case, error)


def test_what_few_values_share_may_be_chance() -> None:
    case = sinusoid(np.arange(1, 6))
    for count, is_named in ((3, False), (4, True)):
        error = np.zeros(case.shape)
        rows = np.argsort(-np.abs(case.truth[0]))[:count]
        error[0, rows] = 0.5
        assert ("1.5 times" in seen(case, error * case.truth)) == is_named
        assert ("off by 0.5" in seen(case, error)) == is_named


@pytest.mark.parametrize(
    ("spread", "told"), [(5e-4, True), (1.0005e-3, True), (1.0015e-3, False), (2e-3, False)]
)
def test_a_common_factor_or_difference_is_equal_to_three_digits(spread: float, told: bool) -> None:
    case = sinusoid(np.arange(1, 6))
    uneven = 1 + spread * np.linspace(0, 1, case.truth.size).reshape(case.shape)
    assert ("off by" in seen(case, 0.01 * uneven)) == told
    assert ("times what" in seen(case, case.truth * (3 * uneven - 1))) == told


def test_growth_is_read_over_a_range_of_sixteen_wherever_it_begins() -> None:
    assert "proportion" in growth(1.0, np.array([4.0, 8.0, 16.0, 64.0]))
    assert "proportion" not in growth(1.0, np.array([4.0, 8.0, 16.0, 60.0]))


NOTHING = ""
LARGE = [8.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize(
    ("truth", "error", "said"),
    [
        ([*LARGE, 1.0], [4.0, 4.0, 4.0, 4.0, 9.0], "1.5 times"),
        ([*LARGE, 1.1], [4.0, 4.0, 4.0, 4.0, 9.0], NOTHING),
        ([-8.0, -8.0, -8.0, -8.0, -0.5], [-4.0, -4.0, -4.0, -4.0, 9.0], "1.5 times"),
        (LARGE, [-16.0, -16.0, -16.0, -16.0], "-1 times"),
        ([8.0, 4.0, 6.0, 5.0], [-0.25, -0.25, -0.25, -0.25], "off by -0.25"),
        ([0.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], "off by 0.25"),
        ([*LARGE, 0.5], [4.0, 4.0, 4.0, 4.0, np.inf], NOTHING),
        ([*LARGE, 0.5], [4.0, 4.0, 4.0, 4.0, np.nan], NOTHING),
        ([1.0, 1.0, 1.0, 1.0], [999.0, 999.0, 999.0, 998.0], NOTHING),
        ([1.0, 2.0, 3.0, 4.0], [1000.0, 1000.0, 1000.0, 999.0], NOTHING),
    ],
)
def test_large_values_show_a_factor_and_all_values_a_difference(
    truth: list[float], error: list[float], said: str
) -> None:
    """Values count as equal within a thousandth; an eighth of the largest is not large."""
    texts = list(diagnosis._sameness(np.array(truth), np.array(error)))
    assert len(texts) == bool(said)
    assert all(said in text for text in texts)


def test_leading_indices_are_named_if_some_are_right() -> None:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": 1 + np.zeros((3, 4, 8)), "positions": np.arange(4), "base": 10000.0}
    case = Case(scheme, call, call.combinations["half"].conventions, arguments, "float64")
    output = case.truth.copy()
    output[1:] = 0
    text = pattern(case, output, KINDS[case.call.kind].axes)
    assert "leading index 1, 2 only" in text
    assert text.endswith("got 0")
    assert "leading" not in pattern(case, 0 * case.truth, KINDS[case.call.kind].axes)


def test_a_factor_that_rounds_to_one_is_not_named() -> None:
    case = sinusoid(FAR)
    assert "1.001 times" in seen(case, 1e-3 * case.truth)
    assert "times" not in seen(case, 1e-8 * case.truth)
