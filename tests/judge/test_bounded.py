"""Bounds carried through arithmetic on answers hold, and are no larger than necessary."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from posenc_conformance.judge import bounded
from posenc_conformance.judge.bounded import ARITHMETIC, Answer, Exact
from posenc_conformance.judge.error_model import error_ratio

Floats = npt.NDArray[np.float64]
Draw = np.random.Generator
SHAPE = (2, 2)
SAMPLES = 60
BOUND_ROUNDED = Fraction(1) + Fraction(2) ** -48
"""Factor for the rounding of the bounds themselves."""


@dataclass(frozen=True)
class Operand:
    """An operand of the kit, and its exact meaning as fractions."""

    held: Any
    meant: Any


def answer(values: Any, bound: Any) -> Answer:
    values = np.asarray(values, dtype=np.float64)
    case: Any = SimpleNamespace(arguments={})
    return Answer(case, values, values, np.broadcast_to(np.asarray(bound, float), values.shape))


def fractions(values: Any) -> Any:
    return np.vectorize(Fraction, otypes=[object])(values)


def numbers(draw: Draw) -> Floats:
    """Return numbers of comparable size that use all their bits, and now and then a 0."""
    values = draw.choice([-1.0, 1.0], SHAPE) * draw.uniform(0.5, 2.0, SHAPE)
    return np.where(draw.random(SHAPE) < 0.05, 0.0, values)


def off(draw: Draw, values: Floats, bound: Any) -> Any:
    """Return values that are wrong by exactly the bound, up or down."""
    return fractions(values) + fractions(draw.choice([-1.0, 1.0], SHAPE) * bound)


def rough(draw: Draw) -> Operand:
    """Return an answer whose bound is far above rounding."""
    values = numbers(draw)
    bound = draw.uniform(0.5, 1.0, SHAPE) * 2.0**-12
    return Operand(answer(values, bound), off(draw, values, bound))


def sharp(draw: Draw) -> Operand:
    """Return an answer that must be right to the last bit."""
    values = numbers(draw)
    return Operand(answer(values, 0.0), fractions(values))


def exact(draw: Draw) -> Operand:
    values = numbers(draw)
    return Operand(Exact(values), fractions(values))


def computed(draw: Draw) -> Operand:
    """Return floats computed by the kit."""
    values = numbers(draw)
    return Operand(values, off(draw, values, ARITHMETIC * np.abs(values)))


def whole(draw: Draw) -> Operand:
    values = draw.integers(-9, 10, SHAPE)
    return Operand(values, fractions(values))


def nonzero(make: Callable[[Draw], Operand]) -> Callable[[Draw], Operand]:
    """Return a maker of operands without zeros, for divisors."""

    def again(draw: Draw) -> Operand:
        while True:
            made = make(draw)
            if np.all(made.meant != 0):
                return made

    return again


Makes = tuple[Callable[[Draw], Operand], ...]
Operation = Callable[..., Any]
ANSWERS = (rough, sharp)
OTHERS = (rough, sharp, exact, computed, whole)
ADD, SUBTRACT, MULTIPLY = operator.add, operator.sub, operator.mul
DIVIDE, MATMUL = operator.truediv, operator.matmul


def add_up(values: Any) -> Any:
    return values.sum(axis=1)


CASES: list[tuple[Operation, Makes]] = [
    *((op, (a, b)) for op in (ADD, SUBTRACT, MULTIPLY) for a in ANSWERS for b in OTHERS),
    *((op, (b, a)) for op in (ADD, SUBTRACT, MULTIPLY) for a in ANSWERS for b in OTHERS[2:]),
    *((DIVIDE, (a, nonzero(b))) for a in ANSWERS for b in OTHERS[2:]),
    *((MATMUL, (a, b)) for a in ANSWERS for b in ANSWERS),
    *((add_up, (a,)) for a in ANSWERS),
    (lambda a, b: 2 * a - b / 4, (sharp, rough)),
    (lambda a, b: (a * b).sum(axis=0) - b.sum(axis=(0,)) * 3, (rough, sharp)),
]


def ratios(operation: Operation, makes: Makes) -> list[Fraction]:
    """Return errors in units of their bounds, over many samples; -1 for an error at bound 0."""
    draw = np.random.default_rng(0)
    result = []
    for _ in range(SAMPLES):
        operands = [make(draw) for make in makes]
        got = operation(*(operand.held for operand in operands))
        truth = operation(*(operand.meant for operand in operands))
        for value, bound, meant in zip(
            got.values.ravel(), got.bound.ravel(), np.ravel(truth), strict=True
        ):
            error = abs(Fraction(float(value)) - meant)
            allowed = Fraction(float(bound)) * BOUND_ROUNDED
            result.append(error / allowed if allowed else Fraction(-1 if error else 0))
    return result


def holds(found: list[Fraction]) -> bool:
    return all(0 <= ratio <= 1 for ratio in found)


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "makes"), CASES)
def test_errors_fill_the_bound_and_stay_within_it(operation: Operation, makes: Makes) -> None:
    errors = ratios(operation, makes)
    assert holds(errors)
    assert max(errors) > Fraction(1, 2)


@pytest.mark.parametrize(
    ("name", "without", "operation", "makes"),
    [
        ("ROUNDING", 0.0, MULTIPLY, (sharp, sharp)),
        ("ROUNDING", 0.0, DIVIDE, (sharp, nonzero(whole))),
        ("ROUNDING", 0.0, MATMUL, (sharp, sharp)),
        ("ROUNDING", 0.0, add_up, (sharp,)),
        ("ARITHMETIC", 0.0, ADD, (sharp, computed)),
        ("_lost", lambda *_: 0.0, ADD, (sharp, sharp)),
        ("_times", lambda *_: 0.0, MULTIPLY, (rough, sharp)),
        ("_times", lambda *_: 0.0, MULTIPLY, (sharp, rough)),
        ("_times", lambda *_: 0.0, DIVIDE, (sharp, nonzero(computed))),
        ("_operand", lambda other: (other.values, 0.0), ADD, (sharp, rough)),
        ("_operand", lambda other: (other.values, 0.0), MULTIPLY, (sharp, rough)),
    ],
)
def test_every_term_of_the_bound_is_needed(
    name: str, without: Any, operation: Operation, makes: Makes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, name, without)
    assert not holds(ratios(operation, makes))


def test_the_product_of_both_errors_counts() -> None:
    """The values are small compared with their bounds."""
    draw = np.random.default_rng(1)
    values = numbers(draw) * 2.0**-30
    bound = np.full(SHAPE, 0.5)
    product = answer(values, bound) * answer(values, bound)
    assert np.all(product.bound >= 0.25)
    assert np.all(product.bound < 0.26)


@pytest.mark.parametrize("other", [Exact(np.array([1.0, -3.0])), np.array([1, -3]), 3])
def test_whole_and_exact_numbers_add_nothing(other: Any) -> None:
    """These numbers have few bits, so that no sum is rounded."""
    values, bound = np.array([0.75, 2.0]), np.array([2.0**-9, 0.0])
    for result in (answer(values, bound) + other, answer(values, bound) - other):
        np.testing.assert_array_equal(result.bound, bound)
    np.testing.assert_array_equal((other - answer(values, 0.0)).bound, 0.0)


def test_powers_of_two_only_scale_the_bound() -> None:
    operand = answer(numbers(np.random.default_rng(2)), 2.0**-20)
    for result in (operand / 4, operand * Exact(0.25), Exact(-0.25) * operand):
        np.testing.assert_array_equal(result.bound, 2.0**-22)
    factors = np.array([[0.0, 1.0], [-2.0, 0.5]])
    np.testing.assert_array_equal((operand * Exact(factors)).bound, np.abs(factors) * 2.0**-20)
    rounded = operand * Exact(np.array([[0.0, 1.0], [-2.0, 3.0]]))
    assert rounded.bound[1, 1] > 3 * 2.0**-20


def test_a_matrix_product_is_rounded_once_for_each_term_of_a_sum() -> None:
    row, column = answer(np.full((1, 8), 3.0), 0.0), answer(np.full((8, 2), 5.0), 0.0)
    np.testing.assert_array_equal((row @ column).bound, np.full((1, 2), 8 * 2.0**-53 * 120))
    outer = answer(np.full((8, 1), 3.0), 0.0) @ answer(np.full((1, 2), 5.0), 0.0)
    np.testing.assert_array_equal(outer.bound, np.full((8, 2), 2.0**-53 * 15))


def test_moving_a_value_moves_its_bound() -> None:
    values = np.arange(1.0, 25.0).reshape(2, 3, 4)
    operand = answer(values, values / 64)
    mask = values % 2 == 0
    for result in (
        operand.moved(0, -1),
        operand.swapped(1, 2),
        operand[:, ::-1],
        operand.where(mask),
        -operand,
        operand.positive(),
    ):
        np.testing.assert_array_equal(np.abs(result.values), 64 * result.bound)
    assert np.all((-operand).positive().values == 0)
    np.testing.assert_array_equal((-operand).positive().bound, operand.bound)
    assert np.count_nonzero(operand.where(mask).values) == np.count_nonzero(mask)


def test_an_additional_allowance_is_added() -> None:
    operand = answer([1.0, 2.0], [0.25, 0.0]).allowing(np.array([0.5, 0.125]))
    np.testing.assert_array_equal(operand.values, [1.0, 2.0])
    np.testing.assert_array_equal(operand.bound, [0.75, 0.125])


def test_an_infinite_bound_stays_where_it_is() -> None:
    """An infinite bound stays infinite even at a value of 0; only an exact factor 0 removes it."""
    operand = answer([0.0, 2.0], [np.inf, 0.25])
    for result in (operand + 1, operand * 3, operand - operand, operand / 3, operand * operand):
        assert np.isinf(result.bound[0])
        assert np.isfinite(result.bound[1])
    np.testing.assert_array_equal((operand * 0).bound, 0.0)
    assert np.isinf(operand.sum(axis=0).bound)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_and_infinity_do_not_widen_their_own_bound(wrong: float) -> None:
    operand = answer([wrong, 1.0], 2.0**-10)
    with np.errstate(invalid="ignore"):
        for result in (
            operand + 1,
            operand - Exact(np.array([0.1, 0.2])),
            operand * 3,
            operand * answer([0.1, 0.3], 2.0**-10),
            operand / 3,
            operand.sum(axis=0, keepdims=True),
        ):
            assert np.all(result.bound < 1)
            assert not np.isfinite(result.values[0])


def test_nan_and_infinity_are_wrong_at_any_bound() -> None:
    error, bound = np.array([np.nan, np.nan, np.inf, 0.0, 1.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(error_ratio(error, bound), [np.inf, np.inf, np.inf, 0.0, np.inf])


def test_the_first_answer_is_blamed() -> None:
    left, other = answer([1.0], 0.0), answer([2.0], 0.0)
    for result in (2 * left - other, Exact(3.0) - left + other, left * other, left[:1].sum(axis=0)):
        assert result.case is left.case
        assert result.output is left.output


def test_arguments_are_known_exactly() -> None:
    values = np.array([0.1, 0.3])
    case: Any = SimpleNamespace(arguments={"q": values})
    operand = Answer(case, values, values, np.full(2, 0.25))
    np.testing.assert_array_equal(operand.given("q").values, values)
    np.testing.assert_array_equal(operand.given("q").bound, 0.0)
    np.testing.assert_array_equal(operand.known([3, 4]).bound, 0.0)


def test_an_uncertain_divisor_widens_the_bound() -> None:
    """1 within 1/4 divided by 1 within 1/2 may be 5/4 divided by 1/2."""
    quotient = answer([1.0], 0.25) / answer([1.0], 0.5)
    assert quotient.bound[0] == pytest.approx(1.5, rel=1e-12)
