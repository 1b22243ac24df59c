"""Wrong implementations: binary positions."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made


class Digits(Mistake, steps=True):
    """The digits of each position, in steps."""

    call = "binary"
    claimed = ("lsb-zero-one",)

    def answer(self, positions: Array, dim: int, *, order: str, levels: str, dtype: str) -> Array:
        if dim < 1 or any(not 0 <= int(p) < 2**dim for p in positions):
            raise ValueError((positions, dim))
        rows = [self.digits(self.place(int(p)), dim) for p in positions]
        table = np.array(rows, dtype=np.int64).reshape(len(positions), dim)
        table = table[:, :: self.direction(order)]
        return self.level(table, levels).astype(KINDS[dtype])

    def place(self, position: int) -> int:
        return position

    def digits(self, position: int, dim: int) -> list[int]:
        return [position // 2**k % 2 for k in range(dim)]

    def direction(self, order: str) -> int:
        return -1 if order == "msb-first" else 1

    def level(self, table: Array, levels: str) -> Array:
        return np.where(table == 1, 1, -1) if levels == "plus-minus-one" else table


for _name in ("lsb-zero-one", "msb-zero-one", "lsb-plus-minus-one", "msb-plus-minus-one"):
    made(
        Digits,
        f"Digits {_name} reversed",
        "The other end first.",
        named="order-swapped",
        claimed=(_name,),
        direction=lambda self, order: -Digits.direction(self, order),
    )
    made(
        Digits,
        f"Digits {_name} with other levels",
        "0 and 1 for -1 and 1, or the reverse.",
        named="levels-swapped",
        claimed=(_name,),
        level=lambda self, table, levels: (
            table if levels == "plus-minus-one" else np.where(table == 1, 1, -1)
        ),
    )
    made(
        Digits,
        f"Digits {_name} inverted",
        "1 for 0 and 0 for 1.",
        named="digits-inverted",
        claimed=(_name,),
        digits=lambda self, position, dim: [1 - b for b in Digits.digits(self, position, dim)],
    )


class DigitsOfGray(Digits):
    """Digits are those of the Gray code."""

    named = "gray-code"

    def place(self, position: int) -> int:
        return position ^ position >> 1


class DigitsFromOne(Digits):
    """Positions are counted from 1; the last one wraps to 0."""

    named = "positions-shifted"

    def place(self, position: int) -> int:
        return position + 1


class DigitsOfAByte(Digits):
    """Positions wrap at 256."""

    named = "positions-in-a-byte"
    claimed = ("msb-zero-one",)

    def place(self, position: int) -> int:
        return position % 256


class DigitsFromTheLeft(Digits):
    """The leading digits of a 16-bit number are kept, not the trailing ones."""

    named = "left-aligned"
    claimed = ("msb-zero-one",)

    def digits(self, position: int, dim: int) -> list[int]:
        written = format(position, "016b")
        return [int(digit) for digit in written.ljust(dim, "0")[:dim][::-1]]


class DigitsInFloat32(Digits):
    """Positions are divided by powers of two in float32, which loses digits from 2**24 on."""

    dtype = "float64"
    limits: ClassVar[Mapping[str, Any]] = {"max_position": 2**40}

    def digits(self, position: int, dim: int) -> list[int]:
        place = np.float32(position)
        return [int(np.floor(place / np.float32(2**k))) % 2 for k in range(dim)]


class DigitsUpTo16(Digits):
    """Digits from index 16 on are 0."""

    def digits(self, position: int, dim: int) -> list[int]:
        return [(position >> k & 1) * (k < 16) for k in range(dim)]


class DigitsOfRows(Digits):
    """Rows are numbered from 0, ignoring positions."""

    claimed = ("lsb-plus-minus-one",)

    def answer(self, positions: Array, dim: int, *, order: str, levels: str, dtype: str) -> Array:
        rows = np.arange(len(positions))
        return super().answer(rows, dim, order=order, levels=levels, dtype=dtype)


class DigitsOneHot(Digits):
    """Positions are encoded one-hot."""

    def digits(self, position: int, dim: int) -> list[int]:
        return [int(k == position) for k in range(dim)]


class DigitsThermometer(Digits):
    """All digits up to the highest 1 are 1."""

    def digits(self, position: int, dim: int) -> list[int]:
        return [int(k < position.bit_length()) for k in range(dim)]


class DigitsScaled(Digits):
    """Rows are divided by sqrt(d)."""

    claimed = ("msb-plus-minus-one",)

    def level(self, table: Array, levels: str) -> Array:
        return super().level(table, levels) / np.sqrt(table.shape[1])
