"""Wrong implementations: p-RoPE."""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.below import below_zero
from posenc_lab.miniatures.scaled import (
    BackwardCall,
    FrequencyCall,
    RotaryCall,
    backward_mistakes,
    plain,
    usual_mistakes,
    wrong_frequencies,
)


def exact(dim: int, proportion: float) -> int:
    """Return the number of rotated pairs."""
    return math.floor(Fraction(str(proportion)) * dim / 2)


def padded(omega: Array, pairs: int) -> Array:
    """Return the frequencies of the first pairs, then zeros."""
    return np.pad(omega, (0, pairs - len(omega)))


class _Frequencies:
    def frequencies(
        self, dim: int, base: float, *, proportion: float, factor: float = 1.0
    ) -> Array:
        turning = plain(dim, base)[: exact(dim, proportion)]
        return padded(self.divided(turning, factor), dim // 2)

    def divided(self, turning: Array, factor: float) -> Array:
        return turning / factor


class ProportionalFrequencies(_Frequencies, FrequencyCall, Mistake, steps=True):
    """Leading frequencies divided by the factor, then zeros, in steps."""

    call = "p_rope_frequencies"


class Proportional(_Frequencies, RotaryCall, Mistake, steps=True):
    """Pairs rotated at the leading frequencies, and unrotated pairs, in steps."""

    call = "p_rope"


CALLS = (ProportionalFrequencies, Proportional)
usual_mistakes(CALLS)


def counting(rule: Any) -> Any:
    """Return a formula with another number of rotated pairs."""
    return lambda dim, base, proportion: padded(plain(dim, base)[: rule(dim, proportion)], dim // 2)


def last_kept(dim: int, base: float, proportion: float) -> Array:
    return plain(dim, base) * (np.arange(dim // 2) >= dim // 2 - exact(dim, proportion))


def put_last(dim: int, base: float, proportion: float) -> Array:
    count = exact(dim, proportion)
    return np.concatenate([np.zeros(dim // 2 - count), plain(dim, base)[:count]])


def smaller_head(dim: int, base: float, proportion: float) -> Array:
    count = exact(dim, proportion)
    return padded(plain(2 * count, base) if count else np.zeros(0), dim // 2)


def nearly_still(dim: int, base: float, proportion: float) -> Array:
    omega = plain(dim, base)
    omega[exact(dim, proportion) :] = 1e-6
    return omega


for _name, _why, _formula, _named in (
    ("ignored", "Every pair turns.", lambda dim, base, **own: plain(dim, base), "all-turn"),
    ("of slow pairs", "The slowest pairs turn.", last_kept, "fast-dropped"),
    ("at the end", "The last pairs turn, as fast as the first.", put_last, "fast-dropped"),
    (
        "of a smaller head",
        "Exponents over the channels that turn.",
        smaller_head,
        "taken-for-partial",
    ),
    (
        "rounded up",
        "Half a pair counts as one.",
        counting(lambda dim, proportion: math.ceil(Fraction(str(proportion)) * dim / 2)),
        "count-wrong",
    ),
    ("nearly still", "Slow pairs turn a little.", nearly_still, None),
):
    wrong_frequencies(CALLS, _name, _why, _formula, _named)


made(
    ProportionalFrequencies,
    "ProportionalFrequencies cut short",
    "The floating-point product cut, as in released code.",
    named="count-wrong",
    frequencies=lambda self, *given, **own: counting(
        lambda dim, proportion: int(proportion * dim // 2)
    )(*given, **own),
)


for _right in CALLS:
    made(
        _right,
        f"{_right.__name__} of twice as many",
        "A share of the channels taken for a number of pairs.",
        named="count-wrong",
        limits={"proportion": 0.25},
        frequencies=lambda self, *given, **own: counting(
            lambda dim, proportion: 2 * exact(dim, proportion)
        )(*given, **own),
    )


for _right in CALLS:
    for _name, _why, _named, _divided in (
        (
            "of factor 1",
            "No factor in any released configuration, so none is read.",
            "factor-ignored",
            lambda self, turning, factor: turning,
        ),
        (
            "times the factor",
            "The step from wavelengths to frequencies forgotten.",
            "factor-multiplied",
            lambda self, turning, factor: turning * factor,
        ),
        (
            "of the first factor",
            "The factor of the first call kept for all.",
            None,
            lambda self, turning, factor: turning / self.__dict__.setdefault("factor", factor),
        ),
        (
            "of whole factors",
            "The factor taken for a whole number.",
            None,
            lambda self, turning, factor: turning / int(factor),
        ),
        (
            "of a slower rest",
            "The first pair not divided.",
            None,
            lambda self, turning, factor: np.concatenate([turning[:1], turning[1:] / factor]),
        ),
    ):
        made(
            _right,
            f"{_right.__name__} {_name}",
            _why,
            named=_named,
            divided=_divided,
            limits={"scaling": "linear"},
        )


class ProportionalWholePositions(Proportional):
    """Positions are divided by the factor and rounded down."""

    limits: ClassVar[dict[str, Any]] = {"scaling": "linear"}

    def answer(self, x: Array, positions: Array, *, factor: float = 1.0, **given: Any) -> Array:
        return super().answer(x, np.floor(positions / factor), **given)


class ProportionalWithin(Proportional):
    """Partial rotation with the right frequencies: pairs lie within the leading channels."""

    named = "paired-within"

    def answer(
        self, x: Array, positions: Array, *, proportion: float, base: float, layout: str
    ) -> Array:
        count = exact(x.shape[-1], proportion)
        angles = np.multiply.outer(positions, plain(x.shape[-1], base)[:count])
        first, second = self.split(x[..., : 2 * count].astype(np.float64), layout)
        turned = self.join(*self.turn(first, second, np.sin(angles), np.cos(angles)), layout)
        return np.concatenate([turned.astype(x.dtype), x[..., 2 * count :]], axis=-1)


class ProportionalPartial(Proportional):
    """Partial rotary embedding: the leading channels are rotated like a smaller head."""

    named = "taken-for-partial"

    def answer(
        self, x: Array, positions: Array, *, proportion: float, base: float, layout: str
    ) -> Array:
        count = exact(x.shape[-1], proportion)
        if not count:
            return x.copy()
        head, tail = x[..., : 2 * count], x[..., 2 * count :]
        turned = super().answer(head, positions, proportion=1.0, base=base, layout=layout)
        return np.concatenate([turned, tail], axis=-1)


class ProportionalDropsTheRest(Proportional):
    """Unrotated channels are set to 0."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        first, second = super().turn(a, b, sin, cos)
        still = ~np.any(sin, axis=0, keepdims=True) if len(sin) > 1 else np.zeros(1, bool)
        return np.where(still, 0.0, first), np.where(still, 0.0, second)


class ProportionalBack(_Frequencies, BackwardCall, Mistake, steps=True):
    """Upstream gradients rotated back at the same frequencies, in steps."""

    call = "p_rope_vjp"


backward_mistakes(ProportionalBack)
made(
    ProportionalBack,
    "ProportionalBack of factor 1",
    "A backward pass that nobody told about the longer context.",
    divided=lambda self, turning, factor: turning,
    limits={"scaling": "linear"},
)


class ProportionalFrequenciesFirst(ProportionalFrequencies):
    """Frequencies beyond the 65,536th are 0."""

    def frequencies(self, *given: Any, **own: Any) -> Array:
        omega = super().frequencies(*given, **own)
        return np.where(np.arange(len(omega)) < 2**16, omega, 0.0)


below_zero(Proportional, "interleaved")
below_zero(ProportionalBack, "interleaved")
