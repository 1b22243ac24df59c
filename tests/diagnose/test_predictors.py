"""Building blocks of models of mistakes."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.predictors import (
    apply_constant,
    bases,
    iterated,
    negated_positions,
    other_base,
    predict_case,
    rounded_angles,
    rounded_base,
    shifted_positions,
)
from posenc_conformance.judge.arrays import DTYPES, fine
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes


def rope(positions: Any = (0, 1, 2), base: float = 10000.0) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    arguments = {"x": fine((len(positions), 4)) + 1, "positions": np.array(positions), "base": base}
    return Case(scheme, call, call.combinations["half"].conventions, arguments, "float64")


@pytest.mark.parametrize("base", [100, 1000, 1e4, 1e5, 5e5, 1e6, 1e7, 1e8])
def test_bases_in_common_use_are_tried(base: float) -> None:
    case = rope(base=432.0)
    models = [guess for guess in other_base(case, case.truth) if guess.constant == ("base", base)]
    (model,) = models
    assert np.array_equal(model.output, case.with_arguments(base=base).truth)
    assert model.of is not None
    assert model.of.arguments["base"] == base
    assert not [e for e in other_base(rope(base=base), case.truth) if e.constant == ("base", base)]


def test_an_estimated_base_is_tried_first_and_also_as_a_share() -> None:
    first, second, *_ = bases(rope(), 123.0)
    assert first.constant == ("base", 123.0)
    assert second.constant == ("share", 0.0123)
    assert np.array_equal(first.output, second.output)


@pytest.mark.parametrize(
    ("estimate", "shifts"),
    [
        (5.2, [5, 1, -1, 2, -2]),
        (0.2, [1, -1, 2, -2]),
        (-1.0, [-1, 1, 2, -2]),
        (9999.0, [9999, 1, -1, 2, -2]),
        (10_000.0, [1, -1, 2, -2]),
        (-10_000.0, [1, -1, 2, -2]),
        (np.nan, [1, -1, 2, -2]),
        (np.inf, [1, -1, 2, -2]),
    ],
)
def test_shifts_are_as_estimated_or_by_one_or_two(estimate: float, shifts: list[int]) -> None:
    case = rope()
    models = list(shifted_positions(case, estimate))
    assert [model.constant for model in models] == [("shift", shift) for shift in shifts]
    moved = case.with_arguments(positions=case.arguments["positions"] + shifts[0]).truth
    assert np.array_equal(models[0].output, moved)


def test_a_sign_shows_at_positions_other_than_0() -> None:
    case = rope()
    (model,) = negated_positions(case, case.truth)
    assert np.array_equal(
        model.output, case.with_arguments(positions=-case.arguments["positions"]).truth
    )
    assert list(negated_positions(rope([0, 0, 0]), case.truth)) == []


def test_estimated_constants_are_applied_to_other_calls() -> None:
    case = rope(base=500.0)
    for constant, change in (
        (("base", 7.0), {"base": 7.0}),
        (("share", 2.0), {"base": 1000.0}),
        (("shift", 2.0), {"positions": case.arguments["positions"] + 2}),
    ):
        other = apply_constant(case, constant)
        assert other is not None
        assert np.array_equal(other.truth, case.with_arguments(**change).truth)
    assert apply_constant(case, ("factor", 2.0)) is None
    assert apply_constant(case, ("base", -1.0)) is None


def test_a_call_without_a_result_gives_no_model() -> None:
    case = rope()
    assert list(predict_case(case.with_arguments(base=-1.0), "x")) == []
    (model,) = predict_case(case, "x", ("base", 1.0))
    assert model.output is case.truth
    assert model.constant == ("base", 1.0)


@pytest.mark.parametrize(
    ("estimate", "base"),
    [
        (9999.9, 10000.0),
        (10_005.0, 10_000.0),
        (10_020.0, 10_020.0),
        (499_900.0, 500_000.0),
        (123.456, 123.46),
        (1.01, 1.01),
        (1.02, 1.0200),
        (1.009, None),
        (-5.0, None),
        (np.inf, None),
        (np.nan, None),
    ],
)
def test_a_base_is_rounded_to_one_that_people_write(estimate: float, base: float | None) -> None:
    assert rounded_base(estimate) == base


def held(values: Any, dtype: str) -> Any:
    return np.asarray(values).astype(DTYPES[dtype]).astype(np.float64)


def test_angles_held_in_narrow_dtypes() -> None:
    places, omega = np.array([[3.3], [1001.7]]), np.array([1.0, 0.123456, 0.001234])
    for dtype in ("bfloat16", "float16"):
        p, w = held(places, dtype), held(omega, dtype)
        by_log = held(np.exp(held(np.log(omega), dtype)), dtype)
        outputs = {
            model.explanation.removeprefix("matches "): model.output
            for model in rounded_angles(places, omega, lambda angles: angles)
        }
        expected = {
            "positions": p * omega,
            "frequencies": places * w,
            "angles": held(places * omega, dtype),
            "positions and frequencies": p * w,
            "positions, frequencies and angles": held(p * w, dtype),
            "frequencies and their logarithms": places * by_log,
            "positions, frequencies, their logarithms and angles": held(p * by_log, dtype),
        }
        for name, angles in expected.items():
            assert np.array_equal(outputs[f"{name} in {dtype}"], angles), name
    assert len(outputs) == 14


@pytest.mark.parametrize(("largest", "models"), [(65504.0, 14), (-65504.0, 14), (65505.0, 7)])
def test_positions_beyond_float16_are_not_modelled_in_it(largest: float, models: int) -> None:
    places = np.array([[0.0], [largest]])
    assert len(list(rounded_angles(places, np.ones(1), lambda angles: angles))) == models
    assert list(rounded_angles(np.zeros((0, 1)), np.ones(1), lambda angles: angles))


def test_frequencies_computed_from_each_other() -> None:
    omega, places = 10000.0 ** (-np.arange(4) / 4), np.array([[0.0], [1.0], [777.0]])
    angles, frequencies, kept = iterated(places, omega, lambda frequency: frequency)
    for model in (angles, frequencies, kept):
        assert np.allclose(model.output, places * omega, rtol=1e-6)
        assert not np.array_equal(model.output, places * omega)
    ratio, frequency = np.float32(omega[1] / omega[0]), np.float32(omega[0])
    by_hand = []
    for _ in omega:
        by_hand.append(np.float32(777) * frequency)
        frequency = np.float32(frequency * ratio)
    assert frequencies.output[2].tolist() == [float(frequency) for frequency in by_hand]
    assert list(iterated(places, omega[:1], lambda frequency: frequency)) == []
    assert len(list(iterated(places, omega[:2], lambda frequency: frequency))) == 3
