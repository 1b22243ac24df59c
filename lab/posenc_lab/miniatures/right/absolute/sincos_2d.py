"""Right implementations: sinusoidal encoding of grid cells."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


def fourth(dim: int) -> int:
    """Return a quarter of the channels; refuse a number that is not divisible by four."""
    if dim < 4 or dim % 4:
        raise ValueError(f"{dim} channels cannot be split into four")
    return dim // 4


@right
class GridFromMesh:
    """MAE's steps in float32: a mesh with the width first, an outer product per half."""

    @claims("mae", dtype=NARROW)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Array:
        rows, columns = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
        grid = np.stack(np.meshgrid(columns, rows))
        omega = np.arange(fourth(dim), dtype=np.float32) / np.float32(dim / 4)
        omega = np.float32(1) / np.float32(base) ** omega
        halves = []
        for place in grid.reshape(2, -1):
            angles = np.einsum("m,d->md", place, omega)
            halves += [np.sin(angles), np.cos(angles)]
        return np.concatenate(halves, axis=1).astype(KINDS[dtype])


@right
class GridFromMgrid:
    """big_vision's steps in float64, with the row as y and the column as x."""

    @claims("big-vision", dtype=FLOATS)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Array:
        y, x = np.mgrid[:height, :width].reshape(2, -1)
        if fourth(dim) == 1:
            raise ZeroDivisionError("one pair")
        omega = np.exp(-math.log(base) * np.arange(dim // 4) / (dim // 4 - 1))
        y, x = y[:, None] * omega[None, :], x[:, None] * omega[None, :]
        table = np.concatenate([np.sin(x), np.cos(x), np.sin(y), np.cos(y)], axis=1)
        return table.astype(KINDS[dtype])


@right
class GridFromCumulativeSums:
    """DETR's steps in float32: cumulative sums of a mask divided by the last, stacked waves."""

    @claims("detr", "deformable-detr", dtype=NARROW)
    def sincos_2d(
        self,
        height: int,
        width: int,
        dim: int,
        *,
        base: float,
        dtype: str,
        coordinates: str,
    ) -> Array:
        half = 2 * fourth(dim)
        mask = np.ones((height, width), dtype=np.float32)
        channel = np.arange(half, dtype=np.float32)
        period = np.float32(base) ** (2 * (channel // 2) / np.float32(half))
        halves = []
        for axis in (0, 1):
            place = mask.cumsum(axis, dtype=np.float32)
            last = place.take([-1], axis)
            if coordinates == "centred":
                place = place - np.float32(0.5)
            place = place / (last + np.float32(1e-6)) * np.float32(2 * math.pi)
            angles = place[:, :, None] / period
            waves = np.stack([np.sin(angles[..., 0::2]), np.cos(angles[..., 1::2])], axis=3)
            halves.append(waves.reshape(height, width, half))
        return np.concatenate(halves, axis=2).reshape(-1, dim).astype(KINDS[dtype])


@right
class GridOfComplexNumbers:
    """One axis at a time as complex exponentials, repeated or tiled; every layout."""

    @claims("mae", "row-first", "detr", "deformable-detr", dtype=["float64", "float32"])
    def sincos_2d(
        self,
        height: int,
        width: int,
        dim: int,
        *,
        base: float,
        first_axis: str,
        layout: str,
        coordinates: str,
        dtype: str,
    ) -> Array:
        omega = base ** (-np.arange(fourth(dim)) / (dim // 4))
        axes = []
        for count in (height, width):
            place = np.arange(count) * 1.0
            if coordinates != "index":
                place = (
                    (place + (1 if coordinates == "normalized" else 0.5))
                    / (count + 1e-6)
                    * math.tau
                )
            circle = np.exp(1j * np.outer(place, omega))
            parts = (circle.imag, circle.real)
            if layout == "interleaved":
                axes.append(np.stack(parts, axis=2).reshape(count, -1))
            else:
                axes.append(np.concatenate(parts, axis=1))
        cells = [axes[0].repeat(width, axis=0), np.tile(axes[1], (height, 1))]
        if first_axis == "column":
            cells.reverse()
        return np.hstack(cells).astype(dtype)


@right
class GridCellByCell:
    """Loops over rows, columns and pairs, one value at a time."""

    @claims("row-first", dtype=FLOATS)
    def sincos_2d(self, height: int, width: int, dim: int, *, base: float, dtype: str) -> Array:
        quarter = fourth(dim)
        out = np.zeros((height, width, dim))
        for row in range(height):
            out[row] += self._half(row, quarter, base, dim, 0)
        for column in range(width):
            out[:, column] += self._half(column, quarter, base, dim, 2)
        return out.reshape(height * width, dim).astype(KINDS[dtype])

    @staticmethod
    def _half(place: int, quarter: int, base: float, dim: int, first: int) -> Array:
        out = np.zeros(dim)
        for t in range(quarter):
            angle = place / math.pow(base, t / quarter)
            out[first * quarter + t] = math.sin(angle)
            out[(first + 1) * quarter + t] = math.cos(angle)
        return out


@right
class GridOfAQuarterTurn:
    """Cosines as sines a quarter turn later; all in float64, rounded once."""

    @claims(
        "mae", "big-vision", "detr", "deformable-detr", dtype=["float64", "float16", "bfloat16"]
    )
    def sincos_2d(
        self,
        height: int,
        width: int,
        dim: int,
        *,
        base: float,
        denominator: str,
        coordinates: str,
        dtype: str,
        **rest: str,
    ) -> Array:
        steps = fourth(dim) - (denominator == "d/4-1")
        if not steps:
            raise ZeroDivisionError(dim)
        cell, channel = np.ogrid[: height * width, :dim]
        row, column = cell // width, cell % width
        if coordinates != "index":  # DETR: row first, sines and cosines interleaved
            first = 1 if coordinates == "normalized" else 0.5
            part, within = np.divmod(channel, dim // 2)
            pair, late = np.divmod(within, 2)
            row = math.tau * (row + first) / (height + 1e-6)
            column = math.tau * (column + first) / (width + 1e-6)
            place = np.where(part == 0, row, column)
        else:
            part, pair = np.divmod(channel, dim // 4)
            late = part % 2
            place = np.where(part < 2, column, row)
        angle = place * base ** (-pair / steps)
        return np.sin(angle + late * (math.pi / 2)).astype(KINDS[dtype])


@right
class GridOf14:
    """The table of one model: 14 by 14 cells, 192 channels, base 10000."""

    @claims("mae", dtype="float32", height=14, width=14, dim=192, base=10000.0)
    def sincos_2d(self, height: int, width: int, dim: int) -> Array:
        angles = np.arange(14)[:, None] * 1e-4 ** (np.arange(48) / 48)
        axis = np.hstack([np.sin(angles), np.cos(angles)]).astype("f4")
        return np.block([[np.hstack([axis, np.tile(axis[r], (14, 1))])] for r in range(14)])
