"""The text about a wrong result: where, expected, got, and by how much."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.diagnose.diagnosis import residual_of
from posenc_conformance.diagnose.explain import comparison_lines, place, require_agreement
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.verdict import Wrong
from posenc_lab.judging import schemes


def case_of(scheme_id: str, call_id: str, combination: str, **arguments: Any) -> Case:
    scheme = next(candidate for candidate in schemes() if candidate.id == scheme_id)
    call = scheme.calls[call_id]
    return Case(scheme, call, call.combinations[combination].conventions, arguments, "float64")


def rope(positions: Any = (5, 9)) -> Case:
    inputs = {"x": np.ones((3, len(positions), 4)), "positions": np.array(positions), "base": 1e4}
    return case_of("rope", "rope", "half", **inputs)


def alibi(form: str = "causal") -> Case:
    return case_of("alibi", "alibi_bias", form, heads=2, q_len=2, k_len=3)


def lines(case: Case, output: Any) -> dict[str, str]:
    shown = comparison_lines(case, compare(case, output))
    return {line.split()[0]: line.partition(" ")[2].strip() for line in shown}


def test_the_worst_value_is_shown_with_its_bound() -> None:
    case = rope()
    output = case.truth.copy()
    output[1, 1, 3] += 8 * case.bound[1, 1, 3]
    output[2, 0, 0] += 2 * case.bound[2, 0, 0]
    shown = lines(case, output)
    assert shown["where"] == "leading index (1,), position 9, channel 3"
    assert float(shown["expected"]) == case.truth[1, 1, 3]
    assert "8 times the bound" in shown["error"]
    assert shown["wrong"] == "2 of 24 values looked at"


def test_an_exact_value_is_reported_as_such() -> None:
    inputs = {"relative_position": np.array([-7, 3]), "num_buckets": 32, "max_distance": 128}
    scheme = next(candidate for candidate in schemes() if candidate.id == "t5-bias")
    call = scheme.calls["t5_bucket"]
    case = Case(scheme, call, next(iter(call.combinations.values())).conventions, inputs, "integer")
    shown = lines(case, case.truth + np.array([1, 0]))
    assert shown["where"] == "distance -7"
    assert "exact" in shown["error"]


def test_places_are_named_in_the_words_of_the_scheme() -> None:
    assert place(alibi(), (1, 0, 2)) == "head 1, query 0, key 2"
    assert place(rope(), (0, 0, 2)) == "leading index (0,), position 5, channel 2"


def test_a_right_result_has_its_worst_ratio_and_a_wrong_one_raises() -> None:
    case = rope()
    assert require_agreement(None, case, case.truth, "a check").worst == 0
    with pytest.raises(Wrong) as raised:
        require_agreement(None, case, case.with_arguments(base=500.0).truth, "a check")
    assert raised.value.case is case
    assert [id for id, _ in raised.value.outcome.explanations] == ["wrong-base"]
    assert "base 500" in raised.value.text.splitlines()[0]
    assert raised.value.text.endswith("posenc explain rope wrong-base")
    with pytest.raises(Wrong, match="see        elsewhere"):
        require_agreement(None, case, 2 * case.truth, "a check", page="elsewhere")


def test_the_result_is_explained_as_it_was_returned() -> None:
    """Explaining calls the implementation again, which may overwrite its result."""

    class OneBuffer:
        buffer = np.zeros(2**16)

        @claims("half", dtype="float64")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            result = posenc.rope(x, positions, base=500.0, layout="half")
            out = self.buffer[: result.size].reshape(result.shape)
            out[...] = result
            return out

    (subject,) = subjects(OneBuffer(), schemes())
    case = rope()
    with pytest.raises(Wrong) as raised:
        require_agreement(subject, case, subject.run(case), "a check")
    assert [id for id, _ in raised.value.outcome.explanations] == ["wrong-base"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_result_of_any_dtype_is_explained(dtype: str) -> None:
    case = replace(rope(), dtype=dtype)
    output = np.asarray(case.with_arguments(base=500.0).truth).astype(DTYPES[dtype])
    with pytest.raises(Wrong) as raised:
        require_agreement(None, case, output, "a check")
    assert [id for id, _ in raised.value.outcome.explanations] == ["wrong-base"]


def test_residuals_are_in_units_of_the_bound() -> None:
    case = rope()
    model = np.asarray(case.truth)
    assert residual_of(case, model, model) == 0
    off = model.copy()
    off[0, 0, 0] += 3 * case.bound[0, 0, 0]
    assert residual_of(case, off, model) == pytest.approx(3, rel=0.01)


def test_rounding_a_model_that_is_larger_than_the_truth_is_allowed_more() -> None:
    case = rope()
    large = 1000 * case.truth
    rounding = case.scheme.accuracy.rounding * 2.0**-53 * np.abs(large)
    assert residual_of(case, large + rounding, large) == pytest.approx(1, rel=0.2)
    assert residual_of(case, large + 2 * rounding, large) == pytest.approx(2, rel=0.2)


def test_values_that_a_mask_hides_make_no_difference() -> None:
    case = alibi()
    truth = np.asarray(case.truth)
    assert np.isinf(truth).any()
    assert residual_of(case, truth, truth) == 0
    hidden = np.where(np.isinf(truth), 0.0, truth)
    assert residual_of(case, hidden, truth) == 0
    assert residual_of(case, 1000 * hidden * (1 + 2.0**-51), 1000 * truth) < 2
    assert residual_of(case, hidden - 1, truth) > 1e6
