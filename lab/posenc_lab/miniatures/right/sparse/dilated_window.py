"""Right implementations: dilated windows."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class DilatedByDiagonals:
    """One diagonal per key of the window, as in Longformer's kernel."""

    @claims(reach=["window-each-side", "window-before", "half-each-side"])
    def dilated_window(
        self, q_len: int, k_len: int, window: int, dilation: int, *, reach: str
    ) -> Array:
        side = window // 2 if reach == "half-each-side" else window
        upper = 0 if reach == "window-before" else side
        total = np.zeros((q_len, k_len))
        for step in range(-side, upper + 1):
            total += np.eye(q_len, k_len, k_len - q_len + step * dilation)
        return total > 0


@right
class DilatedByClasses:
    """Plain windows over every dilation-th token, merged."""

    @claims("window-each-side")
    def dilated_window(self, q_len: int, k_len: int, window: int, dilation: int) -> Array:
        whole = np.zeros((k_len, k_len), dtype=bool)
        for start in range(min(dilation, k_len)):
            count = len(range(start, k_len, dilation))
            index = np.arange(count)
            band = np.abs(index[:, None] - index) <= window
            whole[start::dilation, start::dilation] = band
        return whole[k_len - q_len :]


@right
class DilatedByQuotients:
    """Distances divided by the dilation in float64; only integer quotients count."""

    @claims("window-before", "half-each-side")
    def dilated_window(
        self, q_len: int, k_len: int, window: int, dilation: int, *, reach: str
    ) -> Array:
        if dilation < 1:
            raise ValueError("keys must lie apart")
        query = np.arange(k_len - q_len, k_len, dtype=np.float64)[:, None]
        steps = (query - np.arange(k_len)) / dilation
        near = (steps >= 0) & (steps <= window)
        if reach == "half-each-side":
            near = np.abs(steps) <= window / 2
        return near & (steps == np.round(steps))
