"""Right implementations: rotary embedding of rows and columns."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, by_columns, right


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def four(x: Array, positions: Array) -> int:
    """Return the head dimension; refuse all but multiples of 4, and mismatched positions."""
    if x.shape[-1] % 4 or positions.shape != (2, x.shape[-2]):
        raise ValueError(f"{x.shape[-1]} channels, positions {positions.shape}")
    return int(x.shape[-1])


@right
class ComplexAxial:
    """rope-vit: angles of both axes concatenated, as complex numbers in float32."""

    @claims("rope-vit", "eva", dtype=NARROW, max_position=2**24)
    def rope_2d(self, x: Array, positions: Array, *, base: float, order: str) -> Array:
        width = four(x, positions)
        exponents = np.arange(0, width, 4)[: width // 4].astype(np.float32) / np.float32(width)
        omega = np.float32(1.0) / np.float32(base) ** exponents
        axes = positions if order == "row-first" else positions[::-1]
        angles = [np.outer(axis.astype(np.float32), omega) for axis in axes]
        cis = np.exp(1j * np.concatenate(angles, axis=-1)).astype(np.complex64)
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        return np.ascontiguousarray(pairs * cis).view(np.float32).astype(x.dtype)


@right
class HalvesOfTheHead:
    """The Qwen2-VL and Pixtral towers in transformers: float32 or wider, rows then columns."""

    @claims("qwen2-vl", "pixtral-half", dtype=FLOATS, max_position=2**24, domain="negative")
    def rope_2d(self, x: Array, positions: Array, *, base: float, progression: str) -> Array:
        width = four(x, positions)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        if progression == "shared":
            first = second = 1.0 / base ** (np.arange(0, width // 2, 2) / (width // 2))
        else:
            inverse = 1.0 / base ** (np.arange(0, width, 2) / width)
            first, second = inverse[0::2], inverse[1::2]
        rows, columns = positions.astype(kind)[..., None]
        both = np.concatenate([rows * first.astype(kind), columns * second.astype(kind)], axis=-1)
        emb = np.concatenate([both, both], axis=-1)
        cos, sin = np.cos(emb), np.sin(emb)
        wide = x.astype(kind)
        return (wide * cos + rotate_half(wide) * sin).astype(x.dtype)


@right
class OneRopePerAxis:
    """CroCo: the head split in two, ordinary RoPE on each part, tables cast to x's dtype."""

    @claims("croco", "gemma-4", dtype=NARROW, max_position=2**14)
    def rope_2d(self, x: Array, positions: Array, *, base: float, order: str) -> Array:
        size = four(x, positions) // 2
        inverse = (1.0 / base ** (np.arange(0, size, 2) / size)).astype(np.float32)
        table = np.outer(np.arange(positions.max(initial=0) + 1, dtype=np.float32), inverse)
        table = np.concatenate([table, table], axis=-1)
        cos, sin = np.cos(table).astype(x.dtype), np.sin(table).astype(x.dtype)
        axes = positions if order == "row-first" else positions[::-1]
        parts = [x[..., :size], x[..., size:]]
        turned = [
            part * cos[axis] + rotate_half(part) * sin[axis]
            for part, axis in zip(parts, axes, strict=True)
        ]
        return np.concatenate(turned, axis=-1)


@right
class TableOfTheGrid:
    """mistral-inference: a table over the whole grid, looked up by row and column."""

    @claims("pixtral", dtype=NARROW, max_position=100)
    def rope_2d(self, x: Array, positions: Array, *, base: float) -> Array:
        width = four(x, positions)
        omega = 1.0 / base ** (np.arange(0, width, 2) / width)
        height, breadth = positions.max(axis=1, initial=0) + 1
        table = np.empty((height, breadth, width // 2), dtype=np.complex64)
        half = width // 4
        table[..., :half] = np.exp(1j * np.outer(np.arange(height), omega[0::2]))[:, None]
        table[..., half:] = np.exp(1j * np.outer(np.arange(breadth), omega[1::2]))[None]
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        turned = np.ascontiguousarray(pairs * table[positions[0], positions[1]])
        return turned.view(np.float32).astype(x.dtype)


@right
class TurnByTurn:
    """MoonViT: complex tables of columns and rows stacked, so that pairs alternate."""

    @claims("moonvit", dtype=FLOATS, max_position=2**30, domain="negative")
    def rope_2d(self, x: Array, positions: Array, *, base: float) -> Array:
        width = four(x, positions)
        rows, columns = positions
        omega = base ** (-np.arange(0, width, 4) / width)
        cis = [np.exp(1j * np.multiply.outer(axis, omega)) for axis in (columns, rows)]
        both = np.stack(cis, axis=-1).reshape(positions.shape[1], width // 2)
        wide = x.astype(np.float64)
        turned = (wide[..., 0::2] + 1j * wide[..., 1::2]) * both
        parts = np.stack([turned.real, turned.imag], axis=-1)
        return parts.reshape(x.shape).astype(x.dtype)


@right
class PatchByPatch:
    """Loops in Python floats, for every convention."""

    @claims(
        "rope-vit",
        "eva",
        "qwen2-vl",
        "pixtral",
        "pixtral-half",
        "croco",
        "gemma-4",
        "moonvit",
        dtype=["float64"],
        head_dim=[4, 8, 12],
        max_position=2**24,
    )
    def rope_2d(
        self, x: Array, positions: Array, *, base: float, layout: str, order: str, progression: str
    ) -> Array:
        width = four(x, positions)
        half, quarter = width // 2, width // 4
        out = np.empty_like(x)
        for index in np.ndindex(*x.shape[:-1]):
            row, column = (int(axis[index[-1]]) for axis in positions)
            for t in range(half):
                which, number = (t % 2, t // 2) if order == "alternating" else divmod(t, quarter)
                place = row if (which == 0) == (order == "row-first") else column
                step = number / quarter
                if progression == "split" and which:
                    step += 2 / width
                a, b = {
                    "interleaved": (2 * t, 2 * t + 1),
                    "half": (t, t + half),
                    "half-per-axis": (
                        t + t // quarter * quarter,
                        t + t // quarter * quarter + quarter,
                    ),
                }[layout]
                angle = place / math.pow(base, step)
                real, imaginary = float(x[(*index, a)]), float(x[(*index, b)])
                out[(*index, a)] = real * math.cos(angle) - imaginary * math.sin(angle)
                out[(*index, b)] = imaginary * math.cos(angle) + real * math.sin(angle)
        return out


@right
class AxialMatrices:
    """A rotation matrix per patch: the product of one for its row and one for its column."""

    @claims("rope-vit", "eva", dtype=["float64", "float32"], head_dim=[4, 8, 16])
    def rope_2d(self, x: Array, positions: Array, *, base: float, order: str) -> Array:
        width = four(x, positions)
        out = np.empty(x.shape)
        for patch, (row, column) in enumerate(positions.T.tolist()):
            first, second = (row, column) if order == "row-first" else (column, row)
            matrix = self.matrix(first, 0, width, base) @ self.matrix(second, 1, width, base)
            out[..., patch, :] = x[..., patch, :].astype(np.float64) @ matrix.T
        return out.astype(x.dtype)

    @staticmethod
    def matrix(position: int, half: int, width: int, base: float) -> Array:
        matrix = np.eye(width)
        for number in range(width // 4):
            angle = position * base ** (-4 * number / width)
            start = half * width // 2 + 2 * number
            block = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            matrix[start : start + 2, start : start + 2] = block
        return matrix


def heads_fit(x: Array, positions: Array, frequencies: Array) -> None:
    """Refuse frequencies that do not fit the number of heads and pairs."""
    four(x, positions)
    if frequencies.shape != (2, x.shape[-3], x.shape[-1] // 2):
        raise ValueError(f"frequencies {frequencies.shape} for {x.shape}")


@right
class LearnedMixture:
    """rope-vit's mixed form: float32 outer products, added, then complex multiplication."""

    @claims("rope-vit", dtype=NARROW, max_position=2**24)
    def rope_2d_mixed(self, x: Array, positions: Array, frequencies: Array) -> Array:
        heads_fit(x, positions, frequencies)
        rows, columns = positions.astype(np.float32)[..., None]
        by_column, by_row = frequencies.astype(np.float32)[:, :, None, :]
        angles = columns * by_column + rows * by_row
        cis = np.exp(np.complex64(1j) * angles)
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        return np.ascontiguousarray(pairs * cis).view(np.float32).astype(x.dtype)


@right
class MixtureByEinsum:
    """All angles in one contraction; sines and cosines cast before use."""

    @claims("rope-vit", dtype=FLOATS, max_position=2**24, domain="negative")
    def rope_2d_mixed(self, x: Array, positions: Array, frequencies: Array, **rest: Any) -> Array:
        heads_fit(x, positions, frequencies)
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        columns_first = positions[::-1].astype(kind)
        angles = np.einsum("an,aht->hnt", columns_first, frequencies.astype(kind))
        sin, cos = np.sin(angles).astype(x.dtype), np.cos(angles).astype(x.dtype)
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 1::2] * cos + x[..., 0::2] * sin
        return out


@right
class OneAxisAfterTheOther:
    """Two rotations, by column and by row, with one rounding at the end."""

    @claims("rope-vit", dtype=["float64", "bfloat16"], heads=[1, 2], max_position=2**20)
    def rope_2d_mixed(self, x: Array, positions: Array, frequencies: Array, **rest: Any) -> Array:
        heads_fit(x, positions, frequencies)
        wide = x.astype(np.float64)
        pairs = wide[..., 0::2] + 1j * wide[..., 1::2]
        for axis, weights in zip(positions[::-1], frequencies.astype(np.float64), strict=True):
            pairs = pairs * np.exp(1j * axis[:, None] * weights[:, None, :])
        parts = np.stack([pairs.real, pairs.imag], axis=-1)
        return parts.reshape(x.shape).astype(x.dtype)


@right
class PatchesTransposed:
    """The transposed Jacobian of small heads, column by column."""

    @claims(
        "rope-vit",
        "eva",
        "qwen2-vl",
        "pixtral-half",
        "croco",
        "gemma-4",
        dtype=FLOATS,
        head_dim=[4, 8],
        max_position=2**12,
    )
    def rope_2d_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(PatchByPatch().rope_2d, x, positions, **given)


@right
class PatchesConjugated:
    """The forward pass with negated positions, in float32."""

    @claims("croco", "gemma-4", dtype=NARROW, max_position=2**14)
    def rope_2d_vjp(self, x: Array, positions: Array, *, base: float, order: str) -> Array:
        quarter = x.shape[-1] // 4
        inverse = (1.0 / base ** (np.arange(quarter) / quarter)).astype(np.float32)
        axes = positions if order == "row-first" else positions[::-1]
        parts = []
        for part, axis in zip(np.split(x, 2, axis=-1), axes, strict=True):
            angles = np.outer(-axis.astype(np.float32), inverse)
            cos, sin = (np.tile(wave(angles), 2).astype(x.dtype) for wave in (np.cos, np.sin))
            parts.append(part * cos + rotate_half(part) * sin)
        return np.concatenate(parts, axis=-1)


def all_patches(x: Array, height: int, width: int) -> int:
    """Return the head dimension; refuse x without a row per patch of the image."""
    if x.shape[-1] % 4 or min(height, width) < 1 or x.shape[-2] != height * width:
        raise ValueError(f"{x.shape} for {height} by {width} patches")
    return int(x.shape[-1])


@right
class CoordinatesOfTheImage:
    """DINOv3: a coordinate grid and a table of all angles in float32, tiled for half layout."""

    @claims("dinov3", "vggt-omega", dtype=NARROW)
    def rope_2d_image(
        self, x: Array, height: int, width: int, *, base: float, extent: str, **rest: Any
    ) -> Array:
        head_dim = all_patches(x, height, width)
        periods = np.float32(base) ** (np.arange(0, head_dim, 4, dtype="f4") / np.float32(head_dim))
        longer = max(height, width)
        sides = (longer, longer) if extent == "longer-side" else (height, width)
        axes = [
            np.arange(0.5, count, dtype="f4") / np.float32(side)
            for count, side in zip((height, width), sides, strict=True)
        ]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        spread = np.float32(2) * grid - np.float32(1)
        angles = np.float32(2 * np.pi) * spread[:, :, None] / periods
        angles = np.tile(angles.reshape(height * width, -1), 2)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        return x * cos + rotate_half(x) * sin


@right
class PhasesFromTheMiddle:
    """Patch by patch, in half patches from the centre; each pair a complex number."""

    @claims("dinov3", "vggt-omega", dtype=["float64", "float32"], head_dim=[4, 8, 16])
    def rope_2d_image(
        self, x: Array, height: int, width: int, *, base: float, extent: str, **rest: Any
    ) -> Array:
        head_dim = all_patches(x, height, width)
        longer = max(height, width) if extent == "longer-side" else 0
        half, quarter = head_dim // 2, head_dim // 4
        out = np.empty_like(x)
        for patch in range(height * width):
            row, column = divmod(patch, width)
            for t in range(half):
                place, side = (row, height) if t < quarter else (column, width)
                side = longer or side
                turns = (2 * place + 1 - side) / side / base ** (t % quarter / quarter)
                pair = x[..., patch, t].astype(np.float64) + 1j * x[..., patch, t + half]
                pair = pair * np.exp(2j * np.pi * turns)
                out[..., patch, t], out[..., patch, t + half] = pair.real, pair.imag
        return out
