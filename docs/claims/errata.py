import math
import string
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import sympy

import posenc

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(5, 4))
WQ, WK, WV = RANDOM.normal(size=(3, 4, 4))
REVERSED = np.eye(5)[::-1]


def _attend(x: Any, *, causal: bool = False) -> Any:
    """Apply a layer of attention with one head."""
    mask = "causal" if causal else "none"
    return posenc.attention((x @ WQ)[None], (x @ WK)[None], (x @ WV)[None], mask=mask)[0]


def _refusal(call: Callable[[], object]) -> str:
    """Return the error message of a call that must fail."""
    try:
        call()
    except (ValueError, IndexError, SyntaxError) as error:
        return str(error)
    raise AssertionError("the call is answered")


def e18() -> None:
    """A layer of attention with its tokens reversed: the outputs are reversed, not unchanged."""
    out = _attend(X)
    assert np.allclose(_attend(REVERSED @ X), REVERSED @ out, atol=1e-13)
    assert np.abs(_attend(REVERSED @ X) - out).max() > 0.1
    assert np.allclose(_attend(REVERSED @ X).mean(axis=0), out.mean(axis=0), atol=1e-13)


def e19() -> None:
    """Integer scores before and after reversing three tokens."""
    x = np.array([[1, 0], [2, 1], [-1, 3]])
    between = np.array([[1, 2], [0, 1]])
    scores, turned = x @ between @ x.T, x[::-1] @ between @ x[::-1].T
    back = np.eye(3, dtype=int)[::-1]
    assert (turned == back @ scores @ back.T).all()
    assert (turned != scores).any()


def e20() -> None:
    """The last output of one and of two causal layers, with the tokens before it reversed."""
    order = [3, 2, 1, 0, 4]
    once, again = _attend(X, causal=True), _attend(X[order], causal=True)
    assert np.allclose(once[-1], again[-1], atol=1e-13)
    assert np.abs(_attend(once, causal=True)[-1] - _attend(again, causal=True)[-1]).max() > 0.01


def e22() -> None:
    """Scores of the doubled input; SymPy: the cosine of a distance from both encodings."""
    assert np.allclose((2 * X @ WQ) @ (2 * X @ WK).T, 4 * (X @ WQ) @ (X @ WK).T)
    a, b = sympy.symbols("a b", real=True)
    both = sympy.sin(a) * sympy.sin(b) + sympy.cos(a) * sympy.cos(b)
    assert sympy.simplify(both - sympy.cos(a - b)) == 0


def e01() -> tuple[str, str]:
    """Widths of the reference's sum and concatenation."""
    x = np.zeros((3, 8))
    added = posenc.embedding_sum(x, np.arange(3)).shape[1]
    joined = posenc.concatenation(x, np.arange(3), 8).shape[1]
    return f"8 channels has {added}", f"concatenation {joined}"


def e16() -> None:
    """Both sides for whole numbers, and the sum where the two parts of W are equal."""
    x, p = np.array([1, -2, 3]), np.array([4, 0, -1])
    parts = np.arange(18).reshape(2, 3, 3) - 7
    assert (np.hstack([*parts]) @ np.r_[x, p] == parts[0] @ x + parts[1] @ p).all()
    assert (np.hstack([parts[0]] * 2) @ np.r_[x, p] == parts[0] @ (x + p)).all()


def e12() -> tuple[str, str, str]:
    """The length of rows of 512 channels, and the expected length of small normal embeddings."""
    lengths = np.linalg.norm(posenc.sinusoidal(np.arange(1000), 512), axis=1)
    assert np.allclose(lengths, 16, rtol=1e-14)
    drawn = np.linalg.norm(0.02 * np.random.default_rng(0).normal(size=(2000, 512)), axis=1).mean()
    return f"is {lengths[0]:.0f}", f"{drawn:.2f} long", f"a {16 / drawn:.0f}th"


def e02() -> tuple[str, ...]:
    """Elements and dot products with both exponents; the printed one equals squaring the base."""
    printed, right = math.sin(23 / 10000 ** (2 * 2 / 6)), math.sin(23 / 10000 ** (2 / 6))
    assert math.isclose(right, posenc.sinusoidal([23], 6)[0, 2])
    assert math.isclose(printed, posenc.sinusoidal([23], 6, base=1e8)[0, 2])
    dots = []
    for base in (1e4, 1e8):
        rows = posenc.sinusoidal([32, 42], 512, base=base)
        dots.append(f"{rows[0] @ rows[1]:.3f}")
    return f"{printed:.6f}", f"{right:.6f}", *dots


def e03() -> None:
    """2k for every even k, compared with the array of even numbers."""
    assert {2 * k for k in range(0, 8, 2)} == {0, 4, 8, 12} != set(range(0, 8, 2))


def e04() -> None:
    """Channels of all pairs for 8 channels, and the channels that the other range would give."""
    pairs = range(8 // 2)
    assert sorted([2 * i for i in pairs] + [2 * i + 1 for i in pairs]) == list(range(8))
    allowed = {c for i in range(9) for c in (2 * i, 2 * i + 1) if 1 <= c <= 8}
    assert 0 not in allowed
    assert 8 in allowed


def e06() -> tuple[str, ...]:
    """Truncated and rounded values of position 1 in 512 channels, computed to 50 digits."""
    with mpmath.workdps(50):
        angles = [mpmath.mpf(10000) ** (-mpmath.mpf(t) / 256) for t in (0, 1, 255)]
        values = [f(angle) for angle in angles for f in (mpmath.sin, mpmath.cos)]
        cut = [str(mpmath.floor(value * 10000) / 10000)[:6] for value in values]
        near = [mpmath.nstr(mpmath.nint(value * 10000) / 10000, 5) for value in values]
    assert cut == ["0.8414", "0.5403", "0.8218", "0.5696", "0.0001", "0.9999"]
    differ = [f"{float(b):.4f}" for a, b in zip(cut, near, strict=True) if float(a) != float(b)]
    assert len(differ) == 4
    return ", ".join(differ[:3]), differ[3]


def e08() -> None:
    """Frequencies of 512 channels, read from the reference's sines at position 1."""
    frequencies = np.arcsin(posenc.sinusoidal([1], 512)[0, 0::2])
    assert (np.diff(frequencies) < 0).all()


def e09() -> None:
    """The largest frequency of any width is 1."""
    for dim in (2, 8, 64, 512):
        turned = np.arcsin(posenc.sinusoidal([1], dim)[0, 0::2])
        assert math.isclose(turned.max(), 1)


def e10() -> str:
    """Largest difference of sine channels between the two denominators."""
    paper, other = (
        posenc.sinusoidal(np.arange(100), 8, denominator=by)[:, 0::2] for by in ("d/2", "d/2-1")
    )
    return f"{np.abs(paper - other).max():.3f}"


def e11() -> tuple[str, ...]:
    """Distinct rows in two dtypes; periods with 50 digits; SymPy: pi is irrational."""
    assert sympy.pi.is_irrational
    periods = []
    with mpmath.workdps(50):
        for dim in (2, 4, 8):
            period = 2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(dim - 2) / dim)
            for t in range(dim // 2):
                turns = period * mpmath.mpf(10000) ** (-mpmath.mpf(2 * t) / dim) / (2 * mpmath.pi)
                assert abs(turns - mpmath.nint(turns)) < mpmath.mpf("1e-40")
            periods.append(int(mpmath.nint(period / mpmath.pi)))
    distinct = [
        len(np.unique(posenc.sinusoidal(np.arange(20_000), 2, dtype=dtype), axis=0))
        for dtype in (np.float32, np.float16)
    ]
    assert distinct[0] == 20_000
    assert periods == [2, 200, 2000]
    return r"\(200\pi\)", r"\(2000\pi\)", f"only {distinct[1]:,}"


def e13() -> None:
    """SymPy: the derivative of a pair, and the shift as the exponential of k G."""
    p, k, w = sympy.symbols("p k w", real=True)
    generator = w * sympy.Matrix([[0, 1], [-1, 0]])
    pair = sympy.Matrix([sympy.sin(p * w), sympy.cos(p * w)])
    assert sympy.simplify(pair.diff(p) - generator * pair) == sympy.zeros(2, 1)
    sine, cosine = sympy.sin(k * w), sympy.cos(k * w)
    residual = (k * generator).exp() - sympy.Matrix([[cosine, sine], [-sine, cosine]])
    assert residual.applyfunc(lambda x: sympy.simplify(x.rewrite(sympy.exp))) == sympy.zeros(2)


def e14() -> None:
    """SymPy: the matrix moves (sin, cos), its transpose moves (cos, sin), and not vice versa."""
    p, k, w = sympy.symbols("p k w", real=True)
    sine, cosine = sympy.sin(k * w), sympy.cos(k * w)
    turn = sympy.Matrix([[cosine, sine], [-sine, cosine]])
    for matrix, order, right in ((turn, 1, True), (turn.T, -1, True), (turn.T, 1, False)):
        at = [sympy.Matrix([sympy.sin(q * w), sympy.cos(q * w)][::order]) for q in (p, p + k)]
        zero = sympy.simplify(sympy.expand_trig(matrix * at[0] - at[1]))
        assert (zero == sympy.zeros(2, 1)) is right


def e15() -> tuple[str, str]:
    """Dot products of 8 channels, their symmetry, and products with a matrix in between."""
    rows = posenc.sinusoidal(np.arange(100), 8)
    dots = rows @ rows[50]
    assert np.allclose(dots[40:50], dots[60:50:-1])
    matrix = np.random.default_rng(0).normal(size=(8, 8))
    bent = [rows[m] @ matrix @ rows[m + 5] for m in range(90)]
    assert max(bent) - min(bent) > 1
    return f"{dots[53]:.3f} at distance 3", f"{dots[54]:.3f} at distance 4"


def e23() -> None:
    """The sense of rotation from each point to the next, in both planes."""
    points = posenc.sinusoidal(np.arange(4), 2)
    for plane, sign in ((points, -1), (points[:, ::-1], 1)):
        assert all(math.copysign(1, a[0] * b[1] - a[1] * b[0]) == sign for a, b in pairwise(plane))


def e26() -> tuple[str, str, str]:
    """Signs of the first and the last sine of 64 channels."""
    rows = posenc.sinusoidal(np.arange(30_000), 64)
    signs = " ".join("−0+"[int(s) + 1] for s in np.sign(rows[:9, 0]))
    last = int(np.argmax(rows[1:, 62] < 0))
    return signs, f"{math.pi:.2f} positions", f"{last:,}"


def e28() -> str:
    """Normalised positions within each length, and of (1, 3) and (2, 5)."""
    for length in range(2, 50):
        assert len({Fraction(i, length - 1) for i in range(length)}) == length
    assert Fraction(1, 2) == Fraction(2, 4)
    return f"{float(Fraction(1, 2))}"


def e29() -> None:
    """23 in six bits, in both orders, from the reference."""
    first = posenc.binary([23], 6, order="msb-first")[0].astype(int)
    assert first.tolist() == [0, 1, 0, 1, 1, 1]
    assert posenc.binary([23], 6, order="lsb-first")[0].astype(int).tolist() == [1, 1, 1, 0, 1, 0]


def e30() -> None:
    """Rows of 2^d positions in d channels are distinct, for every d up to 10."""
    for dim in range(1, 11):
        assert len(np.unique(posenc.binary(np.arange(2**dim), dim), axis=0)) == 2**dim


def e31() -> tuple[str, str]:
    """Dot products of neighbours and flipped bits, from the reference."""
    rows = posenc.binary(np.arange(17), 6)
    before, after = int(rows[14] @ rows[15]), int(rows[15] @ rows[16])
    assert int(np.abs(rows[16] - rows[15]).sum()) == 5
    return f"from {before} to {after}", "five of six bits"


def e32() -> str:
    """The printed dot products, and the largest second position of the notebook's draw."""
    rows = posenc.binary(np.arange(40), 100)
    assert [int(rows[m] @ rows[m + 10]) for m in (21, 17, 27)] == [3, 2, 1]
    return f"reaches {range(10, 30)[-1] + 10}"


def e33() -> None:
    """Row N of a table of N rows is an error, and row -1 is the last one."""
    table = np.arange(12.0).reshape(4, 3)
    assert _refusal(lambda: table[4])
    assert _refusal(lambda: posenc.learned([4], table))
    assert (table[-1] == table[3]).all()


def e36() -> None:
    """Every column of QR^T belongs to a key's vector, for any position of the query."""
    q, r = X, RANDOM.normal(size=(5, 4))
    bias = q @ r.T
    moved = np.roll(q, 1, axis=0) @ r.T
    assert np.allclose(np.roll(bias, 1, axis=0), moved)
    shaw = posenc.shaw_scores(np.ones((1, 5, 4)), np.zeros((1, 5, 4)), RANDOM.normal(size=(5, 4)))
    assert all(np.ptp(np.diag(shaw[0], offset)) == 0 for offset in range(-4, 5))
    assert np.ptp(shaw[0][:, 2]) > 0


def e38() -> None:
    """arXiv numbers begin with year and month."""
    shaw, xl = (divmod(number, 100) for number in (1803, 1901))
    assert (xl[0] - shaw[0]) * 12 + xl[1] - shaw[1] == 10


def e39() -> tuple[str, ...]:
    """T5 buckets in both directions, by the reference's integer rule."""
    distances = np.arange(-4000, 4001)
    buckets = posenc.t5_bucket(distances)
    used = set(buckets.tolist())
    assert set(range(32)) - used == {16}
    ahead = posenc.t5_bucket(np.arange(1, 4001))
    last = int(np.argmax(ahead == ahead[-1])) + 1
    assert len(set(ahead[:7].tolist())) == 7
    assert len(set(posenc.t5_bucket(np.arange(8)).tolist())) == 8
    return f"{2 * 128 + 1} of", "32 buckets", f"none from {last} on"


def e40() -> None:
    """The T5 bucket of a key after the query, and a table read backwards."""
    assert posenc.t5_bucket(np.array([1]))[0] == 17
    assert posenc.t5_bucket(np.array([-1]))[0] == 1
    table = np.arange(5.0)[:, None]
    bias = posenc.clipped_bias(table, 3, 3)[0]
    assert bias[0, 2] == 4
    assert (posenc.clipped_bias(table[::-1], 3, 3)[0] == bias.T).all()


def e41() -> tuple[str, str]:
    """The reference's rotation, and the same stored as integers."""
    right = posenc.rope(np.array([[1.0, 2.0, 3.0, 4.0]]), [1])[0]
    stored = np.empty(4, dtype=int)
    stored[:] = right
    shown = ", ".join(str(n).replace("-", "−") for n in stored.tolist())
    return f"({shown})", "(" + ", ".join(f"{y:.3f}".replace("-", "−") for y in right) + ")"


def e43() -> None:
    """Weights of linear attention with only the numerator rotated, for elu + 1 features."""
    q, k = (np.exp(np.minimum(x, 0)) + np.maximum(x, 0) for x in (X, X[::-1]))
    turned = posenc.rope(q, np.arange(0, 50, 10)) @ posenc.rope(k, np.arange(0, 50, 10)).T
    weights = turned / (q @ k.T).sum(axis=1, keepdims=True)
    assert np.abs(weights.sum(axis=1) - 1).max() > 0.1
    assert weights.min() < 0


def e48() -> None:
    """The bias of a distance, added before and after the division of a score of 64 channels."""
    bias = posenc.alibi_bias(8, 4, 4)[0, 3, 0]
    before, after = (1.0 + bias) / math.sqrt(64), 1.0 / math.sqrt(64) + bias
    assert math.isclose(before - 1 / 8, (after - 1 / 8) / 8)


def e49() -> None:
    """Slopes of h heads against n by n distances: refused, or one slope per key where h = n."""
    for heads, size in ((8, 5), (4, 4)):
        slopes = posenc.alibi_slopes(heads)
        distances = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        try:
            bias = slopes * distances
        except ValueError:
            assert heads != size
        else:
            assert heads == size
            assert (bias == distances @ np.diag(slopes)).all()
        assert (slopes[:, None, None] * distances).shape == (heads, size, size)


def e54() -> tuple[str, ...]:
    """The size of the table in bytes."""
    size = 4096 * 1024 * np.dtype(np.float64).itemsize
    return f"{size:,} bytes", f"{size / 2**20:.0f} MiB", f"{size / 1e6:.1f} MB"


def e55() -> tuple[str, ...]:
    """Largest error of a row with float32 angles, at three positions."""
    frequencies = (10000.0 ** -(np.arange(32) / 32)).astype(np.float32)
    texts = []
    for position, digits in ((1000, 6), (100_000, 4), (16_777_217, 2)):
        row = np.sin(np.float32(position) * frequencies).astype(np.float64)
        error = np.abs(row - posenc.sinusoidal([position], 64)[0, 0::2]).max()
        texts.append(f"{error:.{digits}f}")
    return tuple(texts)


def e56() -> None:
    """The sum after subtracting the largest logit is at least 1, for logits of all sizes."""
    for size in (1e-300, 1.0, 1e300):
        logits = RANDOM.normal(size=(100, 20)) * size
        assert (np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1) >= 1).all()


def e59() -> None:
    """Python's parser on lines whose names have slipped to the next line."""
    listing = ["= 128", "MAX_SEQ_LEN = 512"]
    assert _refusal(lambda: compile("\n".join(listing), "listing", "exec"))
    space: dict[str, int] = {}
    exec("\n".join(listing[1:]), space)
    assert space["MAX_SEQ_LEN"] == 512


def e60() -> None:
    """Both ways to compute 256 frequencies, and the resulting encodings."""
    even = np.arange(0, 512, 2)
    power, exponential = 10000.0 ** (-even / 512), np.exp(even * (-math.log(10000.0) / 512))
    assert (power != exponential).sum() > 128
    positions = np.arange(128)[:, None]
    assert 0 < np.abs(np.sin(positions * power) - np.sin(positions * exponential)).max() < 1e-13


def e62() -> None:
    """Attention weights of tokens and of the same tokens reversed."""
    weights, turned = (posenc.attention_weights(x[None], x[None])[0] for x in (X, X[::-1]))
    assert np.allclose(turned, REVERSED @ weights @ REVERSED.T, atol=1e-15)


def e63() -> None:
    """Filling every second channel of 5, and of 1, with sines and cosines of all frequencies."""
    for dim in (5, 1):
        angles = np.arange(4)[:, None] * 10000.0 ** -(np.arange(0, dim, 2) / dim)
        table = np.zeros((4, dim))
        table[:, 0::2] = np.sin(angles)
        try:
            table[:, 1::2] = np.cos(angles)
        except ValueError:
            assert dim == 5
        else:
            assert dim == 1
            assert (table[:, 0] == np.sin(np.arange(4))).all()


def e64() -> None:
    """A slice of a table that is too short, added to a longer input: an error of shapes only."""
    part = np.zeros((1, 1000, 4))[:, :1200]
    assert part.shape[1] == 1000
    message = _refusal(lambda: np.zeros((2, 1200, 4)) + part)
    assert "(2,1200,4)" in message
    assert not any(word in message for word in ("position", "long"))


def e07() -> str:
    """The longest wavelength of 8 channels, in units of 2 pi."""
    return f"{1 / math.asin(posenc.sinusoidal([1], 8)[0, 6]):,.0f} times"


def channel_for_pair() -> tuple[str, ...]:
    """Rows of 512 channels whose exponents are 2c/d for channel c, at 200 positions."""
    channels = np.arange(512)
    angles = np.arange(200)[:, None] / 10000.0 ** (2 * channels / 512)
    table = np.where(channels % 2, np.cos(angles), np.sin(angles))
    lengths = np.linalg.norm(table, axis=1)
    assert np.ptp([table[m] @ table[m + 10] for m in range(190)]) > 0.5
    return f"{lengths.min():.2f} and {lengths.max():.2f}", "should be 16"


def floor_division() -> tuple[str, ...]:
    """The step as written, for widths from 6 to 1,024, and the frequencies of 256 channels."""
    steps = {-math.log(10000.0) / width // 2 for width in range(6, 1025, 2)}
    assert steps == {-1.0}
    frequencies = np.exp(np.arange(0, 128, 2) * -1.0)
    small = int((frequencies < 1e-7).sum())
    return "−1.0", f"of {len(frequencies)} frequencies {small} are below"


def base_and_exponent() -> str:
    """Numbers from 0 to 1 in 128 steps, raised to the power 1e-4."""
    exponents = np.arange(128) / 128
    near = np.abs(exponents**1e-4 - 1) < 5e-4
    return f"{near.sum()} of {len(near)} even steps"


def yarn_ramp() -> str:
    """Frequencies of both ramps, 128 channels, base 10,000, 4,096 positions, factor 16."""
    code, paper = (
        posenc.yarn_frequencies(128, factor=16.0, original_max_position_embeddings=4096, ramp=ramp)
        for ramp in ("index", "rotations")
    )
    return f"turns {(code / paper).max():.2f} times"


def deberta_distance() -> None:
    """Scores of the reference with both distances, for the same tables."""
    q, k = RANDOM.normal(size=(2, 1, 5, 4))
    q_r, k_r = RANDOM.normal(size=(2, 1, 6, 4))
    both = [
        posenc.deberta_scores(q, k, q_r, k_r, p2c_index=index)
        for index in ("query-minus-key", "key-minus-query")
    ]
    assert np.abs(both[0] - both[1]).max() > 0.1


def longrope_first() -> None:
    """The number of positions from 0 that are below n, for the values of the paper's table."""
    for first in (0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 64, 128, 256):
        assert len([n for n in range(1000) if n < first]) == first


def longrope_space() -> str:
    """The number to its last digit."""
    count = 400**64 * 14
    digits = str(count)
    assert len(digits) == 168
    return f"{digits[0]}.{round(int(digits[1:5]) / 100):02d}·10{_raised(len(digits) - 1)}"


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans(string.digits, "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def mistral_window() -> None:
    """Keys from i - W to i, compared with the reference's two ways of counting."""
    for window in (1, 2, 3):
        row = 9
        assert len(range(row - window, row + 1)) == window + 1
        assert posenc.sliding_window(12, 12, window)[row].sum() == window
        assert posenc.sliding_window(12, 12, window, reach="window-before")[row].sum() == window + 1


def timescales() -> str:
    """The last inverse timescale of 64, multiplied by the smallest one or divided by it."""
    smallest, largest = 2.0, 10000.0
    step = math.log(largest / smallest) / 63
    wrong, right = (by * math.exp(-63 * step) for by in (smallest, 1 / smallest))
    assert math.isclose(1 / right, largest)
    return f"end at {1 / wrong:,.0f}"
