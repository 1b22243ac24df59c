"""Right formula, wrong arguments or places: both are recovered from results."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.given import describe_given
from posenc_conformance.diagnose.heads import describe_heads
from posenc_conformance.diagnose.moved_axes import describe_axes
from posenc_conformance.diagnose.places import describe_places
from posenc_conformance.diagnose.rotation_tables import describe_turning
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.diagnose.values import describe_missing, describe_values
from posenc_conformance.judge.arrays import Array, Floats, fine, round_to
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_lab.judging import schemes

Answer = tuple[Case, Floats]
Given = dict[str, Any]
PLACES = np.array([[5, 6, 7, 8], [5, 5, 6, 6], [9, 10, 9, 10]])


def case_of(call: str, combination: str, **given: Any) -> Case:
    """Return a case in float64, or in the integer or boolean dtype of its call."""
    scheme = next(candidate for candidate in schemes() if call in candidate.calls)
    definition = scheme.calls[call]
    conventions = definition.combinations[combination].conventions
    dtype = "float64" if definition.dtype not in ("integer", "boolean") else definition.dtype
    return Case(scheme, definition, conventions, given, dtype)


def multimodal() -> Case:
    """Return a case whose rows have a time, a height and a width."""
    sections = np.array([2, 3, 3])
    arguments = {"x": fine((2, 4, 16)), "positions": PLACES, "sections": sections, "base": 10000.0}
    return case_of("m_rope", "qwen2-vl", **arguments)


def alibi(heads: int = 8, q_len: int = 3) -> Case:
    """Return a case of a causal bias of the last queries."""
    return case_of("alibi_bias", "causal", heads=heads, q_len=q_len, k_len=9)


def t5() -> Case:
    """Return a case of a bias from a table of four heads."""
    table = fine((32, 4))
    return case_of("t5_bias", "bidirectional", table=table, q_len=3, k_len=9, max_distance=128)


def gradient() -> Case:
    """Return a case of the gradient of slopes, with queries after a cache."""
    return case_of("alibi_bias_vjp", "causal", gradient=fine((3, 2, 5)))


def result_of(case: Case, **given: Any) -> Floats:
    """Return the true result for other arguments."""
    return case.with_arguments(**given).truth


@pytest.mark.parametrize(
    ("case", "given", "words"),
    [
        (
            multimodal(),
            {"positions": PLACES.reshape(4, 3).T},
            "positions is read in column-major order",
        ),
        (multimodal(), {"positions": np.tile(np.arange(4), (3, 1))}, "positions is ignored: 0, 1"),
        (multimodal(), {"sections": np.array([3, 3, 2])}, "sections is read in reverse"),
        (multimodal(), {"x": round_to(fine((2, 4, 16)), "bfloat16")}, "x is rounded to bfloat16"),
        (
            multimodal(),
            {"positions": PLACES[[0, 0, 0]]},
            "the first entry of positions along the axis of length 3 is used for all entries",
        ),
        (
            t5(),
            {"table": np.roll(fine((32, 4)), -1, axis=1)},
            "each entry of table along the heads axis is replaced by the one after it",
        ),
    ],
)
def test_a_changed_argument_is_described(case: Case, given: Given, words: str) -> None:
    assert words in describe_given([(case, result_of(case, **given))], [])


def test_queries_of_a_gradient_at_the_first_keys_are_described() -> None:
    case = gradient()
    moved = np.pad(case.arguments["gradient"], ((0, 0), (0, 3), (0, 0)))
    assert "queries stand at 0, 1" in describe_given([(case, result_of(case, gradient=moved))], [])


def tiles(array: Array, size: int) -> Iterator[tuple[slice, slice]]:
    """Yield tiles of queries and keys."""
    for query in range(0, array.shape[1], size):
        for key in range(0, array.shape[2], size):
            yield slice(query, query + size), slice(key, key + size)


def corners(gradient: Array) -> Array:
    """Move the sum of each tile of 16 to its corner."""
    out = np.zeros_like(gradient)
    for query, key in tiles(gradient, 16):
        out[:, query.start, key.start] = gradient[:, query, key].sum(axis=(1, 2))
    return out


def only(gradient: Array, query: slice, key: slice) -> Array:
    """Zero everything but some queries and keys."""
    out = np.zeros_like(gradient)
    out[:, query, key] = gradient[:, query, key]
    return out


@pytest.mark.parametrize(
    ("become", "words"),
    [
        (corners, "each tile of 16 of gradient is summed into its first entry"),
        (
            lambda array: only(array, slice(None), slice(32)),
            "the last block of gradient along the k_len axis, of fewer",
        ),
        (
            lambda array: only(array, slice(16), slice(None)),
            "only the first 16 entries of gradient along the q_len axis are used",
        ),
        (
            lambda array: only(array, slice(32, None), slice(32, None)),
            "each tile overwrites the one before",
        ),
        (
            lambda array: np.pad(array[:1] + array[1:], ((0, 1), (0, 0), (0, 0))),
            "gradient is summed along the heads axis into its first entry",
        ),
    ],
)
def test_changed_summands_are_described(become: Callable[[Array], Array], words: str) -> None:
    large = case_of("alibi_bias_vjp", "symmetric", gradient=fine((2, 40, 40)))
    small = case_of("alibi_bias_vjp", "symmetric", gradient=fine((2, 3, 5)))
    wrong = large, result_of(large, gradient=become(large.arguments["gradient"]))
    assert words in describe_given([wrong], [])
    changed = small, result_of(small, gradient=become(small.arguments["gradient"]))
    if agrees(*changed):  # which a small call does not show
        assert words in describe_given([wrong], [changed])
    assert describe_given([(large, wrong[1] + 1)], []) == ""


def test_exchanged_arguments_are_described() -> None:
    q, k = fine((2, 4, 8)), fine((2, 4, 8), 5)
    case = case_of("rope_query_key", "query-key-half", q=q, k=k, positions=np.arange(4), base=1e4)
    assert describe_given([(case, result_of(case, q=k, k=q))], []) == "q and k are exchanged"


def test_a_call_without_an_argument_does_not_refute_its_change() -> None:
    arguments = {"x": fine((1, 4)), "positions": np.array([7]), "base": 1e4, "factor": 40.0}
    arguments |= {"original_max_position_embeddings": 4096}
    plain = case_of("yarn", "code-interleaved", **arguments)
    scales = plain.with_arguments(mscale=1.0, mscale_all_dim=0.707)
    scales = replace(scales, conventions={**plain.conventions, "attention": "mscale"})
    wrong = scales, result_of(scales, mscale=0.707, mscale_all_dim=1.0)
    words = "mscale and mscale_all_dim are exchanged"
    assert describe_given([wrong], [(plain, plain.truth)]) == words
    assert describe_given([wrong, (plain, plain.truth + 1)], []) == ""


def test_a_change_that_a_right_answer_refutes_is_not_described() -> None:
    case = multimodal()
    wrong = case, result_of(case, sections=np.array([3, 3, 2]))
    other = case.with_arguments(sections=np.array([4, 3, 1]))
    assert describe_given([wrong], []) != ""
    assert describe_given([wrong], [(other, other.truth)]) == ""


def test_an_unexplained_error_is_not_described() -> None:
    case = multimodal()
    output = case.truth + 1
    assert describe_given([(case, output)], []) == ""
    assert describe_places([(case, output)]) == ""


def test_a_long_result_without_a_wrong_value_has_no_rule_of_places() -> None:
    case = case_of("sinusoidal", "paper", positions=np.arange(600), dim=4, base=1e4)
    assert describe_places([(case, case.truth)]) == ""


@pytest.mark.parametrize(
    ("case", "take", "words"),
    [
        (
            alibi(),
            lambda heads: heads // 2 * 2,
            "every head has the values of the first one in its group of 2",
        ),
        (alibi(), lambda heads: heads % 4, "head i has the values of head i % 4"),
        (alibi(), lambda heads: heads[::-1], "mirror image"),
        (alibi(), lambda heads: np.roll(heads, -1), "every head has the values of the next one"),
        (alibi(), lambda heads: 0 * heads, "every head has the values of the first one"),
        (alibi(), lambda heads: np.where(heads == 5, 2, heads), "head 5 has the values of head 2"),
        (
            t5(),
            lambda heads: np.array([1, 0, 3, 2]),
            "heads 0, 1, 2, 3 have the values of heads 1, 0, 3, 2",
        ),
    ],
)
def test_places_with_the_values_of_others_are_described(
    case: Case, take: Callable[[Array], Array], words: str
) -> None:
    output = case.truth[take(np.arange(len(case.truth)))]
    assert words in describe_places([(case, output)])


def test_keys_that_have_what_the_first_of_their_tile_should() -> None:
    case = t5()
    output = np.asarray(case.truth[..., np.arange(9) // 4 * 4])
    assert (
        describe_places([(case, output)])
        == "every key has the values of the first one in its group of 4"
    )


def partial(x: Array) -> Case:
    """Return a case in which four of eight channels turn."""
    arguments = {"x": x, "positions": np.arange(x.shape[-2]), "base": 1e4, "rotary_dim": 4}
    case = case_of("rope", "half", **arguments)
    return case.with_conventions(rotation="partial")


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (-3, "head or other leading index has the values of the first one"),
        (-2, "every position has the values of the"),
    ],
)
def test_places_may_be_wrong_in_some_channels_only(axis: int, words: str) -> None:
    case = partial(fine((3, 5, 8)))
    output = case.truth.copy()
    output[..., 4:] = np.take(output[..., 4:], [0] * output.shape[axis], axis)
    assert describe_places([(case, output)]).startswith("in some channels, ")
    assert words in describe_places([(case, output)])
    output[0, 0, 5] += 1
    assert describe_places([(case, output)]) == ""


@pytest.mark.parametrize("axes", [[0, 1, 2, 0, 1, 2, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0]])
def test_the_axis_by_which_channels_turn_is_described(axes: list[int]) -> None:
    case = multimodal()
    output = np.empty(case.shape)
    for pair, axis in enumerate(axes):
        channels = [pair, pair + 8]
        output[..., channels] = result_of(case, positions=PLACES[[axis] * 3])[..., channels]
    text = describe_axes([(case, output)])
    assert "asked for 0" in text or "asked for 1" in text
    assert describe_axes([(case, case.truth)]) == ""
    assert describe_axes([(case, output + 1)]) == ""


def test_an_unwritten_part_is_described() -> None:
    case = multimodal()
    output = case.truth.copy()
    output[:, 2:] = 0
    text = describe_missing([(case, output)])
    assert "not written" in text
    assert "row 2, 3 only" in text or "position 2, 3 only" in text
    assert describe_missing([(case, np.zeros(case.shape))]) == ""
    output[0, 0, 0] += 1
    assert describe_missing([(case, output)]) == ""


def test_a_mean_in_place_of_a_sum_is_described() -> None:
    answers = []
    for shape in ((3, 2, 5), (2, 4, 4)):
        case = case_of("alibi_bias_vjp", "causal", gradient=fine(shape))
        answers.append((case, np.asarray(case.truth / (shape[1] * shape[2]))))
    assert "a mean is computed instead of a sum" in describe_values(answers)
    assert "mean" not in describe_values([(case, output / 2) for case, output in answers])


@pytest.mark.parametrize("steps", [256, 4096])
def test_angles_from_a_table_of_the_circle_are_described(steps: int) -> None:
    x, positions = fine((2, 9, 8)), np.arange(9) * 5 + 1
    case = case_of("rope", "half", x=x, positions=positions, base=1e4)
    angle = np.outer(positions, 1e4 ** (-np.arange(4) / 4))
    part = 2 * np.pi / steps
    turn = np.exp(1j * np.rint(angle / part) * part)
    rotated = (x[..., :4] + 1j * x[..., 4:]) * turn
    output = np.concatenate([rotated.real, rotated.imag], axis=-1)
    assert describe_turning([(case, output)], []).endswith(f"2π/{steps}")
    assert describe_turning([(case, output * 1.5)], []) == ""


def test_a_partner_half_a_head_away_is_described() -> None:
    case = partial(fine((2, 5, 8)))
    x, whole = case.arguments["x"], case.truth
    angle = np.outer(np.arange(5), [1.0, 1e-2])
    output = x.copy()
    first, far = x[..., :2], x[..., 4:6]
    output[..., :2] = first * np.cos(angle) - far * np.sin(angle)
    output[..., 4:6] = far * np.cos(angle) + first * np.sin(angle)
    assert "half a head apart" in describe_turning([(case, output)], [])
    assert "half a head" not in describe_turning([(case, whole)], [])


def test_places_of_zeros_are_not_described() -> None:
    case = alibi()
    assert describe_places([(case, np.zeros(case.shape))]) == ""


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([0, 1, 2], "rows stand at 0, 1, 2, …: positions"),
        ([14, 15, 16], "counted twice"),
        ([8, 9, 10], "every row stands 1 later than it should"),
        ([7, 8, 7], "rows stand at 7; asked for 9"),
    ],
)
def test_ids_are_described_as_positions(ids: list[int], words: str) -> None:
    case = case_of("cached_position_ids", "from-zero", past_length=7, q_len=3)
    assert words in describe_rows([(case, np.array(ids, float))])


def test_a_mistake_of_some_calls_is_described_as_theirs() -> None:
    case = case_of("cached_position_ids", "from-zero", past_length=7, q_len=3)
    other = case.with_arguments(q_len=2)
    text = describe_rows([(case, np.array([0.0, 1, 2]))], [(other, other.truth)])
    assert text.startswith("in 1 of 2 small calls, ")
    assert text.endswith("others are right")


def projected(x: Array, positions: Array) -> Case:
    """Return a case of three heads of queries, two of keys and two of values in one projection."""
    arguments = {"qkv": x, "positions": positions, "heads": 3, "key_heads": 2, "base": 1e4}
    return case_of("rope_qkv", "qkv-half", **arguments)


@pytest.mark.parametrize(
    ("part", "where", "words"),
    [
        (slice(4, 5), [0, 0, 0, 0], "keys are not turned in head 1"),
        (slice(5, 7), [4, 5, 6, 7], "values are turned"),
        (slice(1, 3), [0, 0, 0, 0], "queries are not turned in head 1 and later"),
        (slice(3, 5), [8, 9, 10, 11], "every row of keys stands 4 later than it should"),
        (slice(3, 5), [4, 5, 7, 7], "keys stand at 7; asked for 6"),
        (slice(3, 5), [7, 6, 5, 4], "keys stand at 7, 6, 5, 4; asked for 4, 5, 6, 7"),
    ],
)
def test_heads_that_turn_differently_are_described(
    part: slice, where: list[int], words: str
) -> None:
    case = projected(fine((4, 7 * 8)), np.arange(4) + 4)
    x = case.arguments["qkv"].reshape(4, 7, 8).swapaxes(0, 1)
    turned = case_of("rope", "half", x=x, positions=np.array(where), base=1e4)
    output = case.truth.reshape(4, 7, 8).copy()
    output[:, part] = turned.truth.swapaxes(0, 1)[:, part]
    wrong = case, output.reshape(case.shape)
    assert describe_heads([wrong]) == words
    assert describe_heads([(case, case.truth)]) == ""
    assert describe_heads([(case, wrong[1] + 1)]) == ""


def test_a_value_that_the_short_dtype_holds_is_no_rounded_one() -> None:
    """A bias of 63.75 that comes out as 63.5 is wrong, although bfloat16 has both."""
    bias = case_of("alibi_bias", "symmetric", heads=8, q_len=1, k_len=256)
    rounded = round_to(bias.truth, "bfloat16")
    cut = np.maximum(bias.truth, bias.truth[..., 1:2])
    assert describe_values([(bias, rounded)]) == "every value is rounded to bfloat16"
    assert describe_values([(bias, round_to(cut, "bfloat16"))]) == ""
