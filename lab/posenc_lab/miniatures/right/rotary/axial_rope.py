"""Right implementations: rotary embedding of several axes, axis widths and position grids."""

import math
from itertools import product
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import (
    FLOATS,
    NARROW,
    Array,
    even,
    right,
    rotate_every_two,
    rotate_half,
)


def fitting(x: Array, positions: Array, widths: Array) -> list[int]:
    """Return widths as ints; refuse widths or positions that do not fit x."""
    sizes: list[int] = widths.tolist()
    for size in sizes:
        even(size)
    if sum(sizes) != x.shape[-1] or positions.shape != (len(sizes), x.shape[-2]):
        raise ValueError(f"{x.shape} channels, widths {sizes}, positions {positions.shape}")
    return sizes


@right
class MatricesPerAxis:
    """FLUX: a 2x2 matrix per pair, angles in float64, applied in float32."""

    @claims("interleaved", dtype=NARROW, domain="negative", max_position=2**24)
    def axial_rope(self, x: Array, positions: Array, widths: Array, *, base: float) -> Array:
        parts = []
        for place, size in zip(positions, fitting(x, positions, widths), strict=True):
            omega = 1.0 / base ** (np.arange(0, size, 2, dtype=np.float64) / size)
            angle = np.einsum("n,d->nd", place.astype(np.float64), omega)
            entries = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], -1)
            parts.append(entries.reshape(*angle.shape, 2, 2).astype(np.float32))
        table = np.concatenate(parts, axis=-3)
        pairs = x.astype(np.float32).reshape(*x.shape[:-1], x.shape[-1] // 2, 1, 2)
        out = table[..., 0] * pairs[..., 0] + table[..., 1] * pairs[..., 1]
        return out.reshape(x.shape).astype(x.dtype)


@right
class ComplexTables:
    """Wan: complex tables of every axis looked up by position, multiplied in float64."""

    @claims("interleaved", dtype=NARROW, max_position=2**12)
    def axial_rope(self, x: Array, positions: Array, widths: Array, *, base: float) -> Array:
        sizes = fitting(x, positions, widths)
        rows = np.arange(positions.max(initial=0) + 1)
        tables = [
            np.exp(1j * np.outer(rows, 1.0 / base ** (np.arange(0, size, 2) / size)))
            for size in sizes
        ]
        cis = np.concatenate(
            [table[place] for table, place in zip(tables, positions, strict=True)], axis=-1
        )
        pairs = np.ascontiguousarray(x, dtype=np.float64).view(np.complex128)
        return (pairs * cis).view(np.float64).astype(x.dtype)


@right
class RepeatedWaves:
    """CogVideoX and HunyuanVideo: cosines and sines in float32 or wider, each repeated."""

    @claims("interleaved", dtype=FLOATS, domain="negative", max_position=2**20)
    def axial_rope(self, x: Array, positions: Array, widths: Array, *, base: float) -> Array:
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        waves = []
        for place, size in zip(positions, fitting(x, positions, widths), strict=True):
            inverse = 1.0 / base ** (np.arange(0, size, 2).astype(kind) / kind(size))
            waves.append(np.repeat(np.outer(place.astype(kind), inverse.astype(kind)), 2, axis=-1))
        angles = np.concatenate(waves, axis=-1)
        wide = x.astype(kind)
        return (wide * np.cos(angles) + rotate_every_two(wide) * np.sin(angles)).astype(x.dtype)


@right
class HalvesOfAllAxes:
    """CogView4: the angles of all axes, tiled, for halves of the head."""

    @claims("half", dtype=FLOATS, domain="negative", max_position=2**20)
    def axial_rope(self, x: Array, positions: Array, widths: Array, *, base: float) -> Array:
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        sizes = fitting(x, positions, widths)
        angles = np.concatenate(
            [
                np.outer(place, base ** (-np.arange(0, size, 2) / size)).astype(kind)
                for place, size in zip(positions, sizes, strict=True)
            ],
            axis=-1,
        )
        doubled = np.concatenate([angles, angles], axis=-1)
        wide = x.astype(kind)
        return (wide * np.cos(doubled) + rotate_half(wide) * np.sin(doubled)).astype(x.dtype)


@right
class AxisByAxis:
    """Allegro: the head split, ordinary RoPE on each part, tables cast to x's dtype."""

    @claims("half-per-axis", dtype=NARROW, domain="negative", max_position=2**20)
    def axial_rope(self, x: Array, positions: Array, widths: Array, *, base: float) -> Array:
        sizes = fitting(x, positions, widths)
        parts = np.split(x, np.cumsum(sizes)[:-1], axis=-1)
        out = []
        for part, place, size in zip(parts, positions, sizes, strict=True):
            inverse = (1.0 / base ** (np.arange(0, size, 2) / size)).astype(np.float32)
            angles = np.tile(np.outer(place.astype(np.float32), inverse), 2)
            cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
            out.append(part * cos + rotate_half(part) * sin)
        return np.concatenate(out, axis=-1)


def thirds(x: Array, positions: Array) -> int:
    """Return the channels of each of three axes; refuse too few channels or other positions."""
    width = 2 * (x.shape[-1] // 3 // 2)
    if not width or positions.shape != (3, x.shape[-2]):
        raise ValueError(f"{x.shape} channels, positions {positions.shape}")
    return width


@right
class TiledAsReleased:
    """V-JEPA 2: angles of every axis tiled, neighbours swapped, in float32 or float64."""

    @claims("vjepa-2", dtype=FLOATS, max_position=2**20)
    def axial_rope_tiled(self, x: Array, positions: Array) -> Array:
        kind: type[np.floating] = np.float64 if x.dtype == np.float64 else np.float32
        width, parts = thirds(x, positions), []
        for axis, place in enumerate(positions):
            part = x[..., axis * width : (axis + 1) * width].astype(kind)
            omega = kind(1) / kind(10000) ** (np.arange(width // 2, dtype=kind) / kind(width / 2))
            angles = np.tile(np.outer(place.astype(kind), omega), 2)
            parts.append(part * np.cos(angles) + rotate_every_two(part) * np.sin(angles))
        unrotated = x[..., 3 * width :].astype(kind)
        return np.concatenate([*parts, unrotated], axis=-1).astype(x.dtype)


@right
class TiledMatrices:
    """A 2x2 matrix per pair, whose rows have different angles, in float64."""

    @claims("vjepa-2", dtype=FLOATS, max_position=2**24)
    def axial_rope_tiled(self, x: Array, positions: Array) -> Array:
        width = thirds(x, positions)
        pair = np.arange(width // 2)
        first, second = (
            np.concatenate(
                [
                    np.outer(place, 10.0 ** (-4 * ((2 * pair + member) % len(pair)) / len(pair)))
                    for place in positions
                ],
                axis=-1,
            )
            for member in (0, 1)
        )
        rows = [
            np.stack([np.cos(first), -np.sin(first)], axis=-1),
            np.stack([np.sin(second), np.cos(second)], axis=-1),
        ]
        matrix = np.stack(rows, axis=-2)
        out = x.astype(np.float64)
        pairs = out[..., : 3 * width].reshape(*x.shape[:-1], -1, 2, 1)
        out[..., : 3 * width] = (matrix @ pairs).reshape(*x.shape[:-1], -1)
        return out.astype(x.dtype)


@right
class AxesPairByPair:
    """Loops in Python floats, for every layout."""

    @claims(
        "interleaved",
        "half",
        "half-per-axis",
        dtype=["float64"],
        head_dim=[6, 12, 16],
        domain="negative",
        max_position=2**24,
    )
    def axial_rope(
        self, x: Array, positions: Array, widths: Array, *, base: float, layout: str
    ) -> Array:
        sizes = fitting(x, positions, widths)
        out = np.empty_like(x)
        for index in np.ndindex(*x.shape[:-1]):
            pair = first = 0
            for axis, size in enumerate(sizes):
                for t in range(size // 2):
                    angle = int(positions[axis, index[-1]]) * math.pow(base, -2 * t / size)
                    a, b = {
                        "interleaved": (2 * pair, 2 * pair + 1),
                        "half": (pair, pair + sum(sizes) // 2),
                        "half-per-axis": (first + t, first + t + size // 2),
                    }[layout]
                    real, imaginary = float(x[(*index, a)]), float(x[(*index, b)])
                    out[(*index, a)] = real * math.cos(angle) - imaginary * math.sin(angle)
                    out[(*index, b)] = imaginary * math.cos(angle) + real * math.sin(angle)
                    pair += 1
                first += size
        return out


@right
class SharesOfPairs:
    """Wan: pairs are divided among the axes, then doubled."""

    @claims("wan")
    def axial_rope_widths(self, head_dim: int) -> list[int]:
        even(head_dim)
        pairs = head_dim // 2
        return [2 * (pairs - 2 * (pairs // 3)), 2 * (pairs // 3), 2 * (pairs // 3)]


@right
class SharesOfChannels:
    """diffusers' expressions, for both allocations."""

    @claims("wan", "cogvideox")
    def axial_rope_widths(self, head_dim: int, *, allocation: str) -> Array:
        even(head_dim)
        if allocation == "eighths":
            if head_dim % 16:
                raise ValueError(f"{head_dim} channels")
            return np.array([head_dim // 4, head_dim // 8 * 3, head_dim // 8 * 3], dtype=np.int32)
        side = 2 * (head_dim // 6)
        return np.array([head_dim - side - side, side, side])


def placed(images: Array, grid: str) -> list[list[int]]:
    """Return sizes as ints; refuse those that the grid cannot hold."""
    sizes: list[list[int]] = images.tolist()
    if grid == "flux-2" and any(size[0] > 1 for size in sizes):
        raise ValueError(f"frames in {sizes}")
    if grid == "z-image" and len(sizes) > 1:
        raise ValueError(f"{len(sizes)} images")
    return sizes


@right
class ZerosFilledIn:
    """FLUX: zeros of [frames, height, width, 3], with ids added, flattened, transposed."""

    @claims("flux")
    def axial_rope_position_ids(self, images: Array, *, tokens: int) -> Array:
        parts = [np.zeros((tokens, 3))]
        for number, (frames, height, width) in enumerate(placed(images, "flux")):
            ids = np.zeros((frames, height, width, 3))
            ids[..., 0] = number + np.arange(frames)[:, None, None]
            ids[..., 1] += np.arange(height)[:, None]
            ids[..., 2] += np.arange(width)[None, :]
            parts.append(ids.reshape(-1, 3))
        return np.concatenate(parts).T.astype(np.int32)


@right
class CartesianProducts:
    """FLUX.2 and Z-Image: Cartesian products of ranges."""

    @claims("flux-2", "z-image")
    def axial_rope_position_ids(self, images: Array, *, tokens: int, grid: str) -> Array:
        sizes = placed(images, grid)
        ids: list[tuple[int, ...]]
        if grid == "flux-2":
            ids = list(product([0], [0], [0], range(tokens)))
            for number, (_, height, width) in enumerate(sizes):
                ids += product([10 * number], range(height), range(width), [0])
        else:
            ids = [(1 + token, 0, 0) for token in range(tokens)]
            for frames, height, width in sizes:
                ids += product(range(tokens + 1, tokens + 1 + frames), range(height), range(width))
        return np.array(ids, dtype=np.int64).reshape(len(ids), 4 if grid == "flux-2" else 3).T


@right
class TwoTables:
    """Qwen-Image: the end of a table of negatives, then the start of a table from 0 on."""

    @claims("qwen-image", tokens=[0, 1, 3, 7])
    def axial_rope_position_ids(self, images: Array, *, tokens: int) -> Any:
        negative, positive = np.arange(-4096, 0), np.arange(4096)
        parts, start = [], 0
        for number, (frames, height, width) in enumerate(placed(images, "qwen-image")):
            rows, columns = (
                np.concatenate([negative[-(side - side // 2) :], positive[: side // 2]])
                for side in (height, width)
            )
            times = positive[number : number + frames]
            mesh = np.meshgrid(times, rows, columns, indexing="ij")
            parts.append(np.stack(mesh).reshape(3, -1))
            start = max(height // 2, width // 2, start)
        text = np.tile(positive[start : start + tokens], (3, 1))
        return np.concatenate([text, *parts], axis=1)


@right
class OneFormulaForAll:
    """One loop over tokens for every grid."""

    @claims("flux", "qwen-image", "z-image")
    def axial_rope_position_ids(self, images: Array, *, tokens: int, grid: str) -> Array:
        sizes = placed(images, grid)
        widest = max([0, *(max(height, width) // 2 for _, height, width in sizes)])
        columns: list[list[int]] = []
        for token in range(tokens):
            counted = {"flux": [0, 0, 0], "z-image": [1 + token, 0, 0]}
            columns.append(counted.get(grid, [widest + token] * 3))
        for number, (frames, height, width) in enumerate(sizes):
            up, left = ((height + 1) // 2, (width + 1) // 2) if grid == "qwen-image" else (0, 0)
            ahead = 1 + tokens if grid == "z-image" else number
            for frame in range(frames):
                for row in range(height):
                    columns += [[ahead + frame, row - up, c - left] for c in range(width)]
        return np.array(columns, dtype=np.int64).reshape(len(columns), 3).T
