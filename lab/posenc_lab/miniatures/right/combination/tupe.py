"""Right implementations: untied positional encoding."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def t5_buckets(length: int, buckets: int, limit: int, kind: Any) -> Array:
    """Return T5's bidirectional buckets of key minus query, by its released formula."""
    side = buckets // 2
    exact = side // 2
    relative = np.arange(length)[None, :] - np.arange(length)[:, None]
    distance = np.abs(relative)
    ratio = np.log(kind(np.maximum(distance, exact)) / kind(exact)) / kind(math.log(limit / exact))
    large = np.minimum(exact + (ratio * kind(side - exact)).astype(np.int64), side - 1)
    return np.where(distance < exact, distance, large) + np.where(relative > 0, side, 0)


@right
class ReleasedTupe:
    """The authors' code: positions scaled and multiplied once, [CLS] overwritten; all in dtype."""

    @claims("tupe-a", dtype=FLOATS)
    def tupe_scores(self, q: Array, k: Array, p_q: Array, p_k: Array) -> Array:
        return self._scores(q, k, p_q, p_k, None)

    @claims("tupe-r", dtype=FLOATS)
    def tupe_relative_scores(
        self, q: Array, k: Array, p_q: Array, p_k: Array, table: Array, *, max_distance: int
    ) -> Array:
        buckets = len(table) - 1
        bucket = t5_buckets(q.shape[1], buckets, max_distance, np.float64)
        bucket[:, 0] = buckets
        bucket[0, :] = buckets // 2
        return self._scores(q, k, p_q, p_k, np.transpose(table[bucket], (2, 0, 1)))

    @staticmethod
    def _scores(q: Array, k: Array, p_q: Array, p_k: Array, bias: Array | None) -> Array:
        kind, length = q.dtype, q.shape[1]
        inner: type[np.floating] = np.float64 if kind == np.float64 else np.float32

        def to(values: npt.ArrayLike) -> Array:
            return np.asarray(values).astype(kind).astype(inner)

        if p_q.shape[1] != length + 1:
            raise ValueError("positions")
        q, k, p_q, p_k = (array.astype(inner) for array in (q, k, p_q, p_k))
        scaling = to(inner((q.shape[2] * 2) ** -0.5))
        every = to(to(p_q * scaling) @ p_k.swapaxes(1, 2))
        cls_to_other, other_to_cls = every[:, 0, 0].copy(), every[:, 1, 1].copy()
        positions = every[:, 1:, 1:]
        positions[:, :, 0] = other_to_cls.reshape(-1, 1)
        positions[:, 0, :] = cls_to_other.reshape(-1, 1)
        if bias is not None:
            positions = to(positions + bias.astype(inner))
        return to(to(to(q * scaling) @ k.swapaxes(1, 2)) + positions).astype(kind)


@right
class WideVectors:
    """Content and position concatenated for one product; [CLS] afterwards, by masks."""

    @claims("tupe-a", dtype=["float64", "float32"])
    @claims("tie-cls", dtype=FLOATS)
    def tupe_scores(self, q: Array, k: Array, p_q: Array, p_k: Array, *, cls: str) -> Array:
        kind, length = q.dtype, q.shape[1]
        start = int(cls == "untied")
        if p_q.shape[1] != length + start:
            raise ValueError("positions")
        single: type[np.floating] = np.float64 if kind == np.float64 else np.float32
        q, k, p_q, p_k = (array.astype(single) for array in (q, k, p_q, p_k))
        queries = np.concatenate([q, p_q[:, start:]], axis=2)
        keys = np.concatenate([k, p_k[:, start:]], axis=2)
        scores = np.einsum("hic,hjc->hij", queries, keys)
        if start:
            row = np.zeros((length, length), dtype=bool)
            row[:1] = True
            column = np.zeros_like(row)
            column[1:, :1] = True
            content = np.einsum("hic,hjc->hij", q, k)
            first, second = (p_q[:, :2] * p_k[:, :2]).sum(axis=2).T
            scores = np.where(row, content + first[:, None, None], scores)
            scores = np.where(column, content + second[:, None, None], scores)
        return (scores * single(1 / math.sqrt(2 * q.shape[2]))).astype(kind)


@right
class TokenByToken:
    """Equations 9 to 11 with loops."""

    @claims("tupe-a", "tie-cls", dtype=["float64", "bfloat16"])
    def tupe_scores(self, q: Array, k: Array, p_q: Array, p_k: Array, *, cls: str) -> Array:
        if p_q.shape[1] - q.shape[1] != (cls == "untied"):
            raise ValueError("positions")
        heads, length, head_dim = q.shape
        content = np.einsum("hic,hjc->hij", q.astype(np.float64), k.astype(np.float64))
        places = np.einsum("hic,hjc->hij", p_q.astype(np.float64), p_k.astype(np.float64))
        out = np.empty((heads, length, length))
        for i in range(length):
            for j in range(length):
                row, column = self._rows(i, j, cls)
                out[:, i, j] = (content[:, i, j] + places[:, row, column]) / (2 * head_dim) ** 0.5
        return out.astype(q.dtype)

    @staticmethod
    def _rows(i: int, j: int, cls: str) -> tuple[int, int]:
        if cls == "tied":
            return i, j
        if i == 0:
            return 0, 0
        return (1, 1) if j == 0 else (i + 1, j + 1)


@right
class ResetOfTheSum:
    """The paper's TUPE-R: both position terms added, and the sum reset for [CLS]."""

    @claims("tupe-r-paper", dtype=FLOATS)
    def tupe_relative_scores(
        self, q: Array, k: Array, p_q: Array, p_k: Array, table: Array, *, max_distance: int
    ) -> Array:
        kind = q.dtype
        if p_q.shape[1] != q.shape[1] + 1 or len(table) % 2:
            raise ValueError("positions or buckets")
        wide: type[np.floating] = np.float64 if kind == np.float64 else np.float32
        q, k, p_q, p_k = (array.astype(wide) for array in (q, k, p_q, p_k))
        root = wide(math.sqrt(2 * q.shape[2]))
        bucket = t5_buckets(q.shape[1], len(table), max_distance, np.float32)
        every = p_q @ p_k.swapaxes(1, 2) / root
        position = every[:, 1:, 1:] + np.moveaxis(table.astype(wide)[bucket], -1, 0)
        position[:, 1:, 0] = every[:, 1, 1][:, None]
        position[:, 0, :] = every[:, 0, 0][:, None]
        return (q @ k.swapaxes(1, 2) / root + position).astype(kind)
