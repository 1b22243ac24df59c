"""Right implementations in many styles and precisions: the kit must pass every one of them.

Each class is an adapter. Where it rounds more than it must, it does so as released code does.
"""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]

FLOATS = ("float64", "float32", "bfloat16", "float16")
NARROW = ("float32", "bfloat16", "float16")
KINDS: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
RIGHT: list[Callable[[], object]] = []


def right(make: Callable[[], object]) -> Callable[[], object]:
    """Put an adapter on the list."""
    RIGHT.append(make)
    return make


def even(dim: int) -> None:
    """Refuse what cannot be filled with pairs."""
    if dim < 2 or dim % 2:
        raise ValueError(f"{dim} channels cannot be filled with pairs")


# Sinusoidal


@right
class ScalarLoops:
    """Python's own numbers, one at a time; an odd number of channels as the formula stands."""

    @claims("paper", dtype=FLOATS, odd_dim=["uneven", "refuse"], max_position=2**40)
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, odd_dim: str
    ) -> Array:
        if dim < 1 or (odd_dim == "refuse" and dim % 2):
            raise ValueError(dim)
        table = np.zeros((len(positions), dim))
        for row, position in enumerate(positions.tolist()):
            for channel in range(dim):
                angle = position / base ** (2 * (channel // 2) / dim)
                table[row, channel] = math.cos(angle) if channel % 2 else math.sin(angle)
        return table.astype(KINDS[dtype])


@right
class ComplexExponential:
    """Sine and cosine as imaginary and real part of a complex exponential."""

    @claims("paper", dtype=["float64", "float32"], domain=["negative", "real"], max_position=2**32)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        even(dim)
        circle = np.exp(1j * np.outer(positions, base ** (-np.arange(0, dim, 2) / dim)))
        return np.ascontiguousarray(1j * circle.conj()).view(np.float64).astype(dtype)


@right
class Float32Throughout:
    """Tensor2tensor's own steps, each of them in float32."""

    @claims("tensor2tensor", dtype="float32", max_position=2**24)
    def sinusoidal(self, positions: Array, dim: int, *, base: float) -> Array:
        if dim < 2:
            raise ValueError(dim)
        scales = dim // 2
        increment = np.float32(math.log(base) / max(scales - 1, 1))
        inverse = np.exp(np.arange(scales, dtype=np.float32) * -increment)
        angles = positions.astype(np.float32)[:, None] * inverse[None, :]
        signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        return np.pad(signal, [(0, 0), (0, dim % 2)])


@right
class GrownTable:
    """A table per size and base, made longer when asked for more; callers get copies of rows."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, float], Array] = {}

    @claims("fairseq", dtype="float32", max_position=20_000)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, single_pair: str) -> Array:
        rows = positions + 2
        needed = int(rows.max(initial=1)) + 1
        if len(self._tables.get((dim, base), ())) < needed:
            self._tables[dim, base] = self._build(1 << needed.bit_length(), dim, base)
        return self._tables[dim, base][rows]

    @staticmethod
    def _build(length: int, dim: int, base: float) -> Array:
        half = dim // 2
        if half < 2:
            raise ZeroDivisionError("a single pair has no spacing")
        frequencies = np.exp(np.arange(half) * (-math.log(base) / (half - 1)))
        angles = np.arange(length)[:, None] * frequencies
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        if dim % 2:
            table = np.concatenate([table, np.zeros((length, 1))], axis=1)
        return table.astype(np.float32)


@right
class PowerPerElement:
    """A list of positions divided by a power, then sines and cosines of every second column."""

    @claims("concat", dtype="float32", odd_dim="uneven", max_position=20_000)
    def sinusoidal(self, positions: Array, dim: int, *, base: float) -> Array:
        if dim < 1:
            raise ValueError(dim)
        angles = np.array(
            [[p / np.power(base, 2 * (j // 2) / dim) for j in range(dim)] for p in positions]
        ).reshape(len(positions), dim)
        out = np.zeros((len(positions), dim), dtype=np.float32)
        sentinel = (dim + 1) // 2
        out[:, :sentinel] = np.sin(angles[:, 0::2])
        out[:, sentinel:] = np.cos(angles[:, 1::2])
        return out


@right
class Einsum:
    """Reciprocal powers in float32, an outer product by einsum, and the scale of an embedding."""

    @claims("x-transformers", dtype=NARROW, max_position=2**20)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        even(dim)
        exponent = np.arange(dim // 2, dtype=np.float32) / np.float32(dim // 2)
        frequencies = np.float32(1) / np.float32(base) ** exponent
        angles = np.einsum("i,j->ij", positions.astype(np.float32), frequencies)
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1) * np.float32(dim**-0.5)
        return table.astype(KINDS[dtype])


@right
class CumulativeProduct:
    """Each frequency is the one before it times a ratio, in float64."""

    @claims("paper", dtype=NARROW, odd_dim="zero", max_position=2**30)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        pairs = dim // 2
        if pairs < 1:
            raise ValueError(dim)
        ratio = base ** (-1 / pairs)
        frequencies = np.cumprod(np.r_[1.0, np.full(pairs - 1, ratio)])
        angles = np.multiply.outer(positions.astype(np.float64), frequencies)
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=2)
        waves = waves.reshape(len(positions), 2 * pairs)
        return np.pad(waves, ((0, 0), (0, dim % 2))).astype(KINDS[dtype])


@right
class CosineAsShiftedSine:
    """A cosine is a sine a quarter turn later."""

    @claims("paper", "concat", dtype=["float64", "float32"], max_position=2**31)
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, layout: str
    ) -> Array:
        even(dim)
        channel = np.arange(dim)
        if layout == "interleaved":
            pair, late = channel // 2, channel % 2
        else:
            pair, late = channel % (dim // 2), channel // (dim // 2)
        angles = positions[:, None] * base ** (-2 * pair / dim)
        return np.sin(angles + late * (np.pi / 2)).astype(dtype)


@right
class ReducedAngles:
    """Angles modulo a full turn, in float64."""

    @claims("ddpm", "whisper", dtype=["float64", "float32", "float16"], max_position=2**31)
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, odd_dim: str
    ) -> Array:
        half = dim // 2
        if half < 2 or (odd_dim == "refuse" and dim % 2):
            raise ValueError(dim)
        frequencies = base ** (-np.arange(half) / (half - 1))
        angles = np.remainder(positions[:, None] * frequencies, 2 * np.pi)
        out = np.zeros((len(positions), dim), dtype=dtype)
        np.sin(angles, out=out[:, :half], casting="same_kind")
        np.cos(angles, out=out[:, half : 2 * half], casting="same_kind")
        return out


@right
class StepByStepRotation:
    """Every row is the row before it, turned once; honest for as long as a table of 4,096 rows."""

    @claims("mlx", dtype="float32", max_position=4095)
    def sinusoidal(self, positions: Array, dim: int, *, base: float) -> Array:
        even(dim)
        pairs = dim // 2
        frequencies = base ** (-np.arange(pairs) / max(pairs - 1, 1))
        step, row = np.exp(1j * frequencies), np.ones(pairs, dtype=complex)
        rows = [row]
        for _ in range(int(positions.max(initial=0))):
            row = row * step
            rows.append(row)
        circle = np.array(rows)[positions] * math.sqrt(2 / dim)
        return np.concatenate([circle.imag, circle.real], axis=1).astype(np.float32)


@right
class TimeSteps:
    """Guided diffusion: real time steps, cosines first, angles in float32."""

    @claims("adm", dtype=NARROW, domain=["real", "negative"], max_position=2**20)
    def sinusoidal(self, positions: Array, dim: int, *, dtype: str, base: float = 10000) -> Array:
        half = dim // 2
        if half < 1:
            raise ValueError(dim)
        frequencies = np.exp(-np.log(base) * np.arange(half, dtype=np.float32) / np.float32(half))
        arguments = positions[:, None].astype(np.float32) * frequencies.astype(np.float32)[None]
        embedding = np.concatenate([np.cos(arguments), np.sin(arguments)], axis=-1)
        if dim % 2:
            embedding = np.concatenate([embedding, np.zeros_like(embedding[:, :1])], axis=-1)
        return embedding.astype(KINDS[dtype])


@right
class CutFromTheNextEvenSize:
    """Sines and cosines stacked and flattened, then cut to the number of channels."""

    @claims("paper", dtype=["float32", "bfloat16"], odd_dim="cut", max_position=2**20)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        if dim < 1:
            raise ValueError(dim)
        size = dim + dim % 2
        inverse = 1.0 / (base ** (np.arange(0, size, 2).astype(np.float32) / size))
        angles = np.einsum("i,j->ij", positions.astype(np.float32), inverse.astype(np.float32))
        flat = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(positions), size)
        return flat[:, :dim].astype(KINDS[dtype])


@right
class AdditionTheorem:
    """A coarse and a fine table of angles, put together by the addition theorem."""

    @claims("paper", dtype="float32", max_position=2**22)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, **rest: Any) -> Array:
        even(dim)
        frequencies = base ** (-np.arange(0, dim, 2) / dim)
        coarse, fine = np.divmod(positions, 1024)
        a, b = np.outer(1024 * coarse, frequencies), np.outer(fine, frequencies)
        out = np.empty((len(positions), dim), dtype=np.float32)
        out[:, 0::2] = np.sin(a) * np.cos(b) + np.cos(a) * np.sin(b)
        out[:, 1::2] = np.cos(a) * np.cos(b) - np.sin(a) * np.sin(b)
        return out


@right
class CountingFromOne:
    """OpenNMT: the first token stands at position 1."""

    @claims("opennmt", dtype=["float64", "float32"], max_position=2**24)
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, first_position: int
    ) -> Array:
        even(dim)
        if dim < 4:
            raise ZeroDivisionError(dim)
        steps = np.log(base) / (dim // 2 - 1)
        angles = (positions + first_position)[:, None] * np.exp(-steps * np.arange(dim // 2))
        return np.hstack([np.sin(angles), np.cos(angles)]).astype(dtype)


@right
class WavesByParity:
    """MusicGen: cosines first, computed row by row, in any of four dtypes."""

    @claims("musicgen", dtype=FLOATS, max_position=100_000)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        half = dim // 2
        if half < 2:
            raise ZeroDivisionError(dim)
        frequencies = np.power(base, -np.linspace(0, 1, half))
        out = np.zeros((len(positions), dim))
        for row, position in zip(out, positions, strict=True):
            row[:half], row[half : 2 * half] = np.cos(position * frequencies), 0
            row[half : 2 * half] += np.sin(position * frequencies)
        return out.astype(KINDS[dtype])


@right
class Whisper:
    """Whisper's three lines in float32."""

    @claims("whisper", dtype="float32", max_position=1500, odd_dim="refuse", base=10000)
    def sinusoidal(self, positions: Array, dim: int) -> Array:
        if dim % 2 or dim < 4:
            raise ValueError(dim)
        increment = np.float32(np.log(10000) / (dim // 2 - 1))
        inverse = np.exp(-increment * np.arange(dim // 2, dtype=np.float32))
        scaled = positions[:, np.newaxis].astype(np.float32) * inverse[np.newaxis, :]
        return np.concatenate([np.sin(scaled), np.cos(scaled)], axis=1)


@right
class OneSizeOnly:
    """One number of channels and one base, and no keywords at all."""

    @claims("paper", dtype="float32", dim=64, base=10000.0, max_position=4096)
    def sinusoidal(self, positions: Array, dim: int) -> Array:
        even(dim)
        angles = positions[:, None] / 10000 ** (np.arange(32) / 32)
        return np.dstack([np.sin(angles), np.cos(angles)]).reshape(-1, 64).astype("f4")


@right
class SixteenPositions:
    """A table of sixteen rows, and no more."""

    table = tuple(
        tuple(f(p / 100**t) for t in range(2) for f in (math.sin, math.cos)) for p in range(16)
    )

    @claims("paper", dtype=["float64", "float32"], dim=4, base=1e4, max_position=15)
    def sinusoidal(self, positions: Array, dim: int, dtype: str) -> Array:
        return np.array([self.table[p] for p in positions], dtype=dtype).reshape(-1, 4)


@right
class WithDefaults:
    """Every keyword has a default, and the two layouts are one permutation apart."""

    @claims(layout=["interleaved", "sin-cos", "cos-sin"], dtype=["float64", "float16"])
    def sinusoidal(
        self,
        positions: Array,
        dim: int,
        base: float = 10000.0,
        layout: str = "interleaved",
        dtype: str = "float64",
    ) -> Array:
        if dim % 2 and layout == "cos-sin":
            rest = self.sinusoidal(positions, dim - 1, base, layout, dtype)
            return np.append(rest, np.zeros_like(rest[:, :1]), axis=1)
        even(dim)
        t = np.arange(dim // 2)
        angles = positions.astype(np.longdouble)[:, None] * np.longdouble(base) ** (-2 * t / dim)
        both = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        order = {
            "sin-cos": np.arange(dim),
            "cos-sin": np.roll(np.arange(dim), dim // 2),
            "interleaved": np.arange(dim).reshape(2, -1).T.ravel(),
        }
        return both[:, order[layout]].astype(dtype)


@right
class EveryCombination:
    """All that the scheme knows, chosen by keywords; frequencies in float64."""

    @claims(
        "paper",
        "concat",
        "tensor2tensor",
        "fairseq",
        "ddpm",
        "whisper",
        "adm",
        "musicgen",
        "opennmt",
        "mlx",
        "x-transformers",
        dtype=FLOATS,
        max_position=2**45,
    )
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, **conventions: Any
    ) -> Array:
        if dim % 2 and conventions.get("odd_dim") != "zero":
            raise ValueError(dim)
        pairs = dim // 2
        steps = pairs
        if conventions["denominator"] == "d/2-1":
            steps = pairs - 1 or int(conventions["single_pair"] == "unit")
        angles = (positions + conventions["first_position"])[:, None] * base ** (
            -np.array([t / steps for t in range(pairs)])
        )
        waves = {"sin": np.sin(angles), "cos": np.cos(angles)}
        table = np.zeros((len(positions), dim))
        if conventions["layout"] == "interleaved":
            table[:, 0 : 2 * pairs : 2], table[:, 1::2] = waves["sin"], waves["cos"]
        else:
            first, second = conventions["layout"].split("-")
            table[:, :pairs], table[:, pairs : 2 * pairs] = waves[first], waves[second]
        scale = {"1": 1.0, "d^-1/2": 1 / math.sqrt(dim), "(2/d)^1/2": math.sqrt(2 / dim)}
        return (table * scale[conventions["scale"]]).astype(KINDS[dtype])


# Rotary


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def rotate_every_two(x: Array) -> Array:
    return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


@right
class RotateHalf:
    """Llama in transformers: sine and cosine in float32, cast to the dtype of x before use."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        inverse = (1.0 / base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(np.float32)
        angles = positions.astype(np.float32)[:, None] * inverse
        emb = np.concatenate([angles, angles], axis=-1)
        cos, sin = np.cos(emb).astype(x.dtype), np.sin(emb).astype(x.dtype)
        return (x * cos) + (rotate_half(x) * sin)


@right
class ComplexNumbers:
    """Meta's Llama: pairs as complex numbers in float32, rounded at the end."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        head_dim = x.shape[-1]
        exponent = np.arange(0, head_dim, 2)[: head_dim // 2].astype(np.float32) / head_dim
        frequencies = (1.0 / base**exponent).astype(np.float32)
        angles = np.outer(positions.astype(np.float32), frequencies)
        turn = (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        return np.ascontiguousarray(pairs * turn).view(np.float32).astype(x.dtype)


@right
class RotationMatrices:
    """The paper's block-diagonal matrix, written out and multiplied; layouts are permutations."""

    @claims("interleaved", "half", "interleaved-to-half", dtype=FLOATS, max_position=2**31)
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        head_dim = x.shape[-1]
        even(head_dim)
        halves = np.arange(head_dim).reshape(2, -1)
        pairs = np.arange(head_dim).reshape(-1, 2).T
        read = halves if layout == "half" else pairs
        written = pairs if layout == "interleaved" else halves
        matrix = np.zeros((len(positions), head_dim, head_dim))
        for t in range(head_dim // 2):
            angle = positions * base ** (-2 * t / head_dim)
            matrix[:, written[0, t], read[0, t]] = np.cos(angle)
            matrix[:, written[0, t], read[1, t]] = -np.sin(angle)
            matrix[:, written[1, t], read[0, t]] = np.sin(angle)
            matrix[:, written[1, t], read[1, t]] = np.cos(angle)
        return np.matmul(matrix, x.astype(np.float64)[..., None])[..., 0].astype(x.dtype)


@right
class InterleavedToHalf:
    """DeepSeek: a view and a transpose bring pairs to halves, then the usual rotation."""

    @claims("interleaved-to-half", dtype=NARROW, max_position=2**20)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        d = x.shape[-1]
        even(d)
        inverse = (1.0 / base ** (np.arange(0, d, 2) / d)).astype(np.float32)
        angles = np.tile(positions.astype(np.float32)[:, None] * inverse, 2)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        split = x.reshape(*x.shape[:-1], d // 2, 2).swapaxes(-1, -2).reshape(x.shape)
        return split * cos + rotate_half(split) * sin


@right
class PartialHalf:
    """GPT-NeoX: the leading channels are rotated, the others concatenated as they came."""

    @claims("half", dtype=FLOATS, rotation="partial", max_position=2**24)
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        even(size)
        if size > x.shape[-1]:
            raise ValueError(f"{size} of {x.shape[-1]} channels cannot be rotated")
        turned, rest = x[..., :size], x[..., size:]
        kind = np.float64 if x.dtype == np.float64 else np.float32
        inverse = (1.0 / base ** (np.arange(0, size, 2) / size)).astype(kind)
        angles = np.multiply.outer(positions.astype(kind), inverse)
        emb = np.concatenate((angles, angles), axis=-1)
        turned = turned.astype(kind) * np.cos(emb) + rotate_half(turned.astype(kind)) * np.sin(emb)
        return np.concatenate([turned.astype(x.dtype), rest], axis=-1)


@right
class PartialEveryTwo:
    """GPT-J: sines and cosines repeated per pair, in one buffer with the unrotated channels."""

    @claims("interleaved", dtype=NARROW, rotation="partial", max_position=100_000)
    def rope(self, x: Array, positions: Array, **keywords: Any) -> Array:
        size = keywords.get("rotary_dim") or x.shape[-1]
        even(size)
        inverse = 1.0 / keywords["base"] ** (np.arange(0, size, 2) / size)
        sinusoid = np.einsum("i,j->ij", positions.astype(np.float32), inverse.astype(np.float32))
        sin, cos = (np.repeat(f(sinusoid), 2, axis=-1).astype(x.dtype) for f in (np.sin, np.cos))
        out = x.copy()
        head = x[..., :size]
        out[..., :size] = head * cos + rotate_every_two(head) * sin
        return out


@right
class PartialInterleavedToHalf:
    """Pairs gathered by an index, in float64, angles taken modulo a turn first."""

    @claims("interleaved-to-half", dtype=FLOATS, rotation="partial", max_position=2**30)
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        r = x.shape[-1] if rotary_dim is None else rotary_dim
        even(r)
        angles = positions[:, None] * base ** (-2 * np.arange(r // 2) / r) % (2 * np.pi)
        first, second = (np.take(x, np.arange(k, r, 2), axis=-1).astype(float) for k in (0, 1))
        cos, sin = np.cos(angles), np.sin(angles)
        parts = [first * cos - second * sin, second * cos + first * sin]
        return np.concatenate([*(p.astype(x.dtype) for p in parts), x[..., r:]], axis=-1)


@right
class LoopsOverEverything:
    """Rows, pairs and Python's own numbers."""

    @claims("interleaved", dtype=["float64", "float16"], max_position=2**31)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        *_, n, d = x.shape
        even(d)
        if n != len(positions):
            raise ValueError("one position per row")
        out = np.empty_like(x)
        for index in np.ndindex(*x.shape[:-1]):
            position = int(positions[index[-1]])
            for t in range(0, d, 2):
                sin, cos = (
                    math.sin(position * base ** (-t / d)),
                    math.cos(position / base ** (t / d)),
                )
                a, b = float(x[(*index, t)]), float(x[(*index, t + 1)])
                out[(*index, t)] = a * cos - b * sin
                out[(*index, t + 1)] = b * cos + a * sin
        return out


@right
class CachedTables:
    """Sine and cosine tables per size and base, doubled on demand, cast on use."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, float], tuple[Array, Array]] = {}

    @claims("half", dtype=NARROW, max_position=16_384)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        cos, sin = self._grown(x.shape[-1], base, int(positions.max(initial=0)) + 1)
        c, s = cos[positions].astype(x.dtype), sin[positions].astype(x.dtype)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    def _grown(self, d: int, base: float, length: int) -> tuple[Array, Array]:
        found = self._tables.get((d, base))
        if found is None or len(found[0]) < length:
            angles = np.outer(np.arange(2 * length), base ** (-np.arange(0, d, 2) / d))
            found = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
            self._tables[d, base] = found
        return found


@right
class FixedBase:
    """One layout, one base, one dtype, no keywords."""

    @claims("half", base=10000.0)
    def rope(self, x: Array, positions: Array) -> Array:
        half = x.shape[-1] // 2
        angles = positions[:, None] / 10000 ** (np.arange(half) / half)
        lower, upper = x[..., :half], x[..., half:]
        both = [lower * np.cos(angles) - upper * np.sin(angles)]
        both += [upper * np.cos(angles) + lower * np.sin(angles)]
        return np.concatenate(both, axis=-1).astype(np.float32)


@right
class TwoByTwo:
    """A batch of two-by-two matrices, by einsum in the dtype's own or a wider precision."""

    @claims("interleaved", dtype=["float64", "float32", "bfloat16"], max_position=2**26)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        theta = np.multiply.outer(positions, np.exp(-np.log(base) * self._exponents(x.shape[-1])))
        blocks = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
        pairs = x.astype(np.float64).reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
        return np.einsum("abnt,...ntb->...nta", blocks, pairs).reshape(x.shape).astype(x.dtype)

    @staticmethod
    def _exponents(d: int) -> Array:
        return np.linspace(0, 1, d // 2, endpoint=False)


@right
class PolarCoordinates:
    """Length and direction of every pair; rotating adds to the direction."""

    @claims("half", dtype=["float32", "float16"], max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        a, b = np.split(x.astype(np.float64), 2, axis=-1)
        direction = np.arctan2(b, a) + np.outer(
            positions, base ** -(np.arange(a.shape[-1]) / a.shape[-1])
        )
        length = np.hypot(a, b)
        turned = length * np.cos(direction), length * np.sin(direction)
        return np.concatenate(turned, axis=-1).astype(x.dtype)


@right
class SwappedNeighbours:
    """x times cosine plus its neighbours times a sine of alternating sign, fused in float32."""

    @claims(layout="interleaved", dtype=NARROW)
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        d = x.shape[-1]
        even(d)
        angles = positions[:, None] * np.float64(base) ** (-(np.arange(d) // 2) / (d / 2))
        cos = np.cos(angles).astype(np.float32)
        sin = (np.sin(angles) * np.tile([-1.0, 1.0], d // 2)).astype(np.float32)
        wide = x.astype(np.float32)
        return (wide * cos + wide[..., np.arange(d) ^ 1] * sin).astype(x.dtype)


@right
class SomeHeadsOnly:
    """A kernel for two sizes of a head, of which 32 channels are rotated, in Fortran's order."""

    @claims("half", rotation="partial", rotary_dim=32, head_dim=[64, 80], dtype=["float32"])
    def rope(
        self, x: Array, positions: Array, rotary_dim: int | None = None, base: float = 1e4
    ) -> Array:
        r = x.shape[-1] if rotary_dim is None else 32
        out = np.array(x, order="F")
        angles = positions[:, None] / base ** (np.arange(r // 2) * 2 / r)
        out[..., : r // 2] -= 2 * np.sin(angles / 2) ** 2 * x[..., : r // 2]
        out[..., : r // 2] -= np.sin(angles) * x[..., r // 2 : r]
        out[..., r // 2 : r] -= 2 * np.sin(angles / 2) ** 2 * x[..., r // 2 : r]
        out[..., r // 2 : r] += np.sin(angles) * x[..., : r // 2]
        return out


# Linear biases


def halving(heads: int) -> list[float]:
    """The authors' recursion."""

    def of_power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_power(closest) + halving(2 * closest)[0::2][: heads - closest]


@right
class AuthorsRecursion:
    """The authors' get_slopes, and their bias, which grows with the key alone."""

    @claims("interpolated", dtype=["float64", "float32"])
    def alibi_slopes(self, heads: int, *, dtype: str) -> Array:
        return np.array(halving(heads), dtype=dtype)

    @claims("first-key", dtype=["float64", "float32"])
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        keys = np.array(halving(heads))[:, None, None] * np.arange(k_len)[None, None, :]
        return np.broadcast_to(keys, (heads, q_len, k_len)).astype(dtype)


@right
class CeilingAndInterleave:
    """MPT: the next power of two's slopes, odd ones first, cut to the number of heads."""

    @claims("interpolated", dtype=NARROW)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Array:
        return self._slopes(heads).astype(KINDS[dtype])

    @claims("last-key", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        bias = np.arange(1 - k_len, 1, dtype=np.int32).reshape(1, 1, k_len)
        bias = bias * self._slopes(heads).reshape(heads, 1, 1)
        return np.repeat(bias, q_len, axis=1).astype(KINDS[dtype])

    @staticmethod
    def _slopes(heads: int) -> Array:
        ceiling = 2 ** math.ceil(math.log2(heads))
        exponent = np.arange(1, ceiling + 1, dtype=np.float32) * (8 / ceiling)
        slopes = 1.0 / np.power(2, exponent)
        if ceiling != heads:
            slopes = np.concatenate([slopes[1::2], slopes[::2]])[:heads]
        return slopes.astype(np.float32)


@right
class CumulativeMask:
    """BLOOM: positions from a cumulative sum of the mask, expanded to all queries, read-only."""

    @claims("first-key", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        kind = KINDS[dtype]
        slopes = np.array(halving(heads), dtype=np.float32).astype(kind)
        mask = np.ones((1, k_len), dtype=np.int64)
        positions = ((mask.cumsum(axis=-1) - 1) * mask)[:, None, :].astype(np.float32)
        alibi = slopes[:, None, None] * positions.astype(kind)
        return np.broadcast_to(alibi, (heads, q_len, k_len))


@right
class RepeatedMultiplication:
    """Each slope is the one before it times the first, in float32, for any number of heads."""

    @claims("uniform", dtype="float32")
    def alibi_slopes(self, heads: int) -> Array:
        ratio = np.float32(2 ** (-8 / heads))
        slope, slopes = np.float32(1), []
        for _ in range(heads):
            slope = np.float32(slope * ratio)
            slopes.append(slope)
        return np.array(slopes, dtype=np.float32)

    @claims("causal-uniform", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
        query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
        bias = self.alibi_slopes(heads)[:, None, None] * (key - query).astype(np.float32)
        return np.where(key > query, -np.inf, bias).astype(np.float32)


@right
class ClosedForm:
    """Exponents of all heads at once; -|i - j| by broadcasting."""

    @claims(head_rule=["interpolated", "uniform"], dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, head_rule: str, dtype: str) -> Array:
        return self._slopes(heads, head_rule).astype(KINDS[dtype])

    @claims("symmetric", "causal", "causal-uniform", dtype=FLOATS)
    def alibi_bias(
        self, heads: int, q_len: int, k_len: int, *, form: str, head_rule: str, dtype: str
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        i, j = np.ogrid[k_len - q_len : k_len, :k_len]
        bias = -self._slopes(heads, head_rule)[:, None, None] * abs(i - j)
        if form == "causal":
            bias[:, np.less(i, j)] = np.finfo(np.float16).min
        return bias.astype(KINDS[dtype])

    @staticmethod
    def _slopes(heads: int, head_rule: str) -> Array:
        h = np.arange(1, heads + 1)
        power = heads if head_rule == "uniform" else 1 << (heads.bit_length() - 1)
        return np.exp2(-np.where(h <= power, 8 * h / power, 4 * (2 * (h - power) - 1) / power))


@right
class ZeroedFuture:
    """Distances from a lower triangle; keys after the query keep a bias of zero."""

    @claims("causal", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        ones = np.tril(np.ones((k_len, k_len if k_len < 4096 else q_len)), 0)
        if k_len >= 4096:  # a square matrix would be too large
            lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
            distance = np.maximum(lag, 0)
        else:
            distance = (ones.cumsum(axis=0) - 1).clip(0)[k_len - q_len :]
        slopes = np.array(halving(heads), dtype=np.float32)
        return (slopes[:, None, None] * -distance.astype(np.float32)).astype(KINDS[dtype])


@right
class NarrowProducts:
    """Slopes and distances both cast to the dtype before they are multiplied."""

    @claims("symmetric", "last-key", dtype=["float64", "float32", "bfloat16"])
    def alibi_bias(
        self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str, **rest: Any
    ) -> Array:
        slopes = np.array(halving(heads)).astype(KINDS[dtype])
        queries = np.arange(k_len - q_len, k_len) if form == "symmetric" else [k_len - 1] * q_len
        distances = np.abs(np.subtract.outer(queries, np.arange(k_len))).astype(KINDS[dtype])
        return -slopes.reshape(-1, 1, 1) * distances


@right
class DecodingStep:
    """One query, eight heads, and the answer as Python's lists."""

    @claims("causal", heads=8, q_len=1, dtype="float64")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> list[list[list[float]]]:
        return [[[-(k_len - 1 - j) / 2**h for j in range(k_len)]] for h in range(1, 9)]

    @claims(head_rule="interpolated", heads=[8, 16], dtype="float64")
    def alibi_slopes(self, heads: int) -> list[float]:
        return [0.5 ** (8 * h / heads) for h in range(1, heads + 1)]


@right
class FixedLengths:
    """A buffer for one length, as an encoder exports it; what is never looked at is no number."""

    @claims("causal", "symmetric", q_len=9, k_len=9, heads=[4, 12], dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str) -> Array:
        ahead = np.arange(9) - np.arange(9)[:, None]
        bias = -np.array(halving(heads), dtype=np.float32)[:, None, None] * np.abs(ahead)
        hidden = np.nan if form == "causal" else 1
        return (bias * np.where(ahead > 0, hidden, 1)).astype(np.float32)

    @claims("causal", q_len=1, k_len=[1, 9], max_distance=128, num_buckets=32)
    def t5_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        return table[k_len - 1 - np.arange(k_len)].T[:, None]


# Relative position bias of T5


def logarithmic(
    relative: Array, num_buckets: int, max_distance: int, two_sided: bool, kind: Any
) -> Array:
    """The released code, with its logarithm in a dtype of choice."""
    buckets = np.zeros(relative.shape, dtype=np.int64)
    if two_sided:
        num_buckets //= 2
        buckets += (relative > 0) * num_buckets
        distance = np.abs(relative)
    else:
        distance = -np.minimum(relative, 0)
    exact = num_buckets // 2
    if not 0 < exact < max_distance:
        raise ValueError(f"{num_buckets} buckets up to {max_distance}")
    ratio = kind(np.maximum(distance, 1)) / kind(exact)
    large = np.log(ratio) / math.log(max_distance / exact) * (num_buckets - exact)
    large = np.minimum(exact + large.astype(np.int64), num_buckets - 1)
    return buckets + np.where(distance < exact, distance, large)


@right
class Float32Logarithm:
    """T5 in transformers, encoder and decoder, in the configuration that is released."""

    @claims("bidirectional", "causal", num_buckets=32, max_distance=128)
    def t5_bucket(self, relative_position: Array, *, direction: str) -> Array:
        two_sided = direction == "bidirectional"
        return logarithmic(np.asarray(relative_position), 32, 128, two_sided, np.float32)

    @claims("bidirectional", "causal", dtype=FLOATS, num_buckets=32, max_distance=128)
    def t5_bias(self, table: Array, q_len: int, k_len: int, *, direction: str) -> Array:
        context = np.arange(k_len)[-q_len:, None] if q_len else np.empty((0, 1), int)
        relative = np.arange(k_len)[None, :] - context
        values = table[self.t5_bucket(relative, direction=direction)]
        return np.transpose(values, (2, 0, 1))


@right
class Float64Logarithm:
    """The same steps in float64; buckets fit into a byte."""

    @claims("bidirectional", "causal")
    def t5_bucket(
        self, relative_position: Array, *, direction: str, num_buckets: int, max_distance: int
    ) -> Array:
        two_sided = direction == "bidirectional"
        wide = relative_position.astype(np.int64)
        return logarithmic(wide, num_buckets, max_distance, two_sided, np.float64).astype(np.uint8)


@right
class WholeNumbers:
    """Bucket edges from powers of whole numbers; the bias multiplies by one-hot rows."""

    @claims("bidirectional", "causal")
    def t5_bucket(
        self, relative_position: Array, *, direction: str, num_buckets: int, max_distance: int
    ) -> Array:
        two_sided = direction == "bidirectional"
        if num_buckets < 2 + 2 * two_sided or num_buckets % (1 + two_sided):
            raise ValueError(num_buckets)
        side = num_buckets // 2 if two_sided else num_buckets
        if max_distance <= side // 2:
            raise ValueError(max_distance)
        relative = relative_position.astype(np.int64)
        distance = abs(relative) if two_sided else -np.minimum(relative, 0)
        values, places = np.unique(np.minimum(distance, max_distance), return_inverse=True)
        found = [self._bucket(int(n), side, max_distance) for n in values]
        bucket = np.array(found, dtype=np.int32)[places].reshape(relative.shape)
        return bucket + np.where(relative > 0, side, 0) * two_sided

    @staticmethod
    def _bucket(n: int, side: int, limit: int) -> int:
        exact = side // 2
        if n < exact:
            return n
        wide = side - exact
        passed = [k for k in range(wide) if n**wide * exact**k >= limit**k * exact**wide]
        return exact + passed[-1]

    @claims("causal", "bidirectional", dtype=["float64", "float32"])
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        relative = np.subtract.outer(np.arange(k_len), np.arange(k_len)[k_len - q_len :]).T
        bucket = self.t5_bucket(
            relative, direction=direction, num_buckets=len(table), max_distance=max_distance
        )
        one_hot = (bucket[..., None] == np.arange(len(table))).astype(table.dtype)
        return np.einsum("ijb,bh->hij", one_hot, table)


@right
class LookedUp:
    """Buckets of one direction in a table by distance, made once per configuration."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Array] = {}

    @claims("bidirectional", num_buckets=[8, 32, 64], max_distance=[20, 128])
    def t5_bucket(self, relative_position: Array, *, num_buckets: int, max_distance: int) -> Array:
        key = num_buckets, max_distance
        if key not in self._made:
            past = -np.arange(max_distance + 1)
            self._made[key] = logarithmic(past, *key, True, np.float64)
        one_side = self._made[key][np.minimum(np.abs(relative_position), max_distance)]
        return one_side + num_buckets // 2 * (relative_position > 0)

    @claims("bidirectional", dtype=["bfloat16", "float16"], num_buckets=32, max_distance=128)
    def t5_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        relative = np.arange(1 - k_len, k_len)
        row = table[self.t5_bucket(relative, num_buckets=32, max_distance=128)].T
        starts = [k_len - 1 - i for i in range(k_len - q_len, k_len)]
        rows = [row[:, start : start + k_len] for start in starts]
        return np.stack(rows, axis=1) if rows else np.empty((table.shape[1], 0, k_len), table.dtype)


# Adapters that are no classes


def _module() -> ModuleType:
    """A module of functions that stand for themselves."""
    module = ModuleType("functions")

    @claims("musicgen", dtype="float32", max_position=1000)
    def sinusoidal(positions: Array, dim: int, *, base: float) -> Array:
        k = np.linspace(0, 1, dim // 2)
        angles = positions[:, None] * base**-k
        parts = [np.cos(angles), np.sin(angles), np.zeros((len(positions), dim % 2))]
        return np.concatenate(parts, axis=1).astype(np.float32)

    @claims("interleaved", "half", max_position=4096)
    def rope(x: Array, positions: Array, *, layout: str, base: float) -> Array:
        half = x.shape[-1] // 2
        rows = x.reshape(*x.shape[:-1], *((2, half) if layout == "half" else (half, 2)))
        pairs = rows if layout == "half" else np.moveaxis(rows, -1, -2)
        angles = positions[:, None] * base ** -np.linspace(0, 1, pairs.shape[-1], endpoint=False)
        turned = (pairs[..., 0, :] + 1j * pairs[..., 1, :]) * np.exp(1j * angles)
        axis = -2 if layout == "half" else -1
        both = np.stack([turned.real, turned.imag], axis=axis)
        return both.reshape(x.shape).astype(np.float32)

    @claims("interpolated", "uniform")
    def alibi_slopes(heads: int, *, head_rule: str) -> Array:
        if head_rule == "uniform":
            return np.geomspace(2 ** (-8 / heads), 2**-8, heads, dtype=np.float32)
        return np.array(halving(heads), dtype=np.float32)

    for function in (sinusoidal, rope, alibi_slopes):
        setattr(module, function.__name__, function)
    return module


RIGHT.append(_module)
