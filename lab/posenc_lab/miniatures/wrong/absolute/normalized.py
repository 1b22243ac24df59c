"""Wrong implementations: normalised positions."""

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, narrow


class Part(Mistake, steps=True):
    """The position as a fraction of the last position, in steps."""

    call = "normalized"
    claimed = ("textbook",)

    def answer(self, length: int, dim: int, *, dtype: str) -> Array:
        if length < 2 or dim < 1:
            raise ValueError((length, dim))
        column = self.column(np.arange(length, dtype=np.float64), length)
        return self.finish(np.tile(column[:, None], (1, dim))).astype(KINDS[dtype])

    def column(self, places: Array, length: int) -> Array:
        return places / (length - 1)

    def finish(self, table: Array) -> Array:
        return table


class PartOfTheLength(Part):
    """Positions are divided by the length: p/L."""

    named = "divided-by-length"

    def column(self, places: Array, length: int) -> Array:
        return places / length


class PartFromOne(Part):
    """Positions are counted from 1 and divided by the length: (p+1)/L."""

    named = "counted-from-one"

    def column(self, places: Array, length: int) -> Array:
        return (places + 1) / length


class PartMiddles(Part):
    """Positions are cell centres: (p+1/2)/L."""

    named = "half-steps"

    def column(self, places: Array, length: int) -> Array:
        return (places + 0.5) / length


class PartBothSigns(Part):
    """The range is -1 to 1."""

    named = "symmetric-range"

    def column(self, places: Array, length: int) -> Array:
        return np.linspace(-1, 1, length)


class PartForgotten(Part):
    """Positions are not normalised."""

    named = "unnormalized"

    def column(self, places: Array, length: int) -> Array:
        return places


class PartReversed(Part):
    """Positions run from 1 to 0."""

    named = "reversed"

    def column(self, places: Array, length: int) -> Array:
        return places[::-1] / (length - 1)


class PartInBfloat16(Part):
    """Positions and quotients are in bfloat16 for a float32 result."""

    named = "narrow-positions"

    def column(self, places: Array, length: int) -> Array:
        return narrow(narrow(places, "bfloat16") / narrow(length - 1, "bfloat16"), "bfloat16")


class PartInFloat16(Part):
    """Quotients are in float16 for a float64 result."""

    named = "narrow-positions"
    dtype = "float64"

    def finish(self, table: Array) -> Array:
        return narrow(table, "float16")


class PartOfInt16(Part):
    """Positions wrap at 32,768."""

    def column(self, places: Array, length: int) -> Array:
        return places.astype(np.int64).astype(np.int16) / (length - 1)


class PartOfAtMost512(Part):
    """Positions and length are clamped to a table of 512."""

    def column(self, places: Array, length: int) -> Array:
        return np.minimum(places, 511) / (min(length, 512) - 1)


class PartOfAFixedLength(Part):
    """The length is always 9, whatever length is passed."""

    def column(self, places: Array, length: int) -> Array:
        return places / 8


class PartOfOneChannel(Part):
    """All channels but the first are 0."""

    def finish(self, table: Array) -> Array:
        return table * (np.arange(table.shape[1]) < 1)


class PartSquared(Part):
    """Positions are squared, which is right at both ends."""

    def finish(self, table: Array) -> Array:
        return table**2


class PartOfTheFirstLength(Part):
    """The length of the first call is used for all."""

    kept = 0

    def column(self, places: Array, length: int) -> Array:
        self.kept = self.kept or length
        return places / (self.kept - 1)


class PartLent(Part):
    """The cached table itself is returned, not a copy."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int, str], Array] = {}

    def answer(self, length: int, dim: int, *, dtype: str) -> Array:
        key = length, dim, dtype
        if key not in self._kept:
            self._kept[key] = super().answer(length, dim, dtype=dtype)
        return self._kept[key]
