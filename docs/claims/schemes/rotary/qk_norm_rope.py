import numpy as np

import posenc

RANDOM = np.random.default_rng(40)


def commutes() -> None:
    """The weight before or after the rotation: equal only if both channels of a pair share it."""
    x, positions = RANDOM.standard_normal((1, 5, 8)), np.arange(3, 8)
    for weight, same in (
        (RANDOM.standard_normal(8), False),
        (np.repeat([1.0, -2, 3, 0.5], 2), True),
    ):
        before = posenc.qk_norm_rope(x, x, weight, weight, positions)
        ones = np.ones(8)
        behind = posenc.qk_norm_rope(x, x, ones, ones, positions) * weight
        assert np.allclose(before, behind) == same


def four_times() -> None:
    """Scores with weights near 0 used as factors, and with weights near 1 added to 1."""
    x, positions = RANDOM.standard_normal((1, 6, 16)), np.arange(6)

    def scores(weight: np.ndarray, rule: str) -> np.ndarray:
        out = posenc.qk_norm_rope(x, x, weight, weight, positions, norm_weight=rule)
        return out[0] @ out[1].T

    small, ones = np.full(16, 0.01), np.ones(16)
    assert np.abs(scores(small, "factor")).max() < 0.001 * np.abs(scores(small, "one-plus")).max()
    assert np.allclose(scores(ones, "one-plus"), 4 * scores(ones, "factor"))
