"""LongRoPE: rotary embedding with a separate divisor for each frequency.

Source: Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens", arXiv
2402.13753, equation 3; microsoft/LongRoPE and Phi-3 in transformers for the length of the pairs
and the choice between two lists.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.elementary import times
from posenc.exact import Array, Pair, progression, sincos, turns, words

__all__ = ["longrope", "longrope_frequencies", "longrope_vjp"]

CHOICES = ("length", "long")
AMPLITUDES = ("su", "yarn")
LAYOUTS = ("half", "interleaved")

_DIGITS = 60


def longrope_frequencies(
    factors: npt.ArrayLike, *, base: float = 10000.0, dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.floating]:
    """Return the radians per position of each pair: ``1 / (factors[t] * base ** (2t / r))``.

    Parameters
    ----------
    factors : floating array of shape [r / 2]
        Divisor of each frequency; finite and above 0.
    base : float
        Base of the geometric progression of frequencies.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [r / 2]

    Raises
    ------
    TypeError, ValueError
        If factors are not one row of numbers above 0, or base is out of its domain.
    """
    divisors = _divisors("factors", factors)
    frequencies = _frequencies(divisors, arguments.base(base))
    return np.array(frequencies, dtype=np.float64).astype(dtype)


def longrope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    short_factors: npt.ArrayLike,
    long_factors: npt.ArrayLike,
    *,
    base: float = 10000.0,
    factor: float,
    original_max_position_embeddings: int,
    choice: str = "length",
    amplitude: str = "su",
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float | None = None,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of queries or keys at a frequency divided by its factor, and scale it.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    short_factors, long_factors : floating arrays of shape [r / 2]
        Divisor of each frequency in short and in long texts.
    base : float
        Base of the geometric progression of frequencies.
    factor : float
        s, the ratio of the new length to the trained one.
    original_max_position_embeddings : int
        L, the trained length of the model, at least 2.
    choice : "length" or "long"
        long_factors if the largest position plus 1 is more than L, else short_factors, for all
        rows; or always long_factors.
    amplitude : "su" or "yarn"
        Factor on the length of pairs if s is above 1: ``sqrt(1 + ln(s) / ln(L))`` or
        ``0.1 * ln(s) + 1``.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + r/2).
    rotary_dim : int or None
        Number r of leading channels that are rotated; the others stay unchanged. None rotates all.
    attention_factor : float or None
        Factor on the length of pairs that replaces the one of ``amplitude``.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x or factors are not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    return _turned(
        x,
        positions,
        short_factors,
        long_factors,
        base=base,
        factor=factor,
        original_max_position_embeddings=original_max_position_embeddings,
        choice=choice,
        amplitude=amplitude,
        layout=layout,
        rotary_dim=rotary_dim,
        attention_factor=attention_factor,
        forward=True,
    )


def longrope_vjp(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    short_factors: npt.ArrayLike,
    long_factors: npt.ArrayLike,
    *,
    base: float = 10000.0,
    factor: float,
    original_max_position_embeddings: int,
    choice: str = "length",
    amplitude: str = "su",
    layout: str = "interleaved",
    rotary_dim: int | None = None,
    attention_factor: float | None = None,
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the x of :func:`longrope`.

    The gradient with respect to the result is multiplied by the transpose, which is not the
    inverse: each pair rotates back, but is multiplied, not divided, by the factor of the forward
    pass. The positions choose the same list of factors.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Gradient with respect to the rotated queries or keys.
    positions, short_factors, long_factors, base, factor, original_max_position_embeddings
        As in :func:`longrope`.
    choice, amplitude, layout, rotary_dim, attention_factor
        As in :func:`longrope`.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`longrope`.
    """
    return _turned(
        x,
        positions,
        short_factors,
        long_factors,
        base=base,
        factor=factor,
        original_max_position_embeddings=original_max_position_embeddings,
        choice=choice,
        amplitude=amplitude,
        layout=layout,
        rotary_dim=rotary_dim,
        attention_factor=attention_factor,
        forward=False,
    )


def _turned(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    short_factors: npt.ArrayLike,
    long_factors: npt.ArrayLike,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    choice: str,
    amplitude: str,
    layout: str,
    rotary_dim: int | None,
    attention_factor: float | None,
    forward: bool,
) -> npt.NDArray[np.floating]:
    arguments.choice("choice", choice, CHOICES)
    arguments.choice("amplitude", amplitude, AMPLITUDES)
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    size = rotation.width(rotary_dim, values.shape[-1])
    where = rotation.rows(positions, values.shape)
    trained = arguments.integer(
        "original_max_position_embeddings", original_max_position_embeddings, 2
    )
    lists = {
        name: _divisors(name, factors)
        for name, factors in (("short_factors", short_factors), ("long_factors", long_factors))
    }
    for name, divisors in lists.items():
        if len(divisors) != size // 2:
            raise ValueError(f"{name} has {len(divisors)} numbers; there are {size // 2} pairs")
    long = choice == "long" or np.max(where, initial=-1) + 1 > trained
    chosen = lists["long_factors" if long else "short_factors"]
    if attention_factor is not None:
        longer = Decimal(_above_0("attention_factor", attention_factor))
    else:
        longer = _length(_above_0("factor", factor), trained, amplitude)
    pair = Pair(*map(np.asarray, words(longer, 2)))
    sin, cos = sincos(where if forward else -where, _turns(chosen, arguments.base(base)))
    return rotation.turned(values, times(sin, pair), times(cos, pair), layout, layout)


def _above_0(name: str, value: float) -> float:
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value!r}; it must be a finite number above 0")
    return number


def _divisors(name: str, factors: npt.ArrayLike) -> tuple[float, ...]:
    array = np.asarray(factors)
    if array.dtype.kind not in "fViu":
        raise TypeError(f"{name} is {array.dtype}; it must be numbers")
    numbers = array.astype(np.float64)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"{name} has shape {numbers.shape}; it must be a number for each pair")
    if not np.all(np.isfinite(numbers) & (numbers > 0)):
        raise ValueError(f"{name} must be finite numbers above 0")
    return tuple(numbers.tolist())


@lru_cache(maxsize=32)
def _length(factor: float, trained: int, amplitude: str) -> Decimal:
    """Return the factor on the length of pairs."""
    if factor <= 1:
        return Decimal(1)
    with localcontext(prec=_DIGITS):
        grown = Decimal(factor).ln()
        return (1 + grown / Decimal(trained).ln()).sqrt() if amplitude == "su" else grown / 10 + 1


@lru_cache(maxsize=8)
def _turns(divisors: tuple[float, ...], base: float) -> Array:
    return turns(_frequencies(divisors, base))


@lru_cache(maxsize=8)
def _frequencies(divisors: tuple[float, ...], base: float) -> tuple[Decimal, ...]:
    """Return the radians per position of each pair, to about 60 digits."""
    plain = progression(base, Fraction(1, len(divisors)), len(divisors))
    with localcontext(prec=_DIGITS):
        return tuple(
            theta / Decimal(divisor) for theta, divisor in zip(plain, divisors, strict=True)
        )
