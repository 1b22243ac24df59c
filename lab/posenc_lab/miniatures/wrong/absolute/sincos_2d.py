"""Wrong implementations: sinusoidal encoding of grid cells."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow


class GridWaves(Mistake, steps=True):
    """Sines and cosines of rows and of columns, half of the channels each, in steps."""

    call = "sincos_2d"
    claimed = ("mae",)

    def answer(
        self, height: int, width: int, dim: int, *, base: float, dtype: str, **conventions: Any
    ) -> Array:
        if min(height, width) < 1 or dim < 4 or dim % 4:
            raise ValueError(f"{height} by {width} by {dim}")
        omega = self.frequencies(dim, base, conventions["denominator"] == "d/4-1")
        parts = []
        for count in (height, width):
            place = self.places(count, conventions["coordinates"] != "index")
            if conventions["coordinates"] == "centred":
                place = place - np.pi / (count + 1e-6)
            angles = self.angles(place, omega)
            parts.append(self.waves(angles, conventions["layout"] == "interleaved"))
        rows, columns = parts
        grid = self.mesh(rows, columns, conventions["first_axis"] == "row")
        return self.finish(grid, height, width).astype(KINDS[dtype])

    def frequencies(self, dim: int, base: float, one_less: bool) -> Array:
        pairs = dim // 4
        if pairs == one_less:
            raise ZeroDivisionError(dim)
        return base ** -(np.arange(pairs) / (pairs - one_less))

    def places(self, count: int, normalized: bool) -> Array:
        if normalized:
            return np.arange(1, count + 1) / (count + 1e-6) * (2 * np.pi)
        return np.arange(count).astype(float)

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place, omega)

    def waves(self, angles: Array, interleaved: bool) -> Array:
        both = np.sin(angles), np.cos(angles)
        if interleaved:
            return np.dstack(both).reshape(len(angles), -1)
        return np.hstack(both)

    def mesh(self, rows: Array, columns: Array, row_first: bool) -> Array:
        r, c = np.mgrid[: len(rows), : len(columns)]
        first, second = rows[r.ravel()], columns[c.ravel()]
        return np.hstack([first, second] if row_first else [second, first])

    def finish(self, grid: Array, height: int, width: int) -> Array:
        return grid


ALL = ("mae", "row-first", "big-vision", "detr", "deformable-detr")


def _column_by_column(self: Any, grid: Array, height: int, width: int) -> Array:
    return grid.reshape(height, width, -1).transpose(1, 0, 2).reshape(grid.shape)


def _counted_from_1(self: Any, count: int, normalized: bool) -> Array:
    return GridWaves.places(self, count + 1, normalized)[1:]


def _angles_in(kind: str) -> Any:
    return lambda self, place, omega: narrow(np.multiply.outer(place, omega), kind)


for _claim in ALL:
    made(
        GridWaves,
        f"Grid {_claim} column by column",
        "Cells numbered down the columns, as from a mesh of width and height in that order.",
        named="column-by-column",
        claimed=(_claim,),
        finish=_column_by_column,
    )
    made(
        GridWaves,
        f"Grid {_claim} with sizes swapped",
        "Height and width in the wrong order.",
        named="sizes-swapped",
        claimed=(_claim,),
        answer=lambda self, height, width, dim, **rest: GridWaves.answer(
            self, width, height, dim, **rest
        ),
    )
    made(
        GridWaves,
        f"Grid {_claim} with axes swapped",
        "The halves in the other order.",
        named="axes-swapped",
        claimed=(_claim,),
        mesh=lambda self, rows, columns, row_first: GridWaves.mesh(
            self, rows, columns, not row_first
        ),
    )
    made(
        GridWaves,
        f"Grid {_claim} with waves swapped",
        "Cosines where sines belong.",
        named="waves-swapped",
        claimed=(_claim,),
        waves=lambda self, angles, interleaved: GridWaves.waves(
            self, np.pi / 2 - angles, interleaved
        ),
    )
    made(
        GridWaves,
        f"Grid {_claim} with exponents of the whole dim",
        "Exponents 2t/d in both halves.",
        named="whole-dim-exponent",
        claimed=(_claim,),
        frequencies=lambda self, dim, base, one_less: GridWaves.frequencies(
            self, 2 * dim, base, one_less
        )[: dim // 4],
    )
    made(
        GridWaves,
        f"Grid {_claim} of bfloat16 angles",
        "Angles held in bfloat16 behind a float32 result.",
        named="low-precision-angles",
        claimed=(_claim,),
        angles=_angles_in("bfloat16"),
    )
    made(
        GridWaves,
        f"Grid {_claim} of base 1000",
        "A base written into the code.",
        named="wrong-base",
        claimed=(_claim,),
        frequencies=lambda self, dim, base, one_less: GridWaves.frequencies(
            self, dim, 1000.0, one_less
        ),
    )
    made(
        GridWaves,
        f"Grid {_claim} in the other layout",
        "Sines and cosines in turn, or not.",
        named="layout-swapped",
        claimed=(_claim,),
        waves=lambda self, angles, interleaved: GridWaves.waves(self, angles, not interleaved),
    )
    if "detr" not in _claim:
        made(
            GridWaves,
            f"Grid {_claim} counted from 1",
            "Rows and columns counted from 1.",
            named="positions-shifted",
            claimed=(_claim,),
            places=_counted_from_1,
        )
        made(
            GridWaves,
            f"Grid {_claim} normalized",
            "Coordinates as DETR has them.",
            named="coordinates-swapped",
            claimed=(_claim,),
            places=lambda self, count, normalized: GridWaves.places(self, count, True),
        )


class GridMaeOverOneLess(GridWaves):
    """Exponents are divided by d/4 - 1, as in big_vision, not by MAE's d/4."""

    named = "denominator-swapped"
    limits: ClassVar[dict[str, Any]] = {"dim": (8, 12, 16, 64, 192)}

    def frequencies(self, dim: int, base: float, one_less: bool) -> Array:
        return super().frequencies(dim, base, True)


class GridBigVisionOverAll(GridWaves):
    """Exponents are divided by d/4, as in MAE, not by big_vision's d/4 - 1."""

    named = "denominator-swapped"
    claimed = ("big-vision",)

    def frequencies(self, dim: int, base: float, one_less: bool) -> Array:
        return super().frequencies(dim, base, False)


class GridOfAStepRoundedDown(GridWaves):
    """-log(base) / dim // 2 is evaluated from left to right and rounded down."""

    named = "step-rounded-down"
    claimed = ("detr",)

    def frequencies(self, dim: int, base: float, one_less: bool) -> Array:
        return np.exp(np.arange(0, dim // 2, 2) * (-np.log(base) / dim // 2))


class GridDeformableAsDetr(GridWaves):
    """Coordinates are the ends of cells, not their centres."""

    named = "coordinates-swapped"
    claimed = ("deformable-detr",)

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        return super().answer(height, width, dim, **(rest | {"coordinates": "normalized"}))


class GridDeformableByTheLongerSide(GridWaves):
    """Both coordinates are divided by the longer side."""

    claimed = ("deformable-detr",)

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        side = max(height, width)
        whole = super().answer(side, side, dim, **rest)
        return whole.reshape(side, side, dim)[:height, :width].reshape(height * width, dim)


class GridDetrFromZero(GridWaves):
    """Normalized coordinates are counted from 0."""

    named = "positions-shifted"
    claimed = ("detr",)

    def places(self, count: int, normalized: bool) -> Array:
        return np.arange(count) / (count + 1e-6) * (2 * np.pi)


class GridDetrByIndex(GridWaves):
    """Coordinates are not normalized."""

    named = "coordinates-swapped"
    claimed = ("detr",)

    def places(self, count: int, normalized: bool) -> Array:
        return np.arange(count).astype(float)


class GridDetrWithoutEpsilon(GridWaves):
    """No epsilon is added to the number of rows or columns, which shows in float64."""

    named = "epsilon-left-out"
    claimed = ("detr",)
    dtype = "float64"

    def places(self, count: int, normalized: bool) -> Array:
        return np.arange(1, count + 1) / count * (2 * np.pi)


class GridDetrByTheLongerSide(GridWaves):
    """Both coordinates are divided by the longer side, which keeps cells square."""

    claimed = ("detr",)

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        side = max(height, width)
        whole = super().answer(side, side, dim, **rest)
        return whole.reshape(side, side, dim)[:height, :width].reshape(height * width, dim)


class GridOfTheDiagonal(GridWaves):
    """Both halves encode the same coordinate."""

    def mesh(self, rows: Array, columns: Array, row_first: bool) -> Array:
        half = super().mesh(rows, columns, row_first)[:, : rows.shape[1]]
        return np.hstack([half, half])


class GridSquareOnly(GridWaves):
    """Both sides are the square root of the number of cells."""

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        side = int((height * width) ** 0.5)
        return super().answer(side, side, dim, **rest)


class GridUpsideDown(GridWaves):
    """Rows are counted from the bottom."""

    claimed = ("row-first",)

    def finish(self, grid: Array, height: int, width: int) -> Array:
        return grid.reshape(height, width, -1)[::-1].reshape(grid.shape)


class GridWithClassToken(GridWaves):
    """A row of zeros for the class token comes first."""

    def finish(self, grid: Array, height: int, width: int) -> Array:
        return np.vstack([0 * grid[:1], grid])


class GridOfThreeAxes(GridWaves):
    """The result is [height, width, dim], not flattened."""

    claimed = ("big-vision",)

    def finish(self, grid: Array, height: int, width: int) -> Array:
        return grid.reshape(height, width, -1)


class GridSinesOnly(GridWaves):
    """Cosines are replaced by sines."""

    def waves(self, angles: Array, interleaved: bool) -> Array:
        return np.hstack([np.sin(angles), np.sin(angles)])


class GridInDegrees(GridWaves):
    """Angles are taken as degrees."""

    claimed = ("big-vision",)

    def angles(self, place: Array, omega: Array) -> Array:
        return np.deg2rad(np.multiply.outer(place, omega))


class GridOfAtMost256Columns(GridWaves):
    """Rows and columns wrap at 256."""

    claimed = ("row-first",)

    def places(self, count: int, normalized: bool) -> Array:
        return np.arange(count).astype(np.uint8).astype(float)


class GridRowsEndAt128(GridWaves):
    """Rows and columns are clamped at 127."""

    def places(self, count: int, normalized: bool) -> Array:
        return np.minimum(np.arange(count), 127).astype(float)


class GridWrongFromPair64(GridWaves):
    """Pairs from index 64 on repeat the first ones."""

    claimed = ("row-first",)

    def frequencies(self, dim: int, base: float, one_less: bool) -> Array:
        return super().frequencies(dim, base, one_less)[np.arange(dim // 4) % 64]


class GridKeepsTheFirst(GridWaves):
    """Tables are cached by the number of cells, ignoring their arrangement."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        key = height * width, dim, rest["base"]
        if key not in self._kept:
            self._kept[key] = super().answer(height, width, dim, **rest)
        return self._kept[key].copy()


class GridLendsItsTable(GridWaves):
    """The cached table itself is returned, not a copy."""

    claimed = ("detr",)

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, height: int, width: int, dim: int, **rest: Any) -> Array:
        key = height, width, dim, rest["base"]
        if key not in self._kept:
            self._kept[key] = super().answer(height, width, dim, **rest)
        return self._kept[key]
