"""Right implementations: a bias by offset in two dimensions, and its table rows."""

from itertools import product
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def fitting(table: Array, height: int, width: int, extra: int = 0) -> None:
    """Refuse a table whose rows do not fit the window."""
    if len(table) != (2 * height - 1) * (2 * width - 1) + extra:
        raise ValueError(f"{len(table)} rows for {height} x {width} patches")


@right
class ShiftedCoordinates:
    """Swin: coordinates stacked, subtracted, shifted, the first scaled; flat lookup."""

    @claims("swin")
    def relative_table_2d_rows(self, height: int, width: int, **rest: Any) -> Array:
        if height < 1 or width < 1:
            raise ValueError(f"{height} x {width} patches")
        mesh = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
        coords = np.stack(mesh).reshape(2, -1)
        relative = (coords[:, :, None] - coords[:, None, :]).transpose(1, 2, 0)
        relative = relative + np.array([height - 1, width - 1])
        relative[:, :, 0] *= 2 * width - 1
        return np.asarray(relative.sum(-1))

    @claims("swin", dtype=FLOATS)
    def relative_table_2d(self, table: Array, *, height: int, width: int) -> Array:
        fitting(table, height, width)
        area = height * width
        flat = self.relative_table_2d_rows(height, width).reshape(-1)
        return np.moveaxis(table[flat].reshape(area, area, -1), -1, 0).copy()


@right
class ClassTokenFilledIn:
    """BEiT: zeros for one more token, filled with rows for patches, then for the class token."""

    @claims("beit")
    def relative_table_2d_rows(self, height: int, width: int, **rest: Any) -> Array:
        patches = ShiftedCoordinates().relative_table_2d_rows(height, width)
        count = (2 * height - 1) * (2 * width - 1) + 3
        rows = np.zeros((len(patches) + 1,) * 2, dtype=np.int32)
        rows[1:, 1:] = patches
        rows[0, 0:], rows[0:, 0], rows[0, 0] = count - 3, count - 2, count - 1
        return rows

    @claims("beit", dtype=FLOATS)
    def relative_table_2d(self, table: Array, *, height: int, width: int) -> Array:
        fitting(table, height, width, 3)
        rows = self.relative_table_2d_rows(height, width)
        return np.stack([column[rows] for column in table.T])


@right
class OffsetByOffset:
    """A dictionary of offsets, looked up in loops."""

    @claims("swin", "beit", dtype=["float64", "float16"], heads=[1, 2])
    def relative_table_2d(
        self, table: Array, *, height: int, width: int, class_token: str
    ) -> Array:
        extra = 3 * (class_token == "first")
        fitting(table, height, width, extra)
        offsets = list(product(range(1 - height, height), range(1 - width, width)))
        number = {offset: row for row, offset in enumerate(offsets)}
        places = list(product(range(height), range(width)))
        area, ahead = len(places), extra // 3
        out = np.empty((table.shape[1], area + ahead, area + ahead), dtype=table.dtype)
        for (i, (y, x)), (j, (v, u)) in product(enumerate(places), repeat=2):
            out[:, i + ahead, j + ahead] = table[number[y - v, x - u]]
        if ahead:
            out[:, 0, :], out[:, :, 0] = table[-3][:, None], table[-2][:, None]
            out[:, 0, 0] = table[-1]
        return out


@right
class GridOfTheTable:
    """The table as a grid of offsets; each query reads a window of it."""

    @claims("swin", dtype=["float32", "bfloat16"])
    def relative_table_2d(self, table: Array, *, height: int, width: int) -> Array:
        fitting(table, height, width)
        grid = table.reshape(2 * height - 1, 2 * width - 1, -1)[::-1, ::-1]
        windows = [
            grid[height - 1 - y : 2 * height - 1 - y, width - 1 - x : 2 * width - 1 - x]
            for y, x in product(range(height), range(width))
        ]
        biases = np.stack([part.reshape(height * width, -1) for part in windows])
        return np.moveaxis(biases, -1, 0).copy()
