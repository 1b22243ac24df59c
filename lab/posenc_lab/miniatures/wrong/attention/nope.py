"""Wrong implementations: causal attention without positions."""

import math

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake


class CausalHead(Mistake, steps=True):
    """One causal head, in steps."""

    call = "nope_layer"
    claimed = ("causal",)

    def answer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        rows = self.rows(x.astype(np.float64))
        q, k, v = (self.project(rows, w.astype(np.float64)) for w in (w_q, w_k, w_v))
        scores = q @ k.swapaxes(-1, -2) / self.divisor(*w_q.shape)
        seen = self.seen(x.shape[-2])
        return (self.softmax(np.where(seen, scores, -1e30)) @ v).astype(x.dtype)

    def rows(self, x: Array) -> Array:
        return x

    def project(self, x: Array, w: Array) -> Array:
        return x @ w

    def divisor(self, dim: int, head_dim: int) -> float:
        return math.sqrt(head_dim)

    def seen(self, n: int) -> Array:
        return np.tri(n, dtype=bool)

    def softmax(self, scores: Array) -> Array:
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)


class CausalHeadUnmasked(CausalHead):
    """Every row sees all rows."""

    named = "mask-forgotten"

    def seen(self, n: int) -> Array:
        return np.ones((n, n), dtype=bool)


class CausalHeadBlindToItself(CausalHead):
    """No row sees itself, so a finite mask lets the first row see all."""

    named = "own-row-hidden"

    def seen(self, n: int) -> Array:
        return np.tri(n, k=-1, dtype=bool)


class CausalHeadPeeking(CausalHead):
    """Each row sees the next one too."""

    named = "next-row-seen"

    def seen(self, n: int) -> Array:
        return np.tri(n, k=1, dtype=bool)


class CausalHeadUnscaled(CausalHead):
    """Scores are not divided."""

    named = "layer-scale-wrong"

    def divisor(self, dim: int, head_dim: int) -> float:
        return 1.0


class CausalHeadScaledByDim(CausalHead):
    """Scores are divided by the square root of the model's width."""

    named = "layer-scale-wrong"

    def divisor(self, dim: int, head_dim: int) -> float:
        return math.sqrt(dim)


class CausalHeadWithPositions(CausalHead):
    """Sinusoids are added, as if a default were left on."""

    named = "positions-added"

    def rows(self, x: Array) -> Array:
        n, dim = x.shape[-2:]
        table = np.zeros((n, dim + dim % 2))
        for i in range(n):
            for t in range(0, dim, 2):
                angle = i / 10000 ** (t / dim)
                table[i, t : t + 2] = math.sin(angle), math.cos(angle)
        return x + table[:, :dim]


class CausalHeadOfLinear(CausalHead):
    """Square weights are transposed, as nn.Linear stores them."""

    named = "projections-transposed"

    def project(self, x: Array, w: Array) -> Array:
        return x @ (w.T if w.shape[0] == w.shape[1] else w)


class CausalHeadResidual(CausalHead):
    """The input is added to the result."""

    def answer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        return (super().answer(x, w_q, w_k, w_v) + x).astype(x.dtype)


class CausalHeadStopsAt128(CausalHead):
    """Rows from index 128 on see only themselves."""

    def seen(self, n: int) -> Array:
        return np.tri(n, dtype=bool) & ((np.arange(n)[:, None] < 128) | np.eye(n, dtype=bool))


class CausalHeadAcrossBatch(CausalHead):
    """The softmax's maximum and sum of the first sequence are used for all."""

    def softmax(self, scores: Array) -> Array:
        first = scores.reshape(-1, *scores.shape[-2:])[0]
        powers = np.exp(scores - first.max(axis=-1, keepdims=True))
        sums = np.exp(first - first.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)
        return powers / sums


class CausalHeadKeepsItsMask(CausalHead):
    """The mask is the bottom rows of the longest mask so far."""

    kept: Array = np.empty((0, 0))

    def seen(self, n: int) -> Array:
        if len(self.kept) < n:
            self.kept = super().seen(n)
        return self.kept[len(self.kept) - n :, :n]
