"""``check`` in the words of other code: understood, or answered with the right ones."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.testing.call_names import MEANT, SUBJECTS, near_calls
from posenc_conformance.testing.signatures import Misuse, find_signature
from posenc_conformance.testing.unknown_words import BY_TYPE

X = np.random.default_rng(3).standard_normal((2, 4, 6, 16)).astype(np.float32)
PLACES = np.arange(6)
SAID: dict[str, Any] = {"positions": PLACES, "base": 10_000.0, "layout": "half"}


def right(call: str, **arguments: Any) -> Any:
    return expected(call, dtype="float32", **arguments)


def worst(result: Any, call: str, **arguments: Any) -> float:
    return check(result, call, **arguments).worst


def refusal(call: str, **arguments: Any) -> str:
    with pytest.raises(Misuse) as raised:
        check(X, call, **arguments)
    return f"{raised.value}\n{raised.value.hint}"


def failure(result: Any, call: str, **arguments: Any) -> list[str]:
    with pytest.raises(AssertionError) as raised:
        check(result, call, **arguments)
    return str(raised.value).splitlines()


@pytest.mark.parametrize(
    ("call", "plain", "spoken"),
    [
        ("position_interpolation", {"factor": 4.0}, {"scaling_factor": 4.0}),
        ("m_rope", {"sections": [2, 3, 3]}, {"mrope_section": [2, 3, 3]}),
        ("rope", {"rotary_dim": 8}, {"rotary_ndims": 8}),
    ],
)
def test_words_of_other_code_mean_the_same(
    call: str, plain: dict[str, Any], spoken: dict[str, Any]
) -> None:
    places = {"positions": np.stack([PLACES] * 3)} if call == "m_rope" else {}
    result = right(call, x=X, **SAID | places | plain)
    assert worst(result, call, x=X, **SAID | places | spoken) <= 1
    assert failure(-result, call, x=X, **SAID | places | spoken)


@pytest.mark.parametrize("words", [("query", "key"), ("query_states", "key_states")])
def test_queries_and_keys_may_have_their_names_of_other_code(words: tuple[str, str]) -> None:
    pair = right("rope", x=X, **SAID), right("rope", x=X[:, :2], **SAID)
    given: dict[str, Any] = {**dict(zip(words, (X, X[:, :2]), strict=True)), **SAID}
    assert check(pair, "rope_query_key", **given).compared == 3 * X.size // 2
    assert "keys-unrotated" in failure((pair[0], X[:, :2]), "rope_query_key", **given)[0]


@pytest.mark.parametrize("switch", ["rope_interleaved", "rope_interleave", "rotary_interleaved"])
def test_switches_of_other_code_are_layouts(switch: str) -> None:
    rest = {"x": X, "positions": PLACES}
    result = right("rope", x=X, **SAID | {"layout": "interleaved"})
    assert worst(result, "rope", **rest, **{switch: True}) <= 1
    assert "half was claimed" in failure(result, "rope", **rest, **{switch: False})[0]


@pytest.mark.parametrize("word", ["length", "seq_len", "max_len", "max_length", "n_positions"])
def test_one_length_is_that_of_queries_and_keys_or_of_a_table(word: str) -> None:
    bias = right("alibi_bias", heads=4, q_len=6, k_len=6)
    assert worst(bias, "alibi_bias", num_heads=4, **{word: 6}) <= 1
    assert "returned shape" in failure(bias, "alibi_bias", num_heads=4, **{word: 7})[0]
    table = right("sinusoidal", positions=PLACES, dim=16)
    assert worst(table, "sinusoidal", embed_dim=16, **{word: np.int64(6)}) <= 1
    for given in ({"q_len": 1}, {"k_len": 6}):
        other = "k_len" if "q_len" in given else "q_len"
        assert f"did you mean {other}=…?" in refusal("alibi_bias", heads=4, **given, **{word: 6})
    for count in (True, 0, "six"):
        assert "did you mean positions=…?" in refusal("sinusoidal", dim=16, **{word: count})
    assert "did you mean positions=…?" in refusal("rope", x=X, **{word: 6})


@pytest.mark.parametrize(
    ("call", "arguments", "said"),
    [
        ("rope", {"q": X, "k": X}, "check((q, k), 'rope_query_key', q=…, k=…, …)"),
        ("yarn", {"q": X, "k": X, "factor": 4.0}, "check each by itself: check(q, 'yarn', x=…"),
        ("rope", {"x": X, "rotary_pct": 0.5}, "did you mean rotary_dim=…?"),
        ("rope", {"x": X, "partial_rotary_factor": 0.5}, "did you mean rotary_dim=…?"),
        ("sincos_2d", {"grid": (4, 6), "dim": 16}, "did you mean height=… and width=…?"),
        ("rope", {"x": X, "positionss": PLACES}, "did you mean positions=…?"),
        ("alibi_bias", {"heads": 4, "masked": True}, "masked belongs to @claims"),
        ("rope", {"x": X, "dtype": "float32"}, "the dtype is that of the result"),
        (
            "rope",
            {"x": X, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
            "rope_type 'llama3' is the call 'llama3'",
        ),
        (
            "yarn",
            {"x": X, "rope_scaling": {"type": "yarn", "factor": 8.0, "beta_fast": 32}},
            "give the fields of rope_scaling as arguments: factor=…, beta_fast=…; rope_type 'yarn'",
        ),
        ("rope", {"x": X, "rope_scaling": {"rope_type": ["odd"]}}, "fields of rope_scaling as"),
        ("rope", {"x": X, "positions": PLACES.astype(np.float32)}, "positions are float32; they"),
        ("rope", {"x": X[..., :15], "positions": PLACES}, "it must be even, at least 2\n"),
    ],
)
def test_other_words_are_answered_with_the_right_ones(
    call: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in refusal(call, **arguments)


def test_a_word_that_means_nothing_here_gets_no_guess() -> None:
    told = refusal("rope", x=X, positions=PLACES, dropout=0.0, grid=(2, 3), rope_scaling=None)
    assert "it takes no dropout and no grid and no rope_scaling" in told
    assert "did you mean" not in told


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("relative_position_bucket", "t5_bucket"),
        ("swin", "relative_table_2d_rows"),
        ("build_alibi_tensor", "alibi_bias"),
        ("sincos", "sincos_2d"),
        ("sinusoidal_position_embedding", "sinusoidal"),
        ("llama3_rope", "llama3"),
        ("rotary_2d", "rope_2d"),
        ("apply_rotary_emb", "rope_apply"),
        ("sliding_window_mask", "sliding_window"),
        ("triu", "causal_mask"),
        ("rop", "rope"),
    ],
)
def test_a_name_of_the_field_leads_to_its_call(name: str, call: str) -> None:
    assert f"did you mean {call}" in refusal(name, x=X)


def test_a_name_that_means_nothing_here_gets_no_guess() -> None:
    for name in ("dropout", "layer_norm", "softmax", "embedding_bag"):
        assert "'posenc schemes' lists all of them" in refusal(name, x=X)


def test_all_calls_that_are_guessed_exist() -> None:
    guessed = [*BY_TYPE.values(), *(name for names in MEANT.values() for name in names)]
    guessed += [name for _, names in SUBJECTS for name in names.split()]
    for call in guessed:
        assert find_signature(call).call.name == call
        assert near_calls(call, guessed)


@pytest.mark.parametrize("shape", ["b s h d", "BSHD", "BLHD", "b t h d", "blhd"])
def test_spaces_and_other_letters_of_an_order_are_read(shape: str) -> None:
    rows = {"x": X.swapaxes(1, 2), "shape": shape, **SAID}
    assert worst(right("rope", x=X, **SAID).swapaxes(1, 2), "rope", **rows) <= 1


@pytest.mark.parametrize("shape", ["bhnd", "bltd", "b (h s) d", "bhs", ""])
def test_an_order_that_may_mean_two_things_is_refused(shape: str) -> None:
    assert "names no order of axes" in refusal("rope", x=X, shape=shape, **SAID)


def test_right_values_in_another_order_have_that_one_finding() -> None:
    x = np.random.default_rng(5).standard_normal((2, 6, 6, 16)).astype(np.float32)
    moved = right("rope", x=x, shape="bshd", **SAID)
    lines = failure(moved, "rope", x=x, **SAID)
    assert lines[0] == "the result is right if its axes are 'bshd': say shape='bshd'"
    assert lines[1].startswith("call ")
    assert not any(line.startswith(("no known", "pattern", "not seen")) for line in lines)
    unlike = failure(moved + 1, "rope", x=x, **SAID)
    assert unlike[0].startswith("no known")
    assert any(line.startswith("pattern") for line in unlike)


def test_what_a_test_leaves_out_is_the_default_and_was_not_claimed() -> None:
    half = right("rope", x=X, **SAID)
    given: dict[str, Any] = {"x": X, "positions": PLACES}
    assert "; interleaved is the default [" in failure(half, "rope", **given)[0]
    for said in ({"layout": "interleaved"}, {"combination": "interleaved"}):
        assert "; interleaved was claimed [" in failure(half, "rope", **given, **said)[0]
    other = right("rope", x=X, **SAID | {"base": 500_000.0})
    told = failure(other, "rope", **given, layout="half")[0]
    assert told.startswith("matches base 500000; 10000 is the default [")
    assert "; 10000 was asked for [" in failure(other, "rope", x=X, **SAID)[0]
    concatenated = right("sinusoidal", positions=PLACES, dim=16, layout="sin-cos")
    assert (
        "; interleaved is the default" in failure(concatenated, "sinusoidal", seq_len=6, dim=16)[0]
    )


@pytest.mark.parametrize("q_len", [1, 3])
def test_a_query_at_zero_is_one_whatever_the_side_of_its_distances(q_len: int) -> None:
    slopes = 2.0 ** -np.arange(1.0, 9.0)[:, None, None]
    keys = np.arange(16)
    sizes: dict[str, Any] = {"heads": 8, "q_len": q_len, "k_len": 16}

    def bias(first: int) -> Any:
        return (-slopes * np.abs(keys - np.arange(first, first + q_len)[:, None])).astype("f4")

    assert worst(bias(16 - q_len), "alibi_bias", **sizes) <= 1
    told = failure(bias(0), "alibi_bias", **sizes)[0]
    assert "at position 0 [queries-from-zero" in told
