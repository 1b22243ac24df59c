import math

import mpmath
import numpy as np
import sympy

import posenc


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
