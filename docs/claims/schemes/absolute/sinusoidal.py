import math

import mpmath
import numpy as np
import sympy

import posenc
from claims import rounded


def longest_wavelength() -> tuple[str, str]:
    """The slowest pair's sine at position 1 gives its wavelength; with d/2-1 it is exactly b."""
    paper, other = (
        1 / math.asin(posenc.sinusoidal([1], 512, denominator=by)[0, 510])
        for by in ("d/2", "d/2-1")
    )
    assert math.isclose(paper, 10000 ** (1 - 2 / 512), rel_tol=1e-9)
    assert math.isclose(other, 10000, rel_tol=1e-9)
    return f"{paper:,.1f}", f"{other:,.0f}"


def addition_theorem() -> None:
    """SymPy reduces R(k) f(p) - f(p+k) to zero, and R(k) R(l) - R(k+l) as well."""
    p, k, m, w = sympy.symbols("p k m w", real=True)

    def turn(by: sympy.Expr) -> sympy.Matrix:
        sine, cosine = sympy.sin(by * w), sympy.cos(by * w)
        return sympy.Matrix([[cosine, sine], [-sine, cosine]])

    def point(at: sympy.Expr) -> sympy.Matrix:
        return sympy.Matrix([sympy.sin(at * w), sympy.cos(at * w)])

    zero = turn(k) * point(p) - point(p + k)
    assert sympy.simplify(sympy.expand_trig(zero)) == sympy.zeros(2, 1)
    zero = turn(k) * turn(m) - turn(k + m)
    assert sympy.simplify(sympy.expand_trig(zero)) == sympy.zeros(2, 2)


def dot_product() -> str:
    """The dot product at offset 10 is the sum of cosines, to 50 digits, at any position."""
    with mpmath.workdps(50):
        angles = [10 * mpmath.mpf(10000) ** (-mpmath.mpf(t) / 256) for t in range(256)]
        truth = mpmath.fsum(mpmath.cos(angle) for angle in angles)
    rows = posenc.sinusoidal([0, 10, 1000, 1010, 2**40, 2**40 + 10], 512)
    for start in (0, 2, 4):
        assert abs(rows[start] @ rows[start + 1] - float(truth)) < 1e-12
    return mpmath.nstr(truth, 9)


def first_rise() -> tuple[str, str]:
    """The first offset whose dot product is larger than the one before."""

    def rise(dim: int) -> int:
        rows = posenc.sinusoidal(np.arange(200), dim)
        return int(np.argmax(np.diff(rows @ rows[0]) > 0)) + 1

    return f"offset {rise(512)} for 512 channels", f"offset {rise(64)} for 64"


def clockwise() -> None:
    """In the plane (sine, cosine) each step turns right; in (cosine, sine) left."""
    rows = posenc.sinusoidal(np.arange(20), 512).reshape(20, 256, 2)
    right, up = rows[..., 0], rows[..., 1]
    assert (right[0] == 0).all()
    assert (up[0] == 1).all()
    assert ((right[:-1] * up[1:] - up[:-1] * right[1:]) < 0).all()
    assert ((up[:-1] * right[1:] - right[:-1] * up[1:]) > 0).all()


def position_one() -> tuple[str, str]:
    """The first and last pairs of position 1, with 50 digits and by the reference."""
    with mpmath.workdps(50):
        slow = mpmath.mpf(10000) ** (-mpmath.mpf(255) / 256)
        fast = mpmath.mpf(10000) ** (-mpmath.mpf(1) / 256)
        values = [f(angle) for angle in (1, fast, slow) for f in (mpmath.sin, mpmath.cos)]
    row = posenc.sinusoidal([1], 512)[0, [0, 1, 2, 3, 510, 511]]
    assert np.abs(row - np.array(values, dtype=float)).max() < 1e-15
    printed = [f"{float(value):.4f}" for value in values]
    return ", ".join(printed[:4]), ", ".join(printed[4:])


def still_channels() -> tuple[str, str]:
    """The angle at position 127 of the pair at channel 400; those of later pairs are smaller."""
    angles = 127 * 10000.0 ** (-np.arange(256) / 256)
    assert (np.diff(angles) < 0).all()
    rows = posenc.sinusoidal([127], 512)[0]
    assert math.isclose(math.atan2(rows[400], rows[401]), angles[200], rel_tol=1e-12)
    return f"more than {math.ceil(angles[200] * 10) / 10} radians", f"these {512 - 400}"


def generator() -> None:
    """SymPy: f' = G f; and R' = G R with R(0) = I, whose only solution is e^(kG)."""
    p, k, w = sympy.symbols("p k w", real=True)
    point = sympy.Matrix([sympy.sin(p * w), sympy.cos(p * w)])
    g = w * sympy.Matrix([[0, 1], [-1, 0]])
    assert point.diff(p) == g * point
    sine, cosine = sympy.sin(k * w), sympy.cos(k * w)
    turn = sympy.Matrix([[cosine, sine], [-sine, cosine]])
    assert turn.diff(k) == g * turn
    assert turn.subs(k, 0) == sympy.eye(2)


def printed_exponent() -> tuple[str, str]:
    """The printed formula is the reference with base 10^8; both at position 23, channel 2 of 6."""
    printed = math.sin(23 / 10000 ** (2 * 2 / 6))
    right = posenc.sinusoidal([23], 6)[0, 2]
    assert math.isclose(printed, posenc.sinusoidal([23], 6, base=1e8)[0, 2], rel_tol=1e-12)
    return f"{printed:.6f}", f"{right:.6f}"


def transpose() -> None:
    """Exchanging sine and cosine transposes R(k), which gives RoPE's rotation."""
    k = 3
    sine, cosine = math.sin(k), math.cos(k)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    rows = posenc.sinusoidal([5, 5 + k], 2)
    assert np.abs(turn @ rows[0] - rows[1]).max() < 1e-14
    assert np.abs(turn.T @ rows[0, ::-1] - rows[1, ::-1]).max() < 1e-14
    assert np.abs(turn.T @ rows[0] - rows[1]).max() > 0.1
    query = np.array([[0.5, -2.0]])
    assert np.abs(posenc.rope(query, [k]) - query @ turn).max() < 1e-14


def other_denominator() -> tuple[str, str]:
    """Largest differences of a channel between d/2 and d/2-1, positions below 100."""

    def largest(dim: int) -> float:
        paper, other = (
            posenc.sinusoidal(range(100), dim, denominator=by) for by in ("d/2", "d/2-1")
        )
        return float(np.abs(paper - other).max())

    return f"{largest(512):.3f} for 512", f"{largest(8):.3f} for 8"


def signs() -> tuple[str, str]:
    """The frequency of channel 2 of 64 and half its wavelength."""
    frequency = math.asin(posenc.sinusoidal([1], 64)[0, 2])
    assert math.isclose(frequency, 10000 ** (-1 / 32), rel_tol=1e-12)
    return f"= {frequency:.2f}", f"for {math.pi / frequency:.2f} positions"


def cancelling() -> tuple[str, str, str]:
    """Errors of frequencies by cancelling logarithms and by one power; where they cost 2**-8."""
    right, single = 10000.0 ** (-np.arange(64) / 63), np.float32
    whole, exponents = single(np.log(10000)), np.arange(64, dtype=single) / single(63)
    cancelled = rounded(np.exp, (single(1) - exponents) * whole - whole)
    worst = float(np.abs(cancelled - right).max())
    power = rounded(np.power, 10000, -np.arange(64) / 64)
    plain = float(np.abs(power - 10000.0 ** (-np.arange(64) / 64)).max())
    lost, exact_until = (f"{int(2**-8 / error) + 1:,}" for error in (worst, plain))
    return f"{worst:.1e}".replace("e-0", "e-"), lost, exact_until
