"""Right implementations: sliding windows."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class SlidingByBands:
    """The band between two diagonals, as in flash attention's interface."""

    @claims("window-keys", "window-before", "window-each-side", "half-each-side")
    def sliding_window(self, q_len: int, k_len: int, window: int, *, reach: str) -> Array:
        left, right_ = {
            "window-keys": (window - 1, 0),
            "window-before": (window, 0),
            "window-each-side": (window, window),
            "half-each-side": (window // 2, window // 2),
        }[reach]
        late = k_len - q_len
        ones = np.ones((q_len, k_len), dtype=bool)
        return np.triu(np.tril(ones, late + right_), late - left)


@right
class SlidingByOverlays:
    """Two conditions over all pairs, combined."""

    @claims("window-keys", "window-each-side")
    def sliding_window(self, q_len: int, k_len: int, window: int, *, reach: str) -> Array:
        q = np.arange(q_len).reshape(-1, 1) + (k_len - q_len)
        kv = np.arange(k_len).reshape(1, -1)
        if reach == "window-each-side":
            return np.abs(q - kv) <= window
        return (kv > q - window) & (kv <= q)


@right
class SlidingByRollingCache:
    """A ring buffer of W slots, whose keys are each query's window."""

    @claims("window-keys", window=[1, 2, 3, 4, 6])
    def sliding_window(self, q_len: int, k_len: int, window: int) -> Array:
        slots: list[int] = [-1] * window
        rows = np.zeros((k_len, k_len), dtype=bool)
        for position in range(k_len):
            slots[position % window] = position
            rows[position, [slot for slot in slots if slot >= 0]] = True
        return rows[k_len - q_len :]


@right
class SlidingByConvolution:
    """Ones where a window around each query covers a key."""

    @claims("half-each-side", max_position=511)
    def sliding_window(self, q_len: int, k_len: int, window: int) -> Array:
        around = np.ones(window + 1, dtype=np.int64)
        rows = [np.convolve(row, around, mode="full") for row in np.eye(k_len, dtype=np.int64)]
        half = window // 2
        whole = np.array(rows).reshape(k_len, k_len + window)[:, half : half + k_len]
        return whole[k_len - q_len :] > 0
