"""Right implementations: sinusoids on embeddings and a bias on logits."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, even, right


def as_wide(array: Array) -> Array:
    """Return ``array`` in float32, the dtype of sums; float64 stays float64."""
    return array.astype(np.float64 if array.dtype == np.float64 else np.float32)


def clipped(n: int, rows: int) -> Array:
    """Return the table row of each pair by its clipped key minus query."""
    if rows % 2 == 0:
        raise ValueError(rows)
    steps = np.arange(n)
    return (steps[None] - steps[:, None]).clip(-(rows // 2), rows // 2) + rows // 2


@right
class LayersOfATransformer:
    """A table of sinusoids in float32 or wider, cast to the dtype; every step rounded."""

    @claims(dtype=FLOATS)
    def hybrid_scores(
        self, x: Array, w_q: Array, w_k: Array, table: Array, *, base: float
    ) -> Array:
        kind, (n, dim) = x.dtype, x.shape
        even(dim)
        wide = as_wide(x).dtype.type
        position = np.arange(n, dtype=wide)[:, None]
        frequency = np.exp(np.arange(0, dim, 2, dtype=wide) * wide(-math.log(base) / dim))
        encoding = np.zeros((n, dim), dtype=wide)
        encoding[:, 0::2] = np.sin(position * frequency)
        encoding[:, 1::2] = np.cos(position * frequency)
        hidden = as_wide(x + encoding.astype(kind))
        queries = np.matmul(hidden, as_wide(w_q)).astype(kind)
        keys = np.matmul(hidden, as_wide(w_k)).astype(kind)
        products = (as_wide(queries) @ as_wide(np.swapaxes(keys, 1, 2))).astype(kind)
        scaled = products * np.asarray(w_q.shape[2] ** -0.5, dtype=kind)
        return scaled + np.moveaxis(table[clipped(n, len(table))], -1, 0)


@right
class FourTerms:
    """Content and position separate, as in the expanded product; one rounding at the end."""

    @claims(dtype=NARROW)
    def hybrid_scores(
        self, x: Array, w_q: Array, w_k: Array, table: Array, *, base: float
    ) -> Array:
        (n, dim), heads = x.shape, len(w_q)
        wide_x, q, k = (array.astype(np.float64) for array in (x, w_q, w_k))
        angles = np.outer(np.arange(n), base ** (-2 * (np.arange(dim) // 2) / dim))
        waves = np.where(np.arange(dim) % 2 == 0, np.sin(angles), np.cos(angles))
        total = np.zeros((heads, n, n))
        for left in (wide_x, waves):
            for other in (wide_x, waves):
                total += np.einsum("ia,had,hbd,jb->hij", left, q, k, other, optimize=True)
        bias = table.astype(np.float64)[clipped(n, len(table))].transpose(2, 0, 1)
        return (total / math.sqrt(w_q.shape[2]) + bias).astype(x.dtype)


@right
class OneMatrixPerHead:
    """W_q W_k^T formed once; sinusoids from complex exponentials; a bias by loops."""

    @claims(dtype=["float64", "float32"])
    def hybrid_scores(
        self, x: Array, w_q: Array, w_k: Array, table: Array, *, base: float
    ) -> Array:
        n, dim = x.shape
        even(dim)
        turns = np.exp(1j * np.outer(np.arange(n), base ** (-np.arange(0, dim, 2) / dim)))
        encoding = np.stack([turns.imag, turns.real], axis=-1).reshape(n, dim)
        both = (x + encoding).astype(x.dtype)
        matrix = w_q @ np.swapaxes(w_k, 1, 2) / np.sqrt(w_q.shape[2], dtype=x.dtype)
        bias = np.empty((len(w_q), n, n), dtype=x.dtype)
        reach = len(table) // 2
        for step in range(1 - n, n):
            row = table[min(max(step, -reach), reach) + reach]
            for i in range(max(0, -step), min(n, n - step)):
                bias[:, i, i + step] = row
        return both @ matrix @ both.T + bias


@right
class FixedModel:
    """One head dimension, base and width, with lists as the result."""

    @claims(dtype="float64", base=10000.0, dim=4, heads=2, head_dim=2)
    def hybrid_scores(
        self, x: Array, w_q: Array, w_k: Array, table: Array
    ) -> list[list[list[float]]]:
        waves = (math.sin, math.cos)
        hidden = [
            [value + waves[c % 2](i / 100 ** (c // 2)) for c, value in enumerate(row)]
            for i, row in enumerate(x.tolist())
        ]
        reach, n = len(table) // 2, len(hidden)

        def times(row: list[float], weights: Array) -> list[float]:
            return [sum(a * b for a, b in zip(row, column, strict=True)) for column in weights.T]

        return [
            [
                [
                    sum(
                        a * b
                        for a, b in zip(
                            times(hidden[i], w_q[h]), times(hidden[j], w_k[h]), strict=True
                        )
                    )
                    / math.sqrt(2)
                    + table[min(max(j - i, -reach), reach) + reach, h]
                    for j in range(n)
                ]
                for i in range(n)
            ]
            for h in range(2)
        ]
