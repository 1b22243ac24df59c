import numpy as np

import posenc


def lengths() -> tuple[str, ...]:
    """Lengths of encoding and embeddings at 512 channels."""
    encoding = np.linalg.norm(posenc.sinusoidal([5, 700], 512), axis=1)
    assert np.abs(encoding - 16).max() < 1e-13
    return f"{encoding[0]:.0f} at", f"{0.02 * 512**0.5:.2f}", f"{512**0.5:.1f}"


def four_terms() -> None:
    """The dot product of two sums is the sum of the four terms, with f = sqrt(d)."""
    x = (7 * np.arange(5 * 8).reshape(5, 8) % 23 - 11) / 8
    places = posenc.sinusoidal(np.arange(5), 8)
    y = posenc.embedding_sum(x, np.arange(5))
    f, frequencies = 8**0.5, 10000.0 ** (-np.arange(4) / 4)
    offsets = np.subtract.outer(np.arange(5), np.arange(5))
    cosines = np.cos(offsets[..., None] * frequencies).sum(-1)
    terms = f**2 * x @ x.T + f * x @ places.T + f * places @ x.T + cosines
    assert np.abs(y @ y.T - terms).max() < 1e-13


def factor_outside() -> None:
    """Normalised, f (x + PE) equals x + PE; for x = 0 its circles have radius f."""
    x = (7 * np.arange(5 * 8).reshape(5, 8) % 23 - 11) / 8
    plain = posenc.embedding_sum(x, np.arange(5), embedding_scale="1")

    def normalised(rows: np.ndarray) -> np.ndarray:
        rows = rows - rows.mean(1, keepdims=True)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    outside = 8**0.5 * plain
    assert np.abs(normalised(outside) - normalised(plain)).max() < 1e-15
    assert np.abs(normalised(posenc.embedding_sum(x, np.arange(5))) - normalised(plain)).max() > 0.1
    circle = 8**0.5 * posenc.embedding_sum(0 * x, np.arange(5))[:, :2]
    assert np.abs(np.linalg.norm(circle, axis=1) - 8**0.5).max() < 1e-14
