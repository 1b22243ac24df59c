"""Choices of positions from zero up to very large ones."""

import numpy as np
import numpy.typing as npt


def positions_up_to(largest: int) -> npt.NDArray[np.int64]:
    """Choose positions up to ``largest``: around each power of two, and an odd one between."""
    positions = {0, largest}
    power = 1
    while power <= largest:
        between = power + int(power * 0.6180339887498949) | 1
        positions |= {power - 1, power, power + 1, between}
        power *= 2
    return np.array(sorted(p for p in positions if p <= largest), dtype=np.int64)


def rows_to_show(count: int) -> npt.NDArray[np.int64]:
    """Choose the rows of a table to show: all of a short one.

    Of a longer one, choose the first 24, and 24 spread evenly over all.
    """
    few = 24
    if count <= 2 * few:
        return np.arange(count)
    return np.unique(np.append(np.arange(few), np.linspace(0, count - 1, few).astype(np.int64)))
