"""Wrong implementations: KERPLE."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Kernels(Mistake, steps=True):
    """A kernel of the distance, in steps."""

    call = "kerple_bias"
    claimed = ("log",)

    def answer(self, r1: Array, r2: Array, q_len: int, k_len: int, *, form: str) -> Array:
        if q_len > k_len or min(r1.min(), r2.min()) <= 0 or r1.shape != r2.shape:
            raise ValueError("out of the domain")
        if form == "power" and r2.max() > 2:
            raise ValueError("no kernel")
        outer, inner = self.numbers(r1.astype(np.float64), r2.astype(np.float64))
        distance = self.distances(q_len, k_len)
        kernel = self.log if form == "log" else self.power
        bias = kernel(outer[:, None, None], inner[:, None, None], distance)
        return self.finish(bias).astype(r1.dtype)

    def numbers(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        return r1, r2

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def distances(self, q_len: int, k_len: int) -> Array:
        lag = np.subtract.outer(self.queries(q_len, k_len), np.arange(k_len))
        return np.maximum(lag, 0).astype(np.float64)

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * np.log1p(r2 * distance)

    def power(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * distance**r2

    def finish(self, bias: Array) -> Array:
        return bias


for _form in ("log", "power"):
    made(
        Kernels,
        f"Kernels {_form} with letters swapped",
        "r1 and r2 in each other's place.",
        named="letters-swapped",
        claimed=(_form,),
        numbers=lambda self, r1, r2: (r2, r1),
    )
    made(
        Kernels,
        f"Kernels {_form} with the sign flipped",
        "The kernel itself, not its negative.",
        named="sign-flipped",
        claimed=(_form,),
        finish=lambda self, bias: -bias,
    )
    made(
        Kernels,
        f"Kernels {_form} with queries from zero",
        "Query i at position i although keys come before it.",
        named="queries-from-zero",
        claimed=(_form,),
        queries=lambda self, q_len, k_len: np.arange(q_len),
    )
    made(
        Kernels,
        f"Kernels {_form} off by one",
        "Distances counted from 1.",
        named="distance-shifted",
        claimed=(_form,),
        distances=lambda self, q_len, k_len: Kernels.distances(self, q_len, k_len) + 1,
    )
    made(
        Kernels,
        f"Kernels {_form} of bfloat16 distances",
        "Distances in the dtype of half precision logits, behind a float32 result.",
        named="narrow-bias",
        claimed=(_form,),
        distances=lambda self, q_len, k_len: narrow(
            Kernels.distances(self, q_len, k_len), "bfloat16"
        ),
    )
    made(
        Kernels,
        f"Kernels {_form} with r2 up to 1",
        "r2 held below 1, as its initial values are in one form.",
        named="numbers-clamped",
        claimed=(_form,),
        numbers=lambda self, r1, r2: (r1, np.minimum(r2, 1)),
    )


class KernelsPowerForLog(Kernels):
    """The kernel is the power where the logarithm is claimed."""

    named = "form-swapped"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return self.power(r1, r2, distance)


class KernelsLogForPower(Kernels):
    """The kernel is the logarithm where the power is claimed."""

    named = "form-swapped"
    claimed = ("power",)

    def power(self, r1: Array, r2: Array, distance: Array) -> Array:
        return self.log(r1, r2, distance)


class KernelsBinaryLog(Kernels):
    """The logarithm is to base 2."""

    named = "logarithm-wrong"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * np.log2(1 + r2 * distance)


class KernelsWithR2Outside(Kernels):
    """r2 is a second factor, outside the logarithm."""

    named = "logarithm-wrong"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * r2 * np.log1p(distance)


class KernelsWithoutR2(Kernels):
    """r2 is ignored."""

    named = "logarithm-wrong"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * np.log1p(distance) + 0 * r2


class KernelsWithR2For1(Kernels):
    """The logarithm is of r2 + distance, not of 1 + r2 distance."""

    named = "logarithm-wrong"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * np.log(r2 + distance)


class KernelsInFloat16(Kernels):
    """Every step is in float16 for a float32 result."""

    named = "narrow-bias"

    def log(self, r1: Array, r2: Array, distance: Array) -> Array:
        inside = narrow(1 + narrow(r2 * distance, "float16"), "float16")
        return narrow(-r1 * narrow(np.log(inside), "float16"), "float16")


class KernelsOfBfloat16Results(Kernels):
    """The bias is rounded to bfloat16 for a float32 result."""

    named = "narrow-bias"
    claimed = ("power",)

    def finish(self, bias: Array) -> Array:
        return narrow(bias, "bfloat16")


class KernelsExponential(Kernels):
    """The released code's weights, exp(-r1 d^r2), are added, not multiplied."""

    claimed = ("power",)

    def power(self, r1: Array, r2: Array, distance: Array) -> Array:
        return np.exp(-r1 * distance**r2)


class KernelsSquareRoot(Kernels):
    """The exponent is always 1/2."""

    claimed = ("power",)

    def power(self, r1: Array, r2: Array, distance: Array) -> Array:
        return -r1 * np.sqrt(distance) + 0 * r2


class KernelsOfTheFirstHead(Kernels):
    """The first head's r1 and r2 are used for all."""

    def numbers(self, r1: Array, r2: Array) -> tuple[Array, Array]:
        return np.full_like(r1, r1[0]), np.full_like(r2, r2[0])


class KernelsOneRow(Kernels):
    """The last query's row is used for all queries."""

    claimed = ("power",)

    def finish(self, bias: Array) -> Array:
        return np.repeat(bias[:, -1:], bias.shape[1], axis=1)


class KernelsTransposed(Kernels):
    """Keys come before queries, which a square shape does not show."""

    def finish(self, bias: Array) -> Array:
        return np.swapaxes(bias, 1, 2)


class KernelsUpTo128(Kernels):
    """Distances are clamped at 128."""

    def distances(self, q_len: int, k_len: int) -> Array:
        return np.minimum(super().distances(q_len, k_len), 128)


class KernelsWrongFromHead16(Kernels):
    """Heads from index 16 on have no bias."""

    claimed = ("power",)

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(len(bias)) < 16)[:, None, None]


class KernelsKeepTheFirstNumbers(Kernels):
    """Results are cached by shape, ignoring r1 and r2."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, r1: Array, r2: Array, q_len: int, k_len: int, **rest: Any) -> Array:
        key = len(r1), q_len, k_len, r1.dtype
        if key not in self._kept:
            self._kept[key] = super().answer(r1, r2, q_len, k_len, **rest)
        return self._kept[key].copy()


class KernelsClampTheInput(Kernels):
    """The caller's r2 is clamped in place, as training code does with its parameters."""

    claimed = ("power",)

    def answer(self, r1: Array, r2: Array, q_len: int, k_len: int, **rest: Any) -> Array:
        out = super().answer(r1, r2, q_len, k_len, **rest)
        np.minimum(r2, 0.5, out=r2)
        return out


class KernelGradients(Mistake, steps=True):
    """Gradients with respect to r1 and r2, in steps."""

    call = "kerple_bias_vjp"
    claimed = ("log",)

    def answer(self, gradient: Array, r1: Array, r2: Array, *, form: str) -> Array:
        _, q_len, k_len = gradient.shape
        lag = np.subtract.outer(np.arange(k_len - q_len, k_len), np.arange(k_len))
        outer, inner = (factor.astype(np.float64)[:, None, None] for factor in (r1, r2))
        seen = self.seen(gradient.astype(np.float64), lag)
        rule = self.log if form == "log" else self.power
        both = rule(outer, inner, self.distance(lag).astype(np.float64))
        sums = np.stack([self.gathered(seen * factor) for factor in both])
        return self.finish(sums).astype(gradient.dtype)

    def seen(self, gradient: Array, lag: Array) -> Array:
        return np.where(lag < 0, 0.0, gradient)

    def distance(self, lag: Array) -> Array:
        return np.maximum(lag, 0)

    def log(self, r1: Array, r2: Array, d: Array) -> tuple[Array, Array]:
        return -np.log1p(r2 * d), -r1 * d / (1 + r2 * d)

    def power(self, r1: Array, r2: Array, d: Array) -> tuple[Array, Array]:
        return -(d**r2), -r1 * d**r2 * np.log(np.maximum(d, 1))

    def gathered(self, products: Array) -> Array:
        return products.sum(axis=(1, 2))

    def finish(self, sums: Array) -> Array:
        return sums


for _form in ("log", "power"):
    made(
        KernelGradients,
        f"KernelGradients {_form} exchanged",
        "Of r2, then of r1.",
        named="gradients-exchanged",
        claimed=(_form,),
        finish=lambda self, sums: sums[::-1],
    )
    made(
        KernelGradients,
        f"KernelGradients {_form} negated",
        "Of the loss, not of the bias.",
        named="gradient-sign-flipped",
        claimed=(_form,),
        finish=lambda self, sums: -sums,
    )
    made(
        KernelGradients,
        f"KernelGradients {_form} unmasked",
        "Keys after the query taken along.",
        named="gradient-mask-ignored",
        claimed=(_form,),
        seen=lambda self, gradient, lag: gradient,
        distance=lambda self, lag: abs(lag),
    )
    made(
        KernelGradients,
        f"KernelGradients {_form} averaged",
        "The mean over queries and keys.",
        claimed=(_form,),
        gathered=lambda self, products: products.mean(axis=(1, 2)),
    )

for _name, _form, _named, _rule in (
    ("of powers", "log", "gradient-form-swapped", lambda self, *args: self.power(*args)),
    ("of logarithms", "power", "gradient-form-swapped", lambda self, *args: self.log(*args)),
    (
        "without the distance",
        "log",
        "gradient-chain-rule",
        lambda self, r1, r2, d: (-np.log1p(r2 * d), -r1 / (1 + r2 * d)),
    ),
    (
        "without the logarithm",
        "power",
        "gradient-chain-rule",
        lambda self, r1, r2, d: (-(d**r2), -r1 * d**r2),
    ),
    (
        "by the power rule",
        "power",
        "gradient-chain-rule",
        lambda self, r1, r2, d: (
            -(d**r2),
            -r1 * r2 * np.where(d > 0, np.maximum(d, 1) ** (r2 - 1), 0),
        ),
    ),
    (
        "without r1",
        "log",
        "gradient-chain-rule",
        lambda self, r1, r2, d: (-np.log1p(r2 * d), -d / (1 + r2 * d)),
    ),
    (
        "of a logarithm at 0",
        "power",
        None,
        lambda self, r1, r2, d: (
            -(d**r2),
            np.where(d > 0, -r1 * d**r2 * np.log(np.maximum(d, 1)), np.nan),
        ),
    ),
):
    made(
        KernelGradients,
        f"KernelGradients {_name} {_form}",
        "Other derivatives.",
        named=_named,
        claimed=(_form,),
        **{_form: _rule},
    )


class KernelGradientsOfTheLastQuery(KernelGradients):
    """Only the last query contributes."""

    def gathered(self, products: Array) -> Array:
        return products[:, -1].sum(axis=-1)


class KernelGradientsInBfloat16(KernelGradients):
    """Sums are rounded to bfloat16 for a float32 result."""

    claimed = ("power",)

    def gathered(self, products: Array) -> Array:
        return narrow(products.sum(axis=(1, 2)), "bfloat16")
