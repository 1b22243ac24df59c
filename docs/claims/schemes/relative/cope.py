from typing import Any

import ml_dtypes
import numpy as np
import sympy

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(15)
N = 9


def _positions(q: Array, k: Array, npos: int = N + 2) -> Array:
    """Return the reference's positions, from a table whose row i gives the product i."""
    dim = q.shape[-1]
    table = np.arange(float(npos))[:, None] * np.eye(dim + 1)[dim]
    wide_q = np.concatenate([q, np.ones((*q.shape[:-1], 1))], axis=-1)
    wide_k = np.concatenate([k, np.zeros((*k.shape[:-1], 1))], axis=-1)
    without = posenc.cope_scores(wide_q, wide_k, 0 * table)
    with np.errstate(invalid="ignore"):
        return np.asarray(posenc.cope_scores(wide_q, wide_k, table) - without)[0]


def _gates(q: Array, k: Array) -> Array:
    products = q[0] @ k[0].T / np.sqrt(q.shape[-1] + 1)
    return np.asarray(1 / (1 + np.exp(-products)))


def _drawn() -> tuple[Array, Array]:
    q, k = RANDOM.standard_normal((2, 1, N, 3))
    return q, k


def both_ends() -> None:
    """With open gates, a query's own position is 1, and that of the farthest of n keys is n."""
    q, k = np.full((1, N, 3), 20.0), np.full((1, N, 3), 20.0)
    got = _positions(q, k)
    for i in range(N):
        for j in range(i + 1):
            assert abs(got[i, j] - (i - j + 1)) < 1e-9


def positions_grow() -> None:
    """Bounds and order of the positions, for random queries and keys."""
    for _ in range(20):
        got = _positions(*_drawn())
        for i in range(N):
            row = got[i, : i + 1]
            assert (np.diff(row) < 0).all()
            assert (row > 0).all()
            assert (row <= np.arange(i + 1, 0, -1)).all()


def gates_measured() -> None:
    """Differences of neighbouring positions are the gates."""
    q, k = _drawn()
    got, gates = _positions(q, k), _gates(q, k)
    for i in range(N):
        row = np.append(got[i, : i + 1], 0.0)
        assert np.allclose(-np.diff(row), gates[i, : i + 1], atol=1e-12)


def halves() -> None:
    """Keys of zeros open all gates halfway."""
    q, k = _drawn()
    got = _positions(q, 0 * k)
    for i in range(N):
        assert np.allclose(got[i, : i + 1], np.arange(i + 1, 0, -1) / 2, atol=1e-13)


def lost_shares() -> None:
    """Both kinds of interpolation weights, summed, at integer positions and in between."""
    place = np.arange(0, 4, 0.25)
    low, high = np.floor(place), np.ceil(place)
    right = (1 - (place - low)) + (place - low)
    wrong = (high - place) + (place - low)
    assert (right == 1).all()
    assert np.array_equal(wrong == 0, low == place)
    assert np.array_equal(wrong == 1, low != place)


def steepest_gate() -> None:
    """SymPy: the slope of the logistic function is s(1 - s), which is at most a quarter."""
    x, s = sympy.symbols("x s", real=True)
    logistic = 1 / (1 + sympy.exp(-x))
    assert sympy.simplify(sympy.diff(logistic, x) - logistic * (1 - logistic)) == 0
    assert sympy.maximum(s * (1 - s), s, sympy.Interval(0, 1)) == sympy.Rational(1, 4)


def bfloat16_resolution() -> str:
    """The spacing of bfloat16 above 10."""
    ten = np.array(10, dtype=ml_dtypes.bfloat16)
    step = float(np.nextafter(ten, np.array(11, dtype=ml_dtypes.bfloat16))) - 10
    return f"1/{1 / step:.0f}"


def in_front_and_between() -> None:
    """Positions with two more tokens in front, and with one in between, its gate open or closed."""
    q, k = _drawn()
    got = _positions(q, k)
    longer_q, longer_k = (
        np.concatenate([RANDOM.standard_normal((1, 2, 3)), rows], axis=1) for rows in (q, k)
    )
    front = _positions(longer_q, longer_k, npos=20)
    assert np.allclose(front[2:, 2:], got, equal_nan=True, atol=1e-12)
    row = np.ones((1, 1, 3))
    for sign, by in ((40.0, 1), (-40.0, 0)):
        between = np.insert(k, 5, sign, axis=1)
        moved = _positions(np.abs(row) * 3, between, npos=20)
        before = _positions(np.abs(row) * 3, k, npos=20)
        assert np.allclose(moved[0, :5], before[0, :5] + by, atol=1e-9)
        assert np.allclose(moved[0, 6:], before[0, 5:], atol=1e-9)


def values_move_positions() -> None:
    """With gates from the values, other values change the positional terms of the same queries."""
    q, k = _drawn()
    values, table = RANDOM.standard_normal((1, N, 3)), RANDOM.standard_normal((5, 3))
    seen = np.tri(N, dtype=bool)
    before, after = (
        posenc.cope_gated_scores(q, k, signed, table)[0][seen] for signed in (values, -values)
    )
    assert (np.abs(before - after) > 1e-6).all()
    assert np.array_equal(posenc.cope_gated_scores(q, k, k, table), posenc.cope_scores(q, k, table))
