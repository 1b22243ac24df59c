import math

import numpy as np

import posenc


def new_base() -> str:
    """The base by the formula; posenc's second frequency is its power -2/128."""
    base = 10000 * 16 ** (128 / 126)
    frequencies = posenc.ntk_aware_frequencies(128, factor=16)
    assert math.isclose(frequencies[1] ** -64, base, rel_tol=1e-9)
    assert np.allclose(frequencies, base ** (-np.arange(64) / 64), rtol=1e-12)
    return f"{base:,.0f}"


def four_channels() -> None:
    """posenc's frequencies of four channels for three factors."""
    for factor in (1, 2, 16):
        frequencies = posenc.ntk_aware_frequencies(4, factor=factor)
        assert np.allclose(frequencies, [1, 0.01 / factor], rtol=1e-14)
