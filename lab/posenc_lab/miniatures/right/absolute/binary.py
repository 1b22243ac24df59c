"""Right implementations: binary positions."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, Array, right

ALL = ("lsb-zero-one", "msb-zero-one", "lsb-plus-minus-one", "msb-plus-minus-one")


@right
class Shifts:
    """Shift and mask, for both orders and both levels."""

    @claims(*ALL, dtype=FLOATS, max_position=2**53)
    def binary(self, positions: Array, dim: int, *, order: str, levels: str, dtype: str) -> Array:
        wide = positions.astype(np.uint64)
        if dim < 1 or np.any(positions < 0) or (dim < 64 and np.any(wide >> np.uint64(dim))):
            raise ValueError((positions, dim))
        shifts = range(dim) if order == "lsb-first" else range(dim)[::-1]
        columns = [wide >> np.uint64(k) & np.uint64(1) if k < 64 else 0 * wide for k in shifts]
        bits = np.stack(columns, axis=1).astype(KINDS[dtype])
        return bits if levels == "zero-one" else (bits + bits - KINDS[dtype](1))


@right
class WrittenOut:
    """The number as text, digit by digit."""

    @claims("msb-zero-one", "msb-plus-minus-one", dtype=["float64", "float32"])
    def binary(self, positions: Array, dim: int, *, levels: str, dtype: str) -> Array:
        rows = []
        for position in positions:
            text = np.binary_repr(position, dim)
            if position < 0 or len(text) != dim or not dim:
                raise ValueError((position, dim))
            rows.append([int(digit) for digit in text])
        digits = np.array(rows, dtype=dtype).reshape(-1, dim)
        return digits if levels == "zero-one" else 2 * digits - 1


@right
class Unpacked:
    """Four bytes unpacked in memory order."""

    @claims("lsb-zero-one", dtype=["float32", "bfloat16"], dim=[8, 16], max_position=255)
    def binary(self, positions: Array, dim: int, *, dtype: str) -> Array:
        if np.any(positions < 0) or np.any(positions >> dim):
            raise ValueError(positions)
        rows = positions.astype("<u4").reshape(-1, 1).view(np.uint8)
        return np.unpackbits(rows, axis=1, bitorder="little")[:, :dim].astype(KINDS[dtype])


@right
class SquareWaves:
    """Signs of sines: square waves whose periods double from channel to channel."""

    @claims("lsb-plus-minus-one", dtype="float32", max_position=4095)
    def binary(self, positions: Array, dim: int) -> Array:
        if dim < 1 or np.any(positions < 0) or np.any(positions >= 2.0**dim):
            raise ValueError((positions, dim))
        angle = 2 * math.pi * (positions[:, None] + 0.5) / 2.0 ** (np.arange(dim) + 1)
        return -np.sign(np.sin(angle)).astype(np.float32)
