"""Wrong implementations: learned positions."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Lookup(Mistake, steps=True):
    """A row of the table, in steps."""

    call = "learned"
    claimed = ("plain",)

    def answer(
        self, positions: Array, table: Array, *, offset: str, padding_idx: int | None = None
    ) -> Array:
        first = self.first(offset, padding_idx)
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(table) - first:
            raise IndexError(positions)
        rows = self.index(positions.astype(np.int64), first)
        return self.finish(self.table(table)[rows], positions).astype(table.dtype)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return {"none": 0, "two": 2}[offset] if padding_idx is None else padding_idx + 1

    def index(self, positions: Array, first: int) -> Array:
        return positions + first

    def table(self, table: Array) -> Array:
        return table.astype(np.float64)

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows


class LookupAsInOpt(Lookup):
    """Two rows skipped where none should be."""

    named = "offset-swapped"

    def index(self, positions: Array, first: int) -> Array:
        return positions + 2


class LookupWithoutTheTwo(Lookup):
    """The two rows of OPT and BART not skipped."""

    named = "offset-swapped"
    claimed = ("two",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 0


class LookupWithoutPadding(Lookup):
    """Rows counted from 0 although those up to the padding's belong to no position."""

    named = "offset-swapped"
    claimed = ("after-padding",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 0


class LookupOfPaddingOne(Lookup):
    """The padding index always taken for 1."""

    named = "offset-swapped"
    claimed = ("after-padding",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 2


class LookupOfThePaddingItself(Lookup):
    """padding_idx instead of padding_idx + 1."""

    named = "rows-shifted"
    claimed = ("after-padding",)

    def index(self, positions: Array, first: int) -> Array:
        return positions + first - 1


class LookupFromTheEnd(Lookup):
    """One row too early; position 0 reads the last row, without a word."""

    named = "rows-shifted"

    def index(self, positions: Array, first: int) -> Array:
        return positions + first - 1


class LookupOfRows(Lookup):
    """The first rows, however positions are numbered."""

    named = "row-numbers"

    def index(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first


class LookupScaled(Lookup):
    """Times sqrt(dim), like a token's embedding."""

    named = "rows-scaled"
    claimed = ("two",)

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * math.sqrt(rows.shape[1])


class LookupOfPadding(Lookup):
    """Position 0 taken for padding."""

    named = "padding-row-zeroed"

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * (positions > 0)[:, None]


class LookupInBfloat16(Lookup):
    """The table in bfloat16 behind a float32 result."""

    named = "table-rounded"

    def table(self, table: Array) -> Array:
        return narrow(table, "bfloat16")


class LookupInFloat16(Lookup):
    """The table in float16 behind a float64 result."""

    named = "table-rounded"
    claimed = ("two",)
    dtype = "float64"

    def table(self, table: Array) -> Array:
        return narrow(table, "float16")


class LookupInInt16(Lookup):
    """Positions wrap at 32,768."""

    def index(self, positions: Array, first: int) -> Array:
        return (positions + first).astype(np.int16)


class LookupUpTo512(Lookup):
    """Positions clamped to the first 512, without a word."""

    def index(self, positions: Array, first: int) -> Array:
        return np.minimum(positions, 511) + first


class LookupOf768Channels(Lookup):
    """Channels from 768 on left at 0."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * (np.arange(rows.shape[1]) < 768)


class LookupReversed(Lookup):
    """Rows in reverse order."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows[::-1]


class LookupNormalised(Lookup):
    """Rows of length 1."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


class LookupInTheFirstTable(Lookup):
    """The first table met of each shape serves for all."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Array] = {}

    def table(self, table: Array) -> Array:
        return self._kept.setdefault(table.shape, table.astype(np.float64))


def keys(x: float, a: float) -> float:
    """Keys' kernel."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0


class Resize(Mistake, steps=True):
    """Weights of each axis from a kernel, in steps."""

    call = "learned_grid"
    claimed = ("vit",)

    def answer(
        self, table: Array, height: int, width: int, *, resampling: str, class_tokens: int
    ) -> Array:
        grid = math.isqrt(len(table) - class_tokens)
        if grid**2 != len(table) - class_tokens or min(height, width) < 1:
            raise ValueError((table.shape, height, width))
        wide = self.prepared(table.astype(np.float64))
        cells = self.cells(wide[class_tokens:], grid)
        if resampling == "bicubic-offset" and self.stays(grid, height, width):
            return table
        down = self.weights(grid, height, resampling)
        across = self.weights(grid, width, resampling)
        new = self.combined(down, across, cells, height, width)
        return self.finish(wide[:class_tokens], new).astype(table.dtype)

    def stays(self, grid: int, height: int, width: int) -> bool:
        return grid == height == width

    def prepared(self, table: Array) -> Array:
        return table

    def cells(self, rows: Array, grid: int) -> Array:
        return rows.reshape(grid, grid, -1)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        weights = np.zeros((size, grid))
        for cell in range(size):
            if resampling == "linear-corners":
                place = cell * (grid - 1) / (size - 1) if size > 1 else 0
                weights[cell] = [max(0, 1 - abs(place - old)) for old in range(grid)]
            elif resampling == "bicubic-antialias":
                stretch = max(grid / size, 1)
                place = (cell + 0.5) * grid / size - 0.5
                weights[cell] = [keys((place - old) / stretch, -0.5) for old in range(grid)]
                weights[cell] /= weights[cell].sum()
            else:
                place = (cell + 0.5) * self.ratio(grid, size, resampling) - 0.5
                for old in range(math.floor(place) - 1, math.floor(place) + 3):
                    weights[cell, min(max(old, 0), grid - 1)] += keys(place - old, -0.75)
        return weights

    def ratio(self, grid: int, size: int, resampling: str) -> float:
        return grid / (size + 0.1) if resampling == "bicubic-offset" else grid / size

    def combined(self, down: Array, across: Array, cells: Array, height: int, width: int) -> Array:
        new = np.tensordot(down, np.tensordot(across, cells, (1, 1)), (1, 1))
        return new.reshape(height * width, -1)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([first, cells])


for _claimed, _given in (
    ("vit", "bicubic-antialias"),
    ("vit", "bicubic-offset"),
    ("siglip", "linear-corners"),
    ("deit", "bicubic-antialias"),
    ("dinov2", "bicubic"),
    ("timm", "bicubic"),
    ("vit-jax", "bicubic"),
):
    made(
        Resize,
        f"Resize {_given} for {_claimed}",
        "Another way to read the grid.",
        named="resampling-swapped",
        claimed=(_claimed,),
        weights=lambda self, grid, size, resampling, given=_given: Resize.weights(
            self, grid, size, given
        ),
    )


class ResizeBilinear(Resize):
    """Straight lines at centres."""

    named = "other-kernel"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        place = np.clip((np.arange(size) + 0.5) * grid / size - 0.5, 0, grid - 1)
        return np.maximum(0, 1 - np.abs(place[:, None] - np.arange(grid)))


class ResizeNearest(Resize):
    """The nearest cell."""

    named = "other-kernel"
    claimed = ("timm",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return np.eye(grid)[[cell * grid // size for cell in range(size)]]


class ResizeCatmullRom(Resize):
    """The kernel of Pillow and JAX without their filter."""

    named = "other-kernel"
    claimed = ("siglip",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        weights = np.zeros((size, grid))
        for cell in range(size):
            place = (cell + 0.5) * grid / size - 0.5
            for old in range(math.floor(place) - 1, math.floor(place) + 3):
                weights[cell, min(max(old, 0), grid - 1)] += keys(place - old, -0.5)
        return weights


class ResizeCubicCorners(Resize):
    """Bicubic with align_corners."""

    named = "other-kernel"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        weights = np.zeros((size, grid))
        for cell in range(size):
            place = cell * (grid - 1) / max(size - 1, 1)
            for old in range(math.floor(place) - 1, math.floor(place) + 3):
                weights[cell, min(max(old, 0), grid - 1)] += keys(place - old, -0.75)
        return weights


class ResizeByQuotient(Resize):
    """As many cells as the old size times the quotient of the sizes, which rounds one of them away.

    DINOv2 had 60 rows of 61 so. The last one is repeated.
    """

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        fewer = super().weights(grid, int(grid * (size / grid)), resampling)
        return fewer[np.minimum(np.arange(size), len(fewer) - 1)]


class ResizeOneRow(Resize):
    """The grid as a single row of cells."""

    named = "grid-flattened"

    def combined(self, down: Array, across: Array, cells: Array, height: int, width: int) -> Array:
        row = cells.reshape(-1, cells.shape[-1])
        return Resize.weights(self, len(row), height * width, "bicubic") @ row


class ResizeByColumns(Resize):
    """The table read column by column."""

    named = "grid-transposed"

    def cells(self, rows: Array, grid: int) -> Array:
        return rows.reshape(grid, grid, -1).swapaxes(0, 1)


class ResizeIntoColumns(Resize):
    """The result written column by column."""

    named = "grid-transposed"
    claimed = ("deit",)

    def combined(self, down: Array, across: Array, cells: Array, height: int, width: int) -> Array:
        new = np.einsum("yi,xj,ijd->xyd", down, across, cells)
        return new.reshape(height * width, -1)


class ResizeWidthFirst(Resize):
    """Width and height exchanged."""

    named = "grid-transposed"
    claimed = ("timm",)

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        return super().answer(table, width, height, **keywords)


class ResizeClassLast(Resize):
    """The class token's row at the end."""

    named = "class-rows-misplaced"
    claimed = ("vit-jax",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([cells, first])


class ResizeClassLost(Resize):
    """Zeros for class tokens, as in sine tables."""

    named = "class-rows-misplaced"
    claimed = ("deit",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([0 * first, cells])


class ResizeInBfloat16(Resize):
    """Table and result in bfloat16 behind a float32 result."""

    named = "interpolated-narrowly"

    def prepared(self, table: Array) -> Array:
        return narrow(table, "bfloat16")

    def finish(self, first: Array, cells: Array) -> Array:
        return narrow(np.concatenate([first, cells]), "bfloat16")


class ResizeInFloat16(Resize):
    """The result in float16 behind a float64 result."""

    named = "interpolated-narrowly"
    claimed = ("dinov2",)
    dtype = "float64"

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([first, narrow(cells, "float16")])


class ResizeNarrowWeights(Resize):
    """Weights in bfloat16."""

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return narrow(super().weights(grid, size, resampling), "bfloat16")


class ResizeInFloat32(Resize):
    """Weights in float32 behind a float64 result."""

    claimed = ("siglip",)
    dtype = "float64"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return super().weights(grid, size, resampling).astype(np.float32).astype(np.float64)


class ResizeBlackOutside(Resize):
    """Zeros outside the grid, not its edge."""

    claimed = ("deit",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        place = (np.arange(size) + 0.5) * grid / size - 0.5
        return np.array([[keys(p - old, -0.75) for old in range(grid)] for p in place])


class ResizeClassToo(Resize):
    """The class token's row resampled along with the first row of cells."""

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([(first + cells[:1]) / 2, cells])


class ResizeResamplesItsOwnSize(Resize):
    """A tenth of a cell added, and all of it moved, where nothing should be."""

    claimed = ("dinov2",)

    def stays(self, grid: int, height: int, width: int) -> bool:
        return False


class ResizeLosesTheClassToken(Resize):
    """No class token where there is nothing to resample."""

    claimed = ("dinov2",)

    def answer(
        self, table: Array, height: int, width: int, *, resampling: str, class_tokens: int
    ) -> Array:
        rules: dict[str, Any] = {"resampling": resampling, "class_tokens": class_tokens}
        out = super().answer(table, height, width, **rules)
        if height == width and len(table) == height * width + class_tokens:
            out[:class_tokens] = 0
        return out


class ResizeAtMost16(Resize):
    """New cells from the 17th of an axis on left at 0."""

    claimed = ("vit-jax",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return super().weights(grid, size, resampling) * (np.arange(size) < 16)[:, None]


class ResizeAtMost512(Resize):
    """Channels from 512 on left at 0."""

    claimed = ("timm",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([first, cells]) * (np.arange(cells.shape[1]) < 512)


class ResizeNeverShrinks(Resize):
    """The old grid cut, where the new one is smaller."""

    claimed = ("siglip",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return np.eye(grid)[:size] if size < grid else super().weights(grid, size, resampling)


class ResizeOnce(Resize):
    """The first answer given again for all tables that fit its size."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Array] = {}

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        key = height, width
        if key not in self._kept:
            self._kept[key] = super().answer(table, height, width, **keywords)
        kept = self._kept[key]
        if kept.shape[1] == table.shape[1] and kept.dtype == table.dtype:
            return kept.copy()
        return super().answer(table, height, width, **keywords)


class ResizeInPlace(Resize):
    """The table of the caller scaled on the way."""

    limits: ClassVar[Mapping[str, Any]] = {"dim": 2}

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        out = super().answer(table, height, width, **keywords)
        table *= 2
        return out


class ResizeRectangle(Mistake, steps=True):
    """Grids that may be no squares, in steps; only the weights are those of squares."""

    call = "learned_grid"
    claimed = ("vit", "timm")
    limits: ClassVar = {"source": "rectangle"}

    def answer(
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
        cells = len(table) - class_tokens
        side = math.isqrt(cells)
        down, across = self.source(cells, source_height or side, source_width or side)
        if down * across != cells or min(height, width) < 1:
            raise ValueError((table.shape, height, width))
        same = resampling == "bicubic-offset" and (height, width) == (down, across)
        if same or self.stays(cells, height, width):
            return table
        steps = Resize()
        old = table[class_tokens:].astype(np.float64).reshape(down, across, -1)
        rows = steps.weights(down, height, resampling)
        columns = steps.weights(across, width, resampling)
        new = np.einsum("yi,xj,ijd->yxd", rows, columns, old).reshape(height * width, -1)
        return np.concatenate([table[:class_tokens], new.astype(table.dtype)])

    def source(self, cells: int, height: int, width: int) -> tuple[int, int]:
        """Height and width of the table's grid."""
        return height, width

    def stays(self, cells: int, height: int, width: int) -> bool:
        return False


class ResizeRectangleAsSquare(ResizeRectangle):
    """A square wherever there are as many cells as in one."""

    named = "rectangle-misread"

    def source(self, cells: int, height: int, width: int) -> tuple[int, int]:
        side = math.isqrt(cells)
        return (side, side) if side * side == cells else (height, width)


class ResizeRectangleOnItsSide(ResizeRectangle):
    """Height and width of the table's grid exchanged."""

    named = "rectangle-misread"

    def source(self, cells: int, height: int, width: int) -> tuple[int, int]:
        return width, height


class ResizeRectangleOfAsMany(ResizeRectangle):
    """A table that has as many cells as the new grid, which is a square, kept."""

    named = "rectangle-misread"

    def stays(self, cells: int, height: int, width: int) -> bool:
        return cells == height * width and height == width
