import numpy as np

import posenc


def equivariance() -> None:
    """Attention is equivariant to any order of its tokens, a mean over a ring only to shifts."""
    x = np.arange(12.0).reshape(6, 2) ** 2
    order = np.array([3, 0, 5, 1, 4, 2])

    def attended(tokens: np.ndarray) -> np.ndarray:
        return np.asarray(posenc.attention(tokens / 50, tokens / 50, tokens))

    assert np.allclose(attended(x[order]), attended(x)[order], rtol=1e-12)
    assert not np.allclose(attended(x[order]), attended(x))

    def ring(tokens: np.ndarray) -> np.ndarray:
        return (np.roll(tokens, 1, axis=0) + tokens) / 2

    moved = np.roll(x, 2, axis=0)
    assert np.array_equal(ring(moved), np.roll(ring(x), 2, axis=0))
    assert not np.array_equal(ring(moved), ring(x))
    assert not np.array_equal(ring(x[order]), ring(x)[order])


def frequency() -> tuple[str, str]:
    """The first and last frequency of 64 channels, from sines at position 1."""
    row = posenc.sinusoidal([1], 64)[0]
    return "is 1", f"{np.arcsin(row[62]):.5f}"


def slopes() -> str:
    """The slopes of eight heads."""
    values = posenc.alibi_slopes(8)
    assert np.array_equal(values, 2.0 ** -np.arange(1, 9))
    return f"1/{1 / values[0]:.0f} to 1/{1 / values[-1]:.0f}"


def toeplitz() -> None:
    """RoPE's scores of equal tokens are constant along diagonals, a table's are not."""
    turned = posenc.rope(np.ones((5, 8)), np.arange(5))
    rows = np.arange(10.0).reshape(5, 2) ** 2
    for scores, expected in ((turned @ turned.T, True), (rows @ rows.T, False)):
        constant = all(np.ptp(np.diag(scores, k)) < 1e-12 for k in range(-4, 5))
        assert constant is expected
