"""Numbers with which a call is varied: claimed ones for which the call has a result."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.variations import twins, with_other_numbers
from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes


def asked(factor: float, *others: float) -> tuple[Subject, Case]:
    """Return a subject that claims ``factor`` and ``others``, and its case with ``factor``."""

    class Interpolating:
        @claims("half", base=10000.0, dtype="float64", factor=[factor, *others])
        def position_interpolation(
            self, x: Array, positions: Array, *, factor: float, layout: str
        ) -> Array:
            result: Array = posenc.position_interpolation(
                x, positions, factor=factor, layout=layout
            )
            return result

    (subject,) = subjects(Interpolating(), schemes())
    inputs = {"x": fine((3, 4)) + 1, "positions": np.arange(3), "base": 10000.0, "factor": factor}
    return subject, subject.case(inputs, "float64")


def factors(factor: float, *others: float) -> set[float]:
    variations = twins(*asked(factor, *others))
    return {variation.arguments["factor"] for variation in variations} - {factor}


@pytest.mark.parametrize("power", [1, 2, 8, -1, -2, -4])
def test_another_number_is_searched_for_in_steps_up_and_down(power: int) -> None:
    other = 4 * 1.37**power if power > 0 else 4 / 1.37**-power
    assert factors(4.0, other) == {other}


def test_a_large_number_is_divided_first() -> None:
    assert factors(30.0, 30 / 7, 30 * 1.37) == {30 / 7}
    assert factors(16.0, 16 / 7) == set()
    assert factors(17.0, 17 / 7) == {17 / 7}


def test_steps_end_somewhere() -> None:
    assert factors(4.0, 4 * 1.37**9) == set()


def test_unclaimed_numbers_are_not_tried() -> None:
    assert factors(4.0) == set()
    assert factors(4.0, 5.0, 6.1) == set()


def test_numbers_above_1_come_first() -> None:
    assert factors(2.0, 2 / 1.37**3, 2 * 1.37**5) == {2 * 1.37**5}


def test_the_opening_call_has_other_numbers() -> None:
    subject, case = asked(4.0, 4 * 1.37)
    other = with_other_numbers(subject, case)
    assert other.arguments["factor"] == 4 * 1.37
    assert other.shape == case.shape
    subject, case = asked(4.0)
    assert with_other_numbers(subject, case) is case


@dataclass
class Answered:
    """The fields of a case that decide whether it has a result."""

    given: Array | type[Exception]
    dtype: str
    shape: tuple[int, ...]
    has_result: ClassVar[Any] = Case.has_result

    @property
    def truth(self) -> Array:
        """Return the result. Raises the exception that the definition raises instead of one."""
        if isinstance(self.given, type):
            raise self.given
        return self.given


def found(values: Any, dtype: str, shape: tuple[int, ...] | None = None) -> bool:
    """Return whether these values count as the result of a call."""
    truth = np.array(values, np.float64)
    return bool(Answered(truth, dtype, truth.shape if shape is None else shape).has_result)


@pytest.mark.parametrize(
    ("largest", "dtype", "held"),
    [
        (65504.0, "float16", True),
        (-65504.0, "float16", True),
        (65505.0, "float16", False),
        (-65505.0, "float16", False),
        (65505.0, "bfloat16", True),
        (3.5e38, "float32", False),
        (3.5e38, "float64", True),
        (1e300, "integer", True),
    ],
)
def test_a_result_must_fit_its_dtype(largest: float, dtype: str, held: bool) -> None:
    assert found([0.0, largest], dtype) == held
    assert found([largest, -np.inf, np.nan], dtype) == held  # hidden values do not count


def test_a_result_must_have_its_shape() -> None:
    assert found([], "float32")
    assert not found([1.0], "float32", shape=(1, 1))


@pytest.mark.parametrize("reason", [TypeError, ValueError, IndexError])
def test_a_call_that_the_definition_refuses_has_no_result(reason: type[Exception]) -> None:
    assert not Answered(reason, "float32", ()).has_result
