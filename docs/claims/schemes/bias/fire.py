import math
from typing import Any

import numpy as np
import sympy

import posenc


def _inputs(n: int, **options: Any) -> np.ndarray:
    """Return the network's input, by means of a network that returns its input."""
    ones, none = np.ones(1), np.zeros(1)
    return posenc.fire_bias(ones, none, ones[None], none, n, n, **options)[0]


def base_and_threshold() -> None:
    """The ratio with logarithms to base 2 agrees, and rows up to the threshold are Toeplitz."""
    got = _inputs(80, c=0.3, threshold=50.0)
    for i in range(80):
        for j in range(i + 1):
            ratio = math.log2(0.3 * (i - j) + 1) / math.log2(0.3 * max(50, i) + 1)
            assert math.isclose(got[i, j], ratio, rel_tol=1e-12, abs_tol=1e-15)
    assert np.array_equal(got[1:51, 1:51], got[:50, :50])


def epsilon() -> None:
    """The largest change of an input up to position 600, with c = 0.1 and threshold 512."""
    with_it, without = _inputs(600, normalizer="epsilon"), _inputs(600)
    seen = np.isfinite(without)
    assert 0 < np.abs(with_it[seen] - without[seen]).max() < 1e-6 / 3


def between_0_and_1() -> None:
    """All inputs of queries below and beyond the threshold, for three values of c."""
    for c in (1e-3, 0.1, 100.0):
        got = _inputs(120, c=c, threshold=40.0)
        seen = got[np.isfinite(got)]
        assert seen.min() == 0
        assert seen.max() == 1
        assert np.array_equal(np.diag(got), np.zeros(120))


def beyond_the_threshold() -> None:
    """Rows from position 60 on are equal for three thresholds, but not a function of distance."""
    rows = [_inputs(100, threshold=end)[60:] for end in (5.0, 30.0, 60.0)]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])
    assert rows[0][0, 60 - 7] > rows[0][39, 99 - 7]


def limits_of_c() -> None:
    """SymPy takes both limits for a distance and a divisor, and for distance 0."""
    c, x, end = sympy.symbols("c x L", positive=True)
    part = sympy.log(c * x + 1) / sympy.log(c * end + 1)
    assert sympy.limit(part, c, 0) == x / end
    assert sympy.limit(part, c, sympy.oo) == 1
    assert part.subs(x, 0) == 0
