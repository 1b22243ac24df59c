"""A case: its largest position, its inputs, and the truth that it shares."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes


def case_of(call_id: str, combination: str, dtype: str = "float64", **given: Any) -> Case:
    scheme = next(candidate for candidate in schemes() if call_id in candidate.calls)
    call = scheme.calls[call_id]
    return Case(scheme, call, call.combinations[combination].conventions, given, dtype)


def rope(positions: Any, dtype: str = "float64") -> Case:
    places = np.asarray(positions)
    x = np.ones((len(places), 4))
    return case_of("rope", "half", dtype, x=x, positions=places, base=10000.0)


@pytest.mark.parametrize(
    ("case", "largest"),
    [
        (rope([3, 1, 2]), 3),
        (rope([3, -8, 2]), 8),
        (rope(np.array([], int)), 0),
        (case_of("alibi_bias", "causal", heads=2, q_len=2, k_len=7), 6),
        (case_of("alibi_slopes", "interpolated", heads=2), 0),
        (
            case_of(
                "t5_bucket",
                "bidirectional",
                relative_position=np.array([-9, 4]),
                num_buckets=32,
                max_distance=128,
            ),
            9,
        ),
        (
            case_of(
                "rope_offsets",
                "offsets-half",
                x=np.ones((2, 1, 3, 4)),
                offsets=np.array([5, 40]),
                base=10000.0,
            ),
            42,
        ),
        (
            case_of(
                "rope_offsets",
                "offsets-half",
                x=np.ones((1, 1, 1, 4)),
                offsets=np.array([0]),
                base=10000.0,
            ),
            0,
        ),
    ],
)
def test_the_largest_position_of_a_case(case: Case, largest: int) -> None:
    assert case.largest_position == largest


def test_only_elements_with_a_bound_below_their_scale_are_judged() -> None:
    """Without a scale no error is allowed, and everything is judged."""
    case = case_of("sinusoidal", "paper", "float32", positions=np.array([0]), dim=4, base=10000.0)
    scale = float(case.terms.scale.max())
    for grain, judged in ((0.0, True), (0.9, True), (1.0, False), (1.1, False)):
        margin = scale - float(case.bound.max())
        assert replace(case, grain=grain * margin).judged.all() == judged
    exact = case_of("causal_mask", "end", "boolean", q_len=2, k_len=3)
    assert exact.judged.all()


def test_inputs_are_copies_in_the_dtype_of_the_case() -> None:
    case = rope([0, 1], "bfloat16")
    inputs = case.inputs
    assert inputs["x"].dtype.name == "bfloat16"
    assert inputs["positions"].dtype == np.int64
    inputs["positions"][0] = 9
    assert case.arguments["positions"][0] == 0


def test_a_truth_is_shared_by_cases_of_equal_values_only() -> None:
    wide, narrow, other = rope([0, 1]), rope([0, 1], "float16"), rope([0, 2])
    assert narrow.sharing_truth_of(wide).truth is wide.truth
    assert other.sharing_truth_of(wide) is other
    assert wide.sharing_truth_of(wide) is wide
    assert narrow.sharing_truth_of(wide).with_arguments(base=500.0).truth_shared_with is None
