import sympy


def relative_scores() -> None:
    """SymPy: rotating q by m and k by n gives the score of q and k rotated by n - m."""
    m, n, w, q1, q2, k1, k2 = sympy.symbols("m n w q1 q2 k1 k2", real=True)

    def turned(by: sympy.Expr, a: sympy.Symbol, b: sympy.Symbol) -> sympy.Matrix:
        sine, cosine = sympy.sin(by * w), sympy.cos(by * w)
        return sympy.Matrix([a * cosine - b * sine, a * sine + b * cosine])

    rotated = turned(m, q1, q2).dot(turned(n, k1, k2))
    relative = sympy.Matrix([q1, q2]).dot(turned(n - m, k1, k2))
    assert sympy.simplify(sympy.expand_trig(rotated - relative)) == 0
