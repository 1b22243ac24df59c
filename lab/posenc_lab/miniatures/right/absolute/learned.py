"""Right implementations: learned positions."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def has_rows(positions: Array, rows: int) -> None:
    """Refuse positions outside the table."""
    if positions.size and not 0 <= positions.min() <= positions.max() < rows:
        raise IndexError(f"{positions} of {rows}")


@right
class Gathered:
    """Table lookup, for every offset."""

    @claims("plain", "after-padding", "two", dtype=FLOATS)
    def learned(
        self, positions: Array, table: Array, *, offset: str, padding_idx: int = 1
    ) -> Array:
        first = {"none": 0, "after-padding": padding_idx + 1, "two": 2}[offset]
        has_rows(positions, len(table) - first)
        return table[positions.astype(np.int64) + first]


@right
class OneHotTimesTable:
    """Rows of an identity matrix times the table."""

    @claims("plain", dtype=["float64", "float32"])
    def learned(self, positions: Array, table: Array) -> Array:
        has_rows(positions, len(table))
        one_hot = (positions[:, None] == np.arange(len(table))).astype(table.dtype)
        return one_hot @ table


@right
class CountedFromAMask:
    """Fairseq: ids count the tokens that are not padding, plus the padding index."""

    @claims("after-padding", dtype=NARROW, padding_idx=[1, 4])
    def learned(self, positions: Array, table: Array, *, padding_idx: int) -> Array:
        if positions.size and (
            positions.min() < 0 or positions.max() + padding_idx + 1 >= len(table)
        ):
            raise IndexError(positions)
        real = np.ones(int(positions.max(initial=0)) + 1, dtype=np.int64)
        ids = np.cumsum(real) * real + padding_idx
        return np.take(table, np.take(ids, positions), axis=0)


@right
class WithoutTheFirstTwo:
    """OPT's table without its first two rows, copied column by column."""

    @claims("two", dtype=["float32", "bfloat16"])
    def learned(self, positions: Array, table: Array) -> Array:
        usable = table[2:]
        has_rows(positions, len(usable))
        return np.stack([column[positions] for column in usable.T], axis=1)


def sides(table: Array, class_tokens: int, height: int, width: int) -> int:
    """Return the side length of a square source grid; refuse other tables and empty grids."""
    cells = len(table) - class_tokens
    grid = math.isqrt(cells)
    if not cells or grid * grid != cells or height < 1 or width < 1:
        raise ValueError((table.shape, class_tokens, height, width))
    return grid


@right
class PolynomialsInFloat32:
    """As in a framework's kernel: weights by Horner's rule, sixteen values per cell."""

    @claims("vit", "siglip", "deit", "dinov2", dtype=NARROW)
    def learned_grid(
        self, table: Array, height: int, width: int, *, resampling: str, class_tokens: int
    ) -> Array:
        grid = sides(table, class_tokens, height, width)
        if resampling == "bicubic-offset" and height == width == grid:
            return table.copy()
        more = 0.1 if resampling == "bicubic-offset" else 0.0
        rows = self._taps(grid, height, np.float32(grid / (height + more)))
        columns = self._taps(grid, width, np.float32(grid / (width + more)))
        old = table[class_tokens:].astype(np.float32).reshape(grid, grid, -1)
        cells = [
            sum(
                v * sum(u * old[i, j] for u, j in zip(*column, strict=True))
                for v, i in zip(*row, strict=True)
            )
            for row in rows
            for column in columns
        ]
        return np.concatenate([table[:class_tokens], np.array(cells).astype(table.dtype)])

    @staticmethod
    def _taps(grid: int, size: int, scale: np.float32) -> list[tuple[list[np.float32], list[int]]]:
        a, unit, taps = np.float32(-0.75), np.float32(1), []
        for cell in range(size):
            place = scale * (np.float32(cell) + np.float32(0.5)) - np.float32(0.5)
            left = math.floor(place)
            t = place - np.float32(left)
            weights: list[np.float32] = []
            for x in (t + unit, t, unit - t, unit - t + unit):
                if len(weights) in (0, 3):
                    weights.append(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)
                else:
                    weights.append(((a + 2) * x - (a + 3)) * x * x + unit)
            taps.append((weights, [min(max(left + k, 0), grid - 1) for k in (-1, 0, 1, 2)]))
        return taps


def cubic(x: Array, a: float) -> Array:
    """Return Keys' cubic kernel, vectorised."""
    x = np.abs(x)
    outer = a * (((x - 5) * x + 8) * x - 4)
    return np.where(x <= 1, ((a + 2) * x - (a + 3)) * x * x + 1, outer * (x < 2))


@right
class MatricesOfWeights:
    """A resampling matrix per axis, in float64, for every combination."""

    @claims(
        *("vit", "siglip", "deit", "dinov2", "timm", "vit-jax"), dtype=FLOATS, source="rectangle"
    )
    def learned_grid(
        self,
        table: Array,
        height: int,
        width: int,
        *,
        resampling: str,
        class_tokens: int,
        source_height: int | None = None,
        source_width: int | None = None,
    ) -> Array:
        if source_height and source_width:
            grid = source_height, source_width
        else:
            side = sides(table, class_tokens, height, width)
            grid = side, side
        wide = table.astype(np.float64)
        cells = wide[class_tokens:].reshape(*grid, -1)
        same = resampling == "bicubic-offset" and (height, width) == grid
        down, across = (
            np.eye(old) if same else self._matrix(old, size, resampling)
            for old, size in zip(grid, (height, width), strict=True)
        )
        new = np.einsum("yi,ijd,xj->yxd", down, cells, across, optimize=True)
        flat = new.reshape(height * width, -1)
        return np.vstack([wide[:class_tokens], flat]).astype(table.dtype)

    @staticmethod
    def _matrix(grid: int, size: int, resampling: str) -> Array:
        new, old = np.arange(size)[:, None], np.arange(grid)
        if resampling == "linear-corners":
            corners = np.linspace(0, grid - 1, size)[:, None]
            return np.clip(1 - abs(corners - old), 0, None)
        length = size + 0.1 if resampling == "bicubic-offset" else size
        place = (new + 0.5) * (grid / length) - 0.5
        if resampling == "bicubic-antialias":
            weights = cubic((place - old) / max(1, grid / size), -0.5)
            return weights / weights.sum(axis=1, keepdims=True)
        padded = np.arange(-3, grid + 3)
        weights = cubic(place - padded, -0.75)
        owner = np.clip(padded, 0, grid - 1)[:, None] == old
        return weights @ owner


@right
class WindowsLikePillow:
    """One axis after the other, windows of cells with normalised weights, in float32."""

    @claims("timm", dtype=NARROW)
    def learned_grid(self, table: Array, height: int, width: int) -> Array:
        grid = sides(table, 1, height, width)
        cells = table[1:].astype(np.float32).reshape(grid, grid, -1)
        wide = self._pass(cells.swapaxes(0, 1), width).swapaxes(0, 1)
        new = self._pass(wide, height).reshape(height * width, -1)
        return np.concatenate([table[:1], new.astype(table.dtype)])

    @staticmethod
    def _pass(cells: Array, size: int) -> Array:
        scale = np.float32(len(cells) / size)
        stretch = max(scale, np.float32(1))
        out = np.zeros((size, *cells.shape[1:]), dtype=np.float32)
        for cell in range(size):
            centre = scale * (np.float32(cell) + np.float32(0.5))
            start = max(int(centre - 2 * stretch + 0.5), 0)
            stop = min(int(centre + 2 * stretch + 0.5), len(cells))
            old = np.arange(start, stop, dtype=np.float32)
            weights = cubic((old - centre + np.float32(0.5)) / stretch, -0.5).astype(np.float32)
            weights /= weights.sum()
            out[cell] = np.tensordot(weights, cells[start:stop], 1)
        return out


@right
class StraightLines:
    """Linear interpolation between two neighbours, in the dtype of the table."""

    @claims("vit-jax", dtype=["float64", "float32"])
    def learned_grid(self, table: Array, height: int, width: int) -> Array:
        grid = sides(table, 1, height, width)
        cells = table[1:].reshape(grid, grid, -1)
        cells = self._pass(self._pass(cells, height).swapaxes(0, 1), width).swapaxes(0, 1)
        return np.concatenate([table[:1], cells.reshape(height * width, -1)])

    @staticmethod
    def _pass(cells: Array, size: int) -> Array:
        steps = np.arange(size) * (len(cells) - 1)
        left, remainder = np.divmod(steps, max(size - 1, 1))
        right_ = np.minimum(left + 1, len(cells) - 1)
        t = (remainder / max(size - 1, 1)).astype(cells.dtype)[:, None, None]
        return cells[left] + t * (cells[right_] - cells[left])


@right
class HermiteSplines:
    """Cubics between cells with slopes of 0.75 times the neighbours' difference."""

    @claims("vit", "siglip", dtype="float64")
    def learned_grid(self, table: Array, height: int, width: int, *, class_tokens: int) -> Array:
        grid = sides(table, class_tokens, height, width)
        cells = table[class_tokens:].reshape(grid, grid, -1)
        for size in (height, width):
            cells = self._pass(cells, size).swapaxes(0, 1)
        return np.concatenate([table[:class_tokens], cells.reshape(height * width, -1)])

    @staticmethod
    def _pass(cells: Array, size: int) -> Array:
        n = len(cells)
        p = np.concatenate([cells[:1]] * 3 + [cells] + [cells[-1:]] * 3)
        place = (2 * np.arange(size) + 1) * n / (2 * size) - 0.5 + 3
        k = np.floor(place).astype(int)
        t = (place - k)[:, None, None]
        m = [0.75 * (p[j + 1] - p[j - 1]) for j in (k, k + 1)]
        bend = t * t * (3 - 2 * t)
        return p[k] + bend * (p[k + 1] - p[k]) + t * (1 - t) * ((1 - t) * m[0] - t * m[1])
