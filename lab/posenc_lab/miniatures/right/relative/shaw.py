"""Right implementations: relative position representations."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def clipped(q_len: int, k_len: int, rows: int) -> Array:
    """Return the table row of each pair by key minus query, as in tensor2tensor."""
    if rows % 2 == 0:
        raise ValueError(rows)
    reach = rows // 2
    memory = np.arange(k_len)
    context = memory[-q_len:] if q_len else memory[:0]
    return (memory[None, :] - context[:, None]).clip(-reach, reach) + reach


def product(kind: Any, subscripts: str, *arrays: Array) -> Array:
    """Return a product summed in float32, or float64, and rounded to the dtype."""
    wide: type[np.floating] = np.float64 if kind == np.float64 else np.float32
    return np.einsum(subscripts, *(array.astype(wide) for array in arrays)).astype(kind)


@right
class ScaledQueries:
    """tensor2tensor: queries scaled in their dtype, a vector per pair, two sums."""

    @claims("key-minus-query", dtype=FLOATS)
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Array:
        kind = q.dtype
        scaled = q * np.asarray(q.shape[2] ** -0.5, dtype=kind)
        pairs = table[clipped(q.shape[1], k.shape[1], len(table))]
        content = product(kind, "hid,hjd->hij", scaled, k)
        return content + product(kind, "hid,ijd->hij", scaled, pairs)

    @claims("key-minus-query", dtype=FLOATS)
    def shaw_values(self, weights: Array, v: Array, table: Array) -> Array:
        pairs = table[clipped(weights.shape[1], weights.shape[2], len(table))]
        content = product(v.dtype, "hij,hjd->hid", weights, v)
        return content + product(v.dtype, "hij,ijd->hid", weights, pairs)


@right
class SummedKeys:
    """The paper's equation to the letter: vectors added to keys and values, in their dtype."""

    @claims("key-minus-query", dtype=NARROW)
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Array:
        keys = k[:, None] + table[clipped(q.shape[1], k.shape[1], len(table))]
        logits = product(q.dtype, "hid,hijd->hij", q, keys)
        return logits * np.asarray(1 / math.sqrt(q.shape[2]), dtype=q.dtype)

    @claims("key-minus-query", dtype=NARROW)
    def shaw_values(self, weights: Array, v: Array, table: Array) -> Array:
        values = v[:, None] + table[clipped(weights.shape[1], weights.shape[2], len(table))]
        return product(v.dtype, "hij,hijd->hid", weights, values)


@right
class RowsFirst:
    """Products with every table row first, then a gather; both offset conventions."""

    @claims("query-minus-key", "key-minus-query", dtype=FLOATS)
    def shaw_scores(self, q: Array, k: Array, table: Array, *, offset: str) -> Array:
        kind, scale = q.dtype, np.asarray(q.shape[2] ** -0.5, dtype=q.dtype)
        rows = clipped(q.shape[1], k.shape[1], len(table))
        if offset == "query-minus-key":
            rows = len(table) - 1 - rows
        by_row = product(kind, "hid,rd->hir", q, table) * scale
        query = np.arange(q.shape[1])[:, None]
        return product(kind, "hid,hjd->hij", q, k) * scale + by_row[:, query, rows]

    @claims("key-minus-query", dtype=["float64", "float32"])
    def shaw_values(self, weights: Array, v: Array, table: Array) -> Array:
        rows = clipped(weights.shape[1], weights.shape[2], len(table))
        by_row = np.stack(
            [(weights * (rows == r)).sum(axis=-1) for r in range(len(table))], axis=-1
        )
        return weights @ v + by_row @ table


@right
class OneProduct:
    """Keys and the table's vectors of each query concatenated, queries doubled: a single sum."""

    @claims("key-minus-query", dtype="float32")
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Array:
        pairs = table[clipped(q.shape[1], k.shape[1], len(table))]
        heads, q_len, head_dim = q.shape
        keys = np.broadcast_to(k[:, None], (heads, q_len, *k.shape[1:]))
        both = np.concatenate([keys, np.broadcast_to(pairs, keys.shape)], axis=3)
        logits = np.zeros(both.shape[:3], dtype=np.float32)
        for channel in range(2 * head_dim):
            logits += q[:, :, None, channel % head_dim] * both[..., channel]
        return logits / np.float32(math.sqrt(head_dim))


@right
class TwoSidedSkew:
    """Products with the vectors of all distances, shifted by one per query."""

    @claims("key-minus-query", dtype=["float64", "float32"])
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Array:
        (_, q_len, head_dim), k_len = q.shape, k.shape[1]
        reach = len(table) // 2
        every = table[np.clip(np.arange(1 - k_len, k_len), -reach, reach) + reach]
        products = q @ every.T
        first = [q_len - 1 - i for i in range(q_len)]
        shifted = [products[:, i, start : start + k_len] for i, start in enumerate(first)]
        return ((q @ np.swapaxes(k, 1, 2)) + np.stack(shifted, axis=1)) / np.sqrt(
            head_dim, dtype=q.dtype
        )


@right
class PairByPair:
    """Loops in Python floats."""

    @claims("query-minus-key", dtype="float64", heads=1)
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Array:
        (_, q_len, head_dim), k_len = q.shape, k.shape[1]
        reach, out = len(table) // 2, np.empty((1, q_len, k_len))
        for i in range(q_len):
            for j in range(k_len):
                row = min(max(k_len - q_len + i - j, -reach), reach) + reach
                terms = [q[0, i, c] * (k[0, j, c] + table[row, c]) for c in range(head_dim)]
                out[0, i, j] = math.fsum(terms) / math.sqrt(head_dim)
        return out
