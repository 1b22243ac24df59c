from typing import Any

import ml_dtypes
import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(16)
WORDS = {"dog": (1.0, 0.5), "bites": (-0.5, 2.0), "man": (0.5, -1.0)}
SENTENCES = (("dog", "bites", "man"), ("man", "bites", "dog"))


def _drawn(*shape: int) -> Array:
    return RANDOM.standard_normal(shape)


def _outputs(mask: str) -> Array:
    texts = np.array([[WORDS[word] for word in sentence] for sentence in SENTENCES])
    return posenc.attention(texts, texts, texts, mask=mask)


def _row(word: str, mask: str) -> str:
    """Write a word's outputs as the table prints them; multiples of a half are exact."""

    def number(value: float) -> str:
        text = f"{value:g}" if 2 * value == round(2 * value) else f"{value:.4f}"
        return text.replace("-", "−")

    cells = []
    for sentence, rows in zip(SENTENCES, _outputs(mask), strict=True):
        cells.append(f"({', '.join(map(number, rows[sentence.index(word)]))})")
    return f"| {word} | {' | '.join(cells)}"


def full_dog() -> str:
    """The outputs of the reference."""
    return _row("dog", "none")


def full_bites() -> str:
    """The outputs of the reference."""
    return _row("bites", "none")


def full_man() -> str:
    """The outputs of the reference."""
    return _row("man", "none")


def causal_dog() -> str:
    """The outputs of the reference under a causal mask."""
    return _row("dog", "causal")


def causal_bites() -> str:
    """The outputs of the reference under a causal mask."""
    return _row("bites", "causal")


def causal_man() -> str:
    """The outputs of the reference under a causal mask."""
    return _row("man", "causal")


def last_digit() -> None:
    """Both sentences' outputs are bitwise equal when put into the same order."""
    first, second = _outputs("none")
    assert np.array_equal(first, second[::-1])


def equivariance() -> None:
    """Weights and outputs of 20 permuted texts are permuted, and differ from the original ones."""
    q, k, v = _drawn(7, 4), _drawn(7, 4), _drawn(7, 3)
    weights, out = posenc.attention_weights(q, k), posenc.attention(q, k, v)
    for _ in range(20):
        order = RANDOM.permutation(7)
        permuted = posenc.attention_weights(q[order], k[order])
        assert np.allclose(permuted, weights[np.ix_(order, order)], rtol=1e-14)
        moved = posenc.attention(q[order], k[order], v[order])
        assert np.allclose(moved, out[order], rtol=1e-13, atol=1e-15)
    assert not np.allclose(posenc.attention(q[::-1], k[::-1], v[::-1]), out, atol=1e-3)


def parts_of_a_whole() -> None:
    """Row sums and signs of weights, and bounds of outputs, for random inputs."""
    q, k, v = _drawn(9, 4), _drawn(9, 4), _drawn(9, 3)
    weights, out = posenc.attention_weights(q, k), posenc.attention(q, k, v)
    assert (weights > 0).all()
    assert np.allclose(weights.sum(axis=-1), 1, rtol=1e-15)
    assert (out >= v.min(axis=0)).all()
    assert (out <= v.max(axis=0)).all()


def same_for_every_key() -> None:
    """Outputs stay if a number is added to a row of the bias, or a vector to every key."""
    q, k, v, bias = _drawn(6, 4), _drawn(6, 4), _drawn(6, 3), _drawn(6, 6)
    out = posenc.attention_with_bias(q, k, v, bias)
    assert np.allclose(posenc.attention_with_bias(q, k, v, bias + _drawn(6, 1)), out, rtol=1e-12)
    assert np.allclose(posenc.attention_with_bias(q, k + _drawn(1, 4), v, bias), out, rtol=1e-12)
    assert not np.allclose(posenc.attention_with_bias(q, k, v, bias + _drawn(1, 6)), out)


def needless_epsilon() -> None:
    """Adding 1e-12 to 1 in both dtypes; the sum is never below 1."""
    assert np.float32(1) + np.float32(1e-12) == 1
    assert np.float64(1) + 1e-12 > 1
    logits = 5 * _drawn(200, 9)
    assert np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1).min() >= 1


def error_of_a_weight() -> None:
    """The quotient and its bound, for random logits and errors."""
    for scale in (0.0, 0.01, 1.0, 5.0):
        logits, errors = _drawn(50, 8), scale * _drawn(50, 8)
        weights, wrong = (
            np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
            for values in (logits, logits + errors)
        )
        mean = (weights * np.exp(errors)).sum(axis=1, keepdims=True)
        assert np.allclose(wrong / weights, np.exp(errors) / mean, rtol=1e-12)
        seen = (weights * np.abs(errors)).sum(axis=1, keepdims=True)
        assert (wrong / weights <= np.exp(np.abs(errors) + seen) * (1 + 1e-12)).all()


def bfloat16_logit() -> str:
    """Half of bfloat16's spacing at 100, and its effect on an exponential."""
    neighbour = np.nextafter(ml_dtypes.bfloat16(100), ml_dtypes.bfloat16(101))
    half = (float(neighbour) - 100) / 2
    assert 1 / 4 < np.exp(half) - 1 < 1 / 3
    return f"to {half},"


def equal_tokens() -> None:
    """Two layers on a text with one word three times: its rows are equal, other rows differ."""
    word, other = _drawn(1, 4), _drawn(2, 4)
    x = np.concatenate([word, word, other[:1], word, other[1:]])
    for _ in range(2):
        x = posenc.attention(x, x, x)
    for place in (1, 3):
        assert np.array_equal(x[0], x[place])
    assert not np.allclose(x[0], x[2])
