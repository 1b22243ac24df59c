"""``check``: one result, judged in a user's own test."""

import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import posenc_conformance
from posenc_conformance import check, expected, show
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.diagnose.sample import sample
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Trial
from posenc_conformance.testing.question import Question
from posenc_conformance.testing.signatures import Misuse, find_signature
from posenc_lab.judging import schemes

BATCH, HEADS, TOKENS, CHANNELS = 2, 4, 96, 64
X = np.random.default_rng(7).standard_normal((BATCH, HEADS, TOKENS, CHANNELS))
PLACES = np.arange(TOKENS)


def turned(
    x: Any, positions: Any, *, base: float = 500_000.0, interleaved: bool = False, kind: Any = None
) -> Any:
    """Return a rotary embedding as people write it, with angles in the dtype ``kind``."""
    dim, kind = x.shape[-1], kind or np.float64
    frequencies = kind(base) ** -(np.arange(0, dim, 2, dtype=kind) / kind(dim))
    angles = np.multiply.outer(np.asarray(positions).astype(kind), frequencies)
    c, s = np.cos(angles), np.sin(angles)
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else np.split(x, 2, axis=-1)
    halves = a * c - b * s, b * c + a * s
    joined = np.stack(halves, -1).reshape(x.shape) if interleaved else np.concatenate(halves, -1)
    return joined.astype(x.dtype)


def rope(result: Any, **changed: Any) -> Any:
    """Check a result as RoPE of Llama 3."""
    arguments = {"x": X, "positions": PLACES, "layout": "half", "base": 500_000.0}
    return check(result, "rope", **{**arguments, **changed})


def message(result: Any, **changed: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        rope(result, **changed)
    return str(raised.value)


def test_a_right_result_passes_and_its_largest_error_is_returned() -> None:
    result = rope(turned(X, PLACES))
    assert 0 < result.worst <= 1
    assert result.error == pytest.approx(result.worst * result.bound)
    assert result.compared == X.size


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_the_dtype_of_the_result_sets_the_bound(dtype: Any) -> None:
    x = X.astype(dtype)
    right = turned(x.astype(np.float64), PLACES)
    assert rope(right.astype(dtype), x=x).worst <= 1
    coarse = right.astype(dtype).astype(np.float64) * 1.02
    assert "error" in message(coarse.astype(dtype), x=x)


def test_the_mistake_is_named_on_rows_far_from_the_start() -> None:
    """Angles in float32 are off by more there than the requested layout allows."""
    x, far = X.astype(np.float32), 4000 + PLACES
    result = turned(x, far, interleaved=True, kind=np.float32)
    assert check(result, "rope", x=x, positions=far, base=500_000.0).worst <= 1
    assert "[layout-swapped;" in message(result, x=x, positions=far)


@pytest.mark.slow
def test_a_pair_of_mistakes_is_named_in_a_large_result() -> None:
    text = message(turned(X, PLACES, base=10_000.0, interleaved=True))
    assert text.splitlines()[0].rpartition("[")[2].startswith("layout-swapped+wrong-base")


@pytest.mark.slow
def test_a_name_explains_all_of_a_result() -> None:
    """Most rows look like another layout, but the last one fits no mistake."""
    result = turned(X, PLACES, interleaved=True)
    result[..., -1, :] += 1
    assert "layout-swapped" not in message(result)


def test_a_mistake_of_one_sequence_is_found_in_its_batch() -> None:
    positions = np.stack([PLACES, PLACES + 100])
    right = np.stack([turned(x, where) for x, where in zip(X, positions, strict=True)])
    assert rope(right, positions=positions).compared == X.size
    text = message(turned(X, PLACES), positions=positions)
    assert "sequence   1, one of 1 that are wrong among 2" in text
    assert "[positions-shifted;" in text


@pytest.mark.parametrize("shape", ["bshd", "shbd", "dshb", "bhsd"])
def test_axes_may_be_in_any_order(shape: str) -> None:
    axes = ["bhsd".index(letter) for letter in shape]
    result = turned(X, PLACES).transpose(axes)
    assert rope(result, x=X.transpose(axes), shape=shape).worst <= 1
    arguments: dict[str, Any] = {"positions": PLACES, "layout": "half", "base": 500_000.0}
    exact = expected("rope", x=X.transpose(axes), shape=shape, **arguments)
    assert np.allclose(exact, result)


def test_positions_of_one_sequence_apply_to_the_whole_batch() -> None:
    rope(turned(X, PLACES), positions=PLACES[np.newaxis])
    assert "layout-swapped" in message(turned(X, PLACES, interleaved=True), positions=PLACES[None])


@pytest.mark.parametrize("count", [10**12, 2**63, 2**70])
def test_a_large_range_is_refused_without_being_expanded(count: int) -> None:
    with pytest.raises(Misuse):
        expected("rope", x=X, positions=range(count), layout="half", base=1e4)


def test_a_range_works_like_an_array() -> None:
    rope(turned(X, PLACES), positions=range(TOKENS))


def test_a_bias_may_have_a_batch_or_leave_out_axes() -> None:
    bias = expected("alibi_bias", heads=8, q_len=3, k_len=5, form="first-key", dtype="float32")
    inputs: dict[str, Any] = {"heads": 8, "q_len": 3, "k_len": 5, "form": "first-key"}
    assert check(bias[None], "alibi_bias", **inputs).worst <= 1
    assert (
        check(np.stack([bias, bias]), "alibi_bias", **inputs).compared
        == 2 * np.isfinite(bias).sum()
    )
    with pytest.raises(AssertionError, match="returned shape"):
        check(bias[:, -1:], "alibi_bias", **inputs)
    assert check(bias[:, -1:], "alibi_bias", broadcast=True, **inputs).worst <= 1


@pytest.mark.parametrize("number", [0, 1, 2])
def test_empty_results_are_right_and_say_that_nothing_was_compared(number: int) -> None:
    none = X[(slice(None),) * number + (slice(0, 0),)]
    words = "x has no rows" if number == 2 else "x has the shape"
    with pytest.warns(UserWarning, match=f"rope: there is nothing to compare: {words}") as warned:
        found = rope(none, x=none, positions=PLACES[: none.shape[-2]])
    assert (found.compared, found.worst, found.error) == (0, 0, 0)
    assert "nothing was compared" in found._repr_html_()
    assert warned[0].filename == __file__


def test_an_empty_batch_is_right_for_an_empty_batch_alone() -> None:
    batch: dict[str, Any] = {"x": X[:0], "positions": np.zeros((0, TOKENS), int)}
    with pytest.warns(UserWarning, match="nothing to compare"):
        assert rope(X[:0], **batch).compared == 0
    with pytest.raises(AssertionError, match="for a batch of 0"):
        rope(X, **batch)
    with pytest.raises(Misuse, match="no values"):
        expected("rope", base=500_000.0, **batch)


def test_a_result_without_values_is_wrong_where_the_call_has_some() -> None:
    arguments: dict[str, Any] = {"heads": 8, "q_len": 3, "k_len": 5, "form": "first-key"}
    bias = expected("alibi_bias", **arguments)
    assert check(bias[None], "alibi_bias", **arguments).compared > 0
    with pytest.raises(AssertionError, match=r"returned shape \(0, 8, 3, 5\)"):
        check(bias[None][:0], "alibi_bias", **arguments)


def every_call() -> list[Subject]:
    return subjects(reference_for(schemes())(), schemes())


@pytest.mark.draws
@pytest.mark.parametrize("subject", every_call(), ids=lambda entry: f"{entry.name}-{entry.label}")
def test_every_call_of_the_specification_can_be_checked(subject: Subject) -> None:
    scope = subject.scopes[0]
    dtype = "float32" if "float32" in scope.dtypes else scope.dtypes[0]
    trial = Trial(subject, scope, dtype, {}, First())
    case = trial.case(**subject.knowledge.arguments(trial))
    arguments = {**case.inputs, **case.conventions}
    right = expected(subject.name, dtype=dtype, **arguments)
    assert check(right, subject.name, **arguments).worst <= 1
    signature = find_signature(subject.name)
    for name, form in signature.forms.items():
        axes = np.ndim(arguments[name])
        assert axes >= len(form.axes) if form.leading else axes == len(form.axes), name
    seen = np.where(np.isfinite(right), right, 0)
    wrong = ~right if right.dtype == bool else (seen + 1 + abs(seen)).astype(right.dtype)
    with pytest.raises(AssertionError):
        check(wrong, subject.name, **arguments)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arguments: arguments.pop("positions"), "positions is missing"),
        (lambda arguments: arguments.update(theta=1.0), "base and theta are both base"),
        (lambda arguments: arguments.update(offset=3), "offset and positions both say"),
        (lambda arguments: arguments.update(layout="neo"), "interleaved"),
        (lambda arguments: arguments.update(positions=PLACES[:5]), "shape='bshd'"),
        (lambda arguments: arguments.update(positions=np.tile(PLACES, (3, 1))), "a batch of 3"),
        (lambda arguments: arguments.update(x=X[0, 0, 0]), "[..., n, head_dim]"),
        (lambda arguments: arguments.update(x="queries"), "not numbers"),
        (lambda arguments: arguments.update(shape="bhnd"), "names no order"),
        (lambda arguments: arguments.update(shape="hsd"), "4 axes"),
        (lambda arguments: arguments.update(base=0.0), "base"),
    ],
)
def test_wrong_use_says_what_to_write(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    arguments: dict[str, Any] = {"x": X, "positions": PLACES, "layout": "half", "base": 500_000.0}
    change(arguments)
    with pytest.raises(Misuse) as raised:
        check(X, "rope", **arguments)
    assert said in str(raised.value)
    assert "check(result, 'rope', x=…, positions=…, base=…" in str(raised.value)


@pytest.mark.parametrize(
    "asked",
    [
        lambda: check(X, "rope", q=X),
        lambda: check(X, "rop"),
        lambda: check(X, "rope", x=X, positions=PLACES, base=500_000.0),
        lambda: show(X, "rope", q=X),
        lambda: expected("rope", q=X),
    ],
)
def test_errors_show_the_caller_and_one_frame_of_the_kit(asked: Callable[[], object]) -> None:
    with pytest.raises((Misuse, AssertionError)) as raised:
        asked()
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.filename == __file__ for frame in frames] == [True, True, False]


@pytest.mark.slow
def test_errors_show_the_caller_alone_in_pytest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "from posenc_conformance import check, conformance\n"
        "def test_wrong_use():\n    check([1.0], 'rope', q=1)\n"
        "def test_within():\n    conformance(object)\n"
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*.py:3: Misuse", "*.py:5: UserError"])
    result.stdout.no_fnmatch_line("*frames.py*")
    result.stdout.no_fnmatch_line("*question.py*")
    result.stdout.no_fnmatch_line("*conformance.py:*")


def test_names_are_listed() -> None:
    assert dir(posenc_conformance) == sorted(posenc_conformance.__all__)


ODD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "an array of layouts": {"layout": np.array(["half", "half"])},
    "a layout that is no text": {"layout": True},
    "a list of combinations": {"combination": ["half"]},
    "a number for a combination": {"combination": 3},
    "float8": {"x": X.astype(ml_dtypes.float8_e5m2)},
    "long doubles": {"x": X.astype(np.longdouble)},
    "too large whole numbers": {"positions": np.array([2**64 - 1] * TOKENS, np.uint64)},
    "one position for all": {"positions": [3]},
    "infinite": {"x": X * np.inf},
    "no number": {"base": "10000"},
    "no single number": {"base": [10000.0]},
    "True for a number": {"base": True},
    "a number that is none": {"base": np.nan},
    "a part of a channel": {"rotary_dim": 32.0},
    "a number of 5,000 digits": {"base": 10**4999},
    "a switch that is none": {"broadcast": np.zeros(2)},
    "a shape that is no text": {"shape": 10**5000},
    "more than there is": {"x": np.broadcast_to(np.float32(0), (10**6, 10**6, TOKENS, 64))},
}


@pytest.mark.parametrize("odd", ODD_ARGUMENTS.values(), ids=ODD_ARGUMENTS)
def test_odd_arguments_are_misuse(odd: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match=r"check\(result, 'rope', x=…"):
        rope(turned(X, PLACES), **odd)


@pytest.mark.parametrize("name", [None, b"rope", np.zeros(3), ["rope"], 3, {}, object])
def test_a_name_that_is_no_text_is_misuse(name: Any) -> None:
    for call in (lambda: check(X, name), lambda: expected(name)):
        with pytest.raises(Misuse, match="the name of a call is text"):
            call()
    if name is not None:
        with pytest.raises(Misuse, match="swapped"):
            check("rope", name)


@pytest.mark.parametrize("dtype", ["float8", np.float32, np.array(["float32", "x"]), 3])
def test_a_dtype_of_another_kind_is_misuse(dtype: Any) -> None:
    with pytest.raises(Misuse, match="dtype is one of float64"):
        expected("alibi_slopes", heads=8, dtype=dtype)


def test_whole_numbers_of_any_framework_are_numbers() -> None:
    right = expected("sinusoidal", positions=PLACES, dim=8, base=1e4)
    for dim in (np.int32(8), np.array(8), np.uint8(8)):
        assert check(right, "sinusoidal", positions=PLACES, dim=dim, base=np.float32(1e4))
    assert check(
        right, "sinusoidal", positions=PLACES, dim=8, base=10000, layout=np.str_("interleaved")
    )


@pytest.mark.parametrize("heads", [10**9, 10**10, 10**15])
def test_a_large_call_is_not_computed_to_judge_a_small_result(heads: int) -> None:
    with pytest.raises((AssertionError, Misuse), match="shape"):
        check(np.zeros(8), "alibi_slopes", heads=heads)
    with pytest.raises((AssertionError, Misuse), match="shape"):
        check(np.zeros(8), "perceiver_fourier", x=[[0.5]], max_resolution=[2], num_bands=heads)
    with pytest.raises(Misuse, match="of memory"):
        expected("alibi_slopes", heads=10**15)
    with pytest.raises(Misuse, match="dim is"):
        expected("sandwich_bias", heads=2, q_len=3, k_len=3, dim=8 * 10**9)


def test_a_mistake_whose_model_exceeds_the_memory_has_no_name() -> None:
    """With the sizes swapped, the mask would have two billion keys."""
    right = expected("chunked_mask", q_len=7, k_len=7, chunk_size=3)
    with pytest.raises(AssertionError, match="chunk_size=2147483648"):
        check(right, "chunked_mask", q_len=7, k_len=7, chunk_size=2**31)


@pytest.mark.parametrize("size", [3e38, -3.4e38, 1e38, 1e-40])
def test_check_causes_no_warnings(size: float) -> None:
    """Many projects set ``filterwarnings = error``."""
    x = np.full((4, 8), size, np.float32)
    arguments: dict[str, Any] = {"positions": np.arange(4), "base": 1e4, "layout": "half"}
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for first in (np.ones_like(x), x):
            with pytest.raises(AssertionError):
                check(x, "rope", x=first, **arguments)
        with pytest.raises(Misuse, match="finite"):
            check(x, "rope", x=x * np.float32(np.inf), **arguments)
        assert expected("rope", x=x, dtype="float16", **arguments).shape == x.shape
        assert np.geterr() == dict.fromkeys(np.geterr(), "warn")


def test_conventions_are_given_one_by_one_or_by_name() -> None:
    """The table is Whisper's; dim is even, so that odd channels need no convention."""
    half = np.arange(192)
    angles = np.outer(np.arange(1500), np.exp(-np.log(10000.0) / 191 * half))
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    arguments: dict[str, Any] = {"positions": np.arange(1500), "dim": 384, "base": 10000.0}
    assert check(table, "sinusoidal", layout="sin-cos", denominator="d/2-1", **arguments).worst <= 1
    assert check(table, "sinusoidal", combination="whisper", **arguments).worst <= 1
    with pytest.raises(AssertionError, match="denominator"):
        check(table, "sinusoidal", layout="sin-cos", **arguments)
    with pytest.raises(Misuse, match="combinations"):
        check(table, "sinusoidal", layout="cos-sin", first_position=2, **arguments)
    with pytest.raises(Misuse, match="whisper"):
        check(table, "sinusoidal", combination="whispers", **arguments)


def test_an_unknown_call_gets_similar_names() -> None:
    with pytest.raises(Misuse, match="alibi_bias"):
        check(X, "alibi-bias-matrix")
    with pytest.raises(Misuse, match="alibi_slopes, alibi_bias"):
        check(X, "alibi")
    assert find_signature("nope").call.name == "nope_layer"


def test_the_dtype_is_that_of_the_input() -> None:
    x = X.astype(np.float32)
    assert "returned float64; expected float32" in message(turned(X, PLACES), x=x)


def test_the_result_must_be_able_to_hold_the_table() -> None:
    """A copy of rows of a float32 table in bfloat16 would be wrong by its rounding."""
    table = X[0, 0].astype(np.float32)
    result = table.astype(ml_dtypes.bfloat16)
    with pytest.raises(AssertionError, match="returned bfloat16; expected float32"):
        check(result, "learned", positions=PLACES, table=table)
    bias = X[0, 0, :32, :8].astype(np.float32)
    with pytest.raises(Misuse, match="does not hold its values"):
        check(
            np.zeros((8, 4, 4), ml_dtypes.bfloat16),
            "cope_scores",
            q=np.zeros((8, 4, 8), ml_dtypes.bfloat16),
            k=np.zeros((8, 4, 8), ml_dtypes.bfloat16),
            table=bias,
        )


def test_a_result_lost_in_rounding_is_not_called_right() -> None:
    """At such a position, angles in float16 carry no information."""
    far = PLACES + 2**31
    x = X.astype(np.float16)
    with pytest.raises(Misuse, match="right from wrong"):
        rope(x[..., :2], x=x[..., :2], positions=far)


@pytest.mark.parametrize("result", [None, object(), "text"])
def test_a_result_that_is_no_array_is_wrong(result: Any) -> None:
    with pytest.raises((AssertionError, Misuse)):
        rope(result)


def test_nan_is_wrong() -> None:
    result = turned(X, PLACES)
    result[1, 2, 3, 4] = np.nan
    assert "not finite" in message(result)


def test_few_rows_of_a_large_result_hold_the_largest_error_and_position() -> None:
    arguments = {"x": X, "positions": PLACES, "base": 500_000.0}
    (case,) = Question.of("rope", None, arguments).cases("float64")
    few, part = sample(case, np.asarray(case.truth), (1, 2, 50, 3), rows=8)
    assert {50, TOKENS - 1} <= set(few.arguments["positions"].tolist())
    assert part.size < X.size / 10
    assert np.allclose(part, few.truth)


@pytest.mark.slow
def test_importing_it_imports_neither_pytest_nor_hypothesis() -> None:
    code = "import sys; from posenc_conformance import check; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pytest", "hypothesis", "torch", "mpmath"} & set(done.stdout.split())


def test_an_empty_list_has_no_dtype() -> None:
    with pytest.warns(UserWarning, match="the call has no values"):
        assert check([], "cached_position_ids", past_length=3, q_len=0).compared == 0
    with pytest.raises(AssertionError, match="expected integers"):
        check([3.0], "cached_position_ids", past_length=3, q_len=1)


@pytest.mark.parametrize(
    "said",
    [
        {"offset": 7, "theta": 10000.0, "layout": "neox"},
        {"start_pos": np.int64(7), "rope_theta": 10000.0, "layout": "rotate_half"},
        {"positions": np.arange(7, 12), "layout": "half"},
    ],
)
def test_words_of_other_code_are_understood(said: dict[str, Any]) -> None:
    x = X[:, :, :5].astype(np.float32)
    places: dict[str, Any] = {"positions": np.arange(7, 12), "base": 10000.0, "layout": "half"}
    right = expected("rope", dtype="float32", x=x, **places)
    assert check(right, "RoPE", x=x, **said).worst <= 1
    rows: dict[str, Any] = {"shape": "bshd", "x": np.swapaxes(x, 1, 2)}
    assert check(np.swapaxes(right, 1, 2), "RoPE", **rows, **said).worst <= 1
    wrong = expected("rope", dtype="float32", x=x, **{**places, "layout": "interleaved"})
    with pytest.raises(AssertionError, match="layout-swapped"):
        check(wrong, "rope", x=x, **said)


def test_names_of_other_code_lead_to_calls() -> None:
    with pytest.raises(Misuse) as raised:
        check(X, "apply_rotary_pos_emb", x=X)
    assert "rope_apply or rope" in raised.value.hint


def test_defaults_of_the_specification_are_defaults_here() -> None:
    given: dict[str, Any] = {
        "x": X.astype(np.float32),
        "positions": PLACES,
        "factor": 4.0,
        "original_max_position_embeddings": 4096,
    }
    whole = {**given, "base": 10000.0, "beta_fast": 32, "beta_slow": 1}
    right = expected("yarn", dtype="float32", **whole)
    assert check(right, "yarn", base=10000.0, **given).worst <= 1


def test_a_default_of_another_call_is_no_obstacle() -> None:
    """The scheme's default order is none of the orders that this call has with this layout."""
    x = X[:, :, :4].astype(np.float32)
    said: dict[str, Any] = {"x": x, "height": 2, "width": 2, "base": 100.0, "layout": "half"}
    right = expected("rope_2d_image", dtype="float32", **said)
    assert check(right, "rope_2d_image", **said).worst <= 1


def test_factors_stay_in_float32_where_a_model_is_in_bfloat16() -> None:
    factors = np.array([1.0, 1.05, 1.1, 1.2])
    said: dict[str, Any] = {
        "positions": range(4), "base": 10000.0, "factor": 4.0, "combination": "phi-3",
        "original_max_position_embeddings": 64,
    }  # fmt: skip
    x = np.ones((2, 4, 8), ml_dtypes.bfloat16)
    short: dict[str, Any] = {"short_factors": factors.astype(np.float32), "long_factors": factors}
    right = expected("longrope", dtype="bfloat16", x=x, **said, **short)
    assert check(right, "longrope", x=x, **said, **short).worst <= 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda right: right, "the result is right if its axes are 'bshd': say shape='bshd'"),
        (lambda right: right.swapaxes(2, 3), "exchange the axes 2 and 3 of (2, 8, 8, 8)"),
        (lambda right: right.swapaxes(1, 2) + 1, ""),
    ],
)
def test_a_right_result_with_other_axes_is_told_as_that(change: Any, words: str) -> None:
    x = X[:, :1, :8, :8].repeat(8, axis=1) * np.arange(1, 9)[:, None, None]
    places: dict[str, Any] = {"positions": np.arange(8), "base": 10000.0}
    rows = expected("rope", x=x, **places, shape="bshd" if "bshd" in words else "bhsd")
    assert check(rows, "rope", x=x, **places, shape="bshd" if "bshd" in words else None).worst <= 1
    with pytest.raises(AssertionError) as raised:
        check(change(rows), "rope", x=x, **places)
    assert str(raised.value).startswith(("the result is right", words) if words else "no known")
    assert words in str(raised.value)


def test_a_table_with_an_axis_of_length_1_is_told_as_that() -> None:
    """PyTorch's tutorial has its table as [n, 1, dim]."""
    places: dict[str, Any] = {"positions": np.arange(10), "dim": 8}
    right = expected("sinusoidal", **places)
    for wrong, words in ((right[:, None], "drop axis 1"), (right.T, "exchange the axes 0 and 1")):
        with pytest.raises(AssertionError, match=f"right but for its axes: {words}"):
            check(wrong, "sinusoidal", **places)


def test_a_mistake_keeps_its_name_where_exchanged_axes_look_the_same() -> None:
    given: dict[str, Any] = {"relative_position": np.arange(6)[:, None] - np.arange(6)}
    right = expected("t5_bucket", **given, num_buckets=32, max_distance=128)
    with pytest.raises(AssertionError) as raised:
        check(right.T, "t5_bucket", **given, num_buckets=32, max_distance=128)
    first, *_, last = str(raised.value).splitlines()
    assert "sign-flipped" in first
    assert "exchange the axes 0 and 1" in last


MORE: dict[str, Any] = {"x": X, "positions": PLACES, "layout": "half", "base": 500_000.0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"positions": np.ones(len(PLACES), bool)}, "positions are booleans"),
        (
            {"combination": "interleaved"},
            "has layout='interleaved', and 'half' is given",
        ),
        ({"base": -1.0}, "base is -1"),
        ({"positions": np.zeros((2, 2, len(PLACES)), int)}, "positions"),
        ({"x": 0 * X}, "all inputs are 0"),
        ({"rope_theta": 1.0}, "both base"),
    ],
)
def test_arguments_that_tell_nothing_or_two_things_are_refused(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(Misuse) as raised:
        check(arguments.get("x", X), "rope", **MORE | arguments)
    assert said in str(raised.value)
    assert "ValueError: operands" not in str(raised.value)


@pytest.mark.parametrize("offset", [True, 2**63, 2**62 + 2**62])
def test_an_offset_is_a_position(offset: int) -> None:
    with pytest.raises(Misuse, match="offset is no position"):
        check(X, "rope", x=X, layout="half", offset=offset)


def test_words_of_other_code_mean_the_same() -> None:
    right = expected("rope", dtype=str(X.dtype), **MORE)
    for layout in ("NeoX", "gpt_neox", "GPT-NeoX", "rotate_half"):
        check(right, "rope", **MORE | {"layout": layout})
    rest: dict[str, Any] = {"x": X, "base": 500_000.0, "position_ids": PLACES}
    for switch, value in (("is_neox_style", True), ("interleaved", False), ("traditional", False)):
        check(right, "rope", **rest | {switch: value})
        with pytest.raises(AssertionError):
            check(right, "rope", **rest | {switch: not value})


def test_a_result_with_more_axes_than_its_input_is_wrong() -> None:
    right = expected("rope", dtype=str(X.dtype), **MORE)
    for more in (np.stack([right] * 3), (right, right)):
        with pytest.raises(AssertionError, match="like x"):
            check(more, "rope", **MORE)


def test_code_that_wrote_into_its_input_is_told() -> None:
    """The right result is computed from the input, which is no longer what the code was given."""
    right = expected("rope", dtype=str(X.dtype), **MORE)
    with pytest.raises(AssertionError, match=r"^the result lies in the memory of x: ") as raised:
        check(right, "rope", **MORE | {"x": right})
    assert "a copy from before the call" in str(raised.value)
    check(right, "rope", **MORE)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [1e-38, 1e-40])
def test_numbers_below_the_normal_ones_are_rounded_rightly(dtype: str, size: float) -> None:
    x = (X.astype(float) * size).astype(DTYPES[dtype])
    if x.any():
        arguments = MORE | {"x": x}
        check(expected("rope", dtype=dtype, **arguments), "rope", **arguments)


def test_axes_that_are_missing_or_moved_are_told_first() -> None:
    one = MORE | {"x": X[0, 0]}
    right = expected("rope", dtype=str(X.dtype), **one)
    sizes: dict[str, Any] = {"heads": 8, "q_len": 10, "k_len": 20}
    bias = expected("alibi_bias", **sizes, dtype="float32")
    for result, call, arguments, said in (
        (right[:, None], "rope", one, "drop axis 1"),
        (right, "rope", MORE | {"x": X[:1, 0]}, "add an axis of length 1"),
        (bias.transpose(1, 2, 0), "alibi_bias", sizes, "(2, 0, 1)"),
    ):
        with pytest.raises(
            AssertionError, match=r"^the result is right but for its axes"
        ) as raised:
            check(result, call, **arguments)
        assert said in str(raised.value)


def test_a_mask_of_numbers_is_told_how_to_be_one_of_booleans() -> None:
    window: dict[str, Any] = {"q_len": 8, "k_len": 8, "window": 3, "reach": "window-keys"}
    mask = expected("sliding_window", **window)
    for numbers in (np.where(mask, 0.0, -np.inf), mask.astype(int)):
        with pytest.raises(AssertionError, match="write mask"):
            check(numbers, "sliding_window", **window)


def test_float32_inside_float64_is_told() -> None:
    arguments = MORE | {"x": X.astype(float)}
    right = expected("rope", dtype="float32", **arguments).astype(float)
    with pytest.raises(AssertionError, match="every value is rounded to float32"):
        check(right, "rope", **arguments)


def _placed(by: int) -> Any:
    return expected("rope", dtype=str(X.dtype), **MORE | {"positions": PLACES + by})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda right: right.__setitem__((slice(None), 1), X[:, 1]), "nothing is rotated"),
        (lambda right: right.__setitem__(1, _placed(3)[1]), "every row stands 3 later"),
    ],
)
def test_what_is_true_of_some_heads_is_said_of_these_alone(change: Any, said: str) -> None:
    right = expected("rope", dtype=str(X.dtype), **MORE)
    change(right)
    with pytest.raises(AssertionError) as raised:
        check(right, "rope", **MORE)
    first = str(raised.value).splitlines()[0]
    assert "at leading indices (" in first
    assert said in first
    assert first.endswith("; all others are right")


@pytest.mark.parametrize("heads", [[0, 1, 0, 1], [0, 0, 2, 2], [1, 2, 3, 0]])
def test_heads_with_the_results_of_others_are_told(heads: list[int]) -> None:
    """A sample has two heads, of which it cannot be said what stands for all."""
    x = np.random.default_rng(3).standard_normal((4, 40, 32))
    right = expected("rope", **MORE | {"x": x, "positions": np.arange(40)})
    with pytest.raises(AssertionError) as raised:
        check(right[heads], "rope", **MORE | {"x": x, "positions": np.arange(40)})
    first = str(raised.value).splitlines()[0]
    assert "head" in first or "leading ind" in first
    assert "stands for all" not in first


@pytest.mark.parametrize("count", [1, 4, 8])
def test_rows_of_zeros_are_counted_in_the_whole_result(count: int) -> None:
    x, places = np.random.default_rng(3).standard_normal((4, 64, 32)), np.arange(64)
    right = expected("rope", **MORE | {"x": x, "positions": places})
    right[:, -count:] = 0
    with pytest.raises(AssertionError) as raised:
        check(right, "rope", **MORE | {"x": x, "positions": places})
    first, second, *_ = str(raised.value).splitlines()
    where = first.partition("written: ")[2].partition(";")[0]
    assert where
    assert where in second


def rope_of(x: Any, places: Any) -> Any:
    """Rotate halves at positions that need not be whole."""
    half = x.shape[-1] // 2
    angle = np.outer(places, 1e4 ** (-np.arange(half) / half))
    first, second = x[..., :half], x[..., half:]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


@pytest.mark.parametrize("step", [1, 17, 500])
@pytest.mark.parametrize("share", [0.125, 0.5, 2.0])
def test_a_multiple_of_frequencies_is_read_at_any_spacing(share: float, step: int) -> None:
    """Whole turns between two rows are invisible, and pairs seem to turn at other frequencies."""
    x, places = np.random.default_rng(0).standard_normal((2, 48, 64)), step * np.arange(48)
    slower = rope_of(x, share * places)
    with pytest.raises(AssertionError) as raised:
        check(slower, "rope", x=x, positions=places, base=1e4, layout="half")
    first = str(raised.value).splitlines()[0]
    formula = {0.125: "", 0.5: "pair t turns at 1/2·base^(-2t/d)", 2.0: "pair t turns at 2·base"}
    assert (formula[share] or f"every pair turns at {share:g} times its right") in first


@pytest.mark.parametrize("step", [17, 500])
def test_a_frequency_that_cannot_be_read_is_not_told_as_read(step: int) -> None:
    places = step * np.arange(48)
    one = np.stack([np.sin(places), np.cos(places)], -1)
    constant = np.tile(one, 32)
    with pytest.raises(AssertionError) as raised:
        check(constant, "sinusoidal", positions=places, dim=64, combination="paper", base=1e4)
    assert "or a multiple of 0." in str(raised.value).splitlines()[0]
    wild = np.cos(np.outer(places, 1e-4 ** np.linspace(0, 3, 32)) ** 1.0)
    with pytest.raises(AssertionError) as raised:
        check(np.repeat(wild, 2, -1), "sinusoidal", positions=places, dim=64, base=1e4)
    assert "turn at -" not in str(raised.value)
