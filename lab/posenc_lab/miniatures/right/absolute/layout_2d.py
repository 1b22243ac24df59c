"""Right implementations: embeddings of bounding boxes, and a bias by their distance."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def rows_of(table: Array, rows: Array) -> Array:
    """Return rows of a table; refuse rows out of range, as torch's embeddings do."""
    if rows.size and (rows.min() < 0 or rows.max() >= len(table)):
        raise IndexError("edges must lie on the page")
    return table[rows]


@right
class SixLookedUp:
    """As released: six lookups in turn, added or concatenated in the tables' dtype."""

    @claims("v1", "v2", "v3", dtype=FLOATS)
    def layout_embedding(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        h_table: Array,
        w_table: Array,
        *,
        join: str,
        sizes: str,
    ) -> Array:
        low = 0 if sizes == "clipped" else -(2**31)
        parts = [
            rows_of(x_table, bbox[:, 0]),
            rows_of(y_table, bbox[:, 1]),
            rows_of(x_table, bbox[:, 2]),
            rows_of(y_table, bbox[:, 3]),
            rows_of(h_table, np.clip(bbox[:, 3] - bbox[:, 1], low, 1023)),
            rows_of(w_table, np.clip(bbox[:, 2] - bbox[:, 0], low, 1023)),
        ]
        if join == "concatenate":
            return np.concatenate(parts, axis=-1)
        left, upper, right_edge, lower, height, width = parts
        return left + upper + right_edge + lower + height + width


@right
class OneHot:
    """One-hot matrices times tables, in float64."""

    @claims("v1", "v3", dtype=FLOATS)
    def layout_embedding(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        h_table: Array,
        w_table: Array,
        *,
        join: str,
        **rest: Any,
    ) -> Array:
        shape = np.maximum(bbox[:, 2:] - bbox[:, :2], 0)
        if join == "sum" and (bbox[:, 2:] < bbox[:, :2]).any():
            raise ValueError("a box ends before it begins")
        pairs = (
            *((table, bbox[:, edge]) for edge, table in enumerate((x_table, y_table) * 2)),
            (h_table, shape[:, 1]),
            (w_table, shape[:, 0]),
        )
        parts = []
        for table, rows in pairs:
            if rows.size and rows.max() >= len(table):
                raise ValueError("beyond the page")
            hot = (rows[:, None] == np.arange(len(table))).astype(np.float64)
            parts.append(hot @ table.astype(np.float64))
        result = sum(parts) if join == "sum" else np.concatenate(parts, axis=1)
        return np.asarray(result).astype(x_table.dtype)


def t5_row(apart: int, buckets: int, distance: int) -> int:
    """Return T5's bidirectional bucket of one distance, with edges in integer arithmetic."""
    side, far = buckets // 2, abs(apart)
    exact = side // 2
    if far >= exact:
        step = 0
        while step + 1 < side - exact and (
            far ** (side - exact) * exact ** (step + 1)
            >= distance ** (step + 1) * exact ** (side - exact)
        ):
            step += 1
        far = exact + step
    return far + (side if apart > 0 else 0)


@right
class LayoutPairByPair:
    """One query and one key at a time."""

    @claims("v2", "v3", dtype=FLOATS)
    def layout_bias(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        *,
        max_distance: int,
        head_dim: int,
        scaling: str,
    ) -> Array:
        count, heads = len(bbox), x_table.shape[1]
        cache: dict[int, int] = {}

        def row(apart: int) -> int:
            if apart not in cache:
                cache[apart] = t5_row(apart, len(x_table), max_distance)
            return cache[apart]

        out = np.zeros((heads, count, count))
        for i, query in enumerate(bbox.tolist()):
            for j, key in enumerate(bbox.tolist()):
                x, y = row(key[0] - query[0]), row(key[3] - query[3])
                out[:, i, j] = x_table[x].astype(float) + y_table[y].astype(float)
        return (out / (math.sqrt(head_dim) if scaling == "root" else 1)).astype(x_table.dtype)


@right
class LogarithmsOfAll:
    """As released: float32 logarithms, table lookups, their sum divided in the tables' dtype."""

    @claims("v2", "v3", dtype=FLOATS)
    def layout_bias(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        *,
        max_distance: int,
        head_dim: int,
        scaling: str,
    ) -> Array:
        parts = []
        for table, edge in zip((x_table, y_table), bbox[:, [0, 3]].T.astype(np.int64), strict=True):
            apart = edge[None, :] - edge[:, None]
            side = len(table) // 2
            far, exact = np.abs(apart), side // 2
            share = np.log(np.maximum(far, 1).astype(np.float32) / np.float32(exact))
            share = share / np.float32(math.log(max_distance / exact)) * np.float32(side - exact)
            # Nudged up, since some libraries' logarithms come out just below an edge.
            large = exact + (share + np.float32(1e-5)).astype(np.int64)
            rows = np.where(far < exact, far, np.minimum(large, side - 1))
            parts.append(np.moveaxis(table[rows + side * (apart > 0)], -1, 0))
        bias = parts[0] + parts[1]
        if scaling == "root":
            bias = bias / np.asarray(math.sqrt(head_dim)).astype(bias.dtype)
        return bias.astype(x_table.dtype)
