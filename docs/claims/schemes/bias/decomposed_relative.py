import numpy as np

import posenc


def sizes() -> tuple[str, ...]:
    """Numbers of a table of all offsets, and of one for each axis, for 64 x 64 patches."""
    offsets, channels = 2 * 64 - 1, 64
    return f"{offsets**2 * channels:,}", f"{2 * offsets * channels:,} numbers"


def unscaled() -> None:
    """posenc's bias for tables of ones and queries of ones: twice the channels."""
    ones = np.ones((1, 4, 16))
    bias = posenc.decomposed_relative_bias(
        ones, ones[0, :3], ones[0, :3], q_height=2, q_width=2, k_height=2, k_width=2
    )
    assert (bias == 32).all()


def _places(count: int, rows: int) -> np.ndarray:
    """Find the places of posenc's resized rows, from a table of consecutive numbers, clamped."""
    return posenc.resized_relative_table(np.arange(count)[:, None] * 1.0, rows=rows)[:, 0]


def middle() -> None:
    """The middle row stays in the middle, for several odd numbers of rows."""
    for count in (3, 27, 127):
        for rows in (3, 13, 27, 255):
            assert abs(_places(count, rows)[rows // 2] - count // 2) < 1e-12


def stretched() -> str:
    """The step from one row of the resized table to the next."""
    return f"{np.diff(_places(27, 127))[60]:.2f}"


def ends() -> None:
    """The difference of both places, from the formulas, is largest at the ends."""
    for count, rows in ((27, 127), (127, 27)):
        r = np.arange(rows)
        gap = (r + 0.5) * count / rows - 0.5 - r * (count - 1) / (rows - 1)
        assert abs(abs(gap).max() - abs(gap[0])) < 1e-12
        assert abs(gap[0] + 0.5 - count / (2 * rows)) < 1e-12
