import math
from fractions import Fraction

import numpy as np

import posenc


def amplitude() -> tuple[str, str]:
    """The exact fraction from powers of two, and the length of a vector from posenc.longrope."""
    square = 1 + Fraction(5, 12)
    assert (2**12, 32 * 2**12) == (4096, 2**17)
    turned = posenc.longrope(
        [[1.0, 0.0]], [7], [1.0], [2.0], factor=32, original_max_position_embeddings=4096
    )
    assert math.isclose(turned[0] @ turned[0], square, rel_tol=1e-12)
    return f"\\({square.numerator}/{square.denominator}\\)", f"{math.sqrt(square):.3f} times"


def special_lists() -> None:
    """posenc's frequencies for the two lists are those of the two schemes."""
    pairs = np.arange(64)
    assert np.allclose(
        posenc.longrope_frequencies(np.full(64, 16.0)),
        posenc.position_interpolation_frequencies(128, factor=16),
        rtol=1e-12,
    )
    assert np.allclose(
        posenc.longrope_frequencies(16.0 ** (2 * pairs / 126)),
        posenc.ntk_aware_frequencies(128, factor=16),
        rtol=1e-12,
    )


def lists() -> tuple[str, str]:
    """The lists are those of the golden in the specification."""
    from posenc_conformance.scheme_file import read

    text = (read.paths_by_name()["longrope"]).read_text(encoding="utf-8")
    short, long = "1.0, 1.0625, 1.25, 2.5", "1.015625, 2.75, 11.5, 48.0"
    assert f"short_factors: [{short}], long_factors: [{long}]" in text
    return short.replace("1.0,", "1,"), long.removesuffix(".0")
