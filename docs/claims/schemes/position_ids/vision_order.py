import numpy as np

import posenc

RANDOM = np.random.default_rng(39)


def back() -> None:
    """Rows sorted by windows are restored by the inverse order."""
    grids = [[1, 6, 10], [2, 8, 4]]
    order = posenc.window_order(grids, 2, merge_size=2)
    x = RANDOM.standard_normal((len(order), 3))
    assert not np.array_equal(x[order], x)
    assert np.array_equal(x[order][np.argsort(order)], x)


def one_window() -> None:
    """Grids no larger than a window keep their order."""
    for height in range(1, 5):
        for width in range(1, 5):
            order = posenc.window_order([[3, height, width]], 4)
            assert np.array_equal(order, np.arange(3 * height * width))
