"""Right implementations: contextual positions."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def rounded_to(kind: np.dtype, values: Array) -> Array:
    """Return ``values`` rounded to ``kind``, as a step of released code does."""
    return np.asarray(values).astype(kind)


def as_wide(array: Array) -> Array:
    """Return ``array`` in float32, the dtype of sums; float64 stays float64."""
    return array.astype(np.float64 if array.dtype == np.float64 else np.float32)


def visible(q_len: int, k_len: int) -> Array:
    """Return the causal mask, True for keys up to each query."""
    if q_len > k_len:
        raise ValueError("more queries than keys")
    return np.tril(np.ones((q_len, k_len), dtype=bool), k_len - q_len)


@right
class Listing:
    """The paper's listing, every step rounded to the dtype, as in a framework."""

    @claims("listing", dtype=FLOATS)
    def cope_scores(self, q: Array, k: Array, table: Array) -> Array:
        kind, unit = q.dtype, np.asarray(1, dtype=q.dtype)
        seen = visible(q.shape[1], k.shape[1])
        dots = rounded_to(kind, as_wide(q) @ np.swapaxes(as_wide(k), 1, 2))
        logits = dots / np.asarray(math.sqrt(q.shape[2]), dtype=kind)
        logits = np.where(seen, logits, np.asarray(-np.inf, dtype=kind))
        with np.errstate(over="ignore"):
            gates = rounded_to(kind, 1 / (1 + np.exp(-as_wide(logits))))
        sums = as_wide(gates)[..., ::-1].cumsum(-1)[..., ::-1]
        position = np.minimum(rounded_to(kind, sums), np.asarray(len(table) - 1, dtype=kind))
        below, above = np.floor(as_wide(position)), np.ceil(as_wide(position))
        whole = rounded_to(kind, as_wide(q) @ as_wide(table).T)
        first = np.take_along_axis(whole, below.astype(int), axis=-1)
        second = np.take_along_axis(whole, above.astype(int), axis=-1)
        share = position - below.astype(kind)
        return logits + (second * share + first * (unit - share))


@right
class Released:
    """The authors' code: gates times a mask, the sum divided; hidden keys at float16's minimum."""

    @claims("released", dtype=FLOATS)
    def cope_scores(self, q: Array, k: Array, table: Array) -> Array:
        kind = q.dtype
        seen = visible(q.shape[1], k.shape[1])
        dots = rounded_to(kind, as_wide(q) @ np.swapaxes(as_wide(k), 1, 2))
        root = np.asarray(math.sqrt(q.shape[2]), dtype=kind)
        with np.errstate(over="ignore"):
            gates = rounded_to(kind, 1 / (1 + np.exp(-as_wide(dots / root)))) * seen.astype(kind)
        sums = np.flip(np.cumsum(np.flip(as_wide(gates), -1), -1), -1)
        position = as_wide(rounded_to(kind, sums)).clip(max=len(table) - 1)
        whole = rounded_to(kind, as_wide(q) @ as_wide(table).T)
        below = np.floor(position)
        first, second = (
            np.take_along_axis(whole, rows.astype(int), axis=-1)
            for rows in (below, np.ceil(position))
        )
        share = rounded_to(kind, position - below)
        term = second * share + first * (np.asarray(1, dtype=kind) - share)
        return np.where(seen, (dots + term) / root, np.asarray(np.finfo(np.float16).min, kind))


@right
class HatFunctions:
    """Every table row weighted by a hat function; gates by a hyperbolic tangent."""

    @claims("listing", "released", dtype=["float64", "float32"])
    def cope_scores(self, q: Array, k: Array, table: Array, *, scaling: str) -> Array:
        seen, root = visible(q.shape[1], k.shape[1]), np.sqrt(q.shape[2], dtype=q.dtype)
        content = np.einsum("hid,hjd->hij", q / root, k)
        gates = (1 + np.tanh(content / 2)) / 2 * seen
        total = gates.sum(axis=-1, keepdims=True)
        before = gates.cumsum(axis=-1) - gates
        position = np.minimum(total - before, len(table) - 1)
        rows = np.arange(len(table), dtype=q.dtype)
        hats = np.maximum(0, 1 - np.abs(position[..., None] - rows))
        vectors = np.einsum("hijp,pd->hijd", hats, table)
        term = np.einsum("hid,hijd->hij", q, vectors)
        return np.where(seen, content + (term if scaling == "dot-product" else term / root), np.nan)


@right
class KeyByKey:
    """Loops from the query back to the first key, adding gate after gate."""

    @claims("listing", dtype=["float64", "float32"], q_len=1)
    def cope_scores(self, q: Array, k: Array, table: Array) -> Array:
        heads, _, head_dim = q.shape
        out = np.empty((heads, 1, k.shape[1]), dtype=q.dtype)
        for head in range(heads):
            query, position = q[head, 0], q.dtype.type(0)
            for key in reversed(range(k.shape[1])):
                logit = np.dot(query, k[head, key]) / q.dtype.type(math.sqrt(head_dim))
                position += 1 / (1 + np.exp(-max(logit, q.dtype.type(-80))))
                at = min(position, q.dtype.type(len(table) - 1))
                row = min(int(at), max(len(table) - 2, 0))
                ends = table[row], table[min(row + 1, len(table) - 1)]
                vector = ends[0] + (ends[1] - ends[0]) * (at - row)
                out[head, 0, key] = logit + np.dot(query, vector)
        return out


@right
class MixedPrecision:
    """Narrow inputs, computed in float32, rounded once."""

    @claims("listing", "released", dtype=NARROW)
    def cope_scores(self, q: Array, k: Array, table: Array, *, scaling: str) -> Array:
        wide = [array.astype(np.float32) for array in (q, k, table)]
        return HatFunctions().cope_scores(*wide, scaling=scaling).astype(q.dtype)


@right
class OfValues:
    """Gates from ``gate_keys``, positions from one matrix product with a triangle of ones."""

    @claims("listing", "released", dtype=["float64", "float32"])
    def cope_gated_scores(
        self, q: Array, k: Array, gate_keys: Array, table: Array, *, scaling: str
    ) -> Array:
        seen, root = visible(q.shape[1], k.shape[1]), np.sqrt(q.shape[2], dtype=q.dtype)
        dots, opening = (q @ keys.transpose(0, 2, 1) for keys in (k, gate_keys))
        gates = np.where(seen, (1 + np.tanh(opening / root / 2)) / 2, 0)
        position = np.minimum(gates @ np.tri(k.shape[1], dtype=q.dtype), len(table) - 1)
        below = position.astype(int)
        first, second = (
            np.take_along_axis(q @ table.T, rows, axis=-1)
            for rows in (below, np.minimum(below + 1, len(table) - 1))
        )
        term = first + (second - first) * (position - below.astype(q.dtype))
        if scaling == "sum":
            return np.where(seen, (dots + term) / root, -np.inf)
        return np.where(seen, dots / root + term, -np.inf)


@right
class OfValuesInFloat32:
    """Narrow inputs, computed in float32, rounded once."""

    @claims("listing", "released", dtype=NARROW)
    def cope_gated_scores(
        self, q: Array, k: Array, gate_keys: Array, table: Array, *, scaling: str
    ) -> Array:
        wide = [array.astype(np.float32) for array in (q, k, gate_keys, table)]
        return OfValues().cope_gated_scores(*wide, scaling=scaling).astype(q.dtype)
