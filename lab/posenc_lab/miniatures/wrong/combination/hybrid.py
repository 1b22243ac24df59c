"""Wrong implementations: sinusoids on embeddings and a bias on logits."""

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, narrow


class Hybrid(Mistake, steps=True):
    """Logits with sinusoids on embeddings and a bias, in steps."""

    call = "hybrid_scores"
    claimed = ("paper",)

    def answer(self, x: Array, w_q: Array, w_k: Array, table: Array, *, base: float) -> Array:
        kind = x.dtype
        x, w_q, w_k, table = (array.astype(np.float64) for array in (x, w_q, w_k, table))
        return self.logits(x, w_q, w_k, table, base).astype(kind)

    def logits(self, x: Array, w_q: Array, w_k: Array, table: Array, base: float) -> Array:
        n, dim = x.shape
        waves = self.waves(np.arange(n)[:, None] * self.frequencies(dim, base))
        queries, keys = self.placed(x, waves, "query") @ w_q, self.placed(x, waves, "key") @ w_k
        return self.summed(queries @ np.swapaxes(keys, 1, 2), self.bias(table, n), w_q.shape[2])

    def frequencies(self, dim: int, base: float) -> Array:
        if dim % 2:
            raise ValueError(dim)
        return base ** (-np.arange(0, dim, 2) / dim)

    def waves(self, angles: Array) -> Array:
        out = np.empty((len(angles), 2 * angles.shape[1]))
        out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)
        return out

    def placed(self, x: Array, waves: Array, role: str) -> Array:
        return x + waves

    def bias(self, table: Array, n: int) -> Array:
        reach = (len(table) - 1) // 2
        return table[self.rows(np.arange(n) - np.arange(n)[:, None], reach)].transpose(2, 0, 1)

    def rows(self, offset: Array, reach: int) -> Array:
        return np.clip(offset, -reach, reach) + reach

    def summed(self, products: Array, bias: Array, head_dim: int) -> Array:
        return products / np.sqrt(head_dim) + bias


class HybridSignFlipped(Hybrid):
    """The bias is looked up by query minus key, as in the article's text."""

    named = "sign-flipped"

    def rows(self, offset: Array, reach: int) -> Array:
        return super().rows(-offset, reach)


class HybridClippedExclusively(Hybrid):
    """The upper end of the range is excluded."""

    named = "clip-shifted"

    def rows(self, offset: Array, reach: int) -> Array:
        return np.clip(offset, -reach, max(reach - 1, 0)) + reach


class HybridShifted(Hybrid):
    """Offsets are off by one."""

    named = "offset-shifted"

    def rows(self, offset: Array, reach: int) -> Array:
        return super().rows(offset + 1, reach)


class HybridUnshifted(Hybrid):
    """Offsets index the table unshifted; NumPy counts negative ones from the end."""

    named = "table-unshifted"

    def rows(self, offset: Array, reach: int) -> Array:
        return np.clip(offset, -reach, reach)


class HybridRelativeOnly(Hybrid):
    """Sinusoids are missing."""

    named = "part-left-out"

    def placed(self, x: Array, waves: Array, role: str) -> Array:
        return x


class HybridAbsoluteOnly(Hybrid):
    """The bias is missing."""

    named = "part-left-out"

    def summed(self, products: Array, bias: Array, head_dim: int) -> Array:
        return products / np.sqrt(head_dim)


class HybridOfQueries(Hybrid):
    """Only queries get sinusoids."""

    named = "queries-only"

    def placed(self, x: Array, waves: Array, role: str) -> Array:
        return x + waves if role == "query" else x


class HybridScaledEmbeddings(Hybrid):
    """Embeddings are multiplied by sqrt(dim)."""

    named = "embeddings-scaled"

    def placed(self, x: Array, waves: Array, role: str) -> Array:
        return x * np.sqrt(x.shape[1]) + waves


class HybridDividedBias(Hybrid):
    """The bias is divided by sqrt(head_dim) too."""

    named = "bias-divided"

    def summed(self, products: Array, bias: Array, head_dim: int) -> Array:
        return (products + bias) / np.sqrt(head_dim)


class HybridUndivided(Hybrid):
    """Products are not divided, as in T5."""

    named = "bias-divided"

    def summed(self, products: Array, bias: Array, head_dim: int) -> Array:
        return products + bias


class HybridFromOne(Hybrid):
    """Sinusoids start at position 1."""

    named = "encoding-wrong"

    def logits(self, x: Array, w_q: Array, w_k: Array, table: Array, base: float) -> Array:
        blank = np.zeros((1, x.shape[1]))
        longer = super().logits(np.concatenate([blank, x]), w_q, w_k, table, base)
        return longer[:, 1:, 1:]


class HybridHalves(Hybrid):
    """All sines come before all cosines."""

    named = "encoding-wrong"

    def waves(self, angles: Array) -> Array:
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


class HybridOfBase10000(Hybrid):
    """The base is always 10,000."""

    named = "wrong-base"

    def frequencies(self, dim: int, base: float) -> Array:
        return super().frequencies(dim, 10000.0)


class HybridOwnExponents(Hybrid):
    """Cosines have 0.9 times the frequency of their sines."""

    def waves(self, angles: Array) -> Array:
        out = super().waves(angles)
        out[:, 1::2] = np.cos(angles * 0.9)
        return out


class HybridOfBfloat16Angles(Hybrid):
    """Angles are held in bfloat16 for a float32 result."""

    def waves(self, angles: Array) -> Array:
        return super().waves(narrow(angles, "bfloat16"))


class HybridOfBfloat16Projections(Hybrid):
    """Projections are held in bfloat16 for a float32 result."""

    def logits(self, x: Array, w_q: Array, w_k: Array, table: Array, base: float) -> Array:
        w_q, w_k = (w.astype(ml_dtypes.bfloat16).astype(np.float64) for w in (w_q, w_k))
        return super().logits(x, w_q, w_k, table, base)


class HybridMasked(Hybrid):
    """Keys after the query are masked although no mask is claimed."""

    def summed(self, products: Array, bias: Array, head_dim: int) -> Array:
        return np.where(np.tri(bias.shape[1]) > 0, super().summed(products, bias, head_dim), -1e9)


class HybridHeadsMixed(Hybrid):
    """The table is read as [heads, 2k+1]."""

    def bias(self, table: Array, n: int) -> Array:
        return super().bias(table.reshape(table.shape[::-1]).T, n)


class HybridNormalised(Hybrid):
    """Rows of x + PE are normalised to length 1."""

    def placed(self, x: Array, waves: Array, role: str) -> Array:
        both = x + waves
        return both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)


class HybridEncodesInPlace(Hybrid):
    """The caller's embeddings are changed in place."""

    def answer(self, x: Array, w_q: Array, w_k: Array, table: Array, *, base: float) -> Array:
        out = super().answer(x, w_q, w_k, table, base=base)
        x += x.dtype.type(1)
        return out


class HybridOfFirstTokens(Hybrid):
    """Sinusoids end after 100 positions; later rows repeat the last."""

    def waves(self, angles: Array) -> Array:
        return super().waves(angles)[np.minimum(np.arange(len(angles)), 99)]
