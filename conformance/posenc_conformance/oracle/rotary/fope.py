"""FoPE by its definition: sums of waves, multiplied by pairs of channels."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def fope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded x at (…, row, channel)."""
    x, positions = arguments["x"], arguments["positions"]
    sines, cosines = arguments["sin_coef"], arguments["cos_coef"]
    half = x.shape[-1] // 2
    base = mpmath.mpf(float(arguments.get("base", 10000)))
    floor = 2 * mpmath.pi / int(arguments["original_max_position_embeddings"])
    powers = [mpmath.power(base, -mpmath.mpf(t) / half) for t in range(half)]
    omega = [power for power in powers if power > floor]

    def number(array: Any, *index: int) -> mpmath.mpf:
        return mpmath.mpf(float(array[index]))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, channel = index
        second, t = divmod(channel, half)
        own = number(x, *place, channel)
        other = number(x, *place, t + half * (1 - second)) * (1 if second else -1)
        if t >= sines.shape[1]:
            return own if conventions["rest"] == "unchanged" else own + other
        p = int(positions[place[-1]])
        cos = mpmath.fsum(number(cosines, i, t) * mpmath.cos(p * w) for i, w in enumerate(omega))
        sin = mpmath.fsum(number(sines, i, t) * mpmath.sin(p * w) for i, w in enumerate(omega))
        return own * cos + other * sin

    return value


VALUES = {"fope": fope}
