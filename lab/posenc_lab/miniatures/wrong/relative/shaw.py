"""Wrong implementations: relative position representations."""

from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Edges:
    """Table vectors for all pairs of positions, in steps."""

    offset = "key-minus-query"

    def edges(self, table: Array, q_len: int, k_len: int) -> Array:
        reach = (len(table) - 1) // 2
        steps = self.steps(self.queries(q_len, k_len)[:, None], np.arange(k_len))
        return table[self.shift(self.clip(steps, reach), reach)]

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def steps(self, query: Array, key: Array) -> Array:
        return query - key if self.offset == "query-minus-key" else key - query

    def clip(self, steps: Array, reach: int) -> Array:
        return np.clip(steps, -reach, reach)

    def shift(self, clipped: Array, reach: int) -> Array:
        return clipped + reach


class Scores(Edges, Mistake, steps=True):
    """Queries times keys and table vectors, divided by a square root, in steps."""

    call = "shaw_scores"
    claimed = ("key-minus-query",)

    def answer(self, q: Array, k: Array, table: Array, *, offset: str = "") -> Array:
        self.offset = offset
        wide = [array.astype(np.float64) for array in (q, k, table)]
        return self.scores(*wide).astype(q.dtype)

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        content = np.einsum("hid,hjd->hij", q, k)
        position = self.position(q, k, self.edges(table, q.shape[1], k.shape[1]))
        return self.divided(content, position, q.shape[2])

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        return np.einsum("hid,ijd->hij", q, edges)

    def divided(self, content: Array, position: Array, head_dim: int) -> Array:
        return (content + position) / np.sqrt(head_dim)


class Outputs(Edges, Mistake, steps=True):
    """Weights times values and table vectors, in steps."""

    call = "shaw_values"
    claimed = ("key-minus-query",)

    def answer(self, weights: Array, v: Array, table: Array) -> Array:
        wide = [array.astype(np.float64) for array in (weights, v, table)]
        return self.outputs(*wide).astype(v.dtype)

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        edges = self.edges(table, *weights.shape[1:])
        return weights @ v + np.einsum("hij,ijd->hid", weights, edges)


def _to_the_other_side(self: Any, query: Array, key: Array) -> Array:
    return -Edges.steps(self, query, key)


def _from_zero(self: Any, q_len: int, k_len: int) -> Array:
    return np.arange(q_len)


def _clipped_exclusively(self: Any, steps: Array, reach: int) -> Array:
    return np.clip(steps, -reach, max(reach - 1, 0))


def _clipped_too_near(self: Any, steps: Array, reach: int) -> Array:
    return np.clip(steps, -max(reach - 1, 0), max(reach - 1, 0))


def _wrapped(self: Any, steps: Array, reach: int) -> Array:
    return (steps + reach) % (2 * reach + 1) - reach


def _unshifted(self: Any, clipped: Array, reach: int) -> Array:
    return clipped


FAMILIES: tuple[tuple[type, str, str], ...] = (
    (Scores, "key-minus-query", "offset-swapped"),
    (Scores, "query-minus-key", "offset-swapped"),
    (Outputs, "key-minus-query", "values-sign-flipped"),
)
for _base, _claimed, _swapped in FAMILIES:
    for _what, _named, _steps in (
        ("to the other side", _swapped, {"steps": _to_the_other_side}),
        ("from zero", "queries-from-zero", {"queries": _from_zero}),
        ("clipped exclusively", "clip-shifted", {"clip": _clipped_exclusively}),
        ("clipped too near", "clip-shifted", {"clip": _clipped_too_near}),
        ("wrapped", "clip-shifted", {"clip": _wrapped}),
        ("unshifted", "table-unshifted", {"shift": _unshifted}),
    ):
        made(
            _base,
            f"{_base.__name__} {_claimed} {_what}",
            f"Vectors {_what}.",
            named=_named,
            claimed=(_claimed,),
            **_steps,
        )

for _shift in (1, -1):
    made(
        Scores,
        f"Scores shifted by {_shift}",
        "Offsets off by one.",
        named="offset-shifted",
        steps=lambda self, query, key, shift=_shift: Edges.steps(self, query, key) + shift,
    )


class ScoresOfAbsoluteRows(Scores):
    """Key j reads table row j, as in a matrix product Q R^T."""

    named = "absolute-rows"

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        rows = table[np.minimum(np.arange(k.shape[1]), len(table) - 1)]
        return (q @ np.swapaxes(k, 1, 2) + q @ rows.T) / np.sqrt(q.shape[2])


class ScoresOfKeys(Scores):
    """Table vectors are multiplied with keys, not queries."""

    named = "keys-for-queries"

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        return np.einsum("hjd,ijd->hij", k, edges)


class ScoresPositionUndivided(Scores):
    """The position term is added after the division."""

    named = "scaling-misplaced"

    def divided(self, content: Array, position: Array, head_dim: int) -> Array:
        return content / np.sqrt(head_dim) + position


class ScoresUndivided(Scores):
    """Scores are not divided."""

    named = "scaling-misplaced"
    claimed = ("query-minus-key",)

    def divided(self, content: Array, position: Array, head_dim: int) -> Array:
        return content + position


class ScoresDividedByChannels(Scores):
    """Scores are divided by head_dim instead of its square root."""

    def divided(self, content: Array, position: Array, head_dim: int) -> Array:
        return (content + position) / head_dim


class ScoresSkewed(Scores):
    """Music Transformer's skew is correct for keys up to the query; later keys are not masked."""

    named = "skew-leaked"

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        if q.shape[1] != k.shape[1]:
            return super().scores(q, k, table)
        heads, n, head_dim = q.shape
        reach = len(table) // 2
        behind = table[np.clip(np.arange(1 - n, 1), -reach, reach) + reach]
        padded = np.concatenate([np.zeros((heads, n, 1)), q @ behind.T], axis=2)
        position = padded.reshape(heads, n + 1, n)[:, 1:]
        return self.divided(q @ np.swapaxes(k, 1, 2), position, head_dim)


class ScoresWithoutPositions(Scores):
    """The position term is missing."""

    named = "position-left-out"

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        return np.zeros((len(q), *edges.shape[:2]))


class ScoresOfTheFirstHead(Scores):
    """The first head's queries multiply the table for all heads."""

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        return super().position(np.broadcast_to(q[:1], q.shape), k, edges)


class ScoresMasked(Scores):
    """Keys after the query are masked although no mask is claimed."""

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        ahead = np.arange(k.shape[1]) > self.queries(q.shape[1], k.shape[1])[:, None]
        return np.where(ahead, -np.inf, super().scores(q, k, table))


class ScoresInBfloat16(Scores):
    """Queries, keys and table are held in bfloat16 for a float32 result."""

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        low = [array.astype(ml_dtypes.bfloat16).astype(np.float64) for array in (q, k, table)]
        return super().scores(*low)


class ScoresOfATableInFloat16(Scores):
    """The table is held in float16 for a float32 result."""

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        return super().scores(q, k, table.astype(np.float16).astype(np.float64))


class ScoresInFloat32(Scores):
    """Scores are float32 for a float64 result."""

    dtype = "float64"

    def scores(self, q: Array, k: Array, table: Array) -> Array:
        return super().scores(*(array.astype(np.float32) for array in (q, k, table)))


class ScoresScaleTheirQueries(Scores):
    """The caller's queries are scaled in place."""

    def answer(self, q: Array, k: Array, table: Array, *, offset: str = "") -> Array:
        q *= q.dtype.type(q.shape[2] ** -0.5)
        edges = Edges.edges(self, table, q.shape[1], k.shape[1])
        return np.einsum("hid,hjd->hij", q, k) + np.einsum("hid,ijd->hij", q, edges)


class ScoresWrongFromQuery64(Scores):
    """Queries from index 64 on have no position term, as in a kernel with one block."""

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        return super().position(q, k, edges) * (np.arange(q.shape[1]) < 64)[:, None]


class ScoresOfHalfAChannel(Scores):
    """The position term skips the last channel if head_dim is odd."""

    def position(self, q: Array, k: Array, edges: Array) -> Array:
        even = q.shape[2] // 2 * 2
        return super().position(q[..., :even], k, edges[..., :even])


class OutputsWithoutPositions(Outputs):
    """The position term is missing."""

    named = "values-left-out"

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        return weights @ v


class OutputsNormalised(Outputs):
    """Weights are normalised to sum to 1."""

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        sums = weights.sum(axis=-1, keepdims=True)
        return super().outputs(weights / np.where(sums == 0, 1, sums), v, table)


class OutputsScaled(Outputs):
    """Outputs are divided by sqrt(head_dim), as logits are."""

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        return super().outputs(weights, v, table) / np.sqrt(v.shape[2])


class OutputsTransposed(Outputs):
    """Square weights are read as [keys, queries] for the table."""

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        edges = self.edges(table, *weights.shape[1:])
        if weights.shape[1] == weights.shape[2]:
            edges = np.swapaxes(edges, 0, 1)
        return weights @ v + np.einsum("hij,ijd->hid", weights, edges)


class OutputsOfThePast(Outputs):
    """Only keys up to the query get table vectors, as in a decoder."""

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        behind = np.arange(v.shape[1]) <= self.queries(*weights.shape[1:])[:, None]
        edges = self.edges(table, *weights.shape[1:]) * behind[..., None]
        return weights @ v + np.einsum("hij,ijd->hid", weights, edges)


class OutputsOfBfloat16Weights(Outputs):
    """Weights are held in bfloat16 for a float32 result."""

    def outputs(self, weights: Array, v: Array, table: Array) -> Array:
        low = weights.astype(ml_dtypes.bfloat16).astype(np.float64)
        return super().outputs(low, v, table)
