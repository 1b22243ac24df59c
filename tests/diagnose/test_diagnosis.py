"""Models of mistakes with which a result is compared, and their residuals."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.checks.golden import golden_case
from posenc_conformance.diagnose.diagnosis import find_fits, residual_of
from posenc_conformance.judge.arrays import fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_lab.judging import schemes


def golden(scheme_id: str, golden_id: str) -> Case:
    """Return the case of a golden that prints only a few values."""
    scheme = next(candidate for candidate in schemes() if candidate.id == scheme_id)
    (entry,) = (candidate for candidate in scheme.goldens if candidate.id == golden_id)
    return golden_case(scheme, entry, "float64")


def ids(*arguments: Any) -> set[str]:
    return {fit.deviation for fit in find_fits(*arguments)}


def test_the_whole_result_is_explained_even_if_only_a_part_is_printed() -> None:
    """Halved exponents equal another base; values that are not printed may refute both."""
    case = golden("rope", "interleaved-head64-4k")
    whole = case.with_fields()
    exponents = np.arange(32) / 64
    angles = np.outer(whole.arguments["positions"], whole.arguments["base"] ** -exponents)
    cos, sin = np.cos(angles), np.sin(angles)
    x, output = whole.arguments["x"], np.empty(whole.shape)
    output[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    output[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    assert next(fit.deviation for fit in find_fits(case, output)) == "exponent-halved"
    assert ids(case, output) == {"exponent-halved", "wrong-base"}
    output[~np.isfinite(case.truth)] += 1
    assert not ids(case, output)


def test_special_mistakes_are_compared_with_printed_values_only() -> None:
    """Likewise, the values that a mask hides in a bias make no difference."""
    case = golden("rope", "interleaved-head64-4k")
    seen = np.isfinite(case.truth)
    twice = 2 * np.asarray(case.with_fields().truth)
    output = np.where(seen, twice, 0.0)
    special = {"doubled": lambda case, got: iter([Prediction("is doubled", twice)])}
    assert ids(case, output, special) == {"doubled"}
    assert ids(case.with_fields(), output, special) == set()


def test_hidden_values_missing_in_a_model_make_no_difference() -> None:
    case = golden("rope", "interleaved-head64-4k")
    model = np.where(np.isfinite(case.truth), 2 * case.truth, np.nan)
    assert residual_of(case, 2 * np.asarray(case.with_fields().truth), model) <= 1
    assert residual_of(case, 3 * np.asarray(case.with_fields().truth), model) > 1


@pytest.mark.parametrize(("rows", "found"), [(64, True), (65, False)])
def test_pairs_of_mistakes_are_tried_only_for_few_values(rows: int, found: bool) -> None:
    """Another base, rotated backwards: 512 values count as few, 520 do not."""
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    call = scheme.calls["rope"]
    positions = np.arange(rows)
    arguments = {"x": fine((rows, 8)) + 1, "positions": positions, "base": 10000.0}
    case = Case(scheme, call, call.combinations["half"].conventions, arguments, "float64")
    other = case.with_arguments(base=500000.0, positions=-positions)
    right, output = ids(case, np.asarray(case.with_arguments(base=500000.0).truth)), other.truth
    assert right == {"wrong-base"}
    assert ids(case, np.asarray(output)) == ({"sign-flipped+wrong-base"} if found else set())
