import math

import ml_dtypes
import numpy as np

import posenc

BFLOAT16 = ml_dtypes.bfloat16


def shift_forgotten() -> str:
    """Ratio of the slowest frequencies of 128 with shift 0 and 1, from the rows at time 1."""
    slow = [
        math.asin(posenc.timestep([1.0], 256, frequency_shift=shift)[0, 127]) for shift in (0, 1)
    ]
    assert posenc.timestep([1.0], 256, frequency_shift=0)[0, 0] == posenc.timestep([1.0], 256)[0, 0]
    return f"off by {100 * (slow[0] / slow[1] - 1):.0f} per cent"


def times_in_bfloat16() -> str:
    """All products of times from 0.6 to 1 with 1,000 in bfloat16."""
    times = np.linspace(0.6, 1, 5001).astype(BFLOAT16)
    products = np.unique((times * BFLOAT16(1000)).astype(float))
    step = math.gcd(*map(int, products))
    assert (products % 1 == 0).all()
    return f"a multiple of {step} near the end"


def real_times() -> tuple[str, str]:
    """Periods of the slowest wave, and the width from which it exceeds 55,000 with shift 0."""

    def period(dim: int, shift: int) -> float:
        pairs = dim // 2
        return 2 * math.pi * 10000 ** ((pairs - 1) / (pairs - shift))

    assert all(round(period(dim, 1)) == 62832 for dim in range(4, 600, 2))
    least = next(dim for dim in range(2, 600, 2) if period(dim, 0) > 55000)
    assert all(period(dim, 0) > 55000 for dim in range(least, 2000, 2))
    return f"{period(256, 1):,.0f}", f"from {least} channels on"


def every_fourth() -> str:
    """Integer times from 512 to 1,000 that bfloat16 can represent."""
    times = np.arange(512, 1001)
    exact = times[times.astype(BFLOAT16).astype(float) == times]
    assert (np.diff(exact) == 4).all()
    return "every fourth"


def clock_in_bfloat16() -> tuple[str, str]:
    """The slowest sine at 617.25, and bfloat16's step there converted to time."""
    sine = posenc.timestep([617.25], 128)[0, 63]
    step = float(np.spacing(BFLOAT16(sine))) * 10000
    return f"{sine:.2f}", f"jumps by {step:.2f}"
