from itertools import combinations

import numpy as np

import posenc


def _mean_step(length: int, n: int) -> float:
    """Average step between n drawn positions, as counted for ranges of a few."""
    for small in range(2, 8):
        for count in range(2, small + 1):
            every = []
            for drawn in combinations(range(small), count):
                rest = [each for each in range(small) if each not in drawn]
                places = posenc.randomized_positions([*drawn[::-1], *rest], count)
                assert np.array_equal(places, drawn)
                every.append(np.diff(places).mean())

            assert np.isclose(np.mean(every), (small + 1) / (count + 1))
    return (length + 1) / (n + 1)


def apart() -> str:
    """40 of 2,048."""
    return f"{_mean_step(2048, 40):.0f} apart"


def closer() -> str:
    """500 of 2,048."""
    return f"{_mean_step(2048, 500):.0f}."
