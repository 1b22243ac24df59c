from fractions import Fraction

import numpy as np

import posenc


def every_row_moves() -> None:
    """From length L to L + 1, all rows but the first change, for L up to 100."""
    for length in range(2, 100):
        short, long = (posenc.normalized(count, 1)[:length, 0] for count in (length, length + 1))
        assert (short[1:] != long[1:]).all()
        assert short[0] == long[0]


def stretched() -> None:
    """Row p of length L is row k p of length k(L-1) + 1, in fractions and by the reference."""
    for length in range(2, 12):
        for k in range(1, 6):
            longer = k * (length - 1) + 1
            rows = posenc.normalized(longer, 1)[::k, 0]
            assert (rows == posenc.normalized(length, 1)[:, 0]).all()
            for p in range(length):
                assert Fraction(p, length - 1) == Fraction(k * p, longer - 1)
    assert posenc.normalized(3, 1)[1] == posenc.normalized(5, 1)[2] == 0.5


def dot_products() -> tuple[str, str]:
    """Dot products of neighbours in a sequence of 5 with four channels."""
    rows = posenc.normalized(5, 4)
    for m in range(5):
        for n in range(5):
            assert np.isclose(rows[m] @ rows[n], 4 * m * n / 16)
    return f"rows 1 and 2 give {rows[1] @ rows[2]}", f"rows 2 and 3 give {rows[2] @ rows[3]}"
