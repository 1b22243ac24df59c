import math

import numpy as np

import posenc


def toeplitz() -> None:
    """One word at 24 positions: products are constant along diagonals here, but not for the sum."""
    x = np.tile((7 * np.arange(16) % 23 - 11) / 8, (24, 1))

    def spread(rows: np.ndarray) -> float:
        products = rows @ rows.T
        return max(float(np.ptp(np.diagonal(products, k))) for k in range(24))

    assert spread(posenc.concatenation(x, np.arange(24), 16)) < 1e-12
    assert spread(posenc.embedding_sum(x, np.arange(24))) > 1


def wrong_width() -> tuple[str, ...]:
    """Frequencies and wavelengths of the second pair with both widths."""
    row = posenc.concatenation(np.zeros((1, 12)), [1], 4)[0]
    right, wrong = math.asin(row[14]), 10000 ** (-2 / 16)
    assert math.isclose(right, 0.01, rel_tol=1e-12)
    waves = 2 * math.pi / wrong, 2 * math.pi / right
    return f"= {wrong:.4f}", f"= {right:.2f}", f"is {waves[0]:.0f} positions", f"of {waves[1]:.0f}"
