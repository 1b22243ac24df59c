"""RoPE adapters with right numbers, but wrong memory handling or hidden state.

Each class does one thing that harms a caller in the same process. ``caught`` names the
behaviours that must detect it.
"""

import ctypes
import threading
from typing import ClassVar

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, rotate_half

MEMORY: list[type["Turning"]] = []


class Turning:
    """RoPE in half layout, computed in float64 and cast to the dtype of x at the end."""

    caught: ClassVar[frozenset[str]] = frozenset()
    certain: ClassVar[bool] = True
    """Whether the mistake shows on every run."""

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
        result = self.turned(x, positions, base)
        x *= 2
        return result


class ChangesItsPositions(Turning, caught=("inputs-untouched", "read-only-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        result = self.turned(x, positions, base)
        positions += 1
        return result


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
        result = self.turned(x, positions, base)
        if result.nbytes > self.buffer.size:
            return result
        out = self.buffer[: result.nbytes].view(result.dtype).reshape(result.shape)
        out[...] = result
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


def rows_together(x: Array) -> Array:
    """Return x as read by a kernel that needs adjacent channels and ignores other strides."""
    if x.flags.c_contiguous or x.strides[-1] != x.itemsize or 0 in x.strides:
        return x
    dense = np.empty(x.shape, x.dtype).strides
    return np.lib.stride_tricks.as_strided(x, x.shape, dense)


class IgnoresRowStrides(Turning, caught=("cut-inputs", "transposed-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return self.turned(rows_together(x), positions, base)


class IgnoresRowStridesOfLargeArrays(Turning, caught=("cut-inputs", "transposed-inputs")):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        return self.turned(rows_together(x) if x.size > 2**10 else x, positions, base)


class IgnoresHeadStrides(Turning, caught=("transposed-inputs",)):
    """Assumes that heads follow each other without gaps."""

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        dense = x.ndim > 2 and x.strides[-1] == x.itemsize and 0 not in x.strides
        if dense and x.strides[-3] < x.shape[-2] * x.strides[-2]:
            x = rows_together(x)
        return self.turned(x, positions, base)


class IgnoresExpansion(Turning, caught=("expanded-inputs",)):
    """Copies as many elements as the array has in memory, and leaves the rest 0."""

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        if 0 in x.strides:
            held = [1 if step == 0 else size for size, step in zip(x.shape, x.strides, strict=True)]
            part = tuple(slice(size) for size in held)
            copy = np.zeros_like(x, subok=False)
            copy.reshape(-1)[: x[part].size] = x[part].reshape(-1)
            x = copy
        return self.turned(x, positions, base)


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
    """Starts a thread that writes into the result after the call has returned."""

    certain = False

    def answer(self, x: Array, positions: Array, base: float) -> Array:
        result = self.turned(x, positions, base)
        threading.Timer(0.002, result.fill, (1,)).start()
        return result.copy() if len(positions) == 0 else result


class SeedsNumPy(Turning, caught=("process-untouched",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        np.random.seed(0)  # noqa: NPY002  # that is the mistake
        return self.turned(x, positions, base)


class SetsErrors(Turning, caught=("process-untouched",)):
    def answer(self, x: Array, positions: Array, base: float) -> Array:
        np.seterr(all="ignore")
        return self.turned(x, positions, base)


SOME: list[type["TurningSome"]] = []


class TurningSome:
    """RoPE in half layout on all channels, or on the first ``rotary_dim``."""

    caught: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, caught: tuple[str, ...]) -> None:
        cls.caught = frozenset(caught)
        SOME.append(cls)

    @claims("half", rotation="partial", dtype=("float64", "float32"))
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        if rotary_dim is None:
            return Turning().turned(x, positions, base)
        return self.some(x, positions, base, rotary_dim)

    def some(self, x: Array, positions: Array, base: float, width: int) -> Array:
        turned = Turning().turned(x[..., :width], positions, base)
        return np.concatenate([turned, x[..., width:]], axis=-1)


class ReadsTheRestDensely(TurningSome, caught=("cut-inputs", "transposed-inputs")):
    def some(self, x: Array, positions: Array, base: float, width: int) -> Array:
        result = super().some(x, positions, base, width)
        result[..., width:] = rows_together(x)[..., width:]
        return result


class TurnsNoRestOfAGap(TurningSome, caught=("strided-inputs", "cut-inputs")):
    def some(self, x: Array, positions: Array, base: float, width: int) -> Array:
        result = super().some(x, positions, base, width)
        result[..., width:] += not (x.flags.c_contiguous or x.flags.f_contiguous)
        return result


class KeepsTheLeastWidth(TurningSome, caught=("no-leak",)):
    def __init__(self) -> None:
        self.tables: dict[tuple[int, int], int] = {}

    @claims("half", rotation="partial", dtype=("float64", "float32"))
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        requested = x.shape[-1] if rotary_dim is None else rotary_dim
        key = x.shape[-1], len(positions)
        self.tables[key] = width = min(self.tables.get(key, requested), requested)
        return self.some(x, positions, base, width)


class TurnsSomeOfFewHeads(TurningSome, caught=("batch-axes",)):
    """Leaves rows beyond 4096 unrotated, as a kernel launch with too few blocks does."""

    def some(self, x: Array, positions: Array, base: float, width: int) -> Array:
        result = super().some(x, positions, base, width)
        flat = result.reshape(-1, x.shape[-1])
        flat[4096:] = x.reshape(-1, x.shape[-1])[4096:]
        return result


class Counting:
    """Serving calls, right unless a subclass overrides ``begins`` for decoding steps."""

    def begins(self, first: Array) -> Array:
        return first

    @claims("offsets-half", dtype="float32")
    def rope_offsets(self, x: Array, offsets: Array, *, base: float) -> Array:
        first = self.begins(offsets) if x.shape[2] == 1 else offsets
        rows = first[:, None] + np.arange(x.shape[2])
        return self.turned(x, rows, base)

    @claims("batched-half", dtype="float32")
    def rope_batched(self, x: Array, positions: Array, *, base: float) -> Array:
        return self.turned(x, self.begins(positions) if x.shape[2] == 1 else positions, base)

    @claims("packed-half", dtype="float32")
    def rope_packed(self, x: Array, cu_seqlens: Array, offsets: Array, *, base: float) -> Array:
        rows = np.arange(x.shape[1])
        first = self.begins(offsets) if len(rows) == len(offsets) else offsets
        sequence = np.searchsorted(cu_seqlens, rows, side="right") - 1
        return Turning().turned(x, rows - cu_seqlens[sequence] + first[sequence], base)

    @claims("from-zero")
    def cached_position_ids(self, past_length: int, q_len: int) -> Array:
        first = self.begins(np.array(past_length)) if q_len == 1 else past_length
        return first + np.arange(q_len)

    def turned(self, x: Array, positions: Array, base: float) -> Array:
        rows = [Turning().turned(*sequence, base) for sequence in zip(x, positions, strict=True)]
        return np.stack(rows) if rows else x


class Recorded(Counting):
    """Replays decoding steps with the positions of the first call of their shape, as a graph."""

    def __init__(self) -> None:
        self.graphs: dict[tuple[int, ...], Array] = {}

    def begins(self, first: Array) -> Array:
        return self.graphs.setdefault(np.shape(first), first.copy())


class Conditional:
    """Right for up to 8 positions and 3 axes, and claims only those; declines a single row."""

    @claims("half", when=lambda x, positions: x.ndim < 4 and positions.size < 9)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        if len(positions) == 1:
            raise NotImplementedError("one row")
        if x.ndim > 3 or len(positions) > 8:
            raise ValueError("what was not claimed was asked")
        return Turning().turned(x, positions, base)
