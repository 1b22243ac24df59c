"""YaRN: rotary embedding for texts longer than those that the model was trained on.

Source: Peng, Quesnelle, Fan and Shippole 2023, "YaRN: Efficient Context Window Extension of Large
Language Models", arXiv 2309.00071, definitions 2 and 3, equations 17 to 22.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.elementary import times
from posenc.exact import Array, Pair, progression, sincos, turns, words

__all__ = ["yarn", "yarn_frequencies", "yarn_vjp"]

RAMPS = ("index", "untruncated", "rotations")
LAYOUTS = ("half", "interleaved")
TEMPERATURES = ("scaled", "seven-hundredths", "none")

_DIGITS = 60
_NOT_EMPTY = Decimal("0.001")
_TURNS_PER_RADIAN = sum(map(Decimal, turns((Decimal(1),))[:, 0].tolist()), Decimal(0))
"""1 / 2π to 48 digits: the turns per position of a frequency of 1."""


def yarn_frequencies(
    rotary_dim: int,
    *,
    base: float = 10000.0,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    ramp: str = "index",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the radians per position of each pair: fast as in RoPE, slow divided by ``factor``.

    Pair t has ``w * (kept + (1 - kept) / factor)`` with RoPE's ``w = base ** (-2t / rotary_dim)``.
    The share ``kept`` falls from 1 to 0 along a ramp between the pairs that turn beta_fast and
    beta_slow times within the original length L.

    Parameters
    ----------
    rotary_dim : int
        Rotated channels, even.
    base : float
        Base of the geometric progression, above 1.
    factor : float
        Ratio of the new length to the trained one, at least 1.
    original_max_position_embeddings : int
        L, the trained length of the model.
    beta_fast, beta_slow : float
        Turns within L at which the ramp ends: pairs with more than beta_fast are kept, pairs with
        fewer than beta_slow divided. beta_fast is larger; it may be equal unless the ramp is
        "rotations", and then the ramp is one step of t wide, or nearly a jump.
    ramp : "index", "untruncated" or "rotations"
        Linear in t between the values at which a pair would turn beta_fast and beta_slow times,
        rounded down and up, as in the authors' code; the same without rounding, as in gpt-oss; or
        linear in the number of turns, as in the paper (equation 18).
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [rotary_dim // 2]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or the ramp would run backwards because L is too
        short or too long for the base.
    """
    arguments.choice("ramp", ramp, RAMPS)
    size = rotation.width(None, arguments.integer("rotary_dim", rotary_dim, 2))
    recipe = checked(base, factor, original_max_position_embeddings, beta_fast, beta_slow, ramp)
    return np.array(_frequencies(size, *recipe, ramp), dtype=np.float64).astype(dtype)


def yarn(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    ramp: str = "index",
    temperature: str = "scaled",
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float | None = None,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of queries or keys at YaRN's frequencies, and scale its length.

    The length of every rotated pair is multiplied by ``0.1 * ln(factor) + 1``, on queries and on
    keys, so that logits grow by its square: the paper's temperature (equation 22).

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base, factor, original_max_position_embeddings, beta_fast, beta_slow, ramp
        As for :func:`yarn_frequencies`.
    temperature : "scaled", "seven-hundredths" or "none"
        Factor on the length of pairs: as above; ``0.07 * ln(factor) + 1``; or 1, which is the
        paper's NTK-by-parts.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + r/2).
    rotary_dim : int or None
        Number r of leading channels that are rotated; the others stay unchanged. Frequencies and
        the bounds of the ramp depend on r. None rotates all.
    attention_factor : float or None
        Factor on the length of pairs that replaces all others.
    mscale, mscale_all_dim : float or None
        Both or neither, with the temperature "scaled": the factor on the length of pairs is
        ``0.1 * mscale * ln(factor) + 1`` divided by the same with mscale_all_dim.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("layout", layout, LAYOUTS)
    arguments.choice("ramp", ramp, RAMPS)
    arguments.choice("temperature", temperature, TEMPERATURES)
    values = rotation.queries_or_keys("x", x)
    size = rotation.width(rotary_dim, values.shape[-1])
    recipe = checked(base, factor, original_max_position_embeddings, beta_fast, beta_slow, ramp)
    if attention_factor is not None:
        longer = Decimal(_above("attention_factor", attention_factor, 0))
    elif temperature == "none":
        longer = Decimal(1)
    elif temperature == "seven-hundredths":
        if mscale is not None or mscale_all_dim is not None:
            raise ValueError("mscale and mscale_all_dim weigh 0.1 ln(factor), not 0.07 ln(factor)")
        longer = magnitude(float(factor), Decimal("0.7"))
    else:
        longer = lengthening(float(factor), mscale, mscale_all_dim)
    amplitude = Pair(*map(np.asarray, words(longer, 2)))
    sin, cos = sincos(rotation.rows(positions, values.shape), turns_of_pairs(size, *recipe, ramp))
    scaled = times(sin, amplitude), times(cos, amplitude)
    return rotation.turned(values, *scaled, layout, layout)


yarn_vjp = rotation.transpose(yarn)
"""Gradient of a loss with respect to the x of :func:`yarn`.

It applies the transpose, which is not the inverse: each pair rotates back, but is multiplied, not
divided, by the factor of the forward pass. x is the gradient with respect to the rotated queries or
keys; all other arguments are as in :func:`yarn`.
"""


def _above(name: str, value: float, bound: float) -> float:
    number = float(value)
    if not (np.isfinite(number) and number > bound):
        raise ValueError(f"{name} is {value!r}; it must be a finite number above {bound:g}")
    return number


def checked(
    base: float,
    factor: float,
    length: int,
    beta_fast: float,
    beta_slow: float,
    ramp: str = "index",
) -> tuple[float, float, int, float, float]:
    """Check the parameters of the frequencies, and return them."""
    slow = _above("beta_slow", beta_slow, 0)
    fast = _above("beta_fast", beta_fast, slow if ramp == "rotations" else 0)
    if fast < slow:
        raise ValueError(f"beta_fast is {fast:g}, below beta_slow, which is {slow:g}")
    if not (np.isfinite(factor) and factor >= 1):
        raise ValueError(f"factor is {factor!r}; it must be a finite number of at least 1")
    whole = arguments.integer("original_max_position_embeddings", length, 1)
    return _above("base", base, 1), float(factor), whole, fast, slow


def lengthening(factor: float, mscale: float | None, mscale_all_dim: float | None) -> Decimal:
    """Return the factor on the length of pairs."""
    if (mscale is None) != (mscale_all_dim is None):
        raise ValueError(
            f"mscale is {mscale} and mscale_all_dim is {mscale_all_dim}; they come together"
        )
    if mscale is None or mscale_all_dim is None:
        return magnitude(factor, 1.0)
    above, below = _above("mscale", mscale, 0), _above("mscale_all_dim", mscale_all_dim, 0)
    with localcontext(prec=_DIGITS):
        return magnitude(factor, above) / magnitude(factor, below)


@lru_cache(maxsize=32)
def magnitude(factor: float, mscale: float | Decimal) -> Decimal:
    """Return ``0.1 * mscale * ln(factor) + 1``."""
    with localcontext(prec=_DIGITS):
        return Decimal(mscale) * Decimal(factor).ln() / 10 + 1


@lru_cache(maxsize=8)
def turns_of_pairs(
    size: int, base: float, factor: float, length: int, fast: float, slow: float, ramp: str
) -> Array:
    """Return the frequencies of all pairs, in turns."""
    return turns(_frequencies(size, base, factor, length, fast, slow, ramp))


@lru_cache(maxsize=8)
def _frequencies(
    size: int, base: float, factor: float, length: int, fast: float, slow: float, ramp: str
) -> tuple[Decimal, ...]:
    """Return the radians per position of each pair, to about 45 digits."""
    plain = progression(base, Fraction(2, size), size // 2)
    with localcontext(prec=_DIGITS):
        first = length * _TURNS_PER_RADIAN
        if ramp == "rotations":
            span = Decimal(fast) - Decimal(slow)
            shares = [_clipped((first * theta - Decimal(slow)) / span) for theta in plain]
        else:
            low, high = (_place(first, beta, base, size) for beta in (fast, slow))
            low, high = _bounds(low, high, size, rounded=ramp == "index")
            shares = [1 - _clipped((t - low) / (high - low)) for t in range(size // 2)]
        return tuple(
            theta * (part + (1 - part) / Decimal(factor))
            for theta, part in zip(plain, shares, strict=True)
        )


def _clipped(value: Decimal) -> Decimal:
    return min(max(value, Decimal(0)), Decimal(1))


def _place(first: Decimal, beta: float, base: float, size: int) -> Decimal:
    """Return the t at which a pair would turn beta times within L.

    It is never a whole number, since π is transcendental.
    """
    return size * (first / Decimal(beta)).ln() / (2 * Decimal(base).ln())


def _bounds(low: Decimal, high: Decimal, size: int, rounded: bool) -> tuple[Decimal, Decimal]:
    """Return the start and the end of the ramp, as in released code.

    The end is below size, not size / 2: the last pair may lie on the ramp.
    """
    if rounded:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(size - 1))
    if low > high:
        raise ValueError(
            f"the ramp would begin at pair {low:.4g} and end at {high:.4g}: "
            "original_max_position_embeddings is too short or too long for this base"
        )
    return low, high if low < high else high + _NOT_EMPTY
