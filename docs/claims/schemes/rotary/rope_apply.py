import ml_dtypes
import numpy as np

import posenc


def hidden() -> None:
    """Errors of a float32 angle of 4,095 radians and of a table in bfloat16."""
    angle = 4095.0
    spacing = float(np.spacing(np.float32(angle)))
    assert 1e-4 < spacing < 1e-3
    cosines = np.cos(np.linspace(0, 1, 101))
    narrow = cosines.astype(ml_dtypes.bfloat16).astype(np.float64)
    assert 1e-4 < np.abs(narrow - cosines).max() < 2e-3


def no_rotation() -> None:
    """Determinants of the pairs if tables are tiled but pairs are neighbours."""
    angles = 5 * 1e4 ** (-np.arange(4) / 4)
    every = np.tile(angles, 2)
    for first, second in zip(every[0::2], every[1::2], strict=True):
        matrix = np.array([[np.cos(first), -np.sin(first)], [np.sin(second), np.cos(second)]])
        assert np.isclose(np.linalg.det(matrix), np.cos(first - second))
        assert abs(np.linalg.det(matrix) - 1) > 1e-6
    origin = np.eye(2, 8)
    still = posenc.rope_apply(origin, np.ones((2, 4)), np.zeros((2, 4)), layout="interleaved")
    assert np.array_equal(still, origin)


def first_pair() -> str:
    """Squared length of a first channel of 1 at position 1, with tiled tables and neighbours."""
    angles = 1e4 ** (-np.arange(32) / 32)
    assert np.isclose(angles[1], 10000 ** (-1 / 32))
    a, b = np.tile(angles, 2)[:2]
    return f"which is {np.cos(a) ** 2 + np.sin(b) ** 2:.2f}"
