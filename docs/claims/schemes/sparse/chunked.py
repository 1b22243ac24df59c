import numpy as np

import posenc


def cached_rows() -> None:
    """Masks of the last queries are the last rows of the whole mask."""
    whole = posenc.chunked_mask(30, 30, 7)
    for queries in range(1, 31):
        assert np.array_equal(posenc.chunked_mask(queries, 30, 7), whole[-queries:])


def own_square() -> None:
    """The boolean square of the mask is the mask, for chunks of 1 to 11."""
    for size in range(1, 12):
        mask = posenc.chunked_mask(30, 30, size)
        assert np.array_equal(mask.astype(int) @ mask.astype(int) > 0, mask)


def boundary() -> tuple[str, str]:
    """Keys of the queries on both sides of a boundary."""
    before, after = (posenc.chunked_mask(1, n, 8192).sum() for n in (8192, 8193))
    assert after == 1
    return f"has {before:,} keys", "it has one"


def average_keys() -> tuple[str, str]:
    """Mean keys per query, counted for short chunks, by the rule for 8,192; those of a window."""
    for size in (1, 4, 9):
        counts = posenc.chunked_mask(10 * size, 10 * size, size).sum(axis=1)
        assert counts.mean() == (size + 1) / 2
        assert posenc.sliding_window(1, 10 * size, size).sum() == size
    return f"{(8192 + 1) / 2:,.1f} against", "8,192."
