"""Mistakes without an id whose kind is read from one result, beside right results."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.judge.arrays import Array

PLACES = np.arange(96)
X = np.random.default_rng(5).standard_normal((2, 96, 64)).astype(np.float32)
ROPE: dict[str, Any] = {"x": X, "positions": PLACES, "base": 10_000.0, "layout": "half"}
HEADS = 8


def said(result: Any, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(result, call, **given)
    return str(wrong.value).splitlines()[0]


def passes(call: str, **given: Any) -> None:
    right = expected(call, **given)
    assert check(np.asarray(right, np.float32), call, **given).worst <= 1


def single(values: Any) -> Array:
    return np.asarray(values, np.float32)


def tables(omega: Array, places: Array = PLACES) -> tuple[Array, Array]:
    angles = np.outer(places, omega)
    return np.cos(angles), np.sin(angles)


def plain(dim: int) -> Array:
    return np.asarray(10_000.0 ** -(np.arange(0, dim, 2) / dim))


def turned(cos: Array, sin: Array, second: tuple[Array, Array] | None = None) -> Array:
    """Turn pairs of the half layout; the second half may have waves of its own."""
    a, b = X[..., :32].astype(float), X[..., 32:].astype(float)
    c, s = (cos, sin) if second is None else second
    return single(np.concatenate([a * cos - b * sin, b * c + a * s], axis=-1))


def bfloat16(values: Array) -> Array:
    return values.astype(ml_dtypes.bfloat16).astype(float)


def view_of_heads() -> Array:
    """Read x of [n, heads, d] as [heads, n, d], without a transpose."""
    mixed = np.ascontiguousarray(X.swapaxes(0, 1)).reshape(X.shape)
    result = expected("rope", **{**ROPE, "x": mixed})
    return single(result.reshape(X.shape[1], X.shape[0], -1).swapaxes(0, 1))


COS, SIN = tables(plain(64))
LATER = tables(plain(64), PLACES + 1)
WIDE = tables(plain(128)[:64])
NOISE = np.random.default_rng(1).uniform(-1e-4, 1e-4, COS.shape)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (turned(COS, LATER[1]), "sines are those of the next position, cosines are right"),
        (turned(LATER[0], SIN), "cosines are those of the next position, sines are right"),
        (turned(bfloat16(COS), SIN), "cosines alone are in bfloat16"),
        (turned(COS, bfloat16(SIN)), "sines alone are in bfloat16"),
        (turned(COS, 1.25 * SIN), "sines are 1.25 times what they should be"),
        (turned(COS + NOISE, SIN - NOISE), "cosines are off by up to 1.0e-04 and sines by up to"),
        (
            turned(*tables(np.tile(plain(32), 2))),
            "the frequencies of a head of 32, from the first on again",
        ),
        (
            turned(WIDE[0][:, :32], WIDE[1][:, :32], (WIDE[0][:, 32:], WIDE[1][:, 32:])),
            "the first 64 columns of a table for 128 channels",
        ),
        (view_of_heads(), "x of [n, heads, d] is viewed as [heads, n, d], not transposed"),
    ],
    ids=["sines", "cosines", "cos", "sin", "factor", "noise", "head", "columns", "view"],
)
def test_wrong_tables_are_told(result: Array, words: str) -> None:
    assert words in said(result, "rope", **ROPE)


def test_right_tables_are_right() -> None:
    assert check(turned(COS, SIN), "rope", **ROPE).worst <= 1
    passes("rope", **ROPE)


def test_angles_reduced_by_a_rough_pi_are_told() -> None:
    angles = np.outer(PLACES, plain(64)) % (2 * 3.1415)
    words = said(turned(np.cos(angles), np.sin(angles)), "rope", **ROPE)
    assert "angles reduced by whole turns of 2·3.1415" in words
    exact = np.outer(PLACES, plain(64)) % (2 * np.pi)
    assert check(turned(np.cos(exact), np.sin(exact)), "rope", **ROPE).worst <= 1


def test_a_single_row_at_a_part_of_its_position_is_told() -> None:
    given = {**ROPE, "x": X[:, :1], "positions": np.array([12])}
    result = expected("rope", **{**given, "positions": np.array([3])})
    assert "shifted by -9" in said(single(result), "rope", **given)
    given["positions"] = np.array([1])
    cos, sin = tables(plain(64), np.array([0.25]))
    a, b = X[:, :1, :32], X[:, :1, 32:]
    quarter = single(np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1))
    assert "angles 0.25 times as large as they should be" in said(quarter, "rope", **given)


def dynamic(**changes: Any) -> dict[str, Any]:
    given = {**ROPE, "factor": 4.0, "original_max_position_embeddings": 32, "length": 96}
    return given | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"factor": 2.0}, "factor is 2, where 4 is asked for"),
        (
            {"original_max_position_embeddings": 16},
            "original_max_position_embeddings is 16, where 32 is asked for",
        ),
    ],
)
def test_another_number_is_told(changes: dict[str, Any], words: str) -> None:
    result = single(expected("dynamic_ntk", **dynamic(**changes)))
    assert words in said(result, "dynamic_ntk", **dynamic())
    passes("dynamic_ntk", **dynamic())


def test_scaled_frequencies_that_end_at_the_original_length_are_told() -> None:
    given: dict[str, Any] = {**ROPE, "factor": 4.0, "original_max_position_embeddings": 48}
    own = expected("yarn", **given)
    far = expected("rope", **ROPE) * (1 + 0.1 * np.log(4.0))
    result = np.where(PLACES[:, None] < 48, own, far)
    words = said(single(result), "yarn", **given)
    assert "plain frequencies from the original length on, scaled ones elsewhere" in words
    passes("yarn", **given)


def mask(seen: Callable[[Array, Array], Array], q_len: int = 100, first: int = 0) -> Array:
    i, j = first + np.arange(q_len)[:, None], np.arange(100)
    return (j <= i) & seen(i, j)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (mask(lambda i, j: (i - j < 32) | (j < 4)), "in which the first 4 keys are always seen"),
        (mask(lambda i, j: i // 16 - j // 16 < 2), "whole blocks of 16 keys"),
        (mask(lambda i, j: j % 32 <= i % 32), "places in a buffer of the window"),
        (mask(lambda i, j: i - j < 32, 20, 20), "queries that start at position 20"),
    ],
    ids=["sinks", "blocks", "slots", "chunk"],
)
def test_other_windows_are_told(result: Array, words: str) -> None:
    given: dict[str, Any] = {"q_len": len(result), "k_len": 100, "window": 32}
    assert words in said(result, "sliding_window", **given)
    right = mask(lambda i, j: i - j < 32, len(result), 100 - len(result))
    assert check(right, "sliding_window", **given).worst <= 1


def slopes() -> Array:
    return np.asarray(2.0 ** -np.arange(1, HEADS + 1))


LAG = np.arange(HEADS) - np.arange(HEADS)[:, None]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (slopes() * -np.abs(LAG), "a slope for each key, not for each head, times its distance"),
        (slopes() * LAG, "a slope for each key, not for each head, times its signed distance"),
        (slopes()[:, None] * -np.abs(LAG), "a slope for each query, not for each head"),
    ],
)
def test_slopes_of_keys_are_told(by: Array, words: str) -> None:
    given = {"heads": HEADS, "q_len": HEADS, "k_len": HEADS, "form": "symmetric"}
    result = single(np.broadcast_to(by, (HEADS, HEADS, HEADS)))
    assert words in said(result, "alibi_bias", **given)
    passes("alibi_bias", **given)


def test_two_mistakes_of_a_bias_are_told_together() -> None:
    given: dict[str, Any] = {"heads": 12, "q_len": 40, "k_len": 40}
    uniform = expected("alibi_bias", **given, head_rule="uniform")
    words = said(single(-uniform), "alibi_bias", **given)
    assert "[bias-head-rule-swapped+bias-sign-flipped" in words
    more = np.asarray(expected("alibi_bias", **given)) + 1
    assert "1 is added to every value" in said(single(more), "alibi_bias", **given)


def test_all_buckets_for_each_direction_are_told() -> None:
    lags = np.arange(-60, 61)
    given: dict[str, Any] = {"relative_position": lags, "num_buckets": 32, "max_distance": 128}
    one_way = expected(
        "t5_bucket", **{**given, "relative_position": -np.abs(lags)}, direction="causal"
    )
    result = np.minimum(one_way + 16 * (lags > 0), 31)
    assert "all 32 buckets for each direction" in said(result, "t5_bucket", **given)


def test_a_table_in_another_order_of_memory_is_told() -> None:
    table = np.random.default_rng(2).standard_normal((32, 12)).astype(np.float32)
    given: dict[str, Any] = {"q_len": 90, "k_len": 90, "max_distance": 128}
    other = np.ascontiguousarray(table.reshape(12, 32).T)
    result = single(expected("t5_bias", table=other, **given))
    words = said(result, "t5_bias", table=table, **given)
    assert "table is read in column-major order, but stored in row-major order" in words


SIZES = {"r1": np.linspace(0.5, 1.5, 4), "r2": np.linspace(0.2, 2.0, 4)}


def test_a_logarithm_without_one_is_told_whatever_its_clamp() -> None:
    given: dict[str, Any] = {**{k: single(v) for k, v in SIZES.items()}, "q_len": 30, "k_len": 30}
    distance = np.maximum(np.arange(30)[:, None] - np.arange(30), 0)
    r1, r2 = (given[name][:, None, None].astype(float) for name in ("r1", "r2"))
    result = -r1 * np.log(np.maximum(r2 * distance, 1e-3))
    assert "ln(r2 |i - j|), without 1 added inside" in said(single(result), "kerple_bias", **given)
    passes("kerple_bias", **given)
    single_query = {**given, "q_len": 1}
    result = -r1 * np.log1p(r2 * np.arange(30)[None])
    assert "stands at position 0" in said(single(result), "kerple_bias", **single_query)


@pytest.mark.parametrize("row", ["first", "last"])
def test_a_relative_shift_cut_elsewhere_is_told(row: str) -> None:
    x = np.random.default_rng(3).standard_normal((2, 6, 11)).astype(np.float32)
    flat = np.pad(x, [(0, 0), (0, 0), (1, 0)]).reshape(2, -1)
    rows = flat[:, 6:] if row == "first" else flat[:, :66]
    moved = rows.reshape(x.shape)
    given: dict[str, Any] = {"x": x, "combination": "conformer"}
    wrong = moved[..., -6:] if row == "first" else moved[..., :6]
    which = "last" if row == "first" else "first"
    words = f"viewed anew without the {row} row, and of them the {which} 6 columns"
    assert words in said(wrong, "relative_shift", **given)
    right = flat[:, 6:].reshape(x.shape)[..., :6]
    assert check(right, "relative_shift", **given).worst <= 1


MLA = np.random.default_rng(4)
PARTS: dict[str, Any] = {
    "q": single(MLA.standard_normal((2, 5, 24))),
    "k_nope": single(MLA.standard_normal((2, 9, 16))),
    "k_rope": single(MLA.standard_normal((9, 8))),
    "base": 10_000.0,
    "layout": "interleaved",
}


def mla(omega: Array, places: tuple[Array, Array], layouts: tuple[str, str]) -> Array:
    def turn(x: Array, at: Array, layout: str) -> Array:
        one, two = (
            (x[..., ::2], x[..., 1::2]) if layout == "interleaved" else (x[..., :4], x[..., 4:])
        )
        pairs = (one + 1j * two) * np.exp(1j * np.outer(at, omega))
        if layout == "half":
            return np.concatenate([pairs.real, pairs.imag], axis=-1)
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)

    q, k = PARTS["q"].astype(float), PARTS["k_rope"].astype(float)
    position = turn(q[..., 16:], places[0], layouts[0]) @ turn(k, places[1], layouts[1]).T
    return single((q[..., :16] @ PARTS["k_nope"].swapaxes(1, 2) + position) / 24**0.5)


WHERE = np.arange(4, 9), np.arange(9)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (mla(plain(8), (WHERE[0], 0 * WHERE[1]), ("interleaved",) * 2), "parts of keys that are"),
        (mla(plain(8), (0 * WHERE[0], WHERE[1]), ("interleaved",) * 2), "parts of queries that"),
        (mla(plain(24)[:4], WHERE, ("interleaved",) * 2), "frequencies of all 24 channels"),
        (
            mla(np.append(plain(4), [0, 0]), WHERE, ("interleaved",) * 2),
            "only the first 4 of 8 channels turned, like a head of 4",
        ),
        (mla(plain(8), WHERE, ("half", "interleaved")), "queries turned in the half layout"),
    ],
    ids=["keys", "queries", "head", "half", "layouts"],
)
def test_wrong_rotary_parts_of_latent_attention_are_told(result: Array, words: str) -> None:
    assert words in said(result, "mla_scores", **PARTS)
    right = mla(plain(8), WHERE, ("interleaved",) * 2)
    assert check(right, "mla_scores", **PARTS).worst <= 1


def test_a_layer_norm_and_a_late_row_are_told() -> None:
    q, k = X[:, :3].astype(np.float32) + 0.5, X[:1, 3:6].astype(np.float32)
    given: dict[str, Any] = {
        "q": q,
        "k": k,
        "q_weight": np.ones(64, np.float32),
        "k_weight": np.ones(64, np.float32),
        "positions": np.array([3, 4, 5]),
        "eps": 1e-6,
        "base": 10_000.0,
        "layout": "half",
    }
    centred = {name: given[name] - given[name].mean(axis=-1, keepdims=True) for name in "qk"}
    words = said(single(expected("qk_norm_rope", **given | centred)), "qk_norm_rope", **given)
    assert "a layer norm: the mean of a row is subtracted" in words
    one = given | {"q": q[:, :1], "k": k[:, :1], "positions": np.array([10])}
    late = expected("qk_norm_rope", **one | {"positions": np.array([11])})
    words = said(single(late), "qk_norm_rope", **one)
    assert "the row stands at position 11, not at 10" in words


def test_results_of_short_steps_are_told() -> None:
    c, s = (np.tile(table, 2) for table in (COS, SIN))
    given: dict[str, Any] = {"x": X, "cos": single(c), "sin": single(s)}
    x, short = X.astype(ml_dtypes.bfloat16), [table.astype(ml_dtypes.bfloat16) for table in (c, s)]
    half = np.concatenate([-x[..., 32:], x[..., :32]], axis=-1)
    result = (x * short[0] + half * short[1]).astype(np.float32)
    words = said(result, "rope_apply", combination="half-doubled", **given)
    assert "every value is one of bfloat16" in words


def test_a_cache_read_by_turns_is_told() -> None:
    given: dict[str, Any] = {
        "x": X,
        "rows": PLACES,
        "cache": single(np.concatenate([COS, SIN], axis=-1)),
        "combination": "cache-half",
    }
    cache = given["cache"].astype(float)
    words = said(turned(cache[:, ::2], cache[:, 1::2]), "rope_apply_cache", **given)
    assert "cosines and sines read by turns from a row of the cache" in words
    assert check(turned(COS, SIN), "rope_apply_cache", **given).worst <= 1


def test_permuted_twice_is_told() -> None:
    q, k = (np.random.default_rng(n).standard_normal((16 * n, 5)) for n in (2, 1))
    given: dict[str, Any] = {
        "q_weight": single(q),
        "k_weight": single(k),
        "heads": 2,
        "key_heads": 1,
    }
    once = expected("permute_qk", **given)
    twice = expected("permute_qk", **given | {"q_weight": once[:32], "k_weight": once[32:]})
    assert "rows permuted twice" in said(single(twice), "permute_qk", **given)


@pytest.mark.parametrize("words", ["content to position at key minus query", "not transposed back"])
def test_one_wrong_term_of_deberta_is_told(words: str) -> None:
    rng = np.random.default_rng(7)
    sizes = {"q": 20, "k": 20, "q_r": 8, "k_r": 8}
    given = {name: single(rng.standard_normal((2, n, 6))) for name, n in sizes.items()}
    q, k, q_r, k_r = (each.astype(float) for each in given.values())
    lag = np.arange(20)[:, None] - np.arange(20)
    index = np.broadcast_to(np.clip(lag + 4, 0, 7), (2, 20, 20))
    mirrored = index.swapaxes(1, 2) if "minus" in words else index
    to_position = np.take_along_axis(q @ k_r.swapaxes(1, 2), mirrored, -1)
    by_key = np.take_along_axis(k @ q_r.swapaxes(1, 2), index.swapaxes(1, 2), -1).swapaxes(1, 2)
    if "transposed" in words:
        by_key = np.take_along_axis(k @ q_r.swapaxes(1, 2), index, -1)
    result = (q @ k.swapaxes(1, 2) + to_position + by_key) / np.sqrt(18)
    assert words in said(single(result), "deberta_scores", **given)


def test_another_rule_for_odd_channels_is_told() -> None:
    given: dict[str, Any] = {"positions": PLACES, "dim": 9, "combination": "paper"}
    result = single(expected("sinusoidal", **given, odd_dim="cut"))
    words = said(result, "sinusoidal", **given, odd_dim="uneven")
    assert "the rule cut for an odd number of channels" in words
    passes("sinusoidal", **given, odd_dim="cut")
    passes("sinusoidal", **given, odd_dim="uneven")


def each_side(before: int, after: int, count: int = 130) -> Array:
    lag = np.arange(count)[:, None] - np.arange(count)
    return (lag <= before) & (-lag <= after)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (each_side(130, 16), "keys before the query are not limited"),
        (each_side(16, 15), "the last key after the query is one nearer"),
        (each_side(17, 15), "before the query is one farther and the last key after the query is"),
        (each_side(16, 33), "33 keys after the query are seen, where 16 should be"),
    ],
)
def test_sides_of_a_window_are_told(result: Array, words: str) -> None:
    given: dict[str, Any] = {
        "q_len": 130,
        "k_len": 130,
        "window": 16,
        "combination": "window-each-side",
    }
    assert words in said(result, "sliding_window", **given)
    assert check(each_side(16, 16), "sliding_window", **given).worst <= 1
    wide = given | {"window": 130}
    assert check(np.ones((130, 130), bool), "sliding_window", **wide).worst <= 1


def test_a_diagonal_of_the_wrong_sign_is_told() -> None:
    lag = 140 + np.arange(60)[:, None] - np.arange(200)
    given: dict[str, Any] = {"q_len": 60, "k_len": 200, "window": 48, "combination": "window-keys"}
    words = said(~((lag < 0) & (lag >= -48)), "sliding_window", **given)
    assert "the far edge of the window on the wrong side" in words
    assert check((lag >= 0) & (lag < 48), "sliding_window", **given).worst <= 1


def attended(more: int) -> tuple[Array, Array, dict[str, Any]]:
    """Return weights and outputs with further keys of score 0 in each sum, and the arguments."""
    rng = np.random.default_rng(8)
    q, k, v = (single(rng.standard_normal((2, n, 16))) for n in (5, 40, 40))
    powers = np.exp(q.astype(float) @ k.astype(float).swapaxes(1, 2) / 4)
    weights = powers / (powers.sum(axis=-1, keepdims=True) + more)
    return single(weights), single(weights @ v), {"q": q, "k": k, "v": v, "combination": "full"}


@pytest.mark.parametrize(("more", "words"), [(24, "padding up to 64 keys"), (1, "one more key")])
def test_padding_in_the_sum_of_a_softmax_is_told(more: int, words: str) -> None:
    weights, output, given = attended(more)
    right_weights, right_output, _ = attended(0)
    assert words in said(output, "attention", **given)
    assert check(right_output, "attention", **given).worst <= 1
    given.pop("v")
    assert f"{words}, of score 0, counted in the sum" in said(weights, "attention_weights", **given)
    assert check(right_weights, "attention_weights", **given).worst <= 1


def test_eigenvectors_in_another_order_are_told() -> None:
    rng = np.random.default_rng(3)
    edges = np.triu(rng.random((16, 16)) < 0.3, 1) + np.eye(16, k=1)
    weights = ((edges + edges.T) > 0).astype(float)
    share = weights.sum(axis=1) ** -0.5
    _, vectors = np.linalg.eigh(np.eye(16) - share[:, None] * weights * share)
    given: dict[str, Any] = {"adjacency": weights, "count": 3, "combination": "dropped"}
    picked = vectors[:, [2, 9, 4]]
    words = said(picked @ picked.T, "laplacian", **given)
    assert "not that of their eigenvalues: by size, numbers 2, 4, 9, counted from 0" in words
    right = -vectors[:, 1:4]
    assert check(right @ right.T, "laplacian", **given).worst <= 1


@pytest.mark.parametrize("short", ["bfloat16", "float16"])
def test_biases_of_short_places_are_told(short: str) -> None:
    dtype, keys = {"bfloat16": (ml_dtypes.bfloat16, 400), "float16": (np.float16, 2300)}[short]
    given: dict[str, Any] = {"heads": 4, "q_len": 2, "k_len": keys, "combination": "causal"}
    slopes_of_4 = 0.25 ** np.arange(1, 5)[:, None, None]
    places = np.arange(keys)
    near = places.astype(dtype).astype(float)
    words = said((slopes_of_4 * (near - near[-2:, None])).astype(dtype), "alibi_bias", **given)
    assert f"positions in {short}" in words
    right = slopes_of_4 * (places - places[-2:, None])
    assert check(right.astype(dtype), "alibi_bias", **given).worst <= 1


def test_a_number_added_to_all_distances_is_told() -> None:
    given: dict[str, Any] = {"heads": 8, "q_len": 1, "k_len": 200, "combination": "last-key"}
    by = slopes()[:, None, None]
    words = said(single(by * (np.arange(200) - 199 + 13)), "alibi_bias", **given)
    assert "distances shifted by +13 [distance-shifted" in words
    assert check(single(by * (np.arange(200) - 199.0)), "alibi_bias", **given).worst <= 1
    first = said(single(by * np.arange(200.0)), "alibi_bias", **given)
    assert "matches the first-key form" in first


def test_keys_at_their_own_positions_are_told() -> None:
    rng = np.random.default_rng(9)
    sizes = {"q": (2, 9, 4), "k": (2, 9, 4), "w_kr": (2, 8, 4), "u": (2, 4), "v": (2, 4)}
    given = {name: single(rng.standard_normal(size)) for name, size in sizes.items()}
    q, k, w_kr, u, v = (each.astype(float) for each in given.values())
    angles = np.outer(np.arange(9), 10_000.0 ** -(np.arange(0, 8, 2) / 8))
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(9, 8)
    scores = (q + u[:, None]) @ k.swapaxes(1, 2) + (q + v[:, None]) @ (table @ w_kr).swapaxes(1, 2)
    asked = {**given, "combination": "conformer"}
    words = said(single(scores / 2), "transformer_xl_scores", **asked)
    assert "the positions of keys, the same for every query" in words
    passes("transformer_xl_scores", **asked)


def test_one_head_in_four_that_is_right_is_told() -> None:
    rng = np.random.default_rng(10)
    given: dict[str, Any] = {
        "q": single(rng.standard_normal((8, 16, 32))),
        "k": single(rng.standard_normal((4, 16, 32))),
        "q_weight": np.ones(32, np.float32),
        "k_weight": np.ones(32, np.float32),
        "positions": np.arange(16),
        "eps": 1e-6,
        "base": 10_000.0,
        "layout": "half",
    }
    right = expected("qk_norm_rope", **given)
    level = expected("qk_norm_rope", **given | {"positions": 0 * np.arange(16)})
    cos = np.tile(np.cos(np.outer(np.arange(16), plain(32))), 2)
    result = np.where((np.arange(12) % 4 > 0)[:, None, None], level * cos, right)
    words = said(single(result), "qk_norm_rope", **given)
    assert "(5,), … the part with sin is missing; only one in 4, from the first on" in words
    passes("qk_norm_rope", **given)


@pytest.mark.parametrize(
    ("result", "words"),
    [([0, 16, 16, 32, 48, 64], "; 16 is there more"), ([0, 16, 64], "; 32, 48 are missing")],
)
def test_edges_that_are_missing_or_there_twice_are_told(result: list[int], words: str) -> None:
    given: dict[str, Any] = {"grids": [[1, 8, 8]], "window": 2, "merge_size": 2}
    assert words in said(np.array(result), "window_edges", **given)
    passes_whole = np.array([0, 16, 32, 48, 64])
    assert check(passes_whole, "window_edges", **given).worst <= 1
