"""LongRoPE by its definition (Ding et al. 2024, eq. 3) and Phi-3's two lists."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed


def frequency(base: float, factors: Any, pair: int) -> mpmath.mpf:
    """Return the frequency of a pair, in radians per position."""
    power = mpmath.power(mpmath.mpf(float(base)), mpmath.mpf(pair) / len(factors))
    return 1 / (mpmath.mpf(float(factors[pair])) * power)


def longrope_frequencies(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the frequency at (pair,)."""
    return lambda index: frequency(arguments["base"], arguments["factors"], index[0])


def longer(arguments: Arguments, policy: str) -> mpmath.mpf:
    """Return the factor on the length of pairs."""
    if arguments.get("attention_factor") is not None:
        return mpmath.mpf(float(arguments["attention_factor"]))
    scale = mpmath.mpf(float(arguments["factor"]))
    if scale <= 1:
        return mpmath.mpf(1)
    if policy == "yarn":
        return 1 + mpmath.log(scale) / 10
    trained = arguments["original_max_position_embeddings"]
    return mpmath.sqrt(mpmath.log(scale * trained) / mpmath.log(trained))


def longrope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x, positions = arguments["x"], [int(position) for position in arguments["positions"]]
    short, long = arguments["short_factors"], arguments["long_factors"]
    fits = all(p < arguments["original_max_position_embeddings"] for p in positions)
    factors = short if conventions["choice"] == "length" and fits else long
    half = len(factors)
    length = longer(arguments, conventions["amplitude"])
    cached: dict[int, mpmath.mpf] = {}

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        if channel >= 2 * half:
            return mpmath.mpf(float(x[index]))
        if conventions["layout"] == "half":
            part, pair = divmod(channel, half)
            sources = pair, pair + half
        else:
            pair, part = divmod(channel, 2)
            sources = 2 * pair, 2 * pair + 1
        if pair not in cached:
            cached[pair] = frequency(arguments["base"], factors, pair)
        real, imaginary = (float(x[(*row, source)]) for source in sources)
        turned = mpmath.mpc(real, imaginary) * mpmath.expj(positions[row[-1]] * cached[pair])
        return length * (turned.imag if part else turned.real)

    return value


VALUES = {
    "longrope": longrope,
    "longrope_vjp": transposed(longrope),
    "longrope_frequencies": longrope_frequencies,
}
