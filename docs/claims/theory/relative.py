import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
HEADS, LENGTH, DIM = 2, 6, 4


def _drawn(*shape: int) -> Array:
    return RANDOM.standard_normal(shape)


def _q_k() -> tuple[Array, Array]:
    return _drawn(HEADS, LENGTH, DIM), _drawn(HEADS, LENGTH, DIM)


def _pairs() -> Iterator[tuple[int, int, int]]:
    return ((h, i, j) for h in range(HEADS) for i in range(LENGTH) for j in range(LENGTH))


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def four_terms() -> None:
    """SymPy expands the logit with matrices that do not commute: exactly four terms."""
    x, p, y, r, w_q, w_k = sympy.symbols("x p y r w_q w_k", commutative=False)
    expanded = sympy.expand((x + p) * w_q * w_k * (y + r))
    terms = {query * w_q * w_k * key for query in (x, p) for key in (y, r)}
    assert set(expanded.args) == terms


def sum_and_difference() -> None:
    """SymPy reduces the difference of both sides to zero, for any matrix of four numbers."""
    i, j, w = sympy.symbols("i j w", real=True)
    matrix = sympy.Matrix(2, 2, sympy.symbols("a b c d", real=True))
    a, b, c, d = matrix
    left = sympy.Matrix([[sympy.sin(i * w), sympy.cos(i * w)]]) * matrix
    left = (left * sympy.Matrix([sympy.sin(j * w), sympy.cos(j * w)]))[0]
    less, more = (i - j) * w, (i + j) * w
    right = (a + d) * sympy.cos(less) + (b - c) * sympy.sin(less)
    right += (d - a) * sympy.cos(more) + (b + c) * sympy.sin(more)
    assert sympy.simplify(sympy.expand_trig(sympy.expand(left - right / 2))) == 0


def relative_matrices() -> str:
    """Matrices A with R(1)^T A R(1) = A, counted as the null space of a linear map."""
    dim = 8
    sine, cosine = posenc.sinusoidal([1], dim)[0].reshape(-1, 2).T
    turn = np.zeros((dim, dim))
    for t in range(dim // 2):
        turn[2 * t :, 2 * t :][:2, :2] = [[cosine[t], sine[t]], [-sine[t], cosine[t]]]
    rows = posenc.sinusoidal(np.arange(9), dim)
    assert np.allclose(rows[:-1] @ turn.T, rows[1:])
    unmoved = np.kron(turn.T, turn.T) - np.eye(dim * dim)
    free = dim * dim - np.linalg.matrix_rank(unmoved, tol=1e-9)
    return f"{dim} channels, {free} of {dim * dim}"


def row_shaw() -> None:
    """shaw_scores is (a) and (b) of this row over the root of the channels."""
    (q, k), table = _q_k(), _drawn(5, DIM)
    got = posenc.shaw_scores(q, k, table)
    for h, i, j in _pairs():
        vector = table[min(max(j - i, -2), 2) + 2]
        assert math.isclose(got[h, i, j], (q[h, i] @ k[h, j] + q[h, i] @ vector) / 2, abs_tol=1e-12)


def row_transformer_xl() -> None:
    """transformer_xl_scores is the sum of this row's four terms over the root of the channels."""
    (q, k), w = _q_k(), _drawn(HEADS, 6, DIM)
    u, v = _drawn(HEADS, DIM), _drawn(HEADS, DIM)
    got = posenc.transformer_xl_scores(q, k, w, u, v, direction="two-sided")
    for h, i, j in _pairs():
        wave = posenc.sinusoidal([i - j], 6, layout="sin-cos")[0] @ w[h]
        terms = (q[h, i] @ k[h, j], q[h, i] @ wave, u[h] @ k[h, j], v[h] @ wave)
        assert math.isclose(got[h, i, j], sum(terms) / 2, abs_tol=1e-12)


def row_t5() -> None:
    """T5's weights are those of (a), undivided, plus one number for each bucket."""
    (q, k), table = _q_k(), _drawn(32, HEADS)
    bias = posenc.t5_bias(table, LENGTH, LENGTH)
    identity = np.broadcast_to(np.eye(LENGTH), (HEADS, LENGTH, LENGTH))
    weights = posenc.attention_with_bias(q, k, identity, bias, scaling="unscaled")
    logits = q @ np.swapaxes(k, 1, 2)
    for h, i, j in _pairs():
        logits[h, i, j] += table[int(posenc.t5_bucket(j - i)), h]
    assert np.allclose(weights, _softmax(logits))


def row_deberta() -> None:
    """deberta_scores is (a), (b) and (c) of this row over the root of three times the channels."""
    (q, k), q_r, k_r = _q_k(), _drawn(HEADS, 6, DIM), _drawn(HEADS, 6, DIM)
    got = posenc.deberta_scores(q, k, q_r, k_r)
    for h, i, j in _pairs():
        at = min(max(i - j + 3, 0), 5)
        terms = q[h, i] @ k[h, j] + q[h, i] @ k_r[h, at] + k[h, j] @ q_r[h, at]
        assert math.isclose(got[h, i, j], terms / math.sqrt(3 * DIM), abs_tol=1e-12)


def row_tupe() -> None:
    """Away from [CLS], TUPE's logits are (a) and (d) of this row, the bias undivided."""
    (q, k), table = _q_k(), _drawn(33, HEADS)
    p_q, p_k = _drawn(HEADS, LENGTH + 1, DIM), _drawn(HEADS, LENGTH + 1, DIM)
    got = posenc.tupe_relative_scores(q, k, p_q, p_k, table)
    for h, i, j in _pairs():
        if i and j:
            terms = q[h, i] @ k[h, j] + p_q[h, i + 1] @ p_k[h, j + 1]
            bias = table[int(posenc.t5_bucket(j - i)), h]
            assert math.isclose(got[h, i, j], terms / math.sqrt(2 * DIM) + bias, abs_tol=1e-12)


def row_alibi() -> None:
    """alibi_bias is (d) of this row, with the slopes 1/16 and 1/256 of two heads."""
    got = posenc.alibi_bias(HEADS, LENGTH, LENGTH)
    for h, i, j in _pairs():
        assert got[h, i, j] == (-(16.0 ** -(h + 1)) * (i - j) if j <= i else -np.inf)


def row_kerple() -> None:
    """kerple_bias is (d) of this row."""
    r1, r2 = np.array([0.5, 2.0]), np.array([1.5, 0.25])
    got = posenc.kerple_bias(r1, r2, LENGTH, LENGTH)
    for h, i, j in _pairs():
        if j <= i:
            assert math.isclose(got[h, i, j], -r1[h] * math.log(1 + r2[h] * (i - j)), abs_tol=1e-12)


def row_fire() -> None:
    """fire_bias is (d) of this row: f a network of one input, below and above the threshold."""
    w1, b1, w2, b2 = _drawn(3), _drawn(3), _drawn(HEADS, 3), _drawn(HEADS)
    got = posenc.fire_bias(w1, b1, w2, b2, LENGTH, LENGTH, c=0.5, threshold=3.0)
    for h, i, j in _pairs():
        if j <= i:
            part = math.log(0.5 * (i - j) + 1) / math.log(0.5 * max(3, i) + 1)
            f = b2[h] + w2[h] @ np.maximum(0, w1 * part + b1)
            assert math.isclose(got[h, i, j], f, abs_tol=1e-12)


def row_cope() -> None:
    """cope_scores is (a) and (b) of this row; the positions are sums of gates."""
    (q, k), table = _q_k(), _drawn(LENGTH + 1, DIM)
    got = posenc.cope_scores(q, k, table)
    for h, i, j in _pairs():
        if j <= i:
            gates = [1 / (1 + math.exp(-(q[h, i] @ k[h, n]) / 2)) for n in range(j, i + 1)]
            share, whole = math.modf(sum(gates))
            vector = (1 - share) * table[int(whole)] + share * table[int(whole) + 1]
            expected = q[h, i] @ k[h, j] / 2 + q[h, i] @ vector
            assert math.isclose(got[h, i, j], expected, abs_tol=1e-12)


def row_rope() -> None:
    """Products of rotated rows are this row's single term, with one matrix for each distance."""
    q, k = _q_k()
    turned = (posenc.rope(rows, np.arange(LENGTH)) for rows in (q, k))
    got = np.einsum("hid,hjd->hij", *turned)
    for h, i, j in _pairs():
        by_distance = posenc.rope(np.eye(DIM), np.full(DIM, j - i)).T
        assert math.isclose(got[h, i, j], q[h, i] @ by_distance @ k[h, j], abs_tol=1e-12)


def toeplitz() -> str:
    """Entries compared along diagonals; those of FIRE agree only up to its threshold."""
    n = 64

    def constant(matrix: Array) -> bool:
        return bool(np.array_equal(matrix[..., 1:, 1:], matrix[..., :-1, :-1]))

    assert constant(posenc.alibi_bias(3, n, n, form="symmetric"))
    assert constant(posenc.t5_bias(_drawn(32, 3), n, n))
    assert constant(posenc.clipped_bias(_drawn(9, 3), n, n))
    assert constant(posenc.kerple_bias([0.5], [1.5], n, n))
    ones = np.ones(1)
    inputs = {
        end: posenc.fire_bias(ones, 0 * ones, ones[None], 0 * ones, n, n, threshold=end)[0]
        for end in (16.0, 64.0)
    }
    assert constant(inputs[64.0])
    assert constant(inputs[16.0][:17, :17])
    assert not constant(inputs[16.0])
    return f"{n} by {n} entries"


def moving_average() -> None:
    """attention_with_bias on queries of zeros gives the quotient of the two running sums."""
    values = _drawn(HEADS, 40, 3)
    nothing = np.zeros((HEADS, 40, DIM))
    bias = posenc.alibi_bias(HEADS, 40, 40, form="first-key")
    got = posenc.attention_with_bias(nothing, nothing, values, bias, mask="causal")
    for h, slope in enumerate(posenc.alibi_slopes(HEADS)):
        above, below = np.zeros(3), 0.0
        for i, row in enumerate(values[h]):
            above, below = math.exp(-slope) * above + row, math.exp(-slope) * below + 1
            assert np.allclose(got[h, i], above / below, rtol=1e-12)


def memory() -> tuple[str, str]:
    """Bytes of float32 for a vector per pair, and for a vector per distance."""
    length, dim = 2048, 512
    pairs, distances = length**2 * dim * 4, length * dim * 4
    return f"{pairs / 1e6:,.0f} million bytes", f"{distances / 1e6:.1f} million"


def shift_garbage() -> None:
    """The two reshapes against relative_shift, and their values where that has minus infinity."""
    for rows in range(1, 10):
        for columns in range(rows, 10):
            x = np.arange(1.0, rows * columns + 1).reshape(rows, columns)
            padded = np.pad(x, ((0, 0), (1, 0)))
            got = padded.reshape(columns + 1, rows)[1:].reshape(rows, columns)
            right = posenc.relative_shift(x)
            seen = np.isfinite(right)
            assert np.array_equal(seen, posenc.causal_mask(rows, columns))
            assert np.array_equal(got[seen], right[seen])
            for i, j in np.argwhere(~seen):
                behind = j - (columns - rows + i)
                assert got[i, j] == (x[i + 1, behind - 2] if behind > 1 else 0)


def window_of_alibi() -> tuple[str, str]:
    """The least distance whose bound is below a millionth; logits of that size respect it."""
    limit, distances = 5.0, []
    for slope in posenc.alibi_slopes(8)[[0, -1]]:
        distance = math.ceil((2 * limit + math.log(1e6)) / slope)
        assert math.exp(2 * limit - slope * distance) < 1e-6
        assert math.exp(2 * limit - slope * (distance - 1)) >= 1e-6
        back = np.arange(4 * distance)
        for logits in (RANDOM.uniform(-limit, limit, len(back)), np.where(back < distance, -5, 5)):
            weights = _softmax(logits - slope * back)
            assert weights[distance:].sum() < 1e-6
        distances.append(distance)
    return f"{distances[0]:,} or more", f"{distances[1]:,} or more"


def softmax_sees() -> None:
    """Weights with one position vector for all keys, and with one for all queries."""
    x, p, matrix, same = _drawn(5, DIM), _drawn(5, DIM), _drawn(DIM, DIM), _drawn(1, DIM)

    def weights(query: Array, key: Array) -> Array:
        return _softmax(query @ matrix @ key.T)

    keys_alike = weights(x + p, x + same)
    assert np.allclose(keys_alike, weights(x + p, x))
    assert not np.allclose(keys_alike, weights(x, x))
    a, c = x @ matrix @ x.T, same @ matrix @ x.T
    b, d = x @ matrix @ p.T, same @ matrix @ p.T
    every = weights(x + same, x + p)
    for left_out in (a, b, c, d):
        assert not np.allclose(every, _softmax(a + b + c + d - left_out))


def bias_or_rotation() -> None:
    """The bound holds for random contents, and a query of zeros has no preference under RoPE."""
    n, steep = 12, 20.0
    for _ in range(20):
        q, k = _drawn(n, DIM), _drawn(n, DIM)
        q, k = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (q, k))
        offset = np.arange(n)[:, None] - np.arange(n)
        weights = _softmax(q @ k.T + np.where(offset == 1, 0.0, -steep))
        assert (np.diag(weights, -1) >= 1 / (1 + (n - 1) * math.exp(2 - steep))).all()
    nothing = posenc.rope(np.zeros((n, DIM)), np.arange(n))
    assert np.array_equal(nothing @ posenc.rope(k, np.arange(n)).T, np.zeros((n, n)))
