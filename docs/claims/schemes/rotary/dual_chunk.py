import numpy as np

import posenc


def local() -> None:
    """Up to local_size, logits are those of plain rotary embedding, even across borders."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(1, 60, 8)), rng.normal(size=(1, 60, 8))
    lag = np.arange(60)[:, None] - np.arange(60)
    queries, keys = (posenc.rope(x, np.arange(60)) for x in (q, k))
    plain = queries @ np.swapaxes(keys, 1, 2) / 8**0.5
    for size, near in ((8, 3), (16, 4), (5, 0), (8, 4)):
        scores = posenc.dual_chunk_scores(q, k, chunk_size=size, local_size=near)
        seen = (lag >= 0) & (lag <= near)
        assert np.allclose(scores[:, seen], plain[:, seen])
