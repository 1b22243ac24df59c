"""Right implementations: decomposed relative positions."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def fitting(q: Array, q_height: int, q_width: int) -> None:
    """Refuse queries that do not fill their grid."""
    if q.shape[1] != q_height * q_width:
        raise ValueError(f"{q.shape[1]} queries for {q_height} x {q_width} patches")


def interpolated(table: Array, rows: int) -> Array:
    """Resize ``table`` to ``rows`` rows as PyTorch's mode linear does, in float32 or wider."""
    if not len(table):
        raise ValueError("a table of no rows")
    kind: type[np.floating] = np.float64 if table.dtype == np.float64 else np.float32
    scale = kind(len(table)) / kind(rows)
    source = np.maximum((np.arange(rows, dtype=kind) + kind(0.5)) * scale - kind(0.5), kind(0))
    first = source.astype(np.int64)
    second = first + (first < len(table) - 1)
    share = (source - first)[:, None].astype(kind)
    values = table.astype(kind)
    out = (kind(1) - share) * values[first] + share * values[second]
    return np.asarray(out.astype(table.dtype))


@right
class CoordinatesScaled:
    """ViTDet and SAM: scaled coordinates truncated to integers, two contractions, broadcast."""

    @claims("vitdet", dtype=FLOATS)
    def decomposed_relative_bias(
        self, q: Array, table_h: Array, table_w: Array, **sizes: int
    ) -> Array:
        height, width = sizes["q_height"], sizes["q_width"]
        fitting(q, height, width)
        kind: type[np.floating] = np.float64 if q.dtype == np.float64 else np.float32
        grid = q.reshape(len(q), height, width, -1).astype(kind)
        rows, columns = (
            self.rows(table, sizes[f"q_{name}"], sizes[f"k_{name}"]).astype(kind)
            for table, name in ((table_h, "height"), (table_w, "width"))
        )
        by_row = np.einsum("bhwc,hkc->bhwk", grid, rows).astype(q.dtype)
        by_column = np.einsum("bhwc,wkc->bhwk", grid, columns).astype(q.dtype)
        both = by_row[:, :, :, :, None] + by_column[:, :, :, None, :]
        return both.reshape(*q.shape[:2], -1)

    @staticmethod
    def rows(table: Array, queries: int, keys: int) -> Array:
        resized = interpolated(table, 2 * max(queries, keys) - 1)
        q_coords = np.arange(queries)[:, None] * max(keys / queries, 1.0)
        k_coords = np.arange(keys)[None, :] * max(queries / keys, 1.0)
        relative = (q_coords - k_coords) + (keys - 1) * max(queries / keys, 1.0)
        return np.asarray(resized[relative.astype(np.int64)])

    @claims("vitdet", dtype=FLOATS)
    def resized_relative_table(self, table: Array, *, rows: int) -> Array:
        return interpolated(table, rows)


@right
class PatchByPatch2d:
    """Loops over queries and keys, and NumPy's own interpolation of each channel."""

    @claims("vitdet", dtype=["float64", "float16"], heads=[1, 2], head_dim=[1, 2, 3, 4])
    def decomposed_relative_bias(
        self, q: Array, table_h: Array, table_w: Array, **sizes: int
    ) -> Array:
        fitting(q, sizes["q_height"], sizes["q_width"])
        shape = (sizes["q_height"], sizes["q_width"], sizes["k_height"], sizes["k_width"])
        wide = q.astype(np.float64)
        out = np.empty((*q.shape[:2], shape[2] * shape[3]))
        for y, x, v, u in np.ndindex(*shape):
            row = self.entry(table_h, y, shape[0], v, shape[2])
            row = row + self.entry(table_w, x, shape[1], u, shape[3])
            out[:, y * shape[1] + x, v * shape[3] + u] = wide[:, y * shape[1] + x] @ row
        return out.astype(q.dtype)

    def entry(self, table: Array, i: int, queries: int, j: int, keys: int) -> Array:
        finest = max(queries, keys)
        offset = i * (finest // queries) - j * (finest // keys)
        row = offset + (keys - 1) * (finest // keys)
        return np.asarray(self.resized_relative_table(table.astype("f8"), rows=2 * finest - 1)[row])

    @claims("vitdet", dtype=["float64", "float32"])
    def resized_relative_table(self, table: Array, *, rows: int) -> Array:
        if not len(table):
            raise ValueError("a table of no rows")
        place = (np.arange(rows) + 0.5) * (len(table) / rows) - 0.5
        own = np.arange(len(table))
        channels = [np.interp(place, own, table[:, c].astype("f8")) for c in range(table.shape[1])]
        return np.stack(channels, axis=-1).astype(table.dtype)


@right
class MatrixOfWeights:
    """Resizing as a matrix product, and rows picked by one-hot vectors."""

    @claims("vitdet", dtype=["float64", *NARROW])
    def resized_relative_table(self, table: Array, *, rows: int, **rest: Any) -> Array:
        if not len(table):
            raise ValueError("a table of no rows")
        place = np.clip((np.arange(rows) + 0.5) * len(table) / rows - 0.5, 0, len(table) - 1)
        weights = np.maximum(1 - abs(place[:, None] - np.arange(len(table))), 0)
        return (weights @ table.astype(np.float64)).astype(table.dtype)
