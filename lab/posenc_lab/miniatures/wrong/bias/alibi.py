"""Wrong implementations: linear biases."""

import math
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow


def plain_slopes(n: int, count: int | None = None) -> Array:
    """Return 2^(-8h/n) for the first ``count`` heads."""
    return 2.0 ** (-8 * np.arange(1, (count or n) + 1) / n)


def interpolated(heads: int) -> Array:
    """Return slopes of the power of two below, then every second slope of twice that power."""
    power = 1 << (heads.bit_length() - 1)
    return np.r_[plain_slopes(power), plain_slopes(2 * power)[0::2][: heads - power]]


class Slopes(Mistake, steps=True):
    """The slopes of all heads, in steps."""

    call = "alibi_slopes"
    claimed = ("interpolated",)

    def answer(self, heads: int, *, dtype: str, head_rule: str) -> Array:
        rule = plain_slopes if head_rule == "uniform" else interpolated
        return self.change(rule(heads)).astype(KINDS[dtype])

    def change(self, right: Array) -> Array:
        return right


class SlopesReversed(Slopes):
    """The steepest slope comes last."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return right[::-1]


class SlopesSorted(Slopes):
    """Interpolated slopes are sorted in among the others."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return np.sort(right)[::-1]


class SlopesNegated(Slopes):
    """Slopes are negative, like the bias."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return -right


class SlopesFromZero(Slopes):
    """Heads are counted from 0, so the first slope is 1."""

    named = "slopes-spread-wrongly"
    claimed = ("uniform",)

    def change(self, right: Array) -> Array:
        return 2.0 ** (-8 * np.arange(len(right)) / len(right))


class SlopesOfNInTheSecondPart(Slopes):
    """Interpolated slopes use the number of heads, not the power of two below it."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        heads = len(right)
        power = 1 << (heads.bit_length() - 1)
        odd = 2 * np.arange(1, heads - power + 1) - 1
        return np.r_[plain_slopes(power), 2.0 ** (-4 * odd / heads)]


class SlopesUniformForInterpolated(Slopes):
    """Slopes are 2^(-8h/n) for any number of heads."""

    named = "head-rule-swapped"

    def change(self, right: Array) -> Array:
        return plain_slopes(len(right))


class SlopesInterpolatedForUniform(Slopes):
    """Slopes are interpolated although the formula of the paper's text is claimed."""

    named = "head-rule-swapped"
    claimed = ("uniform",)

    def change(self, right: Array) -> Array:
        return interpolated(len(right))


class SlopesOfTwiceAsMany(Slopes):
    """Slopes are the first of those for the next power of two."""

    def change(self, right: Array) -> Array:
        return plain_slopes(1 << (len(right) - 1).bit_length(), len(right))


class SlopesOfEvenPlaces(Slopes):
    """Interpolated slopes are the even-numbered ones of the longer list."""

    def change(self, right: Array) -> Array:
        power = 1 << (len(right).bit_length() - 1)
        return np.r_[right[:power], plain_slopes(2 * power)[1::2][: len(right) - power]]


class SlopesEndEarlier(Slopes):
    """The last slope is 2^-4 instead of 2^-8."""

    def change(self, right: Array) -> Array:
        return np.sqrt(right)


class SlopesOfBfloat16(Slopes):
    """Slopes are held in bfloat16 for a float32 result."""

    named = "narrow-slopes"

    def change(self, right: Array) -> Array:
        return narrow(right, "bfloat16")


class SlopesOfFloat32AsFloat64(Slopes):
    """Slopes are held in float32 for a float64 result."""

    dtype = "float64"

    def change(self, right: Array) -> Array:
        return narrow(right, "float32")


class SlopesRepeatFromHead9(Slopes):
    """Heads from index 9 on have the slope of index 8."""

    def change(self, right: Array) -> Array:
        return right[np.minimum(np.arange(len(right)), 8)]


class SlopesRepeatFromHead64(Slopes):
    """Heads from index 64 on repeat the first slopes; BLOOM has 112 heads."""

    def change(self, right: Array) -> Array:
        return right[np.arange(len(right)) % 64]


class SlopesAsColumn(Slopes):
    """The shape is [heads, 1, 1], ready for broadcasting."""

    def change(self, right: Array) -> Array:
        return right[:, None, None]


class Linear(Mistake, steps=True):
    """A slope times a distance, in steps."""

    call = "alibi_bias"
    claimed = ("causal",)

    def answer(
        self, heads: int, q_len: int, k_len: int, *, dtype: str, form: str, head_rule: str
    ) -> Array:
        slopes = self.slopes(heads, head_rule)[:, None, None]
        return self.finish(slopes * self.distances(q_len, k_len, form)).astype(KINDS[dtype])

    def slopes(self, heads: int, head_rule: str) -> Array:
        return plain_slopes(heads) if head_rule == "uniform" else interpolated(heads)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        key, query = np.arange(k_len), self.queries(q_len, k_len)[:, None]
        distance = {
            "causal": np.minimum(key - query, 0),
            "symmetric": -np.abs(key - query),
            "first-key": key + 0 * query,
            "last-key": key - (k_len - 1) + 0 * query,
            "key-from-1": key + 1 + 0 * query,
        }[form]
        return distance.astype(np.float64)

    def finish(self, bias: Array) -> Array:
        return bias


for _claimed in ("causal", "symmetric", "first-key", "last-key", "key-from-1"):
    for _given in ("symmetric", "first-key", "last-key", "key-from-1"):
        # A causal bias may contain anything for keys after the query.
        if _given != _claimed and (_claimed, _given) != ("causal", "symmetric"):
            made(
                Linear,
                f"Linear {_given} for {_claimed}",
                "The bias of another form.",
                named="form-swapped",
                claimed=(_claimed,),
                distances=lambda self, q_len, k_len, form, other=_given: Linear.distances(
                    self, q_len, k_len, other
                ),
            )


class LinearOneSided(Linear):
    """Keys after the query get no bias although the symmetric form is claimed."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return super().distances(q_len, k_len, "causal")


class LinearUnmasked(Linear):
    """The bias is m (j - i) instead of -m |i - j|, which favours the future."""

    named = "form-swapped"
    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.subtract.outer(-self.queries(q_len, k_len), -np.arange(k_len))


for _form in ("causal", "symmetric", "first-key", "last-key", "key-from-1"):
    made(
        Linear,
        f"Linear {_form} with the sign flipped",
        "Far keys favoured, or near ones.",
        named="bias-sign-flipped",
        claimed=(_form,),
        finish=lambda self, bias: -bias,
    )
    made(
        Linear,
        f"Linear {_form} off by one",
        "Zero is lost, or one key late.",
        # Keys counted from 1, minus one, give the first-key form.
        named="form-swapped" if _form == "key-from-1" else "distance-shifted",
        claimed=(_form,),
        distances=lambda self, q_len, k_len, form: Linear.distances(self, q_len, k_len, form) - 1,
    )
    made(
        Linear,
        f"Linear {_form} with slopes reversed",
        "Steepest head last.",
        named="bias-slopes-spread-wrongly",
        claimed=(_form,),
        slopes=lambda self, heads, head_rule: interpolated(heads)[::-1],
    )
    made(
        Linear,
        f"Linear {_form} uniform",
        "2^(-8h/n) for any number of heads.",
        named="bias-head-rule-swapped",
        claimed=(_form,),
        slopes=lambda self, heads, head_rule: plain_slopes(heads),
    )

for _form in ("causal", "symmetric"):
    made(
        Linear,
        f"Linear {_form} with queries from zero",
        "Query i taken to stand at position i although keys come before it.",
        named="queries-from-zero",
        claimed=(_form,),
        queries=lambda self, q_len, k_len: np.arange(q_len),
    )


class LinearInterpolatedForUniform(Linear):
    """Slopes are interpolated although the formula of the paper's text is claimed."""

    named = "bias-head-rule-swapped"
    claimed = ("causal-uniform",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return interpolated(heads)


class LinearFromHeadZero(Linear):
    """Heads are counted from 0."""

    named = "bias-slopes-spread-wrongly"
    claimed = ("causal-uniform",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return 2.0 ** (-8 * np.arange(heads) / heads)


class LinearSlopesSorted(Linear):
    """Interpolated slopes are sorted in among the others."""

    named = "bias-slopes-spread-wrongly"
    claimed = ("first-key",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return np.sort(interpolated(heads))[::-1]


class LinearMissingOne(Linear):
    """Distances to the last key are one too small, but not below 0."""

    claimed = ("last-key",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.minimum(super().distances(q_len, k_len, form) + 1, 0)


class LinearLosesZero(Linear):
    """The query's own key has distance 1, not 0."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.minimum(super().distances(q_len, k_len, form), -1)


class LinearCapped(Linear):
    """Distances are clamped at 2,048."""

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.maximum(super().distances(q_len, k_len, form), -2048)


class LinearOfShortIntegers(Linear):
    """Distances are held in int16."""

    claimed = ("first-key",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return super().distances(q_len, k_len, form).astype(np.int64).astype(np.int16)


class LinearOfBfloat16Distances(Linear):
    """Distances are held in bfloat16 for a float32 result."""

    named = "narrow-bias"

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return narrow(super().distances(q_len, k_len, form), "bfloat16")


class LinearOfBfloat16Slopes(Linear):
    """Slopes are held in bfloat16 for a float32 result."""

    named = "narrow-bias"
    claimed = ("symmetric",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return narrow(interpolated(heads), "bfloat16")


class LinearOfBfloat16Products(Linear):
    """Exact products of slope and distance are rounded to bfloat16 for a float32 result."""

    named = "narrow-bias"
    claimed = ("last-key",)

    def finish(self, bias: Array) -> Array:
        return narrow(bias, "bfloat16")


class LinearSquared(Linear):
    """Distances are squared."""

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return -(super().distances(q_len, k_len, form) ** 2)


class LinearLogarithmic(Linear):
    """Distances d are replaced by log(1 + d)."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return -np.log1p(-super().distances(q_len, k_len, form))


class LinearScaled(Linear):
    """The bias is divided by sqrt(heads), as logits are by sqrt(head_dim)."""

    def finish(self, bias: Array) -> Array:
        return bias / math.sqrt(len(bias))


class LinearTransposed(Linear):
    """Keys come before queries, which a square symmetric bias does not show."""

    claimed = ("symmetric",)

    def finish(self, bias: Array) -> Array:
        return np.swapaxes(bias, 1, 2)


class LinearOneRow(Linear):
    """The result has a single row for all queries."""

    claimed = ("last-key",)

    def finish(self, bias: Array) -> Array:
        return bias[:, :1]


class LinearWrongFromHead9(Linear):
    """Heads from index 9 on have no bias."""

    claimed = ("first-key",)

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(len(bias)) < 9)[:, None, None]


class LinearWrongFromKey512(Linear):
    """Keys from index 512 on have no bias, as in a kernel with one block."""

    claimed = ("first-key",)

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(bias.shape[-1]) < 512)


class LinearWrongFromQuery128(Linear):
    """Queries from index 128 on have no bias, as in a kernel with one block."""

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(bias.shape[1]) < 128)[:, None]


class LinearLendsItsTable(Linear):
    """The cached table itself is returned, not a copy."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def answer(self, heads: int, q_len: int, k_len: int, **keywords: Any) -> Array:
        key = heads, q_len, k_len, keywords["dtype"]
        if key not in self._tables:
            self._tables[key] = super().answer(heads, q_len, k_len, **keywords)
        return self._tables[key]


class LinearKeepsTheFirstSlopes(Linear):
    """Slopes are the first ones of the largest number of heads so far."""

    claimed = ("symmetric",)
    kept: Array = np.empty(0)

    def slopes(self, heads: int, head_rule: str) -> Array:
        if len(self.kept) < heads:
            self.kept = super().slopes(heads, head_rule)
        return self.kept[:heads]


class SlopeGradient(Mistake, steps=True):
    """Sums of upstream gradient times distance, in steps."""

    call = "alibi_bias_vjp"
    claimed = ("causal",)

    def answer(self, gradient: Array, *, form: str) -> Array:
        _, q_len, k_len = gradient.shape
        if q_len > k_len:
            raise ValueError(gradient.shape)
        key, query = np.arange(k_len), np.arange(k_len - q_len, k_len)[:, None]
        products = gradient.astype(np.float64) * self.distance(key, query, k_len, form)
        return self.gathered(products).astype(gradient.dtype)

    def distance(self, key: Array, query: Array, k_len: int, form: str) -> Array:
        return {
            "causal": np.minimum(key - query, 0),
            "symmetric": -abs(key - query),
            "first-key": key + 0 * query,
            "last-key": key - (k_len - 1) + 0 * query,
            "key-from-1": key + 1 + 0 * query,
        }[form]

    def gathered(self, products: Array) -> Array:
        return products.sum(axis=(1, 2))


class SlopeGradientUnmasked(SlopeGradient):
    """Keys after the query contribute too."""

    named = "gradient-form-swapped"

    def distance(self, key: Array, query: Array, k_len: int, form: str) -> Array:
        return key - query


class SlopeGradientFromFirstKey(SlopeGradient):
    """The derivative is that of the first-key form."""

    named = "gradient-form-swapped"

    def distance(self, key: Array, query: Array, k_len: int, form: str) -> Array:
        return key + 0 * query


class SlopeGradientFlipped(SlopeGradient):
    """The gradient has the opposite sign."""

    named = "gradient-sign-flipped"
    claimed = ("symmetric",)

    def distance(self, key: Array, query: Array, k_len: int, form: str) -> Array:
        return abs(key - query)


class SlopeGradientAveraged(SlopeGradient):
    """Products are averaged, not summed."""

    named = "gradient-averaged"

    def gathered(self, products: Array) -> Array:
        return products.mean(axis=(1, 2))


class SlopeGradientOfOneQuery(SlopeGradient):
    """Only the last query contributes."""

    def gathered(self, products: Array) -> Array:
        return products[:, -1].sum(axis=-1)
