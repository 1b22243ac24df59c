import numpy as np

import posenc

RANDOM = np.random.default_rng(38)


def work() -> None:
    """Keys that the tokens of each rank attend to, causally."""
    length, ranks = 1024, 8
    keys = {
        share: [
            (posenc.shard_position_ids(length, rank, ranks, share=share) + 1).sum()
            for rank in range(ranks)
        ]
        for share in ("contiguous", "zigzag", "round-robin")
    }
    assert max(keys["contiguous"]) > 10 * min(keys["contiguous"])
    for share in ("zigzag", "round-robin"):
        assert max(keys[share]) < 1.02 * min(keys[share])
    assert len(set(keys["zigzag"])) == 1


def chain() -> None:
    """Siblings, and drafts without branches after caches of several lengths."""
    for past in (0, 3, 100):
        ids = posenc.tree_position_ids(past, np.arange(6) - 1)
        assert np.array_equal(ids, posenc.cached_position_ids(past, 6))
    assert posenc.tree_position_ids(5, [-1, 0, 0]).tolist() == [5, 6, 6]


def three_counters() -> None:
    """A token after a gap: its position is neither the number of past tokens nor of cached ones."""
    ids = posenc.session_position_ids([[0, 10, 0], [1, 6, 8], [2, 8, -1], [0, 1, 0]])
    were, are = 10, 8
    assert ids[-1] == 9
    assert ids[-1] not in (were, are)


def deltas() -> None:
    """Ids of decoded tokens after random prompts."""
    for _ in range(20):
        text, height, width = RANDOM.integers(1, 6, 3)
        segments = [[text, 0, 0], [1, height, width], [2, 0, 0]]
        prompt = posenc.m_rope_position_ids(segments)
        n, largest = prompt.shape[1], prompt.max()
        ids = posenc.m_rope_window_position_ids(segments, n, n + 9)
        assert np.array_equal(ids, np.tile(np.arange(n, n + 9) + (largest + 1 - n), (3, 1)))


def local() -> None:
    """Scores of a rank that counts from 0: right among its own tokens, wrong with another's."""
    x = RANDOM.standard_normal((8, 16))
    first, second = (posenc.shard_position_ids(8, rank, 2) for rank in range(2))
    own = posenc.rope(x[4:], second), posenc.rope(x[4:], np.arange(4))
    assert np.allclose(own[0] @ own[0].T, own[1] @ own[1].T)
    keys = posenc.rope(x[:4], first)
    assert not np.allclose(own[0] @ keys.T, own[1] @ keys.T, atol=0.1)
