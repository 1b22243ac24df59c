from typing import Any

import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(11)
HEADS, N, DIM, CLIP = 2, 9, 4, 3


def _drawn(*shape: int) -> Array:
    return RANDOM.standard_normal(shape)


def _rows(n: int = N) -> Array:
    return np.clip(np.arange(n) - np.arange(n)[:, None], -CLIP, CLIP) + CLIP


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def absolute_rows() -> None:
    """Both readings, for a text and for the text with a token in front."""
    q, k, table, front = (
        _drawn(N, DIM),
        np.zeros((N, DIM)),
        _drawn(2 * CLIP + 1, DIM),
        _drawn(1, DIM),
    )
    moved = np.concatenate([front, q])
    pairs = posenc.shaw_scores(q[None], k[None], table)[0]
    pairs_moved = posenc.shaw_scores(moved[None], np.zeros((1, N + 1, DIM)), table)[0]
    assert np.array_equal(pairs_moved[1:, 1:], pairs)
    rows = _drawn(N + 1, DIM)
    assert not np.allclose((moved @ rows.T)[1:, 1:], q @ rows[:N].T)


def three_ways() -> None:
    """A vector per pair, rows first, and, under a causal mask, skewing, for the clipped table."""
    q, k, table = _drawn(HEADS, N, DIM), _drawn(HEADS, N, DIM), _drawn(2 * CLIP + 1, DIM)
    expected = posenc.shaw_scores(q, k, table)
    content = q @ np.swapaxes(k, 1, 2)
    per_pair = np.einsum("hid,ijd->hij", q, table[_rows()])
    rows_first = np.take_along_axis(q @ table.T, np.broadcast_to(_rows(), per_pair.shape), axis=2)
    for position in (per_pair, rows_first):
        assert np.allclose((content + position) / 2, expected, rtol=1e-12, atol=1e-12)
    past = table[np.maximum(np.arange(-(N - 1), 1), -CLIP) + CLIP]
    padded = np.pad(q @ past.T, ((0, 0), (0, 0), (1, 0)))
    skewed = padded.reshape(HEADS, N + 1, N)[:, 1:].reshape(HEADS, N, N)
    seen = np.tri(N, dtype=bool)
    assert np.allclose(((content + skewed) / 2)[:, seen], expected[:, seen], rtol=1e-12, atol=1e-12)
    assert not np.allclose(((content + skewed) / 2)[:, ~seen], expected[:, ~seen])


def diagonals() -> None:
    """Logits of equal queries and equal keys along diagonals, and beyond the clip."""
    q, k = (np.broadcast_to(_drawn(1, 1, DIM), (1, N, DIM)) for _ in range(2))
    logits = posenc.shaw_scores(q, k, _drawn(2 * CLIP + 1, DIM))[0]
    assert np.array_equal(logits[1:, 1:], logits[:-1, :-1])
    assert len(set(logits[0, CLIP:])) == 1
    assert len(set(logits[0, : CLIP + 1])) == CLIP + 1


def one_row() -> None:
    """Weights with a table of one row, or of equal rows, are those without a table."""
    q, k = _drawn(HEADS, N, DIM), _drawn(HEADS, N, DIM)
    plain = posenc.attention_weights(q, k)
    row = _drawn(1, DIM)
    for table in (row, np.repeat(row, 7, axis=0)):
        assert np.allclose(_softmax(posenc.shaw_scores(q, k, table)), plain, rtol=1e-12)


def constant_values() -> None:
    """Outputs with a constant table of values, for weights that sum to 1 and after dropout."""
    v, row = _drawn(HEADS, N, DIM), _drawn(1, DIM)
    weights = _softmax(_drawn(HEADS, N, N))
    dropped = weights * (_drawn(HEADS, N, N) > 0) * 2
    for shares in (weights, dropped):
        added = posenc.shaw_values(shares, v, np.repeat(row, 5, axis=0)) - shares @ v
        assert np.allclose(added, shares.sum(axis=-1, keepdims=True) * row, atol=1e-13)
    assert not np.allclose(added, row)


def values_tell() -> None:
    """All weight on one key and equal values: the output is v plus the row of the distance."""
    v = np.broadcast_to(_drawn(1, 1, DIM), (1, N, DIM))
    table = _drawn(2 * CLIP + 1, DIM)
    for key in range(N):
        weights = np.zeros((1, N, N))
        weights[..., key] = 1
        got = posenc.shaw_values(weights, v, table)[0]
        assert np.allclose(got, v[0] + table[_rows()[:, key]], rtol=1e-13)
