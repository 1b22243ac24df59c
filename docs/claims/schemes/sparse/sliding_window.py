import numpy as np

import posenc

REACHES = ("window-keys", "window-before", "window-each-side", "half-each-side")


def keys_of_a_window() -> None:
    """Keys of the middle one of 101 queries, for even windows from 2 to 20."""
    for window in range(2, 21, 2):
        counts = [
            posenc.sliding_window(101, 101, window, reach=reach)[50].sum() for reach in REACHES
        ]
        assert counts == [window, window + 1, 2 * window + 1, window + 1]


def cache_and_prefill() -> None:
    """The last W keys are those of "window-keys", and one fewer than those of "window-before"."""
    for window in range(1, 12):
        cached = np.arange(40) > 39 - window
        assert np.array_equal(posenc.sliding_window(1, 40, window)[0], cached)
        prefill = posenc.sliding_window(1, 40, window, reach="window-before")[0]
        assert np.flatnonzero(prefill & ~cached).tolist() == [39 - window]


def two_layers() -> None:
    """The boolean square of a mask has the window 2W - 1, or 2W with "window-before"."""
    for window in range(1, 12):
        for reach, wide in (("window-keys", 2 * window - 1), ("window-before", 2 * window)):
            mask = posenc.sliding_window(40, 40, window, reach=reach).astype(int)
            assert np.array_equal(mask @ mask > 0, posenc.sliding_window(40, 40, wide, reach=reach))
