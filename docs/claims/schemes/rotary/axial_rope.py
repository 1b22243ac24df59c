import ml_dtypes
import numpy as np

import posenc


def two_rules() -> None:
    """The widths of a head of 64 channels by posenc's two allocations."""
    assert posenc.axial_rope_widths(64).tolist() == [24, 20, 20]
    assert posenc.axial_rope_widths(64, allocation="eighths").tolist() == [16, 24, 24]


def thirds() -> tuple[str, str]:
    """A third of 128 and of 64 channels, and posenc's width for the height."""
    assert 128 // 3 == posenc.axial_rope_widths(128)[1] == 42
    assert (int(posenc.axial_rope_widths(64)[1]), 64 // 3) == (20, 21)
    return "both are 42", "20 and 21"


def left_over() -> str:
    """The number of channels of 64 that posenc leaves unchanged."""
    x = np.arange(1.0, 65.0)[None]
    turned = posenc.axial_rope_tiled(x, [[3], [5], [7]])
    still = int((turned == x).sum())
    assert np.array_equal(turned[0, 64 - still :], x[0, 64 - still :])
    return f"{still} of 64"


def tiled_lengths() -> str:
    """The smallest and the largest singular value of the row's pairs, from posenc."""
    first = np.zeros((1, 64))
    first[:, 0::2] = 1
    images = [
        posenc.axial_rope_tiled(x, [[0], [15], [0]])[0, 20:40].reshape(-1, 2)
        for x in (first, 1 - first)
    ]
    values = np.linalg.svd(np.stack(images, axis=-1), compute_uv=False)
    return f"from {values.min():.2f} to {values.max():.2f}"


def flattened() -> None:
    """The determinant of the map at angles a quarter turn apart, for many angles."""
    for alpha in np.linspace(0, 6, 61):
        beta = alpha - np.pi / 2
        matrix = [[np.cos(alpha), -np.sin(alpha)], [np.sin(beta), np.cos(beta)]]
        assert abs(np.linalg.det(matrix)) < 1e-15
        gamma = alpha - 0.3
        other = [[np.cos(alpha), -np.sin(alpha)], [np.sin(gamma), np.cos(gamma)]]
        assert abs(np.linalg.det(other) - np.cos(0.3)) < 1e-15


def autocast() -> str:
    """Positions from 65,536 on that bfloat16 rounds to 65,536."""
    places = np.arange(65536, 66100)
    same = places[places.astype(ml_dtypes.bfloat16).astype(np.int64) == 65536]
    assert (np.diff(same) == 1).all()
    return f"{same[0]:,} to {same[-1]:,}"
