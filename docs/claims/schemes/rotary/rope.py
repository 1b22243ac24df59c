import numpy as np
import sympy

import posenc
from claims import rounded
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.error_model import compare
from posenc_conformance.registry import load_all
from posenc_conformance.schemes.rotary import rope


def shared_mistakes() -> None:
    """Scores of 8 x 8 tokens: all positions 5 higher, all negated, and only the keys' negated."""
    random = np.random.default_rng(0)
    q, k = random.standard_normal((2, 8, 16))
    here = np.arange(8)
    right = posenc.rope(q, here) @ posenc.rope(k, here).T
    later = posenc.rope(q, here + 5) @ posenc.rope(k, here + 5).T
    assert np.allclose(right, later, atol=1e-12)
    token = np.repeat(q[:1], 8, axis=0)
    for sign in (1, -1):
        both = posenc.rope(token, sign * here) @ posenc.rope(token, sign * here).T
        assert np.allclose(both[1:, 1:], both[:-1, :-1], atol=1e-12)
    scores = posenc.rope(token, here) @ posenc.rope(token, -here).T
    assert np.abs(scores[1:, 1:] - scores[:-1, :-1]).max() > 0.1
    assert np.abs(right - posenc.rope(q, -here) @ posenc.rope(k, -here).T).max() > 0.1


def third_layout() -> None:
    """posenc's third layout is the interleaved one permuted, and gives its scores."""
    random = np.random.default_rng(0)
    q, k = random.standard_normal((2, 5, 8))
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    third = [posenc.rope(x, np.arange(5), layout="interleaved-to-half") for x in (q, k)]
    plain = [posenc.rope(x, np.arange(5)) for x in (q, k)]
    assert np.array_equal(third[0], plain[0][:, order])
    assert np.allclose(third[0] @ third[1].T, plain[0] @ plain[1].T, atol=1e-12)


def partial() -> tuple[str, str]:
    """The rotation of a unit vector of the sixteenth pair by posenc, and 10000^(-30/128)."""
    unit = np.zeros((1, 128))
    unit[0, 30] = 1
    turned = posenc.rope(unit, [1], rotary_dim=32)[0]
    right = float(np.arctan2(turned[31], turned[30]))
    assert np.isclose(right, 10000.0 ** (-30 / 32), rtol=1e-12)
    return f"{right:.6f} per position", f"turn by {10000.0 ** (-30 / 128):.3f}"


def one_sign() -> None:
    """SymPy: the score of a query rotated by mw and a key rotated by -nw is a function of m + n."""
    m, n, c, w = sympy.symbols("m n c w", real=True)
    q1, q2, k1, k2 = sympy.symbols("q1 q2 k1 k2", real=True)
    query = (q1 + sympy.I * q2) * sympy.exp(sympy.I * (m + c) * w)
    key = (k1 - sympy.I * k2) * sympy.exp(sympy.I * (n - c) * w)
    assert sympy.simplify(sympy.diff(query * key, c)) == 0
    assert sympy.simplify(sympy.diff(query * key, m)) != 0


def _off_by(frequencies: np.ndarray[tuple[int], np.dtype[np.float32]]) -> tuple[float, float]:
    """Return the largest relative and absolute error of frequencies, base 10000, 128 channels."""
    right = 10000.0 ** (-np.arange(64) / 64)
    wrong = frequencies.astype(np.float64) - right
    return float(np.abs(wrong / right).max()), float(np.abs(wrong).max())


def _power() -> tuple[float, float]:
    return _off_by(rounded(np.power, 10000, -np.arange(64) / 64))


def _iterated() -> tuple[float, float]:
    factors = np.full(64, 10000.0 ** (-1 / 64), dtype=np.float32)
    factors[0] = 1
    return _off_by(np.multiply.accumulate(factors))


def iterated() -> tuple[str, str]:
    """Relative errors of iterated frequencies and of powers, in float32."""
    assert _power()[0] <= 1e-7
    return f"{_iterated()[0]:.1e}".replace("e-0", "e-"), "1e-7"


def iterated_horizon() -> tuple[str, str]:
    """Positions at which the worst angle is off by bfloat16's resolution, 2**-8."""
    return f"{int(2**-8 / _iterated()[1]):,}", f"{int(2**-8 / _power()[1]):,}"


def iterated_beyond() -> str:
    """The worst error of iterated frequencies and angles in the kit's calls, over its bound."""
    worst = max(
        compare(case, rope.ROTATION.turned(case, angles)).worst
        for case in _asked()
        for angles in _iterated_angles(case)
    )
    return f"{worst:.1f} times"


def _asked() -> list[Case]:
    """Return goldens in float32, a sweep over positions, and sizes where implementations branch."""
    scheme = next(entry for entry in load_all() if entry.id == "rope")
    goldens = [entry for entry in scheme.goldens if entry.call == "rope"]
    cases = [case_described_by(scheme, entry, "float32") for entry in goldens]
    first = next(entry for entry in cases if entry.conventions["layout"] == "half")
    more = [rope.sweep({}, 131_071), *rope.sizes(first)]
    return cases + [first.with_arguments(**entry) for entry in more]


def _iterated_angles(case: Case) -> list[np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Compute angles by repeated multiplication by a ratio, in float32.

    In the first array each angle is the previous one times the ratio. In the second each frequency
    is the previous one times the ratio, and angles are positions times frequencies.
    """
    omega = rope.ROTATION.frequencies(case)
    ratio = np.full(len(omega), omega[1:2].sum(), dtype=np.float32)
    ratio[0] = 1
    places = case.arguments["positions"].astype(np.float32)[:, None]
    factors = np.concatenate([places, np.tile(ratio[1:], (len(places), 1))], axis=1)
    computed = np.multiply.accumulate(factors, axis=1), places * np.multiply.accumulate(ratio)
    return [angles.astype(np.float64) for angles in computed]
