from itertools import combinations

import numpy as np

import posenc


def _mean_step(length: int, n: int) -> float:
    """Return the mean step between n drawn positions; checked by counting for small ranges."""
    for small in range(2, 8):
        for count in range(2, small + 1):
            every = []
            for drawn in combinations(range(small), count):
                others = [number for number in range(small) if number not in drawn]
                places = posenc.randomized_positions([*drawn[::-1], *others], count)
                assert np.array_equal(places, drawn)
                every.append(np.diff(places).mean())

            assert np.isclose(np.mean(every), (small + 1) / (count + 1))
    return (length + 1) / (n + 1)


def apart() -> str:
    """The mean step between 40 positions drawn from 2,048."""
    return f"{_mean_step(2048, 40):.0f} apart"


def closer() -> str:
    """The mean step between 500 positions drawn from 2,048."""
    return f"{_mean_step(2048, 500):.0f}."
