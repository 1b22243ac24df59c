import math

import numpy as np

import posenc


def c_columns() -> None:
    """All later queries see c keys of a block, for every c up to the block size."""
    for size in range(1, 9):
        for summary in range(1, size + 1):
            columns = posenc.fixed_mask(4 * size, 4 * size, size, summary, part="columns")
            assert columns[-1, size : 2 * size].sum() == summary
            from_1_to_l = {j % size or size for j in range(size)}
            wider = from_1_to_l & set(range(size - summary, size + 1))
            assert len(wider) == min(summary + 1, size)


def empty_rows() -> None:
    """Rows without a key: the first l - c with "columns", none with "union"."""
    for size in range(1, 9):
        for summary in range(1, size + 1):
            columns = posenc.fixed_mask(30, 30, size, summary, part="columns")
            empty = np.flatnonzero(~columns.any(axis=1))
            assert empty.tolist() == list(range(size - summary))
            assert posenc.fixed_mask(30, 30, size, summary).any(axis=1).all()


def two_steps() -> None:
    """The boolean square of the union is the whole triangle, for every block and summary."""
    for n in (1, 7, 30):
        for size in range(1, 9):
            for summary in range(1, size + 1):
                mask = posenc.fixed_mask(n, n, size, summary).astype(int)
                assert np.array_equal(mask @ mask > 0, posenc.causal_mask(n, n))


def blocks_stay() -> None:
    """Moved by a block, the mask stays the same; moved by fewer positions, it does not."""
    mask = posenc.fixed_mask(40, 40, 5, 2)
    for by in range(1, 6):
        assert np.array_equal(mask[by:, by:], mask[:-by, :-by]) == (by == 5)


def keys_of_a_query() -> tuple[str, str]:
    """Keys per query against the formula, and the best of all block sizes that divide 1,024."""
    for size in (1, 3, 5):
        for summary in range(1, size + 1):
            counts = posenc.fixed_mask(32, 32, size, summary).sum(axis=1)
            formula = [i % size + 1 + i // size * summary for i in range(32)]
            assert counts.tolist() == formula
    n = 1024
    last = {2**power: posenc.fixed_mask(1, n, 2**power, 1).sum() for power in range(11)}
    best = min(last, key=lambda size: last[size])
    assert best == math.isqrt(n)
    return f"= {best}\\)", f"it is {last[best]}"
