import ml_dtypes
import numpy as np

import posenc

RANDOM = np.random.default_rng(37)


def law() -> None:
    """Keys rotated at old positions and then moved equal keys rotated at the new positions."""
    x = RANDOM.standard_normal((2, 6, 16))
    old, deltas = np.array([0, 1, 9, 10, 11, 12]), np.array([0, 0, -7, -7, -7, 40])
    for layout in ("half", "interleaved"):
        moved = posenc.rope_shift(posenc.rope(x, old, layout=layout), deltas, layout=layout)
        assert np.allclose(moved, posenc.rope(x, old + deltas, layout=layout), atol=1e-12)


def twice() -> None:
    """Keys rotated the wrong way are off by twice the distance from the new positions."""
    x, old = RANDOM.standard_normal((1, 4, 8)), np.arange(10, 14)
    wrong = posenc.rope_shift(posenc.rope(x, old), np.full(4, 7))
    assert np.allclose(wrong, posenc.rope(x, old - 7 + 2 * 7), atol=1e-12)


def rounding() -> None:
    """Errors of a key moved in many steps, and in a single one, in bfloat16."""
    x = RANDOM.standard_normal((1, 1, 64)).astype(ml_dtypes.bfloat16)
    exact = posenc.rope_shift(x.astype(np.float64), np.array([-1000]))
    step = x.astype(np.float64)
    for _ in range(1000):
        step = posenc.rope_shift(step, np.array([-1])).astype(ml_dtypes.bfloat16).astype(np.float64)
    at_once = exact.astype(ml_dtypes.bfloat16).astype(np.float64)
    errors = [float(np.abs(moved - exact).max()) for moved in (step, at_once)]
    assert errors[0] > 20 * errors[1]
