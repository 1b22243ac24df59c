"""Right implementations: sinusoidal encoding."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, even, right


@right
class ScalarLoops:
    """Python floats, one at a time; for odd dims, the formula unchanged."""

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
    """Sine and cosine as the imaginary and real parts of a complex exponential."""

    @claims("paper", dtype=["float64", "float32"], domain=["negative", "real"], max_position=2**32)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, dtype: str) -> Array:
        even(dim)
        circle = np.exp(1j * np.outer(positions, base ** (-np.arange(0, dim, 2) / dim)))
        return np.ascontiguousarray(1j * circle.conj()).view(np.float64).astype(dtype)


@right
class Float32Throughout:
    """Tensor2tensor's own steps, each in float32."""

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
    """A table per size and base, grown on demand; callers get copies of rows."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, float], Array] = {}

    @claims("fairseq", dtype="float32", max_position=20_000)
    def sinusoidal(self, positions: Array, dim: int, *, base: float, single_pair: str) -> Array:
        rows = positions.astype(np.int64) + 2
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
    """Each position divided by a power, then sines and cosines of alternate columns."""

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
    """Reciprocal powers in float32, an outer product by einsum, and a scale of dim^-1/2."""

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
    """Each frequency is the previous one times a ratio, in float64."""

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
    """Each row is the previous row rotated once; accurate for a table of 4,096 rows."""

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
    """OpenNMT: the first token is at position 1."""

    @claims("opennmt", dtype=["float64", "float32"], max_position=2**24)
    def sinusoidal(
        self, positions: Array, dim: int, *, base: float, dtype: str, first_position: int
    ) -> Array:
        even(dim)
        if dim < 4:
            raise ZeroDivisionError(dim)
        steps = np.log(base) / (dim // 2 - 1)
        angles = (positions.astype(np.int64) + first_position)[:, None] * np.exp(
            -steps * np.arange(dim // 2)
        )
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
    """Whisper's three lines of code in float32."""

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
    """One number of channels and one base, and no keywords."""

    @claims("paper", dtype="float32", dim=64, base=10000.0, max_position=4096)
    def sinusoidal(self, positions: Array, dim: int) -> Array:
        even(dim)
        angles = positions[:, None] / 10000 ** (np.arange(32) / 32)
        return np.dstack([np.sin(angles), np.cos(angles)]).reshape(-1, 64).astype("f4")


@right
class SixteenPositions:
    """A table of sixteen rows."""

    table = tuple(
        tuple(f(p / 100**t) for t in range(2) for f in (math.sin, math.cos)) for p in range(16)
    )

    @claims("paper", dtype=["float64", "float32"], dim=4, base=1e4, max_position=15)
    def sinusoidal(self, positions: Array, dim: int, dtype: str) -> Array:
        return np.array([self.table[p] for p in positions], dtype=dtype).reshape(-1, 4)


@right
class WithDefaults:
    """Every keyword has a default; the layouts differ by a permutation."""

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
            channels = self.sinusoidal(positions, dim - 1, base, layout, dtype)
            return np.append(channels, np.zeros_like(channels[:, :1]), axis=1)
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
    """Every combination of the scheme, chosen by keywords; frequencies in float64."""

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
        places = positions.astype(np.int64) + conventions["first_position"]
        angles = places[:, None] * base ** (-np.array([t / steps for t in range(pairs)]))
        waves = {"sin": np.sin(angles), "cos": np.cos(angles)}
        table = np.zeros((len(positions), dim))
        if conventions["layout"] == "interleaved":
            table[:, 0 : 2 * pairs : 2], table[:, 1::2] = waves["sin"], waves["cos"]
        else:
            first, second = conventions["layout"].split("-")
            table[:, :pairs], table[:, pairs : 2 * pairs] = waves[first], waves[second]
        scale = {"1": 1.0, "d^-1/2": 1 / math.sqrt(dim), "(2/d)^1/2": math.sqrt(2 / dim)}
        return (table * scale[conventions["scale"]]).astype(KINDS[dtype])
