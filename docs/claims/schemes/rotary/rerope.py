import numpy as np

import posenc


def both_ways() -> None:
    """Rotating keys by their distance from one query gives posenc's logits, near and far."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(1, 1, 8)), rng.normal(size=(1, 40, 8))
    lag = 39 - np.arange(40)
    expected = posenc.rerope_scores(q, k, window=16)
    turned = posenc.rope(k, -np.minimum(lag, 16))
    assert np.allclose(q @ np.swapaxes(turned, 1, 2) / 8**0.5, expected)
    leaky = posenc.leaky_rerope_scores(q, k, window=16, factor=2.0)
    doubled = np.where(lag < 16, 2 * lag, 32 + lag - 16)
    half = posenc.position_interpolation(k, -doubled, factor=2.0)
    assert np.allclose(q @ np.swapaxes(half, 1, 2) / 8**0.5, leaky)


def reach() -> tuple[str, str]:
    """The trained length, and the longest text by the formula; posenc's distance of its ends."""
    window, factor, largest = 512, 16, 4095
    length = window + factor * (largest - window) + 1
    q, k = np.zeros((1, 1, 2)), np.zeros((1, length, 2))
    q[..., 0] = k[..., 0] = 1.0
    slow = posenc.leaky_rerope_scores(q, k, window=window, factor=factor, base=1.0)[0, 0, 0]
    assert abs(slow * 2**0.5 - np.cos(largest)) < 1e-9
    return f"{largest:,}", f"{length:,}"
