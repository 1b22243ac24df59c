import math

import ml_dtypes
import numpy as np

import posenc


def slow_half() -> tuple[str, str]:
    """Longest wavelengths of 64 channels over 2 pi, from the table and for the wrong exponent."""
    column = posenc.sincos_2d(1, 2, 64)[1]
    right = 1 / math.asin(column[15])
    assert math.isclose(right, 10000 ** (15 / 16), rel_tol=1e-9)
    return f"{10000 ** (15 / 32):.0f}", f"{right:,.0f}".replace(",", "{,}")


def not_round() -> tuple[str, ...]:
    """Dot products of cells at the offsets (0, 0), (0, 5), (5, 0) and (4, 3) with 64 channels."""
    table = posenc.sincos_2d(14, 14, 64).reshape(14, 14, 64)

    def product(down: int, right: int) -> float:
        products = [
            table[r, c] @ table[r + down, c + right]
            for r in range(14 - down)
            for c in range(14 - right)
        ]
        assert max(products) - min(products) < 1e-12
        return float(products[0])

    assert math.isclose(product(5, 0), product(0, 5))
    assert math.hypot(4, 3) == 5
    return (
        f"product {product(0, 0):.0f}",
        f"to the side has {product(0, 5):.2f}",
        f"has {product(4, 3):.2f}",
    )


def middle() -> None:
    """Angles of pair 0, in turns: the middle of each of n equal parts, up to 1e-6."""
    table = posenc.sincos_2d(5, 1, 8, first_axis="row", layout="interleaved", coordinates="centred")
    turns = np.arctan2(table[:, 0], table[:, 1]) / (2 * np.pi) % 1
    assert np.allclose(turns, (np.arange(5) + 0.5) / 5, atol=1e-6)


def almost_a_turn() -> None:
    """In pair 0, the last cell of grids of three sizes is less than 1e-5 short of a full turn."""
    for height, width in ((2, 3), (10, 20), (40, 7)):
        row = posenc.sincos_2d(
            height, width, 8, first_axis="row", layout="interleaved", coordinates="normalized"
        )[-1]
        for sine, cosine in (row[0:2], row[4:6]):
            assert -1e-5 < math.atan2(sine, cosine) < 0


def angles_in_bfloat16() -> tuple[str, str]:
    """Largest errors of the angles of 14 columns with 768 channels."""
    to = ml_dtypes.bfloat16
    columns, frequencies = np.arange(14)[:, None], 10000.0 ** (-np.arange(192) / 192)
    exact = columns * frequencies
    late = np.abs(exact.astype(to).astype(float) - exact).max()
    early = (columns.astype(to) * frequencies.astype(to)).astype(float)
    return f"up to {late:.2f} radians", f"costs up to {np.abs(early - exact).max():.2f}"


def idle_pairs() -> tuple[str, str]:
    """The number of pairs of one axis that turn by less than 1/10 from column 0 to column 15."""
    row = posenc.sincos_2d(1, 16, 1024)[15]
    angles = [math.atan2(row[t], row[256 + t]) % (2 * math.pi) for t in range(100, 256)]
    idle = sum(angle < 0.1 for angle in angles)
    assert 2 * math.pi > 15 * 10000 ** (-100 / 256)
    return f"{idle} of 256", f"{256 * math.log(150) / math.log(10000):.1f}"
