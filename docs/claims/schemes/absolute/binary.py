import ml_dtypes
import numpy as np

import posenc


def twenty_three() -> tuple[str, str]:
    """Digits of 23 in both orders."""
    assert 16 + 4 + 2 + 1 == 23
    low = posenc.binary([23], 6, order="lsb-first")[0]
    high = posenc.binary([23], 5, order="msb-first")[0]
    return " ".join(f"{digit:.0f}" for digit in low), "".join(f"{digit:.0f}" for digit in high)


def neighbours() -> tuple[str, ...]:
    """Digits and dot products of 14, 15 and 16."""
    rows = posenc.binary([14, 15, 16], 6)
    assert rows[0] @ rows[1] == 3
    assert rows[1] @ rows[2] == 0
    return f"{14:b} and {15:b}", f"{15:05b} and {16:b}"


def gray() -> None:
    """Gray's code changes one digit per step; three steps change one or three."""

    def code(number: int) -> int:
        return number ^ number >> 1

    assert all((code(p) ^ code(p + 1)).bit_count() == 1 for p in range(1000))
    assert (code(0) ^ code(3)).bit_count() == 1
    assert (code(1) ^ code(4)).bit_count() == 3


def nothing_shared() -> str:
    """Neighbours whose dot product is 0, below 4,096."""
    rows = posenc.binary(np.arange(4096), 12)
    positions = np.flatnonzero((rows[:-1] * rows[1:]).sum(axis=1) == 0)
    assert list(positions) == [2**k - 1 for k in range(12)]
    return ", ".join(map(str, positions[:5])) + f", {positions[5]} and so on"


def thermometer() -> None:
    """With L - 1 channels the Hamming distance is |m - n| for all pairs."""
    size = 40
    rows = np.arange(size)[:, None] > np.arange(size - 1)
    distances = (rows[:, None] != rows).sum(axis=-1)
    assert (distances == np.abs(np.subtract.outer(np.arange(size), np.arange(size)))).all()


def divided_digits() -> str:
    """The first position whose lowest digit is wrong when the position is rounded first."""
    first = []
    for dtype, near in ((np.float32, 2**24), (ml_dtypes.bfloat16, 2**8)):
        tried = np.arange(near - 20, near + 20)
        digits = tried.astype(dtype).astype(np.float64) % 2
        first.append(int(tried[digits != posenc.binary(tried, 26)[:, 0]][0]))
    assert first[0] == 2**24 + 1
    return f"from {first[1]} on"
