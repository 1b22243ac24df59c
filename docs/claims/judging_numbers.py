import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import sympy

import posenc
from claims import rounded
from posenc_conformance.judge.case import Case
from posenc_conformance.registry import load_all

U = 2.0**-24
SINUSOIDAL = next(scheme for scheme in load_all() if scheme.id == "sinusoidal")


def _table(positions: Any, dtype: Any, dim: int = 64, wave: Any = np.sin) -> Any:
    """Compute sines with positions, frequencies and angles of a dtype; return float64."""
    frequencies = 10000.0 ** -(np.arange(dim // 2) / (dim // 2))
    with np.errstate(over="ignore", invalid="ignore"):  # float16 ends at 65,504
        angles = np.asarray(positions).astype(dtype)[:, None] * frequencies.astype(dtype)
        fine = np.float64 if dtype == np.float64 else np.float32
        return wave(angles.astype(fine)).astype(np.float64)


def _error(positions: Any, dtype: Any) -> Any:
    """Return the largest error at each position."""
    truth = posenc.sinusoidal(positions, 64)[:, 0::2]
    return np.abs(_table(positions, dtype) - truth).max(axis=1)


def fixed_tolerance() -> tuple[str, str]:
    """The power of two at which each error first exceeds a thousandth, and errors within bounds."""
    positions = 2 ** np.arange(20)
    for angles, v in ((np.float64, 2.0**-53), (np.float32, U)):
        assert (_error(positions, angles) <= 4 * v + 4 * v * positions).all()
    for narrow in (np.float16, ml_dtypes.bfloat16):
        assert not (_error(positions, narrow) <= 4 * U + 4 * U * positions)[1:].any()
    firsts = []
    for dtype in (np.float16, np.float32):
        within = _error(positions, dtype) <= 1e-3
        firsts.append(int(np.argmin(within)))
    return f"up to position {positions[firsts[0] - 1]}", f"{positions[firsts[1]]:,}"


def first_collision() -> None:
    """257 in bfloat16 is 256, and the angles of the fastest pair differ by one radian."""
    rounded = np.array([256, 257]).astype(ml_dtypes.bfloat16).astype(int)
    assert rounded.tolist() == [256, 256]
    assert 257 * 1.0 - rounded[1] * 1.0 == 1


def _collisions(dtype: Any, bits: int) -> tuple[str, ...]:
    assert ml_dtypes.finfo(dtype).nmant + 1 == bits
    around = np.arange(2**bits - 4, 2**bits + 4)
    lost = around[around.astype(dtype).astype(np.int64) != around][0]
    below = np.arange(min(2**bits, 2**16))
    assert (below.astype(dtype) == below).all()
    distinct = len(np.unique(np.arange(2000).astype(dtype).astype(np.float64)))
    return f"| {bits} |", f"{lost:,}", f"| {distinct:,}"


def collisions_bfloat16() -> tuple[str, ...]:
    """Rounding whole numbers to bfloat16."""
    return _collisions(ml_dtypes.bfloat16, 8)


def collisions_float16() -> tuple[str, ...]:
    """Rounding whole numbers to float16."""
    return _collisions(np.float16, 11)


def collisions_float32() -> tuple[str, ...]:
    """Rounding whole numbers to float32."""
    return _collisions(np.float32, 24)


def cauchy_schwarz() -> None:
    """SymPy: s^2 minus the squared sum is the stated square, for magnitudes a and b."""
    a, b, t = sympy.symbols("a b t", real=True)
    sine, cosine = sympy.sin(t), sympy.cos(t)
    residual = a**2 + b**2 - (a * cosine + b * sine) ** 2 - (a * sine - b * cosine) ** 2
    assert sympy.simplify(sympy.expand(residual)) == 0


def turned_in_bfloat16() -> str:
    """Pairs rotated in bfloat16 with every operation rounded, against float64, in units of v s."""
    random = np.random.default_rng(5)
    x = random.normal(size=(2, 200_000)).astype(ml_dtypes.bfloat16)
    angle = random.uniform(0, 2 * np.pi, x.shape[1])
    cosine, sine = (part.astype(ml_dtypes.bfloat16) for part in (np.cos(angle), np.sin(angle)))
    got = (x[0] * cosine - x[1] * sine).astype(np.float64)
    x = x.astype(np.float64)
    off = np.abs(got - (x[0] * np.cos(angle) - x[1] * np.sin(angle)))
    worst = float((off / (2.0**-8 * np.hypot(*x))).max())
    assert worst < 3
    return f"{worst:.2f}"


def rounded_truth() -> tuple[str, str]:
    """A bias with three roundings, against the exact bias and against it rounded to float64."""
    worst = [0.0, 0.0]
    for sigma in (29.771234122634727, 30.194450995760484, 0.7, 3.3):
        for distance in range(1, 1001):
            quotient = distance / sigma
            got = Fraction(-(quotient * quotient) / 2)
            exact = -((distance / Fraction(sigma)) ** 2) / 2
            unit = Fraction(2) ** -53 * abs(exact)
            for place, truth in enumerate((exact, Fraction(float(exact)))):
                worst[place] = max(worst[place], float(abs(got - truth) / unit))
    assert worst[0] < 3 < worst[1]
    return f"{worst[0]:.2f}", f"{worst[1]:.2f}"


def polar_grant() -> str:
    """The error model's allowance for a rotation at position 0, where angles have no error."""
    scheme = next(candidate for candidate in load_all() if candidate.id == "rope")
    arguments = {"x": np.array([[3.0, 4.0]]), "positions": np.array([0]), "base": 1e4}
    conventions = {"layout": "half"}
    case = Case(scheme, scheme.calls["rope"], conventions, arguments, "float32")
    more = float(case.bound.max()) / (5 * U) - scheme.accuracy.rounding
    assert abs(more - (3 * np.pi + 1)) < 1e-9
    return f"{more:.1f}"


def turned_in_polar_form() -> tuple[str, str]:
    """Pairs rotated in float32 in polar form, and by products, in units of u s."""
    random = np.random.default_rng(6)
    x = random.normal(size=(2, 200_000)).astype(np.float32)
    angle = random.uniform(-1, 1, size=(200_000,)).astype(np.float32)
    length, own = rounded(np.hypot, *x), rounded(np.arctan2, x[1], x[0])
    products = x[0] * rounded(np.cos, angle) - x[1] * rounded(np.sin, angle)
    wide, turn = x.astype(np.float64), np.asarray(angle, np.float64)
    right = wide[0] * np.cos(turn) - wide[1] * np.sin(turn)
    worst = []
    for got in (length * rounded(np.cos, own + angle), products):
        assert got.dtype == np.float32
        worst.append(float((np.abs(got - right) / (U * np.hypot(*wide))).max()))
    assert worst[0] < 4 + 3 * np.pi + 1 + 1
    return f"{worst[0]:.1f}", f"{worst[1]:.1f}"


def magnified() -> tuple[str, str]:
    """SymPy: the derivative of b^-e by a relative change of e, and ln b for both bases."""
    b, e, d = sympy.symbols("b e d", positive=True)
    power = b ** (-e * (1 + d))
    slope = sympy.diff(power, d).subs(d, 0) / b**-e
    assert sympy.simplify(slope - sympy.log(b**-e)) == 0
    return f"{math.log(1e4):.1f} for base 10,000", f"{math.log(1e6):.1f} for base 1,000,000"


def chord() -> None:
    """SymPy: the distance of a point from its rotation, and the difference of two sines."""
    t, e = sympy.symbols("t e", real=True)
    apart = (sympy.cos(t + e) - sympy.cos(t)) ** 2 + (sympy.sin(t + e) - sympy.sin(t)) ** 2
    zero = sympy.expand_trig(apart - 4 * sympy.sin(e / 2) ** 2)
    assert sympy.simplify(zero.rewrite(sympy.exp)) == 0
    half = 2 * sympy.cos(t + e / 2) * sympy.sin(e / 2)
    zero = (sympy.sin(t + e) - sympy.sin(t) - half).rewrite(sympy.exp)
    assert sympy.simplify(sympy.expand(zero)) == 0
    steps = np.linspace(-10, 10, 4001)
    assert (2 * np.abs(np.sin(steps / 2)) <= np.abs(steps)).all()


def angles_of_float32() -> str:
    """An ordinary float32 sinusoid at positions below 2^15, against the reference and the bound."""
    frequencies = 10000.0 ** -(np.arange(32) / 32)
    a, b = SINUSOIDAL.accuracy.rounding, SINUSOIDAL.accuracy.angle
    assert (a, b) == (4, 4)
    positions = np.arange(2**15)
    truth = posenc.sinusoidal(positions, 64)
    angle = positions[:, None] * frequencies * (1 + np.abs(np.log(frequencies)))
    worst = 0.0
    for first, wave in enumerate((np.sin, np.cos)):
        error = np.abs(_table(positions, np.float32, wave=wave) - truth[:, first::2])
        worst = max(worst, float((error / (a * U + b * U * angle)).max()))
    assert worst < 1
    return f"{worst:.2f}"


def sums() -> None:
    """Running float32 sums of a thousand numbers against exact sums; the bound holds by far."""
    random = np.random.default_rng(3)
    x = random.normal(size=(1000, 10_000)).astype(np.float32)
    total = np.zeros(x.shape[1], np.float32)
    for row in x:
        total = total + row
    fine = x.astype(np.float64)
    granted = (len(x) - 1) * U * np.abs(fine).sum(axis=0)
    assert (np.abs(total - fine.sum(axis=0)) / granted).max() < 0.01


def softmax() -> None:
    """The worst case is approached as the weight gets small, and never exceeded."""
    with mpmath.workdps(30):
        delta = mpmath.mpf("0.01")
        limit = mpmath.exp(2 * delta) - 1
        grown = []
        for small in (mpmath.mpf("1e-2"), mpmath.mpf("1e-6"), mpmath.mpf("1e-12")):
            up, down = small * mpmath.exp(delta), (1 - small) * mpmath.exp(-delta)
            grown.append((up / (up + down)) / small - 1)
        assert all(error < limit for error in grown)
        assert limit - grown[-1] < 1e-12


def product_rule() -> None:
    """The largest change of a product over the corners of both intervals, in exact fractions."""
    for a in (Fraction(-3), Fraction(1, 7), Fraction(5)):
        for b in (Fraction(-2, 3), Fraction(4)):
            da, db = Fraction(1, 10), Fraction(1, 8)
            corners = [abs((a + i * da) * (b + j * db) - a * b) for i in (-1, 1) for j in (-1, 1)]
            assert max(corners) == abs(a) * db + abs(b) * da + da * db


def fastest_pair() -> None:
    """SymPy: the derivative of w (1 - ln w), and its value at 1."""
    w = sympy.symbols("w", positive=True)
    product = w * (1 - sympy.log(w))
    assert sympy.simplify(sympy.diff(product, w) + sympy.log(w)) == 0
    assert product.subs(w, 1) == 1


def reference() -> str:
    """The reference at 1,000 positions up to 2^53, one channel at each, against mpmath."""
    random = np.random.default_rng(11)
    positions = np.unique((2 ** random.uniform(0, 53, 1000)).astype(np.int64))
    channels = random.integers(0, 64, len(positions))
    rows = posenc.sinusoidal(positions, 64)
    worst = 0.0
    with mpmath.workdps(50):
        for row, position, channel in zip(rows, positions.tolist(), channels.tolist(), strict=True):
            angle = position * mpmath.mpf(10000) ** (-mpmath.mpf(channel // 2) / 32)
            true = mpmath.cos(angle) if channel % 2 else mpmath.sin(angle)
            worst = max(worst, float(abs(mpmath.mpf(float(row[channel])) - true)))
    return f"{worst / 2.0**-53:.2f}"


def stored_tables() -> None:
    """Tables from float64 angles, rounded once, against only the first term of the bound."""
    positions = np.concatenate([np.arange(4096), np.arange(127_000, 131_072)])
    truth = posenc.sinusoidal(positions, 64)[:, 0::2]
    fine = _table(positions, np.float64)
    assert np.abs(fine - truth).max() < 1e-10
    error = np.abs(fine.astype(np.float32).astype(np.float64) - truth)
    assert error.max() <= SINUSOIDAL.accuracy.rounding * U
    assert _error(positions, np.float32).max() > SINUSOIDAL.accuracy.rounding * U
