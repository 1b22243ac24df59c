import ml_dtypes
import numpy as np

import posenc


def additive() -> None:
    """Scores on an 8 x 8 grid of offsets are additive for axial rotation, but not for mixed."""
    random = np.random.default_rng(0)
    row, column = np.divmod(np.arange(64), 8)
    query, key = random.standard_normal((2, 1, 32))
    frequencies = random.standard_normal((2, 1, 16))
    keys = np.repeat(key, 64, axis=0)
    for progression in ("shared", "split"):
        turned = posenc.rope_2d(keys, [row, column], progression=progression)
        scores = (turned @ query[0]).reshape(8, 8)
        expected = scores[:, :1] + scores[:1] - scores[0, 0]
        assert np.allclose(scores, expected, atol=1e-12)
    turned = posenc.rope_2d_mixed(keys[None], [row, column], frequencies)[0]
    scores = (turned @ query[0]).reshape(8, 8)
    assert np.abs(scores - (scores[:, :1] + scores[:1] - scores[0, 0])).max() > 1


def turns() -> tuple[str, str]:
    """Pairs with whole turns, counted among the 16 frequencies of posenc.rope_2d."""
    angles = []
    for t in range(16):
        unit = np.zeros((1, 64))
        unit[0, 2 * t] = 1
        turned = posenc.rope_2d(unit, [[0], [1]], base=100.0)[0]
        angles.append(np.arctan2(turned[2 * t + 1], turned[2 * t]))
    assert np.allclose(angles, 100.0 ** (-np.arange(16) / 16), rtol=1e-12)
    few, more = (int((size * np.array(angles) >= 2 * np.pi).sum()) for size in (14, 28))
    return f"turns: {few} pairs within 14", f"and {more} within 28"


def neighbours() -> tuple[str, str]:
    """The angle of the fastest pair from one patch to the next, for each number of patches."""
    more = []
    for count in range(2, 40):
        x = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        turned = posenc.rope_2d_image(x, count, 1, base=100.0)
        pair = turned[:, 0] + 1j * turned[:, 2]
        step = 4 * np.pi / count
        assert np.allclose(pair[1:] / pair[:-1], np.exp(1j * step), atol=1e-12)
        more.append((step > 1, count))
    most = max(count for is_more, count in more if is_more)
    assert all(is_more == (count <= most) for is_more, count in more)
    return f"n \\le {most}", f"from {most + 1} on"


def periods() -> str:
    """Angles at coordinate 1 with periods in bfloat16, against those with exact periods."""
    period = 100.0 ** (np.arange(16) / 16)
    held = period.astype(ml_dtypes.bfloat16).astype(np.float64)
    return f"up to {np.abs(2 * np.pi * (1 / held - 1 / period)).max():.3f}"
