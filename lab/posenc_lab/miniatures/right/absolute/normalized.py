"""Right implementations: normalised positions."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


@right
class EvenlySpaced:
    """Equal steps, repeated along the channels."""

    @claims("textbook", dtype=FLOATS)
    def normalized(self, length: int, dim: int, *, dtype: str) -> Array:
        if length < 2 or dim < 1:
            raise ValueError((length, dim))
        return np.linspace(0, 1, length)[:, None].repeat(dim, axis=1).astype(KINDS[dtype])


@right
class TimesTheReciprocal:
    """float32 throughout: positions times the rounded reciprocal of the last one."""

    @claims("textbook", dtype=NARROW)
    def normalized(self, length: int, dim: int, *, dtype: str) -> Array:
        if length < 2 or dim < 1:
            raise ValueError((length, dim))
        reciprocal = np.float32(1) / np.float32(length - 1)
        column = np.arange(length, dtype=np.float32) * reciprocal
        return np.outer(column, np.ones(dim, np.float32)).astype(KINDS[dtype])


@right
class NarrowThroughout:
    """Positions, last position and quotient in the dtype of the result."""

    @claims("textbook", dtype=["bfloat16", "float16"], max_position=60_000)
    def normalized(self, length: int, dim: int, *, dtype: str) -> Array:
        if length < 2 or dim < 1:
            raise ValueError((length, dim))
        kind = KINDS[dtype]
        column = np.arange(length).astype(kind) / np.array(length - 1).astype(kind)
        return np.broadcast_to(column[:, None], (length, dim))


@right
class FromBothEnds:
    """The second half counted down from 1, as in torch.linspace."""

    @claims("textbook", dtype="float32")
    def normalized(self, length: int, dim: int) -> Array:
        if length < 2 or dim < 1:
            raise ValueError((length, dim))
        step, place = np.float32(1 / (length - 1)), np.arange(length, dtype=np.float32)
        back = np.float32(1) - step * place[::-1]
        column = np.where(place < length // 2, step * place, back)
        return np.stack([column] * dim, axis=1)


@right
class QuotientsInLists:
    """Python loops."""

    @claims("textbook", dtype="float64", max_position=4096)
    def normalized(self, length: int, dim: int) -> list[list[float]]:
        return [[p / (length - 1) for _ in range(dim)] for p in range(length)]
