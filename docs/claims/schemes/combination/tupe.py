from typing import Any

import numpy as np
import sympy

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(14)
HEADS, N, DIM, BUCKETS = 2, 6, 4, 8


def _given() -> list[Array]:
    return [RANDOM.standard_normal((HEADS, rows, DIM)) for rows in (N, N, N + 1, N + 1)]


def built_rows() -> None:
    """Any two numbers per head, put into rows 0 and 1, become the two scores of [CLS]."""
    q, k, p_q, p_k = _given()
    first, second = RANDOM.standard_normal((2, HEADS))
    p_q[:, :2], p_k[:, :2] = 0, 0
    p_q[:, 0, 0], p_k[:, 0, 0] = first * np.sqrt(2 * DIM), 1
    p_q[:, 1, 0], p_k[:, 1, 0] = second * np.sqrt(2 * DIM), 1
    logits = posenc.tupe_scores(0 * q, k, p_q, p_k)
    assert np.allclose(logits[:, 0], first[:, None])
    assert np.allclose(logits[:, 1:, 0], second[:, None])


def paper_and_code() -> None:
    """The row and the column of [CLS] without content, for both resets, against the table."""
    q, k, p_q, p_k = _given()
    table = RANDOM.standard_normal((BUCKETS + 1, HEADS))
    theta = [(p_q[:, at] * p_k[:, at]).sum(axis=-1) / np.sqrt(2 * DIM) for at in (0, 1)]
    paper = posenc.tupe_relative_scores(
        0 * q, k, p_q, p_k, table[:BUCKETS], reset="together", max_distance=16
    )
    code = posenc.tupe_relative_scores(0 * q, k, p_q, p_k, table, max_distance=16)
    for logits, row, column in (
        (paper, theta[0], theta[1]),
        (code, theta[0] + table[BUCKETS // 2], theta[1] + table[BUCKETS]),
    ):
        assert np.allclose(logits[:, 0], row[:, None])
        assert np.allclose(logits[:, 1:, 0], column[:, None])


def sum_of_parts() -> None:
    """Logits without positions plus logits without a text, tied and untied."""
    q, k, p_q, p_k = _given()
    for cls, rows in (("untied", N + 1), ("tied", N)):
        p, r = p_q[:, :rows], p_k[:, :rows]
        whole = posenc.tupe_scores(q, k, p, r, cls=cls)
        text = posenc.tupe_scores(q, k, 0 * p, 0 * r, cls=cls)
        places = posenc.tupe_scores(0 * q, 0 * k, p, r, cls=cls)
        assert np.allclose(text + places, whole, atol=1e-13)


def exchanged() -> None:
    """Exchanging queries and keys: tied, untied, and untied with rows 0 and 1 exchanged too."""
    q, k, p_q, p_k = _given()
    tied = posenc.tupe_scores(q, k, p_q[:, 1:], p_k[:, 1:], cls="tied")
    assert np.allclose(
        posenc.tupe_scores(k, q, p_k[:, 1:], p_q[:, 1:], cls="tied"), tied.swapaxes(1, 2)
    )
    expected = posenc.tupe_scores(q, k, p_q, p_k).swapaxes(1, 2)
    assert not np.allclose(posenc.tupe_scores(k, q, p_k, p_q), expected)
    order = [1, 0, *range(2, N + 1)]
    got = posenc.tupe_scores(k, q, p_k[:, order], p_q[:, order])
    same = np.isclose(got, expected)
    assert not same[:, 0, 0].any()
    same[:, 0, 0] = True
    assert same.all()


def bias_undivided() -> None:
    """A constant table of biases is the difference of the logits with it and without."""
    q, k, p_q, p_k = _given()
    with_it = posenc.tupe_relative_scores(q, k, p_q, p_k, np.full((BUCKETS + 1, HEADS), 0.75))
    assert np.allclose(with_it - posenc.tupe_scores(q, k, p_q, p_k), 0.75, atol=1e-13)


def variances() -> None:
    """SymPy's moments of a sum of products, and 40,000 logits of the reference."""
    d = sympy.symbols("d", positive=True)
    assert sympy.simplify((d + d) / sympy.sqrt(2 * d) ** 2) == 1
    n = 200
    drawn = [RANDOM.standard_normal((1, n, 64)) for _ in range(4)]
    logits = posenc.tupe_scores(*drawn, cls="tied")
    assert abs(logits.var() - 1) < 0.05


def _layer(x: Array, p_q: Array, p_k: Array) -> Array:
    logits = posenc.tupe_scores(x[None], x[None], p_q, p_k)[0]
    shares = np.exp(logits)
    return np.asarray(shares @ x / shares.sum(axis=-1, keepdims=True))


def cls_and_order() -> None:
    """The output of [CLS] for a text and its permutation, after one and two layers."""
    x = RANDOM.standard_normal((N, DIM))
    p_q, p_k = RANDOM.standard_normal((2, 1, N + 1, DIM))
    texts = (x, x[[0, 3, 1, 5, 2, 4]])
    once = [_layer(text, p_q, p_k) for text in texts]
    assert np.allclose(once[0][0], once[1][0], atol=1e-13)
    twice = [_layer(rows, p_q, p_k)[0] for rows in once]
    assert not np.allclose(twice[0], twice[1], atol=1e-6)
