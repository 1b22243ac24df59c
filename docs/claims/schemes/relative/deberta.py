from typing import Any

import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(13)
HEADS, N, DIM, SPAN = 2, 7, 6, 3


def _given(n: int = N) -> list[Array]:
    return [RANDOM.standard_normal((HEADS, rows, DIM)) for rows in (n, n, 2 * SPAN, 2 * SPAN)]


def two_ends() -> None:
    """The row read at each distance, found with one nonzero row at a time."""
    q = np.ones((1, 11, 1))
    read = {}
    for row in range(2 * SPAN):
        k_r = np.zeros((1, 2 * SPAN, 1))
        k_r[0, row] = 1
        logits = posenc.deberta_scores(q, 0 * q, 0 * k_r, k_r)[0]
        for i, j in np.argwhere(logits > 0):
            read[int(i - j)] = row
    assert [read[d] for d in range(-SPAN - 1, SPAN + 2)] == [0, 0, 1, 2, 3, 4, 5, 5, 5]
    assert read[-SPAN] == 0
    assert read[-SPAN + 1] == 1
    assert read[SPAN - 1] == read[SPAN] == 2 * SPAN - 1


def transposed() -> None:
    """The index of released code, gathered by key, with and without the final transposition."""
    q, k, q_r, k_r = _given()
    distance = np.arange(N)[:, None] - np.arange(N)
    to_position = np.clip(distance + SPAN, 0, 2 * SPAN - 1)
    by_key = np.clip(-distance + SPAN, 0, 2 * SPAN - 1)

    def gathered(products: Array, index: Array) -> Array:
        return np.take_along_axis(
            products, np.broadcast_to(index, products.shape[:1] + index.shape), 2
        )

    first = q @ np.swapaxes(k, 1, 2) + gathered(q @ np.swapaxes(k_r, 1, 2), to_position)
    last = gathered(k @ np.swapaxes(q_r, 1, 2), by_key)
    expected = posenc.deberta_scores(q, k, q_r, k_r)
    assert np.allclose((first + np.swapaxes(last, 1, 2)) / np.sqrt(3 * DIM), expected, atol=1e-12)
    # Without the transposition, the look-up is at (j, i) for key j and query i.
    forgotten = np.swapaxes(gathered(k @ np.swapaxes(q_r, 1, 2), by_key.T), 1, 2)
    expected = posenc.deberta_scores(q, k, q_r, k_r, p2c_index="key-minus-query")
    assert np.allclose((first + forgotten) / np.sqrt(3 * DIM), expected, atol=1e-12)


def edge_in_float32() -> tuple[str, str]:
    """The formula of released code in float32, against the integer rule, up to M - 1."""

    def wrong(buckets: int, positions: int) -> list[int]:
        mid = np.float32(buckets // 2)
        n = np.arange(buckets // 2 + 1, positions)
        top = np.log(n.astype(np.float32) / mid)
        bottom = np.float32(np.log((positions - 1) / (buckets // 2)))
        got = np.ceil(top / bottom * (mid - 1)) + mid
        right = posenc.deberta_bucket(n, num_buckets=buckets, max_relative_positions=positions)
        assert right[-1] == 2 * (buckets // 2) - 1
        assert set((got - right).tolist()) <= {0, 1}
        return [int(distance) for distance in n[got != right]]

    assert wrong(256, 512) == []
    (at,) = wrong(320, 800)
    return "For 256 and 512 it does not; for 320 and 800 it does", f"at {at} and"


def row_zero() -> tuple[str, str]:
    """Buckets and rows of keys 512 and more ahead, and all rows read when clamped."""
    far = -np.arange(512, 3000)
    growing, clamped = (posenc.deberta_bucket(far, far=rule) for rule in ("growing", "clamped"))
    assert growing.max() == -256
    assert set(clamped.tolist()) == {-255}
    behind = [posenc.deberta_bucket(-far, far=rule) for rule in ("growing", "clamped")]
    assert all((np.clip(distances + 256, 0, 511) == 511).all() for distances in behind)
    every = posenc.deberta_bucket(np.arange(-3000, 3000))
    rows = np.clip(every + 256, 0, 511)
    assert rows.min() == 1
    assert rows.max() == 511
    return "bucket \\(-256\\)", "bucket \\(-255\\) and row 1"


def constant_row() -> None:
    """A vector added to every row of k_r adds one number to each row of logits."""
    q, k, q_r, k_r = _given()
    c = RANDOM.standard_normal((HEADS, 1, DIM))
    added = posenc.deberta_scores(q, k, q_r, k_r + c) - posenc.deberta_scores(q, k, q_r, k_r)
    expected = (q * c).sum(axis=-1, keepdims=True) / np.sqrt(3 * DIM)
    assert np.allclose(added, np.broadcast_to(expected, added.shape), atol=1e-12)


def exchanged() -> None:
    """Both exchanges under both conventions, for a text no longer than the span."""
    q, k, q_r, k_r = _given(SPAN)
    mirrored = [np.roll(rows[:, ::-1], 1, axis=1) for rows in (k_r, q_r)]
    for index, plain in (("key-minus-query", True), ("query-minus-key", False)):
        turned = np.swapaxes(posenc.deberta_scores(q, k, q_r, k_r, p2c_index=index), 1, 2)
        as_they_are = posenc.deberta_scores(k, q, k_r, q_r, p2c_index=index)
        by_mirror = posenc.deberta_scores(k, q, *mirrored, p2c_index=index)
        assert np.allclose(as_they_are, turned) == plain
        assert np.allclose(by_mirror, turned) != plain


def widths() -> tuple[str, str, str]:
    """The numbers of distances in each bucket."""
    n = np.arange(512)
    bucket = posenc.deberta_bucket(n)
    own = [int(row) for row in np.unique(bucket) if (bucket == row).sum() == 1 and row <= 128]
    last = n[bucket == bucket.max()]
    shared = set(bucket[n > 128].tolist())
    assert shared == set(range(129, 256))
    return f"up to {own[-1]}", f"the {len(shared)} buckets", f"{last[0]} to {last[-1]}"
