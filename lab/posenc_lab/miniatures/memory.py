"""RoPE, right by its numbers and wrong by what it does with memory.

Each class does one thing that a caller in the same process suffers from. ``caught`` are the
behaviours that must tell.
"""

import ctypes
import threading
from typing import ClassVar

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, rotate_half

MEMORY: list[type["Turning"]] = []


class Turning:
    """RoPE of halves in float64, narrowed at the end."""

    caught: ClassVar[frozenset[str]] = frozenset()
    certain: ClassVar[bool] = True
    """Whether it does the same every time."""

    def __init_subclass__(cls, caught: tuple[str, ...]) -> None:
        cls.caught = frozenset(caught)
        MEMORY.append(cls)

    @claims("half", dtype=("float64", "float32"), head_dim=(8, 16), base=(10000.0, 500000.0))
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        return self.answer(x, positions, base)

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return self.turned(x, positions, base)

    def turned(self, x: Array, positions: Array, base: float) -> Array:
        half = x.shape[-1] // 2
        angles = np.tile(positions[:, None] * base ** (-np.arange(half) / half), 2)
        wide = x.astype(np.float64)
        return (wide * np.cos(angles) + rotate_half(wide) * np.sin(angles)).astype(x.dtype)


class ChangesItsInput(Turning, caught=("inputs-untouched", "read-only-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        found = self.turned(x, positions, base)
        x *= 2
        return found


class ChangesItsPositions(Turning, caught=("inputs-untouched", "read-only-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        found = self.turned(x, positions, base)
        positions += 1
        return found


class WritesIntoItsInput(Turning, caught=("inputs-untouched", "no-alias", "read-only-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        x[...] = self.turned(x, positions, base)
        return x


class HandsOutItsInput(Turning, caught=("no-alias",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return self.turned(x, positions, base) if positions.any() else x


class HandsOutItsCache(Turning, caught=("no-alias",)):
    def __init__(self) -> None:
        self.kept: dict[bytes, Array] = {}

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        key = b"|".join([x.tobytes(), positions.tobytes(), repr((x.dtype, x.shape, base)).encode()])
        if key not in self.kept:
            self.kept[key] = self.turned(x, positions, base)
        return self.kept[key]


class HandsOutPartOfItsCache(HandsOutItsCache, caught=("no-alias",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return super().answer(x, positions, base)[...]


class HasOneBuffer(Turning, caught=("results-last",)):
    def __init__(self) -> None:
        self.buffer = np.zeros(2**20, np.uint8)

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        found = self.turned(x, positions, base)
        if found.nbytes > self.buffer.size:
            return found
        out = self.buffer[: found.nbytes].view(found.dtype).reshape(found.shape)
        out[...] = found
        return out


class KeepsTheFirstBase(Turning, caught=("after-others",)):
    def __init__(self) -> None:
        self.frequencies: dict[int, float] = {}

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return self.turned(x, positions, self.frequencies.setdefault(x.shape[-1], base))


class CountsItsCalls(Turning, caught=("second-call",)):
    calls = 0

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        self.calls += 1
        return self.turned(x, positions + (self.calls > 1), base)


class ForgetsAfterOthers(Turning, caught=("no-leak",)):
    dim = 0

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        before, self.dim = self.dim, len(positions)
        return self.turned(x, positions + (before not in (0, self.dim)), base)


class ReadsByThePointer(Turning, caught=("strided-inputs", "column-major-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        copy = np.empty(x.shape, x.dtype)
        ctypes.memmove(copy.ctypes.data, x.ctypes.data, min(copy.nbytes, x.nbytes))
        return self.turned(copy, positions, base)


class WantsToWrite(Turning, caught=("read-only-inputs",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return self.turned(x, positions, base)


class WantsLongPositions(Turning, caught=("int32-inputs",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        if positions.dtype != np.int64:
            raise TypeError("expected int64")
        return self.turned(x, positions, base)


class WritesLate(Turning, caught=("results-last",)):
    """A thread goes on writing into what was handed out."""

    certain = False

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        found = self.turned(x, positions, base)
        threading.Timer(0.002, found.fill, (1,)).start()
        return found.copy() if len(positions) == 0 else found


class SeedsNumPy(Turning, caught=("process-untouched",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        np.random.seed(0)  # noqa: NPY002  # that is the mistake
        return self.turned(x, positions, base)


class SetsErrors(Turning, caught=("process-untouched",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        np.seterr(all="ignore")
        return self.turned(x, positions, base)


class Conditional:
    """Right for few positions, and says so; declines where there is one."""

    @claims("half", when=lambda x, positions: x.ndim < 4 and positions.size < 9)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        if len(positions) == 1:
            raise NotImplementedError("one row")
        if x.ndim > 3 or len(positions) > 8:
            raise ValueError("what was not claimed was asked")
        return Turning().turned(x, positions, base)
