import numpy as np

import posenc


def counted_again() -> str:
    """Keys listed once more for each of three random blocks get four times the weight."""
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(3, 1, 28, 4))
    row, random_blocks = 13, 3
    seen = np.flatnonzero(posenc.bigbird_mask(28, 28, 4)[row])
    listed = np.concatenate([seen, *[np.arange(4)] * random_blocks])
    again = posenc.attention(q[:, row : row + 1], k[:, listed], v[:, listed])
    bias = np.zeros((1, 1, len(seen)))
    bias[..., seen < 4] = np.log(1 + random_blocks)
    weighed = posenc.attention_with_bias(q[:, row : row + 1], k[:, seen], v[:, seen], bias)
    once = posenc.attention(q[:, row : row + 1], k[:, seen], v[:, seen])
    assert np.allclose(again, weighed, rtol=1e-12)
    assert np.abs(again - once).max() > 0.01
    return {4: "four"}[1 + random_blocks] + " times the weight"


def two_steps() -> None:
    """The first row and column are full, and the boolean square is full, for several sizes."""
    for n in (1, 7, 30, 45):
        for size in (1, 3, 4):
            mask = posenc.bigbird_mask(n, n, size)
            assert mask[:size].all()
            assert mask[:, :size].all()
            assert (mask.astype(int) @ mask.astype(int) > 0).all()


def five_blocks() -> None:
    """A token in the middle sees five blocks, in texts of any length."""
    for blocks in (7, 11, 25):
        row = posenc.bigbird_mask(4 * blocks, 4 * blocks, 4)[2 * blocks]
        assert row.sum() == 5 * 4


def length_matters() -> None:
    """The row of one token, in a text of 24 tokens and in one of 28."""
    short, long = (posenc.bigbird_mask(n, n, 4)[10, :24] for n in (24, 28))
    assert not np.array_equal(short, long)


def block_pairs() -> tuple[str, str]:
    """Pairs of blocks counted in masks, and the first number of blocks with less than a tenth."""
    counts = {n: int(posenc.bigbird_mask(n, n, 1).sum()) for n in range(5, 100)}
    assert all(count == 7 * n - 12 for n, count in counts.items())
    first = next(n for n, count in counts.items() if 10 * count < n * n)
    return f"from {first} blocks on", f"{64 * first:,}"
