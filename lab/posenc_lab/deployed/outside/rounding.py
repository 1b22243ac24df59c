"""TF32: numbers of which ten bits are kept behind the first."""

import numpy as np

from posenc_lab.deployed.engine import Array

DROPPED = 13
"""Bits of float32 that TF32 has not."""


def short(x: Array) -> Array:
    """Round to the nearest number of TF32, to an even one if two are as near."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    last = (bits >> DROPPED) & 1
    up = bits + np.uint32((1 << (DROPPED - 1)) - 1) + last.astype(np.uint32)
    return np.asarray((up & ~np.uint32((1 << DROPPED) - 1)).view(np.float32))


def product(x: Array, y: Array) -> Array:
    """Multiply matrices as TF32 does: short operands, sums in float32."""
    return np.asarray(short(x) @ short(y))
