from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import sympy

import posenc


def tied() -> None:
    """SymPy: (W W)(x; p) = W(x + p) for a matrix of symbols, and no single W gives other blocks."""
    matrix, x, p = sympy.MatrixSymbol("W", 3, 2), sympy.Matrix([1, 2]), sympy.Matrix([5, 7])
    w = sympy.Matrix(matrix)
    assert (w.row_join(w) * x.col_join(p) - w * (x + p)).expand() == sympy.zeros(3, 1)
    other = sympy.Matrix([[1, 0]]).row_join(sympy.Matrix([[0, 1]]))
    first, second = sympy.Matrix([1, 0, 0, 0]), sympy.Matrix([0, 0, 1, 0])
    assert first[:2, :] + first[2:, :] == second[:2, :] + second[2:, :]
    assert other * first != other * second


def parameters() -> tuple[str, ...]:
    """Entries of three matrices, those that 64 more channels add, and growth of square matrices."""
    d, e = 512, 64
    growth = [(d + wide) ** 2 / d**2 for wide in (e, d)]
    return f"{3 * d * e:,}", f"{3 * d * d:,}", f"by {growth[0]:.2f}", f"by {growth[1]:.0f} for 512"


def collision() -> None:
    """Two words at two positions have the same row, exactly and by the reference."""
    word = sympy.sin(1), sympy.cos(1) - 1
    assert [word[0] + sympy.sin(0), word[1] + sympy.cos(0)] == [sympy.sin(1), sympy.cos(1)]
    first = posenc.sinusoidal([0], 2)[0] + np.array(word, dtype=float)
    assert np.abs(first - posenc.sinusoidal([1], 2)).max() < 1e-15


def directions() -> tuple[str, ...]:
    """The number of principal directions that hold 99 % of the table's squared length."""

    def count(positions: int) -> int:
        rows = posenc.sinusoidal(np.arange(positions), 512)
        values = np.linalg.eigvalsh(rows.T @ rows)[::-1]
        held = np.cumsum(values) / np.sum(values)
        return int(np.argmax(held >= 0.99)) + 1

    return f"{count(128)} directions", f"are {count(512)} such", f"are {count(2048)}"


def _lengths(spread: float) -> tuple[float, float, float]:
    plain = spread * 512**0.5
    encoding = float(np.linalg.norm(posenc.sinusoidal([17], 512)))
    return plain, plain * 512**0.5, encoding


def small_spread() -> tuple[str, ...]:
    """Lengths for the standard deviation 0.02."""
    plain, scaled, encoding = _lengths(0.02)
    return f"{plain:.2f}", f"{scaled:.1f}", f"{encoding:.0f}", f"{encoding / plain:.0f} times"


def unit_spread() -> tuple[str, ...]:
    """Lengths for the standard deviation 1/sqrt(512)."""
    plain, scaled, encoding = _lengths(512**-0.5)
    return f"{512**-0.5:.3f}", f"{plain:.1f}", f"{scaled:.1f}", f"{scaled / encoding:.1f} times"


def wide_spread() -> tuple[str, ...]:
    """Lengths for the standard deviation 1."""
    plain, scaled, encoding = _lengths(1)
    return f"{plain:.1f}", f"{scaled:.0f}", f"{scaled / encoding:.0f} times"


def dropout() -> str:
    """Expectations over all masks for rows of three numbers, as fractions, with r = 1/10."""
    rate, x, y = Fraction(1, 10), (3, -1, 2), (1, 4, 5)

    def masks() -> list[tuple[Fraction, list[Fraction]]]:
        weighted = []
        for mask in product((0, 1), repeat=3):
            weight = (1 - rate) ** sum(mask) * rate ** (3 - sum(mask))
            weighted.append((weight, [k / (1 - rate) for k in mask]))
        return weighted

    def dot(a: Sequence[Fraction | int], b: Sequence[Fraction | int]) -> Fraction | int:
        return sum(m * n for m, n in zip(a, b, strict=True))

    def dropped(row: tuple[int, ...], by: list[Fraction]) -> list[Fraction]:
        return [m * n for m, n in zip(row, by, strict=True)]

    mean = [sum(w * dropped(x, by)[i] for w, by in masks()) for i in range(3)]
    assert mean == list(x)
    other = sum(
        w * v * dot(dropped(x, by), dropped(y, too)) for w, by in masks() for v, too in masks()
    )
    assert other == dot(x, y)
    own = sum(w * dot(dropped(x, by), dropped(x, by)) for w, by in masks())
    assert own == dot(x, x) / (1 - rate)
    return "1/(1 - r)"


def telescope() -> None:
    """Five layers of the form h + f(LN h): the last input is the first and the sum of all f."""
    layers = [(k * np.arange(16).reshape(4, 4) % 7 - 3) / 4 for k in (2, 3, 5, 6, 11)]
    h0 = posenc.sinusoidal([3], 4)[0] + [0.5, -0.25, 1.0, 0.75]
    h, added = h0, np.zeros(4)
    for layer in layers:
        normal = (h - h.mean()) / h.std()
        added = added + layer @ normal
        h = h + layer @ normal
    assert np.abs(h - (h0 + added)).max() < 1e-14


def cancelled() -> None:
    """With f(h) = -h, every row becomes 0 at any position."""
    rows = posenc.sinusoidal(np.arange(5), 4)
    assert not (rows + -rows).any()


def four_terms() -> None:
    """SymPy: the product of sums has four terms with one M; side by side, one block for each."""
    m = sympy.Matrix(2, 2, sympy.symbols("m:4"))
    x, p, y, q = (sympy.Matrix(sympy.symbols(f"{name}:2")) for name in "xpyq")

    def term(a: sympy.Matrix, b: sympy.Matrix, by: sympy.Matrix = m) -> sympy.Expr:
        return (a.T * by * b)[0]

    terms = term(x, y) + term(x, q) + term(p, y) + term(p, q)
    assert sympy.expand(term(x + p, y + q) - terms) == 0
    xx, xp, px, pp = (sympy.Matrix(2, 2, sympy.symbols(f"{n}:4")) for n in ("a", "b", "c", "d"))
    wide = sympy.Matrix(sympy.BlockMatrix([[xx, xp], [px, pp]]))
    own = term(x, y, xx) + term(x, q, xp) + term(p, y, px) + term(p, q, pp)
    assert sympy.expand(term(x.col_join(p), y.col_join(q), wide) - own) == 0
    alike = own.subs({block[i]: m[i] for block in (xx, xp, px, pp) for i in range(4)})
    assert sympy.expand(alike - terms) == 0
