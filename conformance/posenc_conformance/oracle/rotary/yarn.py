"""YaRN by its definition (Peng et al. 2023): wavelengths, turns counted, complex multiplication.

Whole bounds of the ramp are found by counting pairs, not by solving for them.
"""

from functools import lru_cache
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed


def number(value: Any) -> mpmath.mpf:
    """Return a number as an mpf, exactly."""
    return mpmath.mpf(float(value))


def share_kept(arguments: Arguments, ramp: str, size: int, pair: int) -> mpmath.mpf:
    """Return the share of a pair's frequency that is not divided by the factor."""
    fast, slow = number(arguments.get("beta_fast", 32)), number(arguments.get("beta_slow", 1))
    base, length = number(arguments["base"]), arguments["original_max_position_embeddings"]
    if ramp == "rotations":
        return min(max((turned(base, length, size, pair) - slow) / (fast - slow), 0), 1)
    if ramp == "index":
        low, high = counted_bounds(base, length, fast, slow, size, mpmath.mp.prec)
    else:
        low, high = (
            mpmath.log(length / (2 * mpmath.pi * beta), base) * size / 2 for beta in (fast, slow)
        )
        low, high = max(low, 0), min(high, size - 1)
    if low == high:
        return mpmath.mpf(pair <= low)
    return 1 - min(max((pair - low) / (mpmath.mpf(high) - low), 0), 1)


def turned(base: mpmath.mpf, length: int, size: int, t: int) -> mpmath.mpf:
    """Return the number of turns of pair t within the original context."""
    return length / (2 * mpmath.pi * mpmath.power(base, mpmath.mpf(2) * t / size))


@lru_cache(maxsize=256)
def counted_bounds(
    base: mpmath.mpf, length: int, fast: mpmath.mpf, slow: mpmath.mpf, size: int, precision: int
) -> tuple[int, int]:
    """Find the last pair that turns fast and the first that turns slowly, by counting turns.

    ``precision`` is mpmath's working precision; as an argument it is part of the cache key.
    """
    turns = [turned(base, length, size, t) for t in range(size)]
    low = max((t for t in range(size) if turns[t] >= fast), default=0)
    high = min((t for t in range(size) if turns[t] <= slow), default=size - 1)
    return low, high


def frequency(arguments: Arguments, ramp: str, size: int, pair: int) -> mpmath.mpf:
    """Return the frequency of a pair, in radians per position."""
    plain = mpmath.power(number(arguments["base"]), -mpmath.mpf(2 * pair) / size)
    share = share_kept(arguments, ramp, size, pair)
    return (1 - share) * plain / number(arguments["factor"]) + share * plain


def longer(arguments: Arguments, temperature: str) -> mpmath.mpf:
    """Return the factor on the length of pairs."""
    if arguments.get("attention_factor") is not None:
        return number(arguments["attention_factor"])
    if temperature == "none":
        return mpmath.mpf(1)
    if temperature == "seven-hundredths":
        return 1 + 7 * mpmath.log(number(arguments["factor"])) / 100
    grown = mpmath.log(number(arguments["factor"])) / 10
    if arguments.get("mscale") is None:
        return 1 + grown
    return (1 + number(arguments["mscale"]) * grown) / (
        1 + number(arguments["mscale_all_dim"]) * grown
    )


def yarn_frequencies(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the frequency at (pair,)."""
    size = int(arguments["rotary_dim"])
    return lambda index: frequency(arguments, conventions["ramp"], size, index[0])


def yarn(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x = arguments["x"]
    width = int(arguments.get("rotary_dim") or x.shape[-1])
    channels = (
        (lambda t: (t, t + width // 2))
        if conventions["layout"] == "half"
        else (lambda t: (2 * t, 2 * t + 1))
    )
    place = {
        channel: (t, part) for t in range(width // 2) for part, channel in enumerate(channels(t))
    }
    length = longer(arguments, conventions["temperature"])
    cached: dict[int, mpmath.mpf] = {}

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        if channel not in place:
            return number(x[index])
        pair, part = place[channel]
        if pair not in cached:
            cached[pair] = frequency(arguments, conventions["ramp"], width, pair)
        real, imaginary = (float(x[(*row, source)]) for source in channels(pair))
        turn = mpmath.expj(int(arguments["positions"][row[-1]]) * cached[pair])
        turned = length * mpmath.mpc(real, imaginary) * turn
        return turned.imag if part else turned.real

    return value


VALUES = {"yarn": yarn, "yarn_vjp": transposed(yarn), "yarn_frequencies": yarn_frequencies}
