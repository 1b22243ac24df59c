"""Right formula, wrong arguments or places: what becomes of both is read from results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.given import describe_given
from posenc_conformance.diagnose.places import describe_places
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.judge.arrays import Array, Floats, fine, round_to
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes

Answer = tuple[Case, Floats]
Given = dict[str, Any]
PLACES = np.array([[5, 6, 7, 8], [5, 5, 6, 6], [9, 10, 9, 10]])


def case_of(call: str, combination: str, **given: Any) -> Case:
    """A call in float64."""
    scheme = next(each for each in schemes() if call in each.calls)
    known = scheme.calls[call]
    conventions = known.combinations[combination].conventions
    dtype = "float64" if known.dtype not in ("integer", "boolean") else known.dtype
    return Case(scheme, known, conventions, given, dtype)


def multimodal() -> Case:
    """Rows with a time, a height and a width."""
    sections = np.array([2, 3, 3])
    given = {"x": fine((2, 4, 16)), "positions": PLACES, "sections": sections, "base": 10000.0}
    return case_of("m_rope", "qwen2-vl", **given)


def alibi(heads: int = 8, q_len: int = 3) -> Case:
    """A causal bias of the last queries."""
    return case_of("alibi_bias", "causal", heads=heads, q_len=q_len, k_len=9)


def t5() -> Case:
    """A bias from a table of four heads."""
    table = fine((32, 4))
    return case_of("t5_bias", "bidirectional", table=table, q_len=3, k_len=9, max_distance=128)


def gradient() -> Case:
    """The gradient of slopes, of queries behind a cache."""
    return case_of("alibi_bias_vjp", "causal", gradient=fine((3, 2, 5)))


def result_of(case: Case, **given: Any) -> Floats:
    """The true result of other arguments."""
    return case.with_arguments(**given).truth


@pytest.mark.parametrize(
    ("case", "given", "words"),
    [
        (multimodal(), {"positions": PLACES.reshape(4, 3).T}, "positions is read as if its axes"),
        (multimodal(), {"positions": np.tile(np.arange(4), (3, 1))}, "positions is not read: 0, 1"),
        (multimodal(), {"sections": np.array([3, 3, 2])}, "sections is read in reverse"),
        (multimodal(), {"x": round_to(fine((2, 4, 16)), "bfloat16")}, "x is rounded to bfloat16"),
        (multimodal(), {"positions": PLACES[[0, 0, 0]]}, "at its first place along its axis"),
        (
            t5(),
            {"table": np.roll(fine((32, 4)), -1, axis=1)},
            "one place early along its axis of",
        ),
    ],
)
def test_what_becomes_of_an_argument_is_told(case: Case, given: Given, words: str) -> None:
    assert words in describe_given([(case, result_of(case, **given))], [])


def test_queries_of_a_gradient_that_stand_at_the_first_keys() -> None:
    case = gradient()
    moved = np.pad(case.arguments["gradient"], ((0, 0), (0, 3), (0, 0)))
    assert "queries stand at 0, 1" in describe_given([(case, result_of(case, gradient=moved))], [])


def test_two_arguments_that_are_exchanged() -> None:
    q, k = fine((2, 4, 8)), fine((2, 4, 8), 5)
    case = case_of("rope_query_key", "query-key-half", q=q, k=k, positions=np.arange(4), base=1e4)
    assert describe_given([(case, result_of(case, q=k, k=q))], []) == "q and k are exchanged"


def test_what_a_right_answer_refutes_is_not_told() -> None:
    case = multimodal()
    wrong = case, result_of(case, sections=np.array([3, 3, 2]))
    other = case.with_arguments(sections=np.array([4, 3, 1]))
    assert describe_given([wrong], []) != ""
    assert describe_given([wrong], [(other, other.truth)]) == ""


def test_nothing_is_told_of_what_nothing_explains() -> None:
    case = multimodal()
    output = case.truth + 1
    assert describe_given([(case, output)], []) == ""
    assert describe_places([(case, output)]) == ""


@pytest.mark.parametrize(
    ("case", "take", "words"),
    [
        (alibi(), lambda heads: heads // 2 * 2, "every head has what the first of each 2 should"),
        (alibi(), lambda heads: heads % 4, "every head has what one of the first 4, again and aga"),
        (alibi(), lambda heads: heads[::-1], "mirror image"),
        (alibi(), lambda heads: np.roll(heads, -1), "every head has what the next one should"),
        (alibi(), lambda heads: 0 * heads, "every head has what the first one should"),
        (alibi(), lambda heads: np.where(heads == 5, 2, heads), "head 5 has what head 2 should"),
        (t5(), lambda heads: np.array([1, 0, 3, 2]), "heads 0, 1, 2, 3 have what heads 1, 0, 3, 2"),
    ],
)
def test_places_that_have_what_others_should_are_told(
    case: Case, take: Callable[[Array], Array], words: str
) -> None:
    output = case.truth[take(np.arange(len(case.truth)))]
    assert words in describe_places([(case, output)])


def test_keys_that_have_what_the_first_of_their_tile_should() -> None:
    case = t5()
    output = np.asarray(case.truth[..., np.arange(9) // 4 * 4])
    assert describe_places([(case, output)]) == "every key has what the first of each 4 should"


def test_places_of_zeros_are_not_told() -> None:
    case = alibi()
    assert describe_places([(case, np.zeros(case.shape))]) == ""


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([0, 1, 2], "by their numbers"),
        ([14, 15, 16], "counted twice"),
        ([8, 9, 10], "every row stands 1 later than it should"),
        ([7, 8, 7], "rows stand at 7; asked for 9"),
    ],
)
def test_ids_are_told_as_positions(ids: list[int], words: str) -> None:
    case = case_of("cached_position_ids", "from-zero", past_length=7, q_len=3)
    assert words in describe_rows([(case, np.array(ids, float))])


def test_what_some_calls_do_alone_is_told_of_them() -> None:
    case = case_of("cached_position_ids", "from-zero", past_length=7, q_len=3)
    other = case.with_arguments(q_len=2)
    said = describe_rows([(case, np.array([0.0, 1, 2]))], [(other, other.truth)])
    assert said.startswith("in 1 of 2 small calls, ")
    assert said.endswith("others are right")
