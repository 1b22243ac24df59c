from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import sympy

import posenc
from lookalikes import told_apart
from posenc_conformance.registry import load_all


def integer_lengths() -> tuple[str, str]:
    """Lengths of the rows of positions 1 and 1,000."""
    near, far = np.linalg.norm(posenc.integer([1, 1000], 4), axis=1)
    return f"length {near:.0f}", f"{far:,.0f} at position 1,000"


def divided() -> tuple[str, str]:
    """Position 1 of 3 and of 5, and position 2 of 5, in fractions and by the reference."""
    for position, length, value in ((1, 3, (1, 2)), (1, 5, (1, 4)), (2, 5, (1, 2))):
        assert Fraction(position, length - 1) == Fraction(*value)
        assert posenc.normalized(length, 1)[position, 0] == value[0] / value[1]
    return r"\frac12", r"\frac14"


def digits_of_23() -> str:
    """The reference's digits, highest first, are those of Python."""
    digits = "".join(f"{digit:.0f}" for digit in posenc.binary([23], 6, order="msb-first")[0])
    assert digits == f"{23:06b}"
    return f"position 23 is {digits}"


def digits_jump() -> tuple[str, ...]:
    """Shared 1s and changed digits of neighbours, by bit operations and by the reference."""
    rows = posenc.binary(np.arange(18), 6)
    for p in range(17):
        assert rows[p] @ rows[p + 1] == (p & p + 1).bit_count()
        assert np.abs(rows[p] - rows[p + 1]).sum() == (p ^ p + 1).bit_count()
    assert [(15 ^ 16).bit_count(), (16 ^ 17).bit_count()] == [5, 1]
    shared = [(p & p + 1).bit_count() for p in (14, 15)]
    return f"14 and 15 share {shared[0]}", f"15 and 16 share {shared[1]}"


def factor() -> str:
    """Frequencies of neighbouring pairs, from the angles of position 1."""
    row = posenc.sinusoidal([1], 512)[0].reshape(256, 2)
    angles = np.arctan2(row[:, 0], row[:, 1])
    ratios = angles[:-1] / angles[1:]
    assert np.ptp(ratios) < 1e-9
    assert 9000 < 1 / angles[-1] < 10000
    return f"it is {ratios[0]:.3f}"


def real_periods() -> tuple[str, ...]:
    """With 50 digits, rows repeat after these periods, and after no smaller number of turns."""
    periods = []
    with mpmath.workdps(50):
        for dim, turns in ((2, 1), (4, 100), (8, 1000)):
            frequencies = [mpmath.mpf(10000) ** (-mpmath.mpf(2 * t) / dim) for t in range(dim // 2)]

            def differs(count: int, by: list[mpmath.mpf] = frequencies) -> mpmath.mpf:
                angles = [frequency * 2 * mpmath.pi * count for frequency in by]
                return max(abs(mpmath.expjpi(angle / mpmath.pi) - 1) for angle in angles)

            assert differs(turns) < mpmath.mpf(10) ** -44
            assert all(differs(part) > 1e-3 for part in range(1, turns))
            periods.append(rf"\({2 * turns}\pi\)")
    return periods[1], periods[2], "2, 4 or 8"


def rational_powers() -> None:
    """SymPy: of the even d up to 512, 10^(8/d) is rational only for d = 2, 4 and 8."""
    powers = {d: sympy.Integer(10) ** sympy.Rational(8, d) for d in range(2, 513, 2)}
    assert [d for d, power in powers.items() if power.is_rational] == [2, 4, 8]


def distinct_rows() -> tuple[str, str]:
    """Distinct rows among 20,000 positions with two channels, by dtype."""
    rows = posenc.sinusoidal(np.arange(20000), 2)
    single, half = (len(np.unique(rows.astype(t), axis=0)) for t in (np.float32, np.float16))
    return f"{single:,} different", f"{half:,} in float16"


def near_miss() -> str:
    """710 radians minus 113 turns."""
    return mpmath.nstr(710 - 113 * 2 * mpmath.pi, 1, min_fixed=-6)


def rounded_positions() -> tuple[str, ...]:
    """The first integer that each dtype cannot represent, and how many of 2,000 stay distinct."""
    first = {}
    for name, dtype, tried in (
        ("bfloat16", ml_dtypes.bfloat16, range(300)),
        ("float16", np.float16, range(3000)),
        ("float32", np.float32, range(2**24 - 10, 2**24 + 10)),
    ):
        first[name] = next(p for p in tried if int(np.float64(dtype(p))) != p)
    assert first["float32"] == 2**24 + 1
    left = len(np.unique(np.arange(2000).astype(ml_dtypes.bfloat16).astype(float)))
    return f"from {first['bfloat16']} on", f"are {left}", f"{first['float16']:,}", "2^{24} + 1"


def row_length() -> str:
    """The length of rows of 512 channels, near and far."""
    lengths = np.linalg.norm(posenc.sinusoidal([0, 1, 23, 10**6], 512), axis=1)
    assert np.abs(lengths - np.sqrt(512 / 2)).max() < 1e-13
    return f"{lengths[0]:.0f} for 512"


def direction() -> None:
    """SymPy: with the quarter turn J, the product of a pair is sin w(p - q)."""
    p, q, w = sympy.symbols("p q w", real=True)
    row = sympy.Matrix([sympy.sin(p * w), sympy.cos(p * w)])
    other = sympy.Matrix([sympy.sin(q * w), sympy.cos(q * w)])
    turn = sympy.Matrix([[0, 1], [-1, 0]])
    zero = row.dot(turn * other) - sympy.sin(w * (p - q))
    assert sympy.simplify(sympy.expand_trig(zero)) == 0


def projected() -> tuple[str, str]:
    """Products of neighbours with the matrix of entries (7i mod 13 - 6)/6 between them."""
    matrix = (7 * np.arange(64).reshape(8, 8) % 13 - 6) / 6
    assert np.abs(matrix).max() <= 1
    rows = posenc.sinusoidal(np.arange(100), 8)
    products = np.einsum("pi,ij,pj->p", rows[:-1], matrix, rows[1:])
    return f"{products.min():.2f}".replace("-", "−"), f"{products.max():.2f}"


def wishes_fulfilled() -> tuple[str, str]:
    """Counts in the scheme files: each desideratum fails somewhere; what three schemes lack."""
    wishes = {scheme.id: {d.name: d.holds for d in scheme.desiderata} for scheme in load_all()}
    names = ("uniqueness", "consistency", "boundedness", "offset-only", "unlimited")
    for name in names:
        assert any(states.get(name) is False for states in wishes.values())
    failed = sum(not wishes["learned"][name] for name in names)
    differ = {name for name in names if wishes["binary"][name] != wishes["sinusoidal"][name]}
    assert failed == 3
    assert differ == {"offset-only", "unlimited"}
    return "three of five", "in likeness and in their end"


WAYS_OF_ROPE = ("permute-qk", "qk-norm-rope", "rope-apply", "rope-cache", "rope-kernel")
"""Schemes that are not encodings themselves: weights, tables and kernels for RoPE."""


def all_five() -> None:
    """Schemes of five families say yes or no to every desideratum."""
    for scheme in load_all():
        families = ("absolute", "rotary", "bias", "relative", "combination")
        if scheme.family in families and scheme.id not in WAYS_OF_ROPE:
            assert len(scheme.desiderata) == 5, scheme.id


def one_uniqueness() -> None:
    """One program's verdicts on all schemes agree with the scheme files."""
    for scheme in load_all():
        if scheme.id in WAYS_OF_ROPE:
            continue
        states = {wish.name: wish.holds for wish in scheme.desiderata}
        assert told_apart(scheme) is states.get("uniqueness"), scheme.id


def denied_is_shown() -> None:
    """Each no to uniqueness or consistency has two calls or an invariant."""
    for scheme in load_all():
        for wish in scheme.desiderata:
            if wish.name in ("uniqueness", "consistency") and not wish.holds:
                assert wish.witness or wish.invariant, f"{scheme.id}: {wish.name}"


def table_size() -> str:
    """512 rows of 512 channels."""
    return f"{512 * 512:,}"


def enough_digits() -> str:
    """The least d with 2^d >= 4,096 is 12; a strict inequality needs 13."""
    enough = next(d for d in range(20) if 2**d >= 4096)
    strict = next(d for d in range(20) if 2**d > 4096)
    assert posenc.binary([4095], enough).sum() == enough == strict - 1
    differ = [
        length
        for length in range(1, 5000)
        if next(d for d in range(20) if 2**d >= length)
        != next(d for d in range(20) if 2**d > length)
    ]
    assert differ == [2**k for k in range(13)]
    return f"{enough} digits"


def commuting() -> None:
    """SymPy solves R(k)' M R(k) = M, and gives the products for the remaining M."""
    a, b, c, e, k, p, q, w = sympy.symbols("a b c e k p q w", real=True)
    matrix = sympy.Matrix([[a, b], [c, e]])
    quarter = sympy.Matrix([[0, 1], [-1, 0]])
    solution = sympy.solve(list(quarter.T * matrix * quarter - matrix), [c, e])
    assert solution == {c: -b, e: a}
    left = matrix.subs(solution)
    sine, cosine = sympy.sin(k * w), sympy.cos(k * w)
    turn = sympy.Matrix([[cosine, sine], [-sine, cosine]])
    assert sympy.simplify(turn.T * left * turn - left) == sympy.zeros(2, 2)
    row = sympy.Matrix([sympy.sin(p * w), sympy.cos(p * w)])
    other = sympy.Matrix([sympy.sin(q * w), sympy.cos(q * w)])
    product = a * sympy.cos(w * (p - q)) + b * sympy.sin(w * (p - q))
    assert sympy.simplify(sympy.expand_trig(row.dot(left * other) - product)) == 0
