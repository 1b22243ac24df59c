import math

import mpmath
import numpy as np

import posenc


def every_fourth() -> None:
    """Positions 0, 4, 8, … with factor 4 rotate like 0, 1, 2, … without; 2 is in between."""
    x = np.random.default_rng(0).standard_normal((32, 64))
    squeezed = posenc.position_interpolation(x, 4 * np.arange(32), factor=4)
    assert np.allclose(squeezed, posenc.rope(x, np.arange(32)), atol=1e-13)
    between = posenc.position_interpolation(x[:1], [2], factor=4)
    assert np.allclose(posenc.rope(between, [0]), between)
    assert not np.allclose(between, posenc.rope(x[:1], [0]), atol=0.1)


def _sums(dim: int = 128) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """Compute three numbers with 50 digits.

    They are Σθ², the counter-example's gap to the line at 1/2, and b^(-4/d) - 1 + (4/d) ln b.
    """
    with mpmath.workdps(50):
        theta = [mpmath.mpf(10000) ** (-mpmath.mpf(2 * t) / dim) for t in range(dim // 2)]
        deviation = mpmath.fsum(1 - mpmath.cos(frequency / 2) for frequency in theta)
        tangent = 1 - mpmath.mpf(4) / dim * mpmath.log(10000)
        return mpmath.fsum(t * t for t in theta), deviation, theta[1] ** 2 - tangent


def theorem() -> tuple[str, ...]:
    """mpmath at 50 digits; the deviation also from posenc's vectors at integer distances."""
    squares, deviation, above_tangent = _sums()
    assert above_tangent > 0
    replaced = 128 / (4 * mpmath.log(10000))
    allowed = 128 / (32 * mpmath.log(10000))
    assert deviation > allowed
    query = np.tile([[1.0, 0.0]], (1, 64))
    key = posenc.position_interpolation(query, [1], factor=2)[0]
    scores = posenc.position_interpolation(np.repeat(query, 3, axis=0), [0, 1, 2], factor=2) @ key
    assert math.isclose(scores[1] - (scores[0] + scores[2]) / 2, deviation, rel_tol=1e-9)
    return tuple(
        mpmath.nstr(number, digits)
        for number, digits in ((squares, 4), (replaced, 4), (deviation, 3), (allowed, 3))
    )


def corrected_bound() -> str:
    """The counter-example and 1,000 random coefficients stay within Σθ²/8 halfway."""
    squares, deviation, _ = _sums()
    bound = float(squares) / 8
    assert deviation <= bound
    theta = posenc.position_interpolation_frequencies(128, factor=1)
    random = np.random.default_rng(0)
    h = np.exp(2j * np.pi * random.random((1000, 64)))
    at = [(h * np.exp(1j * place * theta)).sum(axis=1).real for place in (7, 7.5, 8)]
    assert np.abs(at[1] - (at[0] + at[2]) / 2).max() <= bound
    return f"at most {bound:.3f} in the example"


def renumbered() -> tuple[str, ...]:
    """The shift by logarithms; posenc's frequencies are those of pairs t + shift."""
    shift = 128 * math.log(16) / (2 * math.log(10000))
    frequencies = posenc.position_interpolation_frequencies(128, factor=16)
    assert np.allclose(frequencies, 10000.0 ** (-2 * (np.arange(64) + shift) / 128), rtol=1e-12)
    return f"which is {shift:.2f}", f"\\(t + {shift:.2f}\\)"


def float32() -> None:
    """NumPy's float32 in that order of operations, for factors from 2 to 16, against posenc."""
    single = np.float32
    power = single(10000) ** (np.arange(0, 128, 2).astype(single) / single(128))
    for factor in (2, 4, 8, 16):
        formed = (single(1) / power) / single(factor)
        truth = posenc.position_interpolation_frequencies(128, factor=factor)
        error = np.abs(formed.astype(np.float64) / truth - 1).max() / 2.0**-24
        assert 0.1 < error < 2
