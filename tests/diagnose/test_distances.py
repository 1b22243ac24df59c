"""Right formula, wrong distance: it is recovered from the values of a bias."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.distances import describe_distances
from posenc_conformance.judge.arrays import Array, Floats, fine
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes

Distance = Callable[[Array, Array, int], Array]


def case_of(call: str, combination: str, **given: Any) -> Case:
    scheme = next(candidate for candidate in schemes() if call in candidate.calls)
    definition = scheme.calls[call]
    return Case(
        scheme, definition, definition.combinations[combination].conventions, given, "float64"
    )


def t5(q_len: int = 5, k_len: int = 20) -> Case:
    """Return a bias from a table of three heads, with keys on both sides."""
    arguments = {"table": fine((32, 3)), "max_distance": 128}
    return case_of("t5_bias", "bidirectional", **arguments, q_len=q_len, k_len=k_len)


def alibi(q_len: int = 5, k_len: int = 20, form: str = "symmetric") -> Case:
    """Return a bias from the slopes of three heads."""
    return case_of("alibi_bias", form, heads=3, q_len=q_len, k_len=k_len)


DISTANCES: list[tuple[Distance, str]] = [
    (lambda query, key, before: key - query, "queries stand at 0, 1, 2"),
    (lambda query, key, before: key - query - 2 * before, "counted twice"),
    (lambda query, key, before: key - query - before - 2, "every query stands 2 later"),
    (lambda query, key, before: -np.abs(key - query - before), "keys after the query get the bias"),
    (
        lambda query, key, before: key // 16 * 16 - query - before,
        "every key gets the bias of the first one in its tile of 16",
    ),
    (lambda query, key, before: key % 16 - query - before, "at its place in the first tile of 16"),
    (
        lambda query, key, before: key // 8 * 8 - query // 8 * 8 - before,
        "every query and every key gets the bias of the first one in its tile of 8",
    ),
    (lambda query, key, before: np.clip(key - query - before, -7, 7), "distances are clipped to 7"),
]


def moved(case: Case, distance: Distance) -> Floats:
    """Return the bias at other distances, for a case of any size."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    far = distance(np.arange(q_len)[:, None], np.arange(k_len), k_len - q_len)
    out = 3 * int(np.abs(far).max()) + 1
    wide = case.with_arguments(q_len=out, k_len=2 * out - 1)
    return np.asarray(wide.truth[:, 0][:, far + out - 1])


@pytest.mark.parametrize(("distance", "words"), DISTANCES)
def test_the_distances_used_are_described(distance: Distance, words: str) -> None:
    cases = [t5(), t5(3, 9), t5(20, 20)]
    wrong = [(case, moved(case, distance)) for case in cases]
    differing = [(case, out) for case, out in wrong if not np.array_equal(out, case.truth)]
    assert words in describe_distances(differing, [])


def test_a_right_answer_refutes_a_distance() -> None:
    case, other = t5(), t5(2, 30)
    wrong = case, moved(case, lambda query, key, before: key - query)
    assert describe_distances([wrong], []) != ""
    assert describe_distances([wrong], [(other, other.truth)]) == ""


@pytest.mark.parametrize("case", [t5(), alibi(), alibi(form="causal")])
def test_no_distance_is_described_for_another_error(case: Case) -> None:
    assert describe_distances([(case, case.truth + 1)], []) == ""
    assert describe_distances([(case, np.zeros(case.shape))], []) == ""
    assert describe_distances([], []) == ""


def test_values_that_a_mask_hides_are_not_needed() -> None:
    case = alibi(form="causal")
    far = np.arange(20) - np.arange(5)[:, None] - 30
    slope = -case.truth[:, -1, 0] / 19
    output = np.where(case.judged, slope[:, None, None] * far, 7.0)
    assert "counted twice" in describe_distances([(case, output)], [])
