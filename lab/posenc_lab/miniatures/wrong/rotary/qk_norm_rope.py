"""Wrong implementations: rotary embedding of normalised queries and keys."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Normed(Mistake, steps=True):
    """Norm, weight and rotation of queries, then of keys, in steps."""

    call = "qk_norm_rope"
    claimed = ("normed-half",)

    def answer(
        self,
        q: Array,
        k: Array,
        q_weight: Array,
        k_weight: Array,
        positions: Array,
        *,
        eps: float,
        base: float,
        layout: str,
        norm_weight: str,
        rotary_dim: int | None = None,
    ) -> Any:
        if q.shape[1:] != k.shape[1:] or len(q_weight) != q.shape[-1]:
            raise ValueError((q.shape, k.shape, q_weight.shape))
        width = rotary_dim or q.shape[-1]
        parts = []
        for x, scale in zip((q, k), self.weights(q_weight, k_weight), strict=True):
            wide = x.astype(np.float64)
            weight = self.weight(scale.astype(np.float64), norm_weight)
            rows = self.before(wide / self.root(wide, eps, width), weight)
            turned = self.turned(rows, positions, base, layout, self.width(q.shape[-1], width))
            parts.append(self.behind(turned, weight))
        return np.concatenate(parts).astype(q.dtype)

    def weights(self, q_weight: Array, k_weight: Array) -> tuple[Array, Array]:
        return q_weight, k_weight

    def weight(self, weight: Array, norm_weight: str) -> Array:
        return weight + (norm_weight == "one-plus")

    def root(self, x: Array, eps: float, width: int) -> Array:
        return np.asarray(np.sqrt(self.mean(x, width) + eps))

    def mean(self, x: Array, width: int) -> Array:
        return np.asarray((x * x).mean(axis=-1, keepdims=True))

    def before(self, rows: Array, weight: Array) -> Array:
        return rows * weight

    def behind(self, rows: Array, weight: Array) -> Array:
        return rows

    def width(self, head_dim: int, rotary_dim: int) -> int:
        return rotary_dim

    def turned(self, x: Array, positions: Array, base: float, layout: str, width: int) -> Array:
        half = width // 2
        first, second = self.members(half, layout)
        angles = self.places(positions)[:, None] * base ** -(np.arange(half) / half)
        a, b, out = x[..., first], x[..., second], x.copy()
        out[..., first] = a * np.cos(angles) - b * np.sin(angles)
        out[..., second] = a * np.sin(angles) + b * np.cos(angles)
        return out

    def places(self, positions: Array) -> Array:
        return positions

    def members(self, half: int, layout: str) -> tuple[Array, Array]:
        pairs = np.arange(half)
        return (pairs, pairs + half) if layout == "half" else (2 * pairs, 2 * pairs + 1)


class NormedPartial(Normed, steps=True):
    """Norm, weight and partial rotation of queries, then of keys, in steps."""

    limits: ClassVar[Mapping[str, Any]] = {"rotation": "partial"}


def _other(self: Normed, half: int, layout: str) -> tuple[Array, Array]:
    return Normed.members(self, half, "half" if layout == "interleaved" else "interleaved")


for _claimed in ("normed-half", "normed-interleaved", "normed-half-one-plus"):
    made(
        Normed,
        f"Normed, {_claimed}, pairs of the other layout",
        "Pairs of the other layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        members=_other,
    )
    made(
        Normed,
        f"Normed, {_claimed}, otherwise weighted",
        "1 added, or not, the other way.",
        named="norm-weight-swapped",
        claimed=(_claimed,),
        weight=lambda self, weight, norm_weight: weight + (norm_weight != "one-plus"),
    )
    made(
        Normed,
        f"Normed, {_claimed}, weighted behind",
        "The weight after the rotation.",
        named="weight-behind-rotation",
        claimed=(_claimed,),
        before=lambda self, rows, weight: rows,
        behind=lambda self, rows, weight: rows * weight,
    )
    made(
        NormedPartial,
        f"Normed, {_claimed}, whole heads",
        "As many channels as a head has.",
        named="rotary-dim-ignored",
        claimed=(_claimed,),
        width=lambda self, head_dim, rotary_dim: head_dim,
    )


class NormedNot(Normed):
    """The norm and its weight are left out."""

    named = "norm-left-out"

    def root(self, x: Array, eps: float, width: int) -> Array:
        return np.ones(1)

    def weight(self, weight: Array, norm_weight: str) -> Array:
        return np.ones(1)


class NormedUnweighted(Normed):
    """The weight is left out."""

    named = "norm-left-out"
    claimed = ("normed-interleaved",)

    def weight(self, weight: Array, norm_weight: str) -> Array:
        return np.ones(1)


class NormedOfRotated(NormedPartial):
    """The mean covers only the rotated channels."""

    named = "norm-of-rotated-channels"

    def mean(self, x: Array, width: int) -> Array:
        return np.asarray((x[..., :width] ** 2).mean(axis=-1, keepdims=True))


class NormedByQueries(Normed):
    """The queries' weight is used for keys too."""

    named = "one-weight-for-both"

    def weights(self, q_weight: Array, k_weight: Array) -> tuple[Array, Array]:
        return q_weight, q_weight


class NormedExchanged(Normed):
    """The weights of queries and keys are swapped."""

    named = "one-weight-for-both"
    claimed = ("normed-half-one-plus",)

    def weights(self, q_weight: Array, k_weight: Array) -> tuple[Array, Array]:
        return k_weight, q_weight


class NormedOverHeads(Normed):
    """The mean covers all heads of a token."""

    named = "norm-over-heads"

    def mean(self, x: Array, width: int) -> Array:
        return np.asarray((x * x).mean(axis=(0, -1), keepdims=True))


class NormedBySum(Normed):
    """The sum of squares replaces the mean."""

    named = "sum-for-mean"

    def mean(self, x: Array, width: int) -> Array:
        return np.asarray((x * x).sum(axis=-1, keepdims=True))


class NormedEpsOutside(Normed):
    """eps is added to the root, not under it."""

    named = "eps-misplaced"

    def root(self, x: Array, eps: float, width: int) -> Array:
        return np.asarray(np.sqrt(self.mean(x, width)) + eps)


class NormedEpsFixed(Normed):
    """eps is always 1e-6."""

    named = "eps-misplaced"

    def root(self, x: Array, eps: float, width: int) -> Array:
        return np.asarray(np.sqrt(self.mean(x, width) + 1e-6))


class NormedLessTheMean(Normed):
    """The root is that of the variance, as in LayerNorm, but the mean is not subtracted."""

    def mean(self, x: Array, width: int) -> Array:
        return np.asarray(x.var(axis=-1, keepdims=True))


class NormedOnePlusOfRotated(NormedPartial):
    """1 is added only to the weights of the head's first half."""

    claimed = ("normed-half-one-plus",)

    def before(self, rows: Array, weight: Array) -> Array:
        out = rows * weight
        half = rows.shape[-1] // 2
        out[..., half:] = rows[..., half:] * (weight[half:] - 1)
        return out


class NormedKeysAlone(Normed):
    """Only inputs with a single head are normalised."""

    def root(self, x: Array, eps: float, width: int) -> Array:
        return super().root(x, eps, width) if len(x) == 1 else np.ones(1)


class NormedInHalf(Normed):
    """The mean of squares is rounded to float16."""

    def mean(self, x: Array, width: int) -> Array:
        return super().mean(x, width).astype(np.float16).astype(np.float64)
