"""The unusual calls that a check makes."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.behaviour import large_values
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes


class Bench:
    """Bench that records cases instead of running them."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.calls: list[Case] = []

    def assert_correct(self, case: Case, what: str, explain: object) -> None:
        self.calls.append(case)


def asked(call: str, name: str, first: float, rest: float) -> tuple[list[Array], Array]:
    """Return the arrays that large_values makes, and the original of ``first`` and ``rest``."""
    scheme = next(entry for entry in schemes() if call in entry.calls)
    claimed = subjects(reference_for([scheme])(), [scheme])
    subject = next(entry for entry in claimed if entry.call.name == call)
    subject = subject.without({"float64"})
    case = smallest_case(subject, "float32")
    array = np.full(case.arguments[name].shape, rest)
    array.flat[0] = first
    bench: Any = Bench(subject)
    large_values(bench, case.with_arguments(**{name: array}))
    return [entry.arguments[name] for entry in bench.calls], array


@pytest.mark.parametrize(("first", "rest"), [(-8.0, 1.0), (8.0, -1.0), (-2.0, -2.0), (4.0, 4.0)])
def test_values_are_as_large_as_a_scheme_allows_whatever_their_sign(
    first: float, rest: float
) -> None:
    (scaled,), array = asked("data_dependent_alibi_bias", "gates", first, rest)
    assert scaled == pytest.approx(80 / abs(first) * array)


def test_values_are_scaled_up_unless_all_are_zero() -> None:
    (scaled,), array = asked("rope", "x", 3.0, 1.0)
    assert np.array_equal(scaled, 2**17 * array)
    assert asked("rope", "x", 0.0, 0.0)[0] == []
