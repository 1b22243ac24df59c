import math

import posenc


def extrapolation() -> str:
    """The relative growth of the largest offset from a window of 8 to one of 16."""
    return f"{(15 - 7) / 7:.2f} times"


def extrapolation_of_logarithms() -> None:
    """The same growth for its logarithm, as in the paper's coordinates."""
    small, large = (
        posenc.log_cpb_coordinates(size, size, coordinates="plain")[-1, 0] for size in (8, 16)
    )
    assert math.isclose((large - small) / small, 1 / 3)


def corner() -> str:
    """The coordinate of the largest offset, for three windows."""
    for size in (2, 8, 24):
        greatest = posenc.log_cpb_coordinates(size, size).max()
        assert math.isclose(greatest, math.log2(9) / 3)
    return f"{math.log2(9) / 3:.3f}"


def pretrained() -> tuple[str, str]:
    """The coordinate of the next patch in a window of 24, relative to 24 and to 12."""
    itself, right = (
        posenc.log_cpb_coordinates(24, 24, pretrained_height=size, pretrained_width=size)
        for size in (24, 12)
    )
    middle = 23 * 47 + 23
    return f"{itself[middle + 1, 1]:.3f}", f"{right[middle + 1, 1]:.3f}"


def one_row() -> tuple[str, str]:
    """The next patch in a window of one by five, without a division and with it."""
    right = posenc.log_cpb_coordinates(1, 5)[5, 1]
    return f"{math.log2(1 + 8) / 3:.3f}", f"{right:.3f}"
