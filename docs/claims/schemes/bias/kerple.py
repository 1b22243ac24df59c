import math
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import sympy

import posenc


def _losses(r1: float, r2: float, n: int, form: str) -> np.ndarray:
    """Compute the bias of one query at the last of n keys, by distance."""
    return posenc.kerple_bias([r1], [r2], 1, n, form=form)[0, 0, ::-1]


def power_of_distance() -> None:
    """Exponentials of the bias are a power of distance; ALiBi's eventually fall below it."""
    distance = np.arange(200)
    for r1, r2 in ((0.5, 1.0), (2.0, 0.25), (1.5, 4.0)):
        weights = np.exp(_losses(r1, r2, 200, "log"))
        assert np.allclose(weights, (1 + r2 * distance) ** -r1, rtol=1e-13)
    x = sympy.symbols("x", positive=True)
    assert sympy.limit(sympy.exp(-x) * (1 + x) ** 5, x, sympy.oo) == 0


def conditionally_positive() -> None:
    """Eigenvalues of both kernels, on vectors that sum to 0, for 40 points and many exponents."""
    points = np.arange(40.0)
    distance = np.abs(points[:, None] - points)
    centred = np.eye(40) - 1 / 40

    def least(kernel: np.ndarray) -> float:
        values = np.linalg.eigvalsh(centred @ kernel @ centred)
        return float(values[0] / np.abs(values).max())

    for r2 in (0.1, 1.0, 10.0):
        assert least(-np.log(1 + r2 * distance)) > -1e-12
    for r2 in (0.25, 0.5, 1.0, 1.5, 1.9, 2.0):
        assert least(-(distance**r2)) > -1e-12
    for r2 in (2.1, 2.5, 3.0):
        assert least(-(distance**r2)) < -1e-6


def powers_from_cosines() -> None:
    """Both integrals by mpmath, for three exponents and two distances."""

    def integral(x: float, r: float) -> mpmath.mpf:
        # 1 - cos as a square, which does not cancel near 0
        near = mpmath.quad(lambda t: 2 * mpmath.sin(t * x / 2) ** 2 / t ** (1 + r), [0, 0.5, 1])
        waves = mpmath.quadosc(lambda t: mpmath.cos(t * x) / t ** (1 + r), [1, mpmath.inf], omega=x)
        return near + 1 / mpmath.mpf(r) - waves

    for r in (0.5, 1.0, 1.5):
        for x in (0.7, 3.0):
            assert mpmath.almosteq(integral(x, r), mpmath.mpf(x) ** r * integral(1, r), 1e-9)


def logarithm_from_cosines() -> None:
    """Both integrals by mpmath, for several distances."""
    for s, x in ((0.5, 1.0), (2.0, 3.0)):
        half = mpmath.quadosc(
            lambda t, s=s, x=x: s * mpmath.cos(t * x) / (mpmath.pi * (s**2 + t**2)),
            [0, mpmath.inf],
            omega=x,
        )
        assert mpmath.almosteq(2 * half, mpmath.exp(-s * x), 1e-9)
    for y in (0.01, 1.0, 50.0):
        integral = mpmath.quad(
            lambda s, y=y: -mpmath.expm1(-s * y) * mpmath.exp(-s) / s, [0, 0.1, 1, 10, mpmath.inf]
        )
        assert mpmath.almosteq(integral, mpmath.log(1 + y), 1e-9)


def special_powers() -> None:
    """The power form at exponent 1 is ALiBi, at exponent 2 quadratic."""
    for slope in (0.5, 0.125, 2.0):
        distance = np.arange(50.0)
        assert np.array_equal(_losses(slope, 1.0, 50, "power"), -slope * distance)
        assert np.array_equal(_losses(slope, 2.0, 50, "power"), -slope * distance**2)
    alibi = posenc.alibi_bias(8, 20, 20)
    assert np.array_equal(
        posenc.kerple_bias(posenc.alibi_slopes(8), np.ones(8), 20, 20, form="power"), alibi
    )


def second_derivative() -> None:
    """SymPy differentiates twice."""
    x, r1, r2 = sympy.symbols("x r_1 r_2", positive=True)
    twice = sympy.diff(-r1 * sympy.log(1 + r2 * x), x, 2)
    assert sympy.simplify(twice - r1 * r2**2 / (1 + r2 * x) ** 2) == 0


def powers_multiply() -> None:
    """Each equation holds for its form and fails for the other."""
    power, log = _losses(0.7, 1.3, 101, "power"), _losses(0.7, 1.3, 101, "log")
    for m in range(1, 11):
        for n in range(1, 11):
            assert math.isclose(power[m] * power[n], power[1] * power[m * n], rel_tol=1e-12)
    assert not math.isclose(log[2] * log[5], log[1] * log[10], rel_tol=1e-3)
    assert np.allclose(_losses(0.7, 2.6, 51, "log"), log[::2], rtol=1e-13)
    assert not np.allclose(_losses(0.7, 1.7, 51, "power"), power[::2], rtol=1e-3)


def bfloat16_sum() -> tuple[str, str]:
    """The spacing of bfloat16 above 1, and the loss at distance 1 from a rounded sum."""
    rounded = float(np.array(1 + 0.01).astype(ml_dtypes.bfloat16))
    step = Fraction(float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps))
    assert 0.2 < 1 - math.log(rounded) / math.log1p(0.01) < 0.22
    return f"{step}, and", "r_2 = 0.01"


def three_points() -> None:
    """The quadratic form by SymPy, and the exponent at which its sign changes."""
    r = sympy.symbols("r", positive=True)
    weights = (1, -2, 1)
    form = sum(
        -weights[a] * weights[b] * sympy.Integer(abs(a - b)) ** r
        for a in range(3)
        for b in range(3)
        if a != b
    )
    assert sympy.simplify(form - (8 - 2 ** (r + 1))) == 0
    assert sympy.solve(sympy.Eq(form, 0), r) == [2]
    assert form.subs(r, 1) > 0 > form.subs(r, 3)


def where_they_meet() -> tuple[str, str]:
    """Penalties of both forms by distance."""
    log = -_losses(1.0, 1.0, 1000, "log")
    line = np.arange(1000) / 16
    dearer = np.flatnonzero(log > line)
    assert dearer.tolist() == list(range(1, dearer[-1] + 1))
    return f"up to distance {dearer[-1]}", f"from distance {dearer[-1] + 1} on"
