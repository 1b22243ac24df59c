import math
from collections.abc import Callable
from typing import Any

import numpy as np

import posenc

RANDOM = np.random.default_rng(12)
N, D = 6, 16
X = RANDOM.normal(size=(N, D))
WQ, WK = RANDOM.normal(size=(2, D, D)) / 4
TABLE = RANDOM.normal(size=(40, D))
BUCKETS = RANDOM.normal(size=(32, 1))
VECTORS = RANDOM.normal(size=(7, D))

Scores = Callable[[Any, Any], Any]


def _rope(x: Any, at: Any) -> Any:
    return posenc.rope(x @ WQ, at) @ posenc.rope(x @ WK, at).T


def _sinusoid(x: Any, at: Any) -> Any:
    shown = x + posenc.sinusoidal(at, D)
    return shown @ WQ @ (shown @ WK).T


def _learned(x: Any, at: Any) -> Any:
    shown = x + posenc.learned(at, TABLE)
    return shown @ WQ @ (shown @ WK).T


def _plain(x: Any, at: Any) -> Any:
    return x @ WQ @ (x @ WK).T


def _part(whole: Any, at: Any) -> Any:
    return whole[np.ix_(at, at)]


def _alibi(x: Any, at: Any) -> Any:
    size = int(at[-1]) + 1
    return _plain(x, at) + _part(posenc.alibi_bias(8, size, size, form="symmetric")[0], at)


def _t5(x: Any, at: Any) -> Any:
    size = int(at[-1]) + 1
    return _plain(x, at) + _part(posenc.t5_bias(BUCKETS, size, size)[0], at)


def _shaw(x: Any, at: Any) -> Any:
    padded = np.zeros((1, int(at[-1]) + 1, D))
    padded[0, at] = x
    return _part(posenc.shaw_scores(padded @ WQ, padded @ WK, VECTORS)[0], at)


def _relative(scores: Scores) -> bool:
    """Return whether scores stay the same when the text moves by 20 positions."""
    early, late = (scores(X, np.arange(start, start + N)) for start in (3, 23))
    return bool(np.allclose(early, late, atol=1e-10))


def _before(scores: Scores) -> bool:
    """Return whether the scheme changes tokens one by one.

    If so, scores are products of two lists of rows of D channels, and their rank is at most D.
    """
    x = np.random.default_rng(0).normal(size=(2 * D, D))
    return bool(np.linalg.matrix_rank(scores(x, np.arange(2 * D))) <= D)


def _says(scores: Scores, far: Callable[[], Any]) -> str:
    """Write the three columns: relative, defined far away, before attention."""
    everywhere = not _refused(far) and bool(np.isfinite(far()).all())
    facts = (_relative(scores), everywhere, _before(scores))
    return " | ".join(("no", "yes")[fact] for fact in facts)


def _refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except (IndexError, ValueError):
        return True
    return False


def beyond_the_table() -> None:
    """Position N of a table of N rows is refused; sinusoid and RoPE are defined at 2^40."""
    assert _refused(lambda: posenc.learned([40], TABLE))
    assert np.isfinite(posenc.sinusoidal([2**40], D)).all()
    assert np.isfinite(posenc.rope(X[:1], [2**40])).all()


def moves() -> None:
    """Scores of seven schemes with random weights, moved by 20 positions."""
    assert all(_relative(scores) for scores in (_rope, _alibi, _t5, _shaw, _plain))
    assert not _relative(_sinusoid)
    assert not _relative(_learned)


def mirror() -> None:
    """Scores of a reversed text, read backwards."""
    at = np.arange(N)
    same = [
        np.allclose(kind(X[::-1], at)[::-1, ::-1], kind(X, at)) for kind in (_alibi, _t5, _rope)
    ]
    assert same == [True, False, False]


def stale_keys() -> None:
    """A key at position 5, rotated for texts of 4,000, 6,000 and 8,000 tokens."""
    lengths = (4000, 6000, 8000)
    dynamic = [
        posenc.dynamic_ntk(
            X[:1], [5], factor=2.0, original_max_position_embeddings=4096, length=length
        )
        for length in lengths
    ]
    assert np.array_equal(dynamic[0], posenc.rope(X[:1], [5]))
    assert np.abs(dynamic[1] - dynamic[2]).max() > 1e-3
    fixed = posenc.yarn(X[:1], [5], factor=2.0, original_max_position_embeddings=4096)
    longer = posenc.yarn(X[:2], [5, 8000], factor=2.0, original_max_position_embeddings=4096)
    assert np.array_equal(fixed[0], longer[0])


def row_sinusoidal() -> str:
    """Scores with added rows: after moving the text, far away, and their rank."""
    return f"0 | {_says(_sinusoid, lambda: posenc.sinusoidal([2**40], D))}"


def row_learned() -> str:
    """Rows times channels; a position beyond the table is refused."""
    return f"{2048 * 12 * 64:,} | {_says(_learned, lambda: posenc.learned([40], TABLE))}"


def row_shaw() -> str:
    """Vectors of all clipped distances; far positions are clipped, not refused."""

    def far() -> Any:
        scores = posenc.shaw_scores(np.ones((1, 50, D)), np.ones((1, 50, D)), VECTORS)
        assert np.ptp(scores[0, -1, :40]) == 0
        return scores

    return f"{(2 * 16 + 1) * 64:,} per layer | {_says(_shaw, far)}"


def row_t5() -> str:
    """Buckets times heads; every distance has a bucket."""
    return f"{32 * 12} | {_says(_t5, lambda: posenc.t5_bucket(np.array([2**40, -(2**40)])))}"


def row_alibi() -> str:
    """Scores with the symmetric form, which shows both directions."""
    return f"0 | {_says(_alibi, lambda: posenc.alibi_bias(12, 1, 100_000))}"


def row_rope() -> str:
    """Scores of rotated queries and keys: after moving the text, far away, and their rank."""
    return f"0 | {_says(_rope, lambda: posenc.rope(X[:1], [2**40]))}"


def row_nope() -> str:
    """Scores without any encoding; under a causal mask, those of the second layer tell place."""
    relative, *others = _says(_plain, lambda: _plain(X, np.arange(N))).split(" | ")
    assert relative == "yes"
    x = np.concatenate([X[:1], np.repeat(X[1:2], 5, axis=0)])
    once = posenc.attention(x @ WQ, x @ WK, x, mask="causal")
    equal, mixed = _plain(x, np.arange(N))[1:, 1:], _plain(once, np.arange(N))[1:, 1:]
    assert np.ptp(equal) < 1e-12
    assert np.ptp(np.diag(mixed)) > 1e-3
    return f"0 | {relative}, in the first layer | {' | '.join(others)}"


def last_bucket() -> str:
    """The first distance that shares its bucket with all larger ones."""
    buckets = posenc.t5_bucket(np.arange(1, 5000))
    return f"tell {int(np.argmax(buckets == buckets[-1])) + 1} from"


def lengths_kept() -> None:
    """Rotated rows keep their lengths at positions of all sizes."""
    at = 2 ** np.arange(0, 48, 8)
    turned = posenc.rope(X, at)
    assert np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(X, axis=1), rtol=1e-14)


def slowest_wavelength() -> tuple[str, str]:
    """2 pi divided by the slowest frequency, from the reference's sine at position 1."""
    waves = [
        2 * math.pi / math.asin(posenc.sinusoidal([1], 128, base=base)[0, 126])
        for base in (1e4, 5e5)
    ]
    return f"is {waves[0]:,.0f} positions", f"is {waves[1]:,.0f}"


def alibi_fades() -> tuple[str, str]:
    """Biases of the flattest and the steepest of 8 heads at distance 2,048."""
    bias = posenc.alibi_bias(8, 1, 2049)[:, 0, 0]
    assert (bias[-1], bias[0]) == (-8, -1024)
    assert np.exp(np.float32(bias[0])) == 0
    return "e^{-8}", f"factor of {math.exp(8):,.0f}"


def short_unchanged() -> None:
    """Dynamic NTK up to the trained length, against plain RoPE."""
    for length in (1, 2000, 4096):
        frequencies = posenc.dynamic_ntk_frequencies(
            64, factor=8.0, original_max_position_embeddings=4096, length=length
        )
        assert np.allclose(frequencies, 10000.0 ** -(np.arange(32) / 32), rtol=1e-15)


def no_new_angle() -> None:
    """Under YaRN, pairs of more than 40 turns stay, and pairs below one turn go no further."""
    factor, length = 8.0, 4096
    plain = 10000.0 ** -(np.arange(64) / 64)
    scaled = posenc.yarn_frequencies(128, factor=factor, original_max_position_embeddings=length)
    slow = plain * length < 2 * np.pi
    assert 0 < slow.sum() < 64
    assert (scaled[slow] * factor * length <= plain[slow] * length * (1 + 1e-12)).all()
    fast = plain * length > 40 * 2 * np.pi
    assert fast.sum() > 10
    assert np.allclose(scaled[fast], plain[fast], rtol=1e-14)


def neighbours() -> None:
    """The angle between neighbours is halved, for factor 2."""
    frequencies = posenc.position_interpolation_frequencies(128, factor=2.0)
    assert np.allclose(frequencies * 2, 10000.0 ** -(np.arange(64) / 64), rtol=1e-15)


def border() -> None:
    """A 3 by 3 depthwise convolution with zero padding on a constant picture of 6 by 7."""
    height, width, dim = 6, 7, 3
    weight = RANDOM.normal(size=(dim, 3, 3))
    x = np.ones((height * width, dim))
    out = posenc.conv_peg(x, weight, np.zeros(dim), height, width).reshape(height, width, dim)
    inner = out[1:-1, 1:-1].reshape(-1, dim)
    assert np.allclose(inner, inner[0])
    edge = np.ones((height, width), dtype=bool)
    edge[1:-1, 1:-1] = False
    assert (np.abs(out[edge] - inner[0]) > 1e-3).all()


def m_rope_text() -> None:
    """M-RoPE with equal time, height and width is RoPE."""
    positions = np.arange(N)
    x = RANDOM.normal(size=(N, D))
    turned = posenc.m_rope(x, np.stack([positions] * 3), sections=[2, 3, 3])
    assert np.allclose(turned, posenc.rope(x, positions), atol=1e-14)


def timestep_orders() -> None:
    """Both orders at real timesteps hold the same numbers."""
    sine, other = (
        posenc.timestep([0.5, 37.25], 8, order=order) for order in ("sin-cos", "cos-sin")
    )
    assert not np.array_equal(sine, other)
    assert np.array_equal(np.sort(sine, axis=1), np.sort(other, axis=1))


def direction() -> None:
    """Symmetry of RoPE's scores for equal queries and keys, and for projected ones."""
    at = np.arange(N)
    same = posenc.rope(X, at) @ posenc.rope(X, at).T
    assert np.allclose(same, same.T, atol=1e-12)
    assert not np.allclose(_rope(X, at), _rope(X, at).T)
