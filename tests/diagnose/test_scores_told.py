"""Mistakes in scores and their softmax, as people write them, beside near ones of other names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.judge.arrays import Array

HEADS, DIM = 8, 64
ANY_LOW = (-100.0, -10.0, -1.0)


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def said(result: Array, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(np.asarray(result, np.float32), call, **given)
    return str(wrong.value).splitlines()[0]


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


Q, K, V = (drawn(HEADS, 16, DIM, seed=seed) for seed in range(3))
PRODUCTS = Q.astype(float) @ K.swapaxes(1, 2)
SEEN = np.tril(np.ones((16, 16), bool))
HIDING = np.where(np.arange(16) % 5 == 3, -np.inf, drawn(16, 16, seed=5)).astype(np.float32)


@pytest.mark.parametrize(
    ("divisor", "words"),
    [
        (np.sqrt(HEADS * DIM), f"division by sqrt({HEADS * DIM}), as of {HEADS} heads together"),
        (np.sqrt(12 * DIM), f"division by sqrt({12 * DIM}), as of 12 heads together"),
        (DIM, "division by head_dim"),
        (1.0, "no division by sqrt(head_dim)"),
    ],
)
def test_divisors_of_attention_are_told(divisor: float, words: str) -> None:
    weights = softmax(PRODUCTS / divisor)
    assert words in said(weights, "attention_weights", q=Q, k=K)
    assert words in said(weights @ V, "attention", q=Q, k=K, v=V)


TOTALS: dict[str, tuple[float, dict[str, Array]]] = {
    "shaw_scores": (DIM**0.5, {"table": drawn(9, DIM, seed=2)}),
    "deberta_scores": (
        (3 * DIM) ** 0.5,
        {"q_r": drawn(HEADS, 32, DIM, seed=2), "k_r": drawn(HEADS, 32, DIM, seed=3)},
    ),
    "tupe_scores": (
        (2 * DIM) ** 0.5,
        {"p_q": drawn(HEADS, 17, DIM, seed=2), "p_k": drawn(HEADS, 17, DIM, seed=3)},
    ),
    "transformer_xl_scores": (
        DIM**0.5,
        {
            "w_kr": drawn(HEADS, DIM, DIM, seed=2),
            "u": drawn(HEADS, DIM, seed=3),
            "v": drawn(HEADS, DIM, seed=4),
        },
    ),
}


@pytest.mark.parametrize("call", TOTALS)
@pytest.mark.parametrize("divisor", ["head_dim", "sqrt(heads head_dim)"])
def test_divisors_of_sums_are_told(call: str, divisor: str) -> None:
    right, more = TOTALS[call]
    given: dict[str, Any] = {"q": Q, "k": K, **more}
    wrong = DIM if divisor == "head_dim" else np.sqrt(HEADS * DIM)
    words = said(expected(call, **given) * right / wrong, call, **given)
    assert divisor in words.replace("heads * head_dim", "heads head_dim"), words
    other = said(expected(call, **given) * 1.0625, call, **given)
    assert "1.0625 times" in other


@pytest.mark.parametrize("low", ANY_LOW)
def test_hidden_logits_that_are_not_low_enough_are_told(low: float) -> None:
    weights = softmax(np.where(SEEN, PRODUCTS / 8, low))
    words = f"hidden logits replaced by {low:g}"
    assert words in said(weights, "attention_weights", q=Q, k=K, mask="causal")
    if low > -100:  # values hide what is smaller
        assert words in said(weights @ V, "attention", q=Q, k=K, v=V, mask="causal")


def test_logits_times_a_mask_are_told() -> None:
    weights = softmax(np.where(SEEN, PRODUCTS / 8, 0.0))
    for result, call, more in (
        (weights, "attention_weights", {}),
        (weights @ V, "attention", {"v": V}),
    ):
        words = said(result, call, q=Q, k=K, mask="causal", **more)
        assert "hidden logits of 0, which a softmax counts" in words
    everything = softmax(PRODUCTS / 8)
    words = said(everything, "attention_weights", q=Q, k=K, mask="causal")
    assert "without a mask" in words


def test_a_low_bias_for_minus_infinity_is_told() -> None:
    given: dict[str, Any] = {"q": Q, "k": K, "v": V, "bias": HIDING, "mask": "causal"}
    of_bias = PRODUCTS / 8 + np.where(np.isinf(HIDING), -1.0, HIDING)
    seen = np.where(SEEN, of_bias, -np.inf)
    everything = np.where(SEEN & ~np.isinf(HIDING), PRODUCTS / 8 + HIDING, -1.0)
    masked = PRODUCTS / 8 + HIDING
    for logits, words in (
        (masked, "a bias without the mask beside it"),
        (seen, "a bias of -1 where it is minus infinity"),
        (of_bias, "a bias of -1 where it is minus infinity, and no mask"),
        (everything, "hidden logits replaced by -1"),
    ):
        told = said(softmax(logits) @ V, "attention_with_bias", **given)
        assert told == f"no known deviation: {words}"


@pytest.mark.parametrize(
    ("tiled", "words"),
    [("kv", "keys and values of 2 heads tiled"), ("k", "keys of 2"), ("v", "values of 2")],
)
def test_heads_that_are_tiled_are_told(tiled: str, words: str) -> None:
    few = {"k": K[:2], "v": V[:2]}
    right = {name: np.repeat(each, 4, axis=0) for name, each in few.items()}
    wrong = right | {name: np.tile(few[name], (4, 1, 1)) for name in tiled}
    weights = softmax(Q.astype(float) @ wrong["k"].swapaxes(1, 2) / 8)
    assert words in said(weights @ wrong["v"], "attention", q=Q, **right)


def test_other_orders_of_heads_are_not_called_tiled() -> None:
    k, v = (np.repeat(each[:2], 4, axis=0) for each in (K, V))
    weights = softmax(Q.astype(float) @ k[::-1].swapaxes(1, 2) / 8)
    assert "tiled" not in said(weights @ v[::-1], "attention", q=Q, k=k, v=v)
    assert "tiled" not in said(softmax(PRODUCTS[::-1] / 8) @ V, "attention", q=Q, k=K, v=V)


LENGTH, ROWS = 20, 16
SPAN = ROWS // 2
DISTANCE = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
ROW = np.clip(DISTANCE + SPAN, 0, ROWS - 1)
DEBERTA: dict[str, Any] = {
    "q": drawn(4, LENGTH, DIM),
    "k": drawn(4, LENGTH, DIM, seed=1),
    "q_r": drawn(4, ROWS, DIM, seed=2),
    "k_r": drawn(4, ROWS, DIM, seed=3),
}


def deberta(c2p: Array = ROW, p2c: Array = ROW, of: str = "k") -> Array:
    """Compute the scores with other rows, or position to content of queries at each key."""
    q, k, q_r, k_r = (each.astype(float) for each in DEBERTA.values())
    query, key = np.indices((LENGTH, LENGTH))
    to_position = (q @ k_r.swapaxes(1, 2))[:, query, c2p]
    asked = {"k": (k, key), "q": (q, key), "query": (q, query)}[of]
    to_content = (asked[0] @ q_r.swapaxes(1, 2))[:, asked[1], p2c]
    return np.asarray((q @ k.swapaxes(1, 2) + to_position + to_content) / np.sqrt(3 * DIM))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"of": "q"}, "position to content computed from q at each key, not from k"),
        ({"of": "query"}, "position to content computed from each query, not from the key"),
        (
            {"c2p": np.minimum(ROW, ROWS - 2)},
            "content to position alone with rows of the tables cut at 14, not at the last",
        ),
        (
            {"p2c": np.minimum(ROW, ROWS - 2)},
            "position to content alone with rows of the tables cut at 14, not at the last",
        ),
        ({"c2p": np.maximum(ROW, 1)}, "content to position alone with distances cut to ±7"),
        (
            {"c2p": (DISTANCE + SPAN) % ROWS},
            "content to position alone with distances started over beyond the tables",
        ),
        ({"c2p": ROW.T}, "content to position at key minus query"),
        ({"c2p": ROW.T, "p2c": ROW.T}, "distances of the opposite sign"),
    ],
)
def test_terms_of_deberta_are_told(wrong: dict[str, Any], words: str) -> None:
    assert words in said(deberta(**wrong), "deberta_scores", **DEBERTA)


def test_right_terms_of_deberta_are_right() -> None:
    assert check(np.asarray(deberta(), np.float32), "deberta_scores", **DEBERTA).worst <= 1


XL: dict[str, Any] = {"q": drawn(4, 12, DIM), "k": drawn(4, 20, DIM, seed=1), **{
    name: array[:4] for name, array in TOTALS["transformer_xl_scores"][1].items()
}}  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "exchanged", "words"),
    [
        ("concatenated", lambda w: np.roll(w, DIM // 2, axis=1), "cosines and sines exchanged"),
        (
            "interleaved",
            lambda w: w.reshape(4, -1, 2, DIM)[:, :, ::-1].reshape(w.shape),
            "cosines and sines exchanged",
        ),
        (
            "concatenated",
            lambda w: np.concatenate([w[:, ::2], w[:, 1::2]], axis=1),
            "interleaved sines and cosines",
        ),
    ],
)
def test_cosines_before_sines_are_told(
    layout: str, exchanged: Callable[[Array], Array], words: str
) -> None:
    given = {**XL, "layout": layout}
    wrong = expected("transformer_xl_scores", **{**given, "w_kr": exchanged(XL["w_kr"])})
    assert words in said(wrong, "transformer_xl_scores", **given)
