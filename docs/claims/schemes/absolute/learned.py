import numpy as np
import sympy

import posenc


def parameters() -> tuple[str, str]:
    """Rows times channels of BERT base and of the smallest GPT-2."""
    return f"{512 * 768:,} in BERT base", f"{1024 * 768:,}"


def fairseq_rows() -> str:
    """The last of 512 positions reads row 513, so there must be 514."""
    table = np.arange(514.0)[:, None]
    rows = posenc.learned([0, 511], table, offset="after-padding", padding_idx=1)[:, 0]
    assert list(rows) == [2, 513]
    return f"has {len(table)} rows"


def _kernel(s: sympy.Expr, a: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Return the two parts of Keys' kernel, near and far, for s >= 0."""
    near = (a + 2) * s**3 - (a + 3) * s**2 + 1
    return near, a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a


def _weights(s: sympy.Expr, a: sympy.Expr) -> list[sympy.Expr]:
    return [_kernel(1 + s, a)[1], _kernel(s, a)[0], _kernel(1 - s, a)[0], _kernel(2 - s, a)[1]]


def overshoot() -> tuple[str, ...]:
    """Weights halfway for a = -3/4 as fractions; the sum of magnitudes is largest there."""
    half = _weights(sympy.Rational(1, 2), sympy.Rational(-3, 4))
    assert half == [sympy.Rational(k, 32) for k in (-3, 19, 19, -3)]
    total = sum(map(abs, half))
    assert total == sympy.Rational(11, 8)
    s = sympy.Symbol("s", real=True)
    near = sum((-1) ** (k in (0, 3)) * w for k, w in enumerate(_weights(s, sympy.Rational(-3, 4))))
    assert sympy.solve(sympy.diff(near, s), s) == [sympy.Rational(1, 2)]
    table = np.outer(*[np.array([-1.0, 1.0, 1.0, -1.0])] * 2).reshape(16, 1)
    middle = posenc.learned_grid(table, 5, 5, class_tokens=0).reshape(5, 5)[2, 2]
    assert middle == float(total) ** 2
    return f"{float(total) ** 2:.2f}", f"up to {100 * (float(total) ** 2 - 1):.0f} %"


def weights_add_up() -> None:
    """SymPy: the four weights sum to 1, and the inner two to 1 - a s (1 - s), for all a and s."""
    s, a = sympy.symbols("s a", real=True)
    weights = _weights(s, a)
    assert sympy.expand(sum(weights) - 1) == 0
    assert sympy.expand(weights[1] + weights[2] - 1 + a * s * (1 - s)) == 0


def stretched_table() -> None:
    """Corner to corner, a straight ramp of 512 rows becomes one of 1,024 with half the step."""
    new = np.arange(1024) * 511 / 1023
    old = np.arange(512.0)
    steps = np.diff(np.interp(new, old, old))
    assert np.abs(steps - 0.5).max() < 0.001
    assert 0.499 < new[1] < 0.5
    assert [y for y in range(1024) if (y * 511) % 1023 == 0] == [0, 1023]
    small = np.arange(4.0).repeat(4)[:, None]
    grid = posenc.learned_grid(small, 8, 4, resampling="linear-corners", class_tokens=0)
    assert np.abs(grid[::4, 0] - np.arange(8) * 3 / 7).max() < 1e-15


def tenth() -> None:
    """In new cells, row y of h moves by (y + 1/2)/10/(h + 1/10), which stays below 1/10."""
    for height in range(2, 60):
        for y in range(height):
            centre = sympy.Rational(2 * y + 1, 2)
            moved = centre / height - centre / (height + sympy.Rational(1, 10))
            assert 0 < moved * height < sympy.Rational(1, 10)
    last = (sympy.Rational(2 * 59 - 1, 2) / 10) / (59 + sympy.Rational(1, 10))
    assert last > sympy.Rational(98, 1000)
