"""Wrong implementations: learned positions."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Lookup(Mistake, steps=True):
    """A table lookup, in steps."""

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
    """Two rows are skipped, as in OPT, where none should be."""

    named = "offset-swapped"

    def index(self, positions: Array, first: int) -> Array:
        return positions + 2


class LookupWithoutTheTwo(Lookup):
    """The first two rows, which OPT and BART skip, are not skipped."""

    named = "offset-swapped"
    claimed = ("two",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 0


class LookupWithoutPadding(Lookup):
    """Rows are counted from 0, although positions start after the padding row."""

    named = "offset-swapped"
    claimed = ("after-padding",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 0


class LookupOfPaddingOne(Lookup):
    """padding_idx is always 1."""

    named = "offset-swapped"
    claimed = ("after-padding",)

    def first(self, offset: str, padding_idx: int | None) -> int:
        return 2


class LookupOfThePaddingItself(Lookup):
    """The offset is padding_idx instead of padding_idx + 1."""

    named = "rows-shifted"
    claimed = ("after-padding",)

    def index(self, positions: Array, first: int) -> Array:
        return positions + first - 1


class LookupFromTheEnd(Lookup):
    """Rows are one too early; position 0 silently reads the last row."""

    named = "rows-shifted"

    def index(self, positions: Array, first: int) -> Array:
        return positions + first - 1


class LookupOfRows(Lookup):
    """The first rows are read, ignoring positions."""

    named = "row-numbers"

    def index(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first


class LookupScaled(Lookup):
    """Rows are multiplied by sqrt(dim), like token embeddings."""

    named = "rows-scaled"
    claimed = ("two",)

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * math.sqrt(rows.shape[1])


class LookupOfPadding(Lookup):
    """Position 0 is zeroed, as if it were padding."""

    named = "padding-row-zeroed"

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * (positions > 0)[:, None]


class LookupInBfloat16(Lookup):
    """The table is held in bfloat16 for a float32 result."""

    named = "table-rounded"

    def table(self, table: Array) -> Array:
        return narrow(table, "bfloat16")


class LookupInFloat16(Lookup):
    """The table is held in float16 for a float64 result."""

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
    """Positions are silently clamped to the first 512."""

    def index(self, positions: Array, first: int) -> Array:
        return np.minimum(positions, 511) + first


class LookupOf768Channels(Lookup):
    """Channels from index 768 on are 0."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows * (np.arange(rows.shape[1]) < 768)


class LookupReversed(Lookup):
    """Rows are in reverse order."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows[::-1]


class LookupNormalised(Lookup):
    """Rows are normalised to length 1."""

    def finish(self, rows: Array, positions: Array) -> Array:
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


class LookupInTheFirstTable(Lookup):
    """The table is cached by its shape, ignoring its values."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Array] = {}

    def table(self, table: Array) -> Array:
        return self._kept.setdefault(table.shape, table.astype(np.float64))


def keys(x: float, a: float) -> float:
    """Return Keys' cubic kernel at ``x``."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0


class Resize(Mistake, steps=True):
    """Separable resampling with a kernel, in steps."""

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
        weights=lambda self, grid, size, resampling, other=_given: Resize.weights(
            self, grid, size, other
        ),
    )


class ResizeBilinear(Resize):
    """Interpolation is bilinear between cell centres."""

    named = "other-kernel"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        place = np.clip((np.arange(size) + 0.5) * grid / size - 0.5, 0, grid - 1)
        return np.maximum(0, 1 - np.abs(place[:, None] - np.arange(grid)))


class ResizeNearest(Resize):
    """Each new cell copies the nearest old one."""

    named = "other-kernel"
    claimed = ("timm",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return np.eye(grid)[[cell * grid // size for cell in range(size)]]


class ResizeCatmullRom(Resize):
    """The kernel is that of Pillow and JAX without their antialiasing."""

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
    """Interpolation is bicubic with align_corners."""

    named = "other-kernel"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        weights = np.zeros((size, grid))
        for cell in range(size):
            place = cell * (grid - 1) / max(size - 1, 1)
            for old in range(math.floor(place) - 1, math.floor(place) + 3):
                weights[cell, min(max(old, 0), grid - 1)] += keys(place - old, -0.75)
        return weights


class ResizeByQuotient(Resize):
    """The new size is int(old size * quotient of sizes), which can round one cell away.

    DINOv2 got 60 rows instead of 61 this way. The last row is repeated.
    """

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        fewer = super().weights(grid, int(grid * (size / grid)), resampling)
        return fewer[np.minimum(np.arange(size), len(fewer) - 1)]


class ResizeOneRow(Resize):
    """The grid is resampled as a single row of cells."""

    named = "grid-flattened"

    def combined(self, down: Array, across: Array, cells: Array, height: int, width: int) -> Array:
        row = cells.reshape(-1, cells.shape[-1])
        return Resize.weights(self, len(row), height * width, "bicubic") @ row


class ResizeByColumns(Resize):
    """The table is read column by column."""

    named = "grid-transposed"

    def cells(self, rows: Array, grid: int) -> Array:
        return rows.reshape(grid, grid, -1).swapaxes(0, 1)


class ResizeIntoColumns(Resize):
    """The result is written column by column."""

    named = "grid-transposed"
    claimed = ("deit",)

    def combined(self, down: Array, across: Array, cells: Array, height: int, width: int) -> Array:
        new = np.einsum("yi,xj,ijd->xyd", down, across, cells)
        return new.reshape(height * width, -1)


class ResizeWidthFirst(Resize):
    """Width and height are exchanged."""

    named = "grid-transposed"
    claimed = ("timm",)

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        return super().answer(table, width, height, **keywords)


class ResizeClassLast(Resize):
    """The class token's row comes last."""

    named = "class-rows-misplaced"
    claimed = ("vit-jax",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([cells, first])


class ResizeClassLost(Resize):
    """Rows of class tokens are zeros, as in sinusoidal tables."""

    named = "class-rows-misplaced"
    claimed = ("deit",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([0 * first, cells])


class ResizeInBfloat16(Resize):
    """Table and interpolation are in bfloat16 for a float32 result."""

    named = "interpolated-narrowly"

    def prepared(self, table: Array) -> Array:
        return narrow(table, "bfloat16")

    def finish(self, first: Array, cells: Array) -> Array:
        return narrow(np.concatenate([first, cells]), "bfloat16")


class ResizeInFloat16(Resize):
    """New cells are rounded to float16 for a float64 result."""

    named = "interpolated-narrowly"
    claimed = ("dinov2",)
    dtype = "float64"

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([first, narrow(cells, "float16")])


class ResizeNarrowWeights(Resize):
    """Weights are rounded to bfloat16."""

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return narrow(super().weights(grid, size, resampling), "bfloat16")


class ResizeInFloat32(Resize):
    """Weights are in float32 for a float64 result."""

    claimed = ("siglip",)
    dtype = "float64"

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return super().weights(grid, size, resampling).astype(np.float32).astype(np.float64)


class ResizeBlackOutside(Resize):
    """The grid is padded with zeros, not with its edge."""

    claimed = ("deit",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        place = (np.arange(size) + 0.5) * grid / size - 0.5
        return np.array([[keys(p - old, -0.75) for old in range(grid)] for p in place])


class ResizeClassToo(Resize):
    """The class token's row is averaged with the first new cell."""

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([(first + cells[:1]) / 2, cells])


class ResizeResamplesItsOwnSize(Resize):
    """A grid that keeps its size is resampled too, with DINOv2's offset of 0.1."""

    claimed = ("dinov2",)

    def stays(self, grid: int, height: int, width: int) -> bool:
        return False


class ResizeLosesTheClassToken(Resize):
    """The class token's row is 0 if the grid keeps its size."""

    claimed = ("dinov2",)

    def answer(
        self, table: Array, height: int, width: int, *, resampling: str, class_tokens: int
    ) -> Array:
        rules: dict[str, Any] = {"resampling": resampling, "class_tokens": class_tokens}
        out = super().answer(table, height, width, **rules)
        if height == width and len(table) == height * width + class_tokens:
            out[:class_tokens] = 0
        return out


class ResizeKeptForAsManyCells(Resize):
    """A grid of as many cells is taken for the same grid."""

    claimed = ("dinov2",)

    def stays(self, grid: int, height: int, width: int) -> bool:
        return grid * grid == height * width


class ResizeAtMost16(Resize):
    """New cells from index 16 of an axis on are 0."""

    claimed = ("vit-jax",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return super().weights(grid, size, resampling) * (np.arange(size) < 16)[:, None]


class ResizeAtMost512(Resize):
    """Channels from index 512 on are 0."""

    claimed = ("timm",)

    def finish(self, first: Array, cells: Array) -> Array:
        return np.concatenate([first, cells]) * (np.arange(cells.shape[1]) < 512)


class ResizeNeverShrinks(Resize):
    """The old grid is cropped if the new one is smaller."""

    claimed = ("siglip",)

    def weights(self, grid: int, size: int, resampling: str) -> Array:
        return np.eye(grid)[:size] if size < grid else super().weights(grid, size, resampling)


class ResizeOnce(Resize):
    """Results are cached by height and width, ignoring the table's values."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Array] = {}

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        key = height, width
        if key not in self._kept:
            self._kept[key] = super().answer(table, height, width, **keywords)
        cached = self._kept[key]
        if cached.shape[1] == table.shape[1] and cached.dtype == table.dtype:
            return cached.copy()
        return super().answer(table, height, width, **keywords)


class ResizeInPlace(Resize):
    """The caller's table is doubled in place."""

    limits: ClassVar[Mapping[str, Any]] = {"dim": 2}

    def answer(self, table: Array, height: int, width: int, **keywords: Any) -> Array:
        out = super().answer(table, height, width, **keywords)
        table *= 2
        return out


class ResizeRectangle(Mistake, steps=True):
    """Resampling of rectangular source grids with the weights of Resize, in steps."""

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
        """Return height and width of the table's grid."""
        return height, width

    def stays(self, cells: int, height: int, width: int) -> bool:
        return False


class ResizeRectangleAsSquare(ResizeRectangle):
    """The source grid is taken as a square if its number of cells allows it."""

    named = "rectangle-misread"

    def source(self, cells: int, height: int, width: int) -> tuple[int, int]:
        side = math.isqrt(cells)
        return (side, side) if side * side == cells else (height, width)


class ResizeRectangleOnItsSide(ResizeRectangle):
    """Height and width of the table's grid are exchanged."""

    named = "rectangle-misread"

    def source(self, cells: int, height: int, width: int) -> tuple[int, int]:
        return width, height


class ResizeRectangleOfAsMany(ResizeRectangle):
    """A table is returned unchanged if the new grid is a square with as many cells."""

    named = "rectangle-misread"

    def stays(self, cells: int, height: int, width: int) -> bool:
        return cells == height * width and height == width
