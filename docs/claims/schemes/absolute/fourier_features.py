import math
from statistics import NormalDist

import numpy as np
import sympy

import posenc


def octaves() -> None:
    """Doubling holds for frequencies scaled by any factor; the period of 2 only for pi."""
    x = np.linspace(-1, 1, 41)[:, None]
    waves = posenc.nerf(x, 6)
    for k in range(5):
        sine, cosine, sine2, cosine2 = waves[:, 2 * k : 2 * k + 4].T
        assert np.abs(sine2 - 2 * sine * cosine).max() < 1e-14
        assert np.abs(cosine2 - (cosine**2 - sine**2)).max() < 1e-14
    wrong = posenc.nerf(1.1 * x, 6)
    sine, cosine, sine2 = wrong[:, :3].T
    assert np.abs(sine2 - 2 * sine * cosine).max() < 1e-14
    assert np.abs(wrong - posenc.nerf(1.1 * (x + 2), 6)).max() > 0.5
    assert np.abs(waves - posenc.nerf(x + 2, 6)).max() < 1e-13


def kernel() -> None:
    """SymPy integrates the cosine against the normal density."""
    b, delta = sympy.symbols("b delta", real=True)
    sigma = sympy.Symbol("sigma", positive=True)
    density = sympy.exp(-(b**2) / (2 * sigma**2)) / (sigma * sympy.sqrt(2 * sympy.pi))
    mean = sympy.integrate(sympy.cos(2 * sympy.pi * b * delta) * density, (b, -sympy.oo, sympy.oo))
    assert sympy.simplify(mean - sympy.exp(-2 * sympy.pi**2 * sigma**2 * delta**2)) == 0


def half_width() -> str:
    """Where the kernel of width 10 is 1/2, by its formula and with 4,001 quantiles as features."""
    where = math.sqrt(math.log(2) / 2) / (10 * math.pi)
    normal = [NormalDist().inv_cdf((i + 0.5) / 4001) for i in range(4001)]
    rows = posenc.gaussian_fourier([[0.0], [where]], 10 * np.array(normal)[:, None])
    assert abs(rows[0] @ rows[1] / 4001 - 0.5) < 1e-3
    return f"distance {where:.4f}"


def magnified() -> tuple[str, str]:
    """Half a unit of float16 below 1, and the same at frequency 512."""
    off = float(np.spacing(np.float16(0.75))) / 2
    points = np.linspace(0.5, 1, 4001)
    assert np.abs(points.astype(np.float16) - points).max() <= off
    return f"{off:.5f}", f"{512 * off} radians"
