from typing import Any

import mpmath
import numpy as np

import posenc

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(19)
N, DIM, GROUPS = 30, 4, 2


def _weights(taps: int, dim: int = DIM, groups: int = GROUPS) -> list[Array]:
    shapes = ((dim, dim // groups, taps), (taps,), (dim,))
    return [RANDOM.standard_normal(shape) for shape in shapes]


def norm_of_a_tap() -> None:
    """The definition with a norm per tap holds; with one per output channel it does not."""
    x, (v, g, b) = RANDOM.standard_normal((N, DIM)), _weights(4)

    def layer(w: Array) -> Array:
        out = np.array(x)
        for i in range(N):
            for o in range(DIM):
                first = o // 2 * 2
                z = b[o] + sum(
                    w[o, :, t] @ x[i + t - 2, first : first + 2]
                    for t in range(4)
                    if 0 <= i + t - 2 < N
                )
                out[i, o] += float(z * mpmath.ncdf(z))
        return out

    got = posenc.conv_wav2vec2(x, v, g, b, groups=GROUPS)
    assert np.allclose(layer(g * v / np.sqrt((v**2).sum(axis=(0, 1)))), got, atol=1e-12)
    other = g[:DIM, None, None] * v / np.sqrt((v**2).sum(axis=(1, 2), keepdims=True))
    assert not np.allclose(layer(other), got, atol=1e-2)


def lopsided() -> tuple[str, str]:
    """Rows that change with one changed frame, with 128 taps."""
    n, frame = 300, 150
    v, g, b = _weights(128, 1, 1)
    g = g / 50  # keeps inputs of GELU away from its flat part
    x = RANDOM.standard_normal((n, 1))
    changed = x.copy()
    changed[frame] += 1
    before, after = (posenc.conv_wav2vec2(frames, v, g, b, groups=1) for frames in (x, changed))
    moved = np.flatnonzero(before != after)
    back, ahead = frame - moved[0], moved[-1] - frame
    assert len(moved) == 128
    return f"\\(t - {back}\\)", f"\\(t + {ahead}\\)"


def nothing_from_nothing() -> None:
    """Gains and biases of 0 give x itself, bit for bit."""
    x, (v, g, b) = RANDOM.standard_normal((N, DIM)), _weights(5)
    assert np.array_equal(posenc.conv_wav2vec2(x, v, 0 * g, 0 * b, groups=GROUPS), x)


def direction_only() -> None:
    """Multiplying the directions by 8 or by 3 changes nothing."""
    x, (v, g, b) = RANDOM.standard_normal((N, DIM)), _weights(5)
    got = posenc.conv_wav2vec2(x, v, g, b, groups=GROUPS)
    for by in (8, 3):
        assert np.allclose(posenc.conv_wav2vec2(x, by * v, g, b, groups=GROUPS), got, rtol=1e-14)


def moving_along() -> None:
    """If frames move by one, rows away from the ends stay bitwise equal; some at ends do not."""
    v, g, b = _weights(6)
    long = RANDOM.standard_normal((N + 1, DIM))
    first, second = (posenc.conv_wav2vec2(x, v, g, b, groups=GROUPS) for x in (long[1:], long[:-1]))
    assert np.array_equal(first[3 : N - 3], second[4 : N - 2])
    assert not np.array_equal(first[:3], second[1:4])


def slope_of_gelu() -> str:
    """The derivative by mpmath: the zero of its derivative, and its largest value on a grid."""
    with mpmath.workdps(30):
        slope = [
            mpmath.diff(lambda z: z * mpmath.ncdf(z), mpmath.mpf(i) / 20) for i in range(-99, 100)
        ]
        top = mpmath.ncdf(mpmath.sqrt(2)) + mpmath.sqrt(2) * mpmath.npdf(mpmath.sqrt(2))
        second = mpmath.diff(lambda z: mpmath.ncdf(z) + z * mpmath.npdf(z), mpmath.sqrt(2))
        assert abs(second) < 1e-12
        assert max(slope) <= top
        return mpmath.nstr(top, 5)


def tanh_formula() -> str:
    """The largest difference between both formulas on a grid from -6 to 6."""
    worst = 0.0
    for step in range(-600, 601):
        z = step / 100
        near = z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
        worst = max(worst, abs(float(z * mpmath.ncdf(z)) - near))
    return f"up to {worst:.4f}."


def border_rows() -> tuple[str, str]:
    """Rows of equal frames that differ from the middle one."""
    n = 300
    v, g, b = _weights(128, 1, 1)
    g = g / 50
    out = posenc.conv_wav2vec2(np.ones((n, 1)), v, g, b, groups=1)[:, 0]
    differ = np.flatnonzero(~np.isclose(out, out[n // 2], rtol=1e-12, atol=1e-12))
    start, end = (differ < n // 2).sum(), (differ > n // 2).sum()
    assert differ[start - 1] == start - 1
    assert differ[-1] == n - 1
    return f"first {start} rows", f"last {end}."


def folded() -> str:
    """Rows that change if the norm is folded into weights and bias."""
    n, dim, taps = 300, 2, 128
    x, w = RANDOM.standard_normal((n, dim)), RANDOM.standard_normal((dim, dim, taps)) / 30
    b, mean, gain, shift = RANDOM.standard_normal((4, dim))
    variance = RANDOM.uniform(0.5, 2, dim)
    right = posenc.conv_hubert(x, w, b, mean, variance, gain, shift, groups=1)
    ratio = gain / np.sqrt(variance + 1e-5)
    weights, bias = w * ratio[:, None], b + (w.sum(axis=-1) @ (shift - mean * ratio))
    plain = (np.zeros(dim), np.full(dim, 1 - 1e-5), np.ones(dim), np.zeros(dim))
    other = posenc.conv_hubert(x, weights, bias, *plain, groups=1)
    rows = np.flatnonzero(np.abs(other - right).max(axis=-1) > 1e-9)
    start, end = (rows < n // 2).sum(), (rows >= n // 2).sum()
    assert set(rows) == {*range(start), *range(n - end, n)}
    return f"in {start} rows at the start and {end} at the end"


def _stack(layers: int, taps: int, dim: int, groups: int) -> list[Array]:
    shapes = ((layers, dim, dim // groups, taps), (layers, dim))
    return [RANDOM.standard_normal(shape) for shape in shapes]


def reach_of_a_stack() -> tuple[str, str]:
    """Rows that change with one changed frame, with 5 layers of 19 taps."""
    n, frame = 200, 100
    w, b = _stack(5, 19, 4, 2)
    x = RANDOM.standard_normal((n, 4))
    changed = x.copy()
    changed[frame] += 1
    before, after = (posenc.conv_data2vec(frames, w, b, groups=2) for frames in (x, changed))
    moved = np.flatnonzero((before != after).any(axis=-1))
    assert frame - moved[0] == moved[-1] - frame == 5 * 9
    return "5 times 9", f"{len(moved)} in all"


def bias_moved() -> None:
    """Adding a number to all biases of a layer changes nothing; to a single bias, it does."""
    w, b = _stack(3, 4, 6, 2)
    x = RANDOM.standard_normal((N, 6))
    got = posenc.conv_data2vec(x, w, b, groups=2)
    assert np.allclose(posenc.conv_data2vec(x, w, b + 2, groups=2), got, atol=1e-10)
    b[0, 0] += 2
    assert not np.allclose(posenc.conv_data2vec(x, w, b, groups=2), got, atol=1e-2)
