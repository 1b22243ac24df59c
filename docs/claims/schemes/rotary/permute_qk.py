import numpy as np

import posenc


def _order(size: int) -> list[int]:
    """Return the old row for each new row of a head, from neighbours to halves, by posenc."""
    rows = np.arange(float(size))[:, None]
    moved = posenc.permute_qk(rows, rows, 1, 1)
    return [int(row) for row in moved[:size, 0]]


def four_channels() -> str:
    """The permutation is its own inverse for heads of four channels, but for no larger ones."""
    own = []
    for size in range(2, 257, 2):
        order = np.array(_order(size))
        if (order[order] == np.arange(size)).all():
            own.append(size)
    assert own == [2, 4]
    return "with heads of four"


def how_often() -> tuple[str, str]:
    """The number of repetitions after which the permutation is the identity."""
    for size in (4, 8, 64, 128):
        assert all(2 * row % (size - 1) == _order(size)[row] for row in range(size // 2))
    order, rows, times = np.array(_order(64)), np.arange(64), 0
    while times == 0 or (rows != np.arange(64)).any():
        rows, times = rows[order], times + 1
    assert times == 6
    return "it takes six times", "2^6 = 64"
