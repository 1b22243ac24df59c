import numpy as np

import posenc


def _distance(query: int, key: int, group: int, window: int) -> int:
    """Find posenc's distance between a query and a key, from a slow pair."""
    q, k = np.zeros((1, 1, 4)), np.zeros((1, query + 1, 4))
    q[0, 0, 1] = k[:, key, 1] = 1.0
    sine = k.copy()
    sine[0, key] = [0, 0, 0, 1]
    cosine, other = (
        posenc.self_extend_scores(
            q, keys, group_size=group, window=window, base=1e10, layout="half"
        )[0, 0, key]
        for keys in (k, sine)
    )
    return round(float(np.arctan2(other, cosine)) * 1e5)


def edge() -> None:
    """Distances of the first far key, for windows of whole groups and others."""
    for group, window in ((2, 4), (3, 7), (4, 6), (3, 5)):
        distances = {_distance(m, m - window, group, window) for m in range(window, window + 9)}
        assert distances <= ({window, window + 1} if window % group else {window})
        assert _distance(20, 20 - window + 1, group, window) == window - 1


def reach() -> tuple[str, str]:
    """The longest text by the formula, and the distance between its first and last token."""
    length, window, group = 4096, 1024, 8
    longest = (length - window) * group + window
    assert _distance(longest, 0, group, window) == length
    return f"{longest:,}", f"{_distance(longest - 1, 0, group, window):,}"
