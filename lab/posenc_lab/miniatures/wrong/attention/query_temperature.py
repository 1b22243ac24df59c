"""Wrong implementations: query temperature."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


def checked(length: int, least: int) -> int:
    """Return ``length``; refuse lengths below ``least``, which give no divisor."""
    if length < least:
        raise ValueError(f"length {length}")
    return length


class Scaled(Mistake, steps=True):
    """Queries times a factor that depends on their position, in steps."""

    call = "query_temperature"
    claimed = ("llama-4",)
    limits: ClassVar = {"max_position": 2**24 - 2}

    def answer(self, x: Array, positions: Array, *, count: str, **rest: Any) -> Array:
        numbers = self.numbers(positions.astype(np.float64), count)
        factor = self.finished(self.factor(numbers, self.length(rest.pop("length")), **rest))
        return np.asarray(self.applied(x, factor).astype(x.dtype))

    def length(self, length: int) -> int:
        return length

    def numbers(self, places: Array, count: str) -> Array:
        return places + (count == "from-1")

    def factor(self, numbers: Array, length: int, beta: float) -> Array:
        return 1 + self.beta(beta) * self.logarithm(1 + self.whole(numbers / checked(length, 1)))

    def beta(self, beta: float) -> float:
        return beta

    def whole(self, quotient: Array) -> Array:
        return np.floor(quotient)

    def logarithm(self, value: Array) -> Array:
        return np.log(value)

    def finished(self, factor: Array) -> Array:
        return factor

    def applied(self, x: Array, factor: Array) -> Array:
        return x.astype(np.float64) * factor[:, None]


class Logarithmic(Scaled, steps=True):
    """Queries times a logarithm of their position, in steps."""

    call = "query_log_scale"
    claimed = ("qwen",)

    def factor(self, numbers: Array, length: int, beta: float = 0) -> Array:
        return self.clipped(np.log(np.maximum(numbers, 1e-9)) / np.log(checked(length, 2)))

    def clipped(self, factor: Array) -> Array:
        return np.maximum(factor, 1)


_NUMBERS = {"from-0": lambda self, places, count: places, "from-1": lambda self, p, count: p + 1}
_BOTH: tuple[tuple[type[Scaled], tuple[str, str]], ...] = (
    (Scaled, ("llama-4", "ministral")),
    (Logarithmic, ("qwen", "grok-2")),
)

for _base, _claims in _BOTH:
    for _claimed, _given in zip(_claims, ("from-0", "from-1"), strict=True):
        made(
            _base,
            f"{_base.__name__} counted {_given}",
            "The other number for a query.",
            named="count-swapped",
            claimed=(_claimed,),
            numbers=_NUMBERS[_given],
        )
    for _claimed in _claims:
        made(
            _base,
            f"{_base.__name__} not at all {_claimed}",
            "x as it came.",
            named="unscaled",
            claimed=(_claimed,),
            applied=lambda self, x, factor: x.copy(),
        )
        made(
            _base,
            f"{_base.__name__} twice {_claimed}",
            "The factor on queries and on logits.",
            named="scaled-twice",
            claimed=(_claimed,),
            finished=lambda self, factor: factor**2,
        )
        made(
            _base,
            f"{_base.__name__} down {_claimed}",
            "Queries divided by the factor.",
            named="divided",
            claimed=(_claimed,),
            finished=lambda self, factor: 1 / factor,
        )
        made(
            _base,
            f"{_base.__name__} by the last {_claimed}",
            "One factor for a sequence, as CLEX has it.",
            named="factor-of-the-last",
            claimed=(_claimed,),
            finished=lambda self, factor: np.full_like(factor, factor.max(initial=1)),
        )
        made(
            _base,
            f"{_base.__name__} anew {_claimed}",
            "Rows counted from 0.",
            named="counted-anew",
            claimed=(_claimed,),
            numbers=lambda self, places, count: np.arange(len(places)) + (count == "from-1"),
        )
        made(
            _base,
            f"{_base.__name__} by 8192 {_claimed}",
            "A default in the place of the length asked for.",
            named="other-length",
            claimed=(_claimed,),
            length=lambda self, length: 8192,
        )
        made(
            _base,
            f"{_base.__name__} from the first {_claimed}",
            "Positions counted from the first that is given.",
            claimed=(_claimed,),
            numbers=lambda self, places, count: abs(places - places[:1]) + (count == "from-1"),
        )
    made(
        _base,
        f"{_base.__name__} in bfloat16",
        "Positions cast with the model.",
        named="narrow-positions",
        claimed=_claims[:1],
        numbers=lambda self, places, count: narrow(narrow(places, "bfloat16") + 1, "bfloat16"),
    )

made(
    Scaled,
    "Scaled smoothly",
    "The quotient not floored.",
    named="without-floor",
    whole=lambda self, quotient: quotient,
)
made(
    Scaled,
    "Scaled smoothly from 0",
    "The quotient not floored.",
    named="without-floor",
    claimed=("ministral",),
    whole=lambda self, quotient: quotient,
)
for _name, _log in (("two", np.log2), ("ten", np.log10)):
    made(
        Scaled,
        f"Scaled by logarithms to base {_name}",
        "Another logarithm.",
        named="other-logarithm",
        logarithm=lambda self, value, log=_log: log(value),
    )
made(
    Scaled,
    "Scaled by a beta of 1",
    "beta forgotten.",
    named="other-beta",
    beta=lambda self, beta: 1.0,
)
made(
    Scaled,
    "Scaled by a beta of a tenth",
    "beta never read.",
    named="other-beta",
    beta=lambda self, beta: 0.1,
)
made(Scaled, "Scaled up", "Rounded up.", whole=lambda self, quotient: np.ceil(quotient))
made(Scaled, "Scaled to the nearest", "Rounded.", whole=lambda self, quotient: np.rint(quotient))
made(
    Scaled,
    "Scaled without one",
    "The logarithm of the steps, not of one more.",
    logarithm=lambda self, value: np.log(np.maximum(value - 1, 1)),
)
made(
    Scaled,
    "Scaled up to a million",
    "A table for a million positions, whose last entry serves beyond.",
    numbers=lambda self, places, count: np.minimum(places + 1, 1_000_000),
)
made(
    Scaled,
    "Scaled by half the channels",
    "Only the first half of the channels.",
    applied=lambda self, x, factor: np.concatenate(
        [x[..., : x.shape[-1] // 2] * factor[:, None], x[..., x.shape[-1] // 2 :]], axis=-1
    ),
)
made(
    Scaled,
    "Scaled from 0 late",
    "Steps one query late, in code that counts from 0.",
    claimed=("ministral",),
    numbers=lambda self, places, count: np.maximum(places - 1, 0),
)
made(
    Logarithmic,
    "Logarithmic at any length",
    "Factors below 1 for early queries.",
    named="not-clipped",
    clipped=lambda self, factor: factor,
)
made(
    Logarithmic,
    "Logarithmic at any length from 0",
    "Factors below 1 for early queries.",
    claimed=("grok-2",),
    clipped=lambda self, factor: np.abs(factor),
)


class ScaledInPlace(Scaled):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, **rest: Any) -> Array:
        x[...] = super().answer(x, positions, **rest)
        return x
