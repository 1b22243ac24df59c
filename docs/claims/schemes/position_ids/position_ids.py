import ml_dtypes
import numpy as np

import posenc

RANDOM = np.random.default_rng(18)


def padded() -> None:
    """For random masks, every token has the number of tokens before it, and padding has 0."""
    mask = RANDOM.integers(0, 2, (50, 12))
    ids = posenc.padded_position_ids(mask)
    for row, numbers in zip(mask, ids, strict=True):
        tokens = np.flatnonzero(row)
        assert numbers[tokens].tolist() == list(range(len(tokens)))
        assert (numbers[row == 0] == 0).all()


def fairseq_rows() -> str:
    """Rows needed for 512 tokens with padding index 1: the largest id plus one."""
    ids = posenc.fairseq_position_ids(np.ones((1, 512), dtype=int), 1)
    assert ids[0, 0] == 2
    return f"has {ids.max() + 1} rows for 512"


def cached() -> None:
    """Ids of new tokens after a cache are the end of the whole, for all lengths up to 12."""
    whole = np.arange(12)
    for past in range(13):
        assert np.array_equal(posenc.cached_position_ids(past, 12 - past), whole[past:])


def opt() -> None:
    """Both formulas agree for random masks."""
    mask = RANDOM.integers(0, 2, (50, 12))
    both = mask.cumsum(axis=1) * mask - 1 + 2
    assert np.array_equal(posenc.fairseq_position_ids(mask, 1), both)
    assert (both[mask == 0] == 1).all()


def one_rule() -> None:
    """Ids of a text are the same alone, padded on either side, packed, and cached."""
    for tokens in range(1, 8):
        alone = np.arange(tokens)
        for left in range(4):
            mask = np.array([[0] * left + [1] * tokens + [0] * (4 - left)])
            assert np.array_equal(posenc.padded_position_ids(mask)[0, left : left + tokens], alone)
        assert np.array_equal(posenc.packed_position_ids([3, tokens, 2])[3 : 3 + tokens], alone)
        split = [np.arange(tokens - 1), posenc.cached_position_ids(tokens - 1, 1)]
        assert np.array_equal(np.concatenate(split), alone)


def shifts() -> None:
    """Scores if all positions shift, only those of queries, or some; and rows of sinusoids."""
    x, ids = RANDOM.standard_normal((5, 8)), np.arange(5)

    def scores(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return posenc.rope(x, queries) @ posenc.rope(x, keys).T

    right = scores(ids, ids)
    assert np.allclose(scores(ids + 3, ids + 3), right, rtol=1e-12, atol=1e-12)
    assert not np.allclose(scores(ids + 3, ids), right, atol=1e-2)
    between = ids + (ids > 2)
    assert not np.allclose(scores(between, between), right, atol=1e-2)
    assert not np.allclose(posenc.sinusoidal(ids + 3, 8), posenc.sinusoidal(ids, 8), atol=1e-2)


def narrow_types() -> tuple[str, str]:
    """Cumulative sums of ones in 8 bits, and integers rounded to bfloat16."""
    sums = np.ones(600, dtype=np.uint8).cumsum(dtype=np.uint8)
    whole = np.arange(1, 600)
    lost = whole[whole.astype(ml_dtypes.bfloat16).astype(int) != whole]
    return f"again at {int(np.argmax(sums == 0)) + 1};", f"positions from {lost[0]} on"


def packed_pairs() -> tuple[str, str]:
    """Pairs between the texts under a causal mask, and their distances."""
    ids = posenc.packed_position_ids([3, 4])
    pairs = np.argwhere(posenc.causal_mask(7, 7))
    across = [ids[q] - ids[k] for q, k in pairs if q >= 3 > k]
    assert 0 in across
    least, most = min(across), max(across)
    return f"first: {len(across)}.", f"between −{-least} and {most}"
