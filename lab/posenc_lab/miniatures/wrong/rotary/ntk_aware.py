"""Wrong implementations: NTK-aware scaling."""

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake
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


class _Frequencies:
    def frequencies(self, dim: int, base: float, *, factor: float) -> Array:
        return plain(dim, base * factor ** (dim / (dim - 2)))


class NtkFrequencies(_Frequencies, FrequencyCall, Mistake, steps=True):
    """Frequencies for the larger base, in steps."""

    call = "ntk_aware_frequencies"


class Ntk(_Frequencies, RotaryCall, Mistake, steps=True):
    """Pairs rotated at the frequencies for the larger base, in steps."""

    call = "ntk_aware"


CALLS = (NtkFrequencies, Ntk)
usual_mistakes(CALLS)

wrong_frequencies(
    CALLS, "ignored", "No scaling.", lambda dim, base, factor: plain(dim, base), "unscaled"
)
wrong_frequencies(
    CALLS,
    "without power",
    "The base times the factor.",
    lambda dim, base, factor: plain(dim, base * factor),
    "exponent-missing",
)
wrong_frequencies(
    CALLS,
    "upside down",
    "The power (d-2)/d.",
    lambda dim, base, factor: plain(dim, base * factor ** ((dim - 2) / dim)),
    "exponent-inverted",
)
wrong_frequencies(
    CALLS,
    "interpolated",
    "Positions divided instead.",
    lambda dim, base, factor: plain(dim, base) / factor,
    "interpolated",
)
wrong_frequencies(
    CALLS,
    "interpolated too",
    "Positions divided on top.",
    lambda dim, base, factor: plain(dim, base * factor ** (dim / (dim - 2))) / factor,
    "interpolated",
)
wrong_frequencies(
    CALLS,
    "of pairs",
    "The power p/(p-1) of p pairs, but with p taken for the number of channels.",
    lambda dim, base, factor: plain(dim, base * factor ** (dim / (dim - 1))),
)
wrong_frequencies(
    CALLS,
    "of llama",
    "The power of 128 channels for any number.",
    lambda dim, base, factor: plain(dim, base * factor ** (128 / 126)),
)


class NtkScalesX(Ntk):
    """x is multiplied by 0.1 ln 4 + 1, as in YaRN."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        scale = 0.1 * np.log(4.0) + 1
        return super().turn(a * scale, b * scale, sin, cos)


class NtkBack(_Frequencies, BackwardCall, Mistake, steps=True):
    """Upstream gradients rotated back at the same frequencies, in steps."""

    call = "ntk_aware_vjp"


backward_mistakes(NtkBack)

below_zero(Ntk, "interleaved")
below_zero(NtkBack, "interleaved")
