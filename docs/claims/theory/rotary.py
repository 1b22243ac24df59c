import math

import mpmath
import numpy as np
import numpy.typing as npt
import sympy

import posenc

Array = npt.NDArray[np.floating]


def _frequencies(dim: int) -> Array:
    """Compute the frequencies of RoPE from rotated unit vectors."""
    pairs = np.zeros((dim // 2, dim))
    pairs[np.arange(dim // 2), 2 * np.arange(dim // 2)] = 1
    turned = posenc.rope(pairs, [1] * (dim // 2))
    return np.array([math.atan2(row[2 * t + 1], row[2 * t]) for t, row in enumerate(turned)])


def _turn(angle: sympy.Expr) -> sympy.Matrix:
    cosine, sine = sympy.cos(angle), sympy.sin(angle)
    return sympy.Matrix([[cosine, -sine], [sine, cosine]])


def linear() -> None:
    """SymPy expands the squared length of u, for vectors with any three dot products: it is 0."""
    a, b, xx, xy, yy = sympy.symbols("a b xx xy yy", real=True)
    gram = sympy.Matrix([[xx, xy], [xy, yy]])
    in_terms_of_x_and_y = sympy.Matrix([[a, b], [1, 0], [0, 1]])
    unchanged = in_terms_of_x_and_y * gram * in_terms_of_x_and_y.T
    u = sympy.Matrix([[1, -a, -b]])
    assert sympy.expand((u * unchanged * u.T)[0]) == 0


def planes_are_weights() -> None:
    """mpmath, 50 digits: rotating in planes P is rotating Pᵀq and Pᵀk in the coordinate planes."""
    with mpmath.workdps(50):
        generator = mpmath.matrix([[0, -1, 2, 3], [1, 0, -4, 1], [-2, 4, 0, 5], [-3, -1, -5, 0]])
        values, vectors = mpmath.eighe(1j * generator)
        basis, speeds = mpmath.matrix(4), []
        for t in range(2):
            speeds.append(-values[t])
            for row in range(4):
                basis[row, 2 * t] = mpmath.sqrt(2) * vectors[row, t].imag
                basis[row, 2 * t + 1] = mpmath.sqrt(2) * vectors[row, t].real

        def planes(m: int) -> mpmath.matrix:
            out = mpmath.matrix(4)
            for t, speed in enumerate(speeds):
                cos, sin = mpmath.cos(m * speed), mpmath.sin(m * speed)
                out[2 * t, 2 * t] = out[2 * t + 1, 2 * t + 1] = cos
                out[2 * t, 2 * t + 1], out[2 * t + 1, 2 * t] = -sin, sin
            return out

        q, k = mpmath.matrix([1, -2, 3, 5]), mpmath.matrix([2, 7, -1, 4])
        for m, n in ((0, 0), (3, 1), (-2, 5)):
            whole = (mpmath.expm(m * generator) * q).T * (mpmath.expm(n * generator) * k)
            moved = (planes(m) * basis.T * q).T * (planes(n) * basis.T * k)
            assert abs(whole[0] - moved[0]) < mpmath.mpf(10) ** -40


def mirror() -> str:
    """(-1)^m depends only on m - n, and its determinant is -1; that of exp(mG) is exp(0) = 1."""
    for m in range(-3, 4):
        for n in range(-3, 4):
            assert (-1) ** abs(m) * (-1) ** abs(n) == (-1) ** abs(m - n)
    entries = sympy.symbols("g:3", real=True)
    generator = sympy.Matrix(
        [[0, entries[0], entries[1]], [-entries[0], 0, entries[2]], [-entries[1], -entries[2], 0]]
    )
    assert sympy.exp(generator.trace()) == 1
    return f"determinant is −{abs((-1) ** 3)}"


def sum_of_waves() -> None:
    """SymPy: the dot product of two rotated pairs is |q||k| cos(w (m - n) + arg q - arg k)."""
    m, n, w, r, s, alpha, beta = sympy.symbols("m n w r s alpha beta", real=True)
    q = r * sympy.Matrix([sympy.cos(alpha), sympy.sin(alpha)])
    k = s * sympy.Matrix([sympy.cos(beta), sympy.sin(beta)])
    score = (_turn(m * w) * q).dot(_turn(n * w) * k)
    wave = r * s * sympy.cos(w * (m - n) + alpha - beta)
    assert sympy.simplify(sympy.expand_trig(score - wave)) == 0


def values() -> None:
    """Shifting a text by 5 rotates the output of rotated values by A(5); rotated back, it stays."""
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(6))
    v = random.standard_normal((6, 8))

    def output(shift: int) -> tuple[Array, Array]:
        here = np.arange(6) + shift
        mixed = weights @ posenc.rope(v, here)
        return mixed, posenc.rope(mixed[None], [-here[-1]])[0]

    absolute, relative = output(0)
    absolute_moved, relative_moved = output(5)
    assert np.abs(absolute - absolute_moved).max() > 0.1
    assert np.allclose(posenc.rope(absolute[None], [5])[0], absolute_moved, atol=1e-12)
    assert np.allclose(relative, relative_moved, atol=1e-12)


def shift() -> None:
    """SymPy, for one pair; and the score curve of R_c k is that of k, moved by c = 1,000."""
    m, n, c, w = sympy.symbols("m n c w", real=True)
    q1, q2, k1, k2 = sympy.symbols("q1 q2 k1 k2", real=True)
    q, k = sympy.Matrix([q1, q2]), sympy.Matrix([k1, k2])
    zero = (_turn(m * w) * q).dot(_turn(n * w) * _turn(c * w) * k)
    zero -= (_turn(m * w) * q).dot(_turn((n + c) * w) * k)
    assert sympy.simplify(sympy.expand_trig(zero)) == 0
    random = np.random.default_rng(0)
    query, other = random.standard_normal((2, 1, 128))
    distances = np.arange(3000)
    queries = posenc.rope(np.repeat(query, 3000, axis=0), distances)
    moved = queries @ posenc.rope(other, [1000])[0]
    assert np.allclose(moved[1000:], (queries @ other[0])[:2000], atol=1e-10)


def bound() -> tuple[str, ...]:
    """Scores with mpmath's cosines and posenc's rotations, and the bound from its formula."""
    query = np.tile([[1.0, 0.0]], (1, 64))
    key = posenc.rope(query, [1000])[0]
    near, far = posenc.rope(np.repeat(query, 2, axis=0), [0, 1000]) @ key
    w = _frequencies(128)
    truth = mpmath.fsum(
        mpmath.cos(1000 * mpmath.mpf(10000) ** (-mpmath.mpf(t) / 64)) for t in range(64)
    )
    assert abs(near - truth) < 1e-9
    assert abs(far - 64) < 1e-12
    steps = np.abs(np.diff(np.append(np.exp(-1000j * w), 0)))
    partial = np.abs(np.cumsum(np.exp(1000j * w)))
    assert far <= steps.max() * partial.sum()
    return (
        "the score is 64 at distance 0",
        "64 at distance 1,000",
        f"{near:.1f}\nat distance 0".replace("\n", " "),
        f"at most {steps.max() * partial.sum():.0f}",
    )


def steps_up() -> str:
    """The number of rising steps of the score curve of 64 equal waves."""
    curve = posenc.rope(np.tile([[1.0, 0.0]], (5001, 64)), np.arange(5001))[:, 0::2].sum(axis=1)
    rising = int((np.diff(curve) > 0).sum())
    return f"{rising:,} lead"


def linear_attention() -> tuple[str, ...]:
    """RoFormer's equation 19 with posenc's rotation of the two features."""
    feature = np.array([[1.0, 0.0]])
    query = posenc.rope(feature, [4])[0]
    keys = posenc.rope(np.repeat(feature, 3, axis=0), [4, 2, 0])
    weights = keys @ query / np.array([feature[0] @ feature[0]] * 3).sum()
    assert weights.min() < 0
    assert not math.isclose(weights.sum(), 1, abs_tol=0.5)
    return tuple(f"{weight:.3f}".replace("-", "−") for weight in (*weights, weights.sum()))


def two_generators() -> None:
    """SymPy: exp(-m Gᵀ)ᵀ exp(n G) = exp((n-m) G); posenc.xpos rotates and scales by these."""
    m, n, w, rate = sympy.symbols("m n w lambda", real=True)
    quarter = sympy.Matrix([[0, -1], [1, 0]])
    generator = w * quarter - rate * sympy.eye(2)

    def exponential(matrix: sympy.Matrix) -> sympy.Matrix:
        return matrix.exp().applyfunc(lambda entry: sympy.simplify(entry.rewrite(sympy.cos)))

    product = exponential(-m * generator.T).T * exponential(n * generator)
    zero = product - exponential((n - m) * generator)
    assert zero.applyfunc(lambda entry: sympy.simplify(entry.rewrite(sympy.exp))).is_zero_matrix

    zeta, frequency = 0.4 / 1.4, 1.0  # of the only pair of two channels
    numbers = {w: frequency, rate: math.log(zeta) / 512}
    for place, downscale in ((n, 1), (m, 0)):
        matrix = exponential(n * generator if downscale else -m * generator.T)
        expected = np.array(matrix.subs({**numbers, place: 300}).evalf(), dtype=float)
        result = posenc.xpos(np.eye(2), [300, 300], downscale=downscale).T
        assert np.allclose(result, expected, rtol=1e-12)
