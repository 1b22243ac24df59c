"""Which models of mistakes a result is compared with, and what they leave."""

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
    """A call of which a few values are printed."""
    scheme = next(each for each in schemes() if each.id == scheme_id)
    (found,) = (each for each in scheme.goldens if each.id == golden_id)
    return golden_case(scheme, found, "float64")


def ids(*arguments: Any) -> set[str]:
    return {fit.deviation for fit in find_fits(*arguments)}


def test_the_whole_result_is_explained_where_a_part_is_printed() -> None:
    """Halved exponents are another base; what is not printed may say that it is neither."""
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


def test_special_mistakes_are_compared_with_what_is_printed_alone() -> None:
    """As of a bias what its mask hides is no difference."""
    case = golden("rope", "interleaved-head64-4k")
    seen = np.isfinite(case.truth)
    twice = 2 * np.asarray(case.with_fields().truth)
    output = np.where(seen, twice, 0.0)
    special = {"doubled": lambda case, got: iter([Prediction("is doubled", twice)])}
    assert ids(case, output, special) == {"doubled"}
    assert ids(case.with_fields(), output, special) == set()


def test_what_a_model_does_not_say_of_hidden_values_is_no_difference() -> None:
    case = golden("rope", "interleaved-head64-4k")
    model = np.where(np.isfinite(case.truth), 2 * case.truth, np.nan)
    assert residual_of(case, 2 * np.asarray(case.with_fields().truth), model) <= 1
    assert residual_of(case, 3 * np.asarray(case.with_fields().truth), model) > 1


@pytest.mark.parametrize(("rows", "found"), [(64, True), (65, False)])
def test_pairs_are_looked_for_in_results_of_few_values(rows: int, found: bool) -> None:
    """Another base, turned backwards: 512 values are few, 520 are not."""
    scheme = next(each for each in schemes() if each.id == "rope")
    call = scheme.calls["rope"]
    positions = np.arange(rows)
    given = {"x": fine((rows, 8)) + 1, "positions": positions, "base": 10000.0}
    case = Case(scheme, call, call.combinations["half"].conventions, given, "float64")
    other = case.with_arguments(base=500000.0, positions=-positions)
    right, output = ids(case, np.asarray(case.with_arguments(base=500000.0).truth)), other.truth
    assert right == {"wrong-base"}
    assert ids(case, np.asarray(output)) == ({"sign-flipped+wrong-base"} if found else set())
