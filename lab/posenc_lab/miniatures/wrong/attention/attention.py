"""Wrong implementations: attention."""

import math
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Weights(Mistake, steps=True):
    """Attention weights, in steps."""

    call = "attention_weights"
    claimed = ("full",)

    def answer(self, q: Array, k: Array, *, mask: str) -> Array:
        wide = q.astype(np.float64), k.astype(np.float64)
        return self.weights(*wide, mask).astype(q.dtype)

    def weights(self, q: Array, k: Array, mask: str) -> Array:
        logits = self.logits(q, k)
        hidden = self.hidden(*logits.shape[-2:]) if mask == "causal" else False
        return self.softmax(np.where(hidden, self.low, logits), hidden)

    low: float = -np.inf

    def logits(self, q: Array, k: Array) -> Array:
        return q @ k.swapaxes(-1, -2) * self.factor(q.shape[-1])

    def factor(self, head_dim: int) -> float:
        return 1 / math.sqrt(head_dim)

    def hidden(self, q_len: int, k_len: int) -> Array:
        return ~np.tri(q_len, k_len, k_len - q_len, dtype=bool)

    def softmax(self, logits: Array, hidden: Any) -> Array:
        largest = np.maximum(logits.max(axis=self.axis, keepdims=True), -1e300)
        powers = self.power(logits - largest)
        with np.errstate(invalid="ignore"):  # NaN for keys that no query sees
            return powers / self.total(powers)

    axis = -1

    def power(self, x: Array) -> Array:
        return np.exp(x)

    def total(self, powers: Array) -> Array:
        return powers.sum(axis=self.axis, keepdims=True)


class Attended(Weights, steps=True):
    """Sums of values by attention weights, in steps."""

    call = "attention"

    def answer(self, q: Array, k: Array, v: Array, *, mask: str) -> Array:
        weights = self.weights(q.astype(np.float64), k.astype(np.float64), mask)
        return (weights @ v.astype(np.float64)).astype(q.dtype)


class Biased(Weights, steps=True):
    """Attention with a bias on the logits, in steps."""

    call = "attention_with_bias"
    claimed = ("causal",)

    def answer(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Array:
        self.bias, self.scaled = bias.astype(np.float64), scaling == "root"
        weights = self.weights(q.astype(np.float64), k.astype(np.float64), mask)
        return (weights @ v.astype(np.float64)).astype(q.dtype)

    def logits(self, q: Array, k: Array) -> Array:
        products = q @ k.swapaxes(-1, -2)
        return self.biased(products, self.factor(q.shape[-1]) if self.scaled else 1.0)

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor + self.bias


def not_own(self: Weights, q_len: int, k_len: int) -> Array:
    return ~np.tri(q_len, k_len, k_len - q_len - 1, dtype=bool)


def one_more(self: Weights, q_len: int, k_len: int) -> Array:
    return ~np.tri(q_len, k_len, k_len - q_len + 1, dtype=bool)


def at_start(self: Weights, q_len: int, k_len: int) -> Array:
    return ~np.tri(q_len, k_len, 0, dtype=bool)


def nothing_hidden(self: Weights, q_len: int, k_len: int) -> Array:
    return np.zeros((q_len, k_len), dtype=bool)


def after_softmax(self: Weights, q: Array, k: Array, mask: str) -> Array:
    logits = self.logits(q, k)
    return self.softmax(logits, None) * ~self.hidden(*logits.shape[-2:])


def not_shifted(self: Weights, logits: Array, hidden: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.exp(logits)
        return powers / powers.sum(axis=-1, keepdims=True)


for _base, _prefix in ((Weights, ""), (Attended, "attention-")):
    for _name, _factor in {
        "unscaled": lambda self, d: 1.0,
        "scaled twice": lambda self, d: 1 / d,
        "scaled by the fourth root": lambda self, d: d**-0.25,
        "multiplied": lambda self, d: math.sqrt(d),
    }.items():
        made(
            _base,
            f"{_base.__name__} {_name}",
            "Another factor of the products.",
            named="scale-wrong",
            factor=_factor,
        )
    made(
        _base,
        f"{_base.__name__} over queries",
        "Softmax over the wrong axis.",
        named=f"{_prefix}softmax-over-queries",
        axis=-2,
    )
    for _name, _power in {
        "powers of 2": lambda self, x: np.exp2(x),
        "log2e of three digits": lambda self, x: np.exp2(1.44 * x),
    }.items():
        made(
            _base,
            f"{_base.__name__} {_name}",
            "exp2 with a wrong constant, as in a kernel that has no exp.",
            named="exponential-wrong",
            power=_power,
        )
    for _name, _hidden, _named in (
        ("mask at start", at_start, "mask-at-start"),
        ("one key more", one_more, "mask-shifted"),
        ("unmasked", nothing_hidden, "mask-ignored"),
    ):
        made(
            _base,
            f"{_base.__name__} {_name}",
            "Another mask.",
            named=_named,
            claimed=("causal",),
            hidden=_hidden,
        )
    made(
        _base,
        f"{_base.__name__} one key fewer",
        "A query does not see its own key; the first, which sees none, has a finite mask.",
        named="mask-shifted",
        claimed=("causal",),
        hidden=not_own,
        low=-1e30,
    )
    made(
        _base,
        f"{_base.__name__} masked after",
        "No division by what is left.",
        named=f"{_prefix}mask-after-softmax",
        claimed=("causal",),
        weights=after_softmax,
    )
    made(
        _base,
        f"{_base.__name__} overflow",
        "No largest logit subtracted.",
        dtype=("float32", "bfloat16"),
        softmax=not_shifted,
    )
    made(
        _base,
        f"{_base.__name__} hidden from key 256",
        "A kernel that has one block of keys.",
        softmax=lambda self, x, hidden: Weights.softmax(
            self, np.where(np.arange(x.shape[-1]) < 256, x, -np.inf), hidden
        ),
    )
    made(
        _base,
        f"{_base.__name__} without remainder",
        "Keys in blocks of two; a last single one is forgotten.",
        softmax=lambda self, x, hidden: Weights.softmax(
            self,
            np.where(np.arange(x.shape[-1]) < max(x.shape[-1] // 2 * 2, 1), x, -np.inf),
            hidden,
        ),
    )


class WeightsFiniteMask(Weights):
    """Hidden logits are -10000 instead of minus infinity."""

    named = "finite-mask"
    claimed = ("causal",)
    low = -1e4


class WeightsBarelyMasked(Weights):
    """Hidden logits are -100, so their weights are tiny but not 0."""

    claimed = ("causal",)
    low = -100.0


class WeightsEpsilon(Weights):
    """1e-12 is added to the sum, which shows in float64."""

    named = "epsilon-in-sum"
    dtype = "float64"

    def total(self, powers: Array) -> Array:
        return super().total(powers) + 1e-12


class WeightsLargerEpsilon(Weights):
    """1e-4 is added to the sum."""

    named = "epsilon-in-sum"

    def total(self, powers: Array) -> Array:
        return super().total(powers) + 1e-4


class WeightsUnnormalised(Weights):
    """Exponentials are not divided by their sum."""

    def total(self, powers: Array) -> Array:
        return np.ones(1)


class WeightsOfMaxOfAll(Weights):
    """The maximum of the whole array is subtracted, so rows far below it underflow."""

    def softmax(self, logits: Array, hidden: Any) -> Array:
        powers = np.exp(logits - logits.max())
        with np.errstate(invalid="ignore"):
            return powers / self.total(powers)


class AttendedWrongFromQuery128(Attended):
    """Rows from index 128 on are 0, as in a kernel with one block of queries."""

    def softmax(self, logits: Array, hidden: Any) -> Array:
        rows = np.arange(logits.shape[-2])[:, None]
        return np.where(rows < 128, super().softmax(logits, hidden), 0.0)


class AttendedSharedBatch(Attended):
    """The keys of the first batch entry are used for all."""

    def logits(self, q: Array, k: Array) -> Array:
        return super().logits(q, k.reshape(-1, *k.shape[-2:])[0])


class AttendedHalfSum(Attended):
    """Logits are held in float16 for a float32 result."""

    def logits(self, q: Array, k: Array) -> Array:
        return super().logits(q, k).astype(np.float16).astype(np.float64)


class AttendedKeepsItsMask(Attended):
    """Causal masks are cached by k_len, ignoring q_len."""

    claimed = ("causal",)

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def hidden(self, q_len: int, k_len: int) -> Array:
        cached = self._kept.setdefault(k_len, super().hidden(q_len, k_len))
        return cached[-q_len:] if len(cached) >= q_len else np.resize(cached, (q_len, k_len))


class AttendedScalesInPlace(Attended):
    """The caller's queries are scaled in place."""

    def answer(self, q: Array, k: Array, v: Array, *, mask: str) -> Array:
        result = super().answer(q, k, v, mask=mask)
        q *= np.asarray(self.factor(q.shape[-1]), dtype=q.dtype)
        return result


class BiasedAlongTheBatch(Biased):
    """A bias per head is read as one per batch entry if there are as many heads as entries."""

    def biased(self, products: Array, factor: float) -> Array:
        if self.bias.ndim == 3 and products.ndim == 4 and len(self.bias) == len(products):
            return products * factor + self.bias[:, None]
        return super().biased(products, factor)


class BiasedByTheFirstText(Biased):
    """The bias of the first batch entry is used for all."""

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor + (self.bias[:1] if self.bias.ndim == 4 else self.bias)


class BiasedWithoutBroadcasting(Biased):
    """A bias per head is refused for batched queries."""

    def biased(self, products: Array, factor: float) -> Array:
        if self.bias.ndim not in (2, products.ndim):
            raise ValueError("bias and logits must have as many axes")
        return super().biased(products, factor)


class BiasedBeforeScaling(Biased):
    """The bias is divided by sqrt(head_dim) as well."""

    named = "bias-before-scaling"

    def biased(self, products: Array, factor: float) -> Array:
        return (products + self.bias) * factor


class BiasedNot(Biased):
    """The bias is ignored."""

    named = "bias-ignored"

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor


class BiasedNegatively(Biased):
    """The bias is subtracted."""

    named = "bias-negated"

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor - self.bias


class BiasedScaledT5(Biased):
    """Logits are scaled although T5 does not scale them."""

    named = "bias-scale-wrong"
    claimed = ("unscaled",)

    def logits(self, q: Array, k: Array) -> Array:
        self.scaled = True
        return super().logits(q, k)


class BiasedTwiceScaled(Biased):
    """Products are divided by head_dim, not by its square root."""

    named = "bias-scale-wrong"

    def factor(self, head_dim: int) -> float:
        return 1 / head_dim


class BiasedMaskAtStart(Biased):
    """The causal mask is aligned to the start, not to the end."""

    named = "mask-at-start"
    hidden = at_start


class BiasedOfFirstHead(Biased):
    """The first head's bias is used for all."""

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor + self.bias.reshape(-1, *self.bias.shape[-2:])[0]


class BiasOfHiddenKeysClipped(Biased):
    """Biases are clipped at -8, so minus infinity does not hide a key."""

    def biased(self, products: Array, factor: float) -> Array:
        return products * factor + np.maximum(self.bias, -8.0)


class BiasedByColumns(Biased):
    """A square bias is transposed."""

    claimed = ("unscaled",)

    def biased(self, products: Array, factor: float) -> Array:
        square = self.bias.shape[-1] == self.bias.shape[-2]
        return products * factor + (self.bias.swapaxes(-1, -2) if square else self.bias)
