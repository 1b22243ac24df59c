import math
from typing import Any

import numpy as np
import sympy

import posenc

MODEL: dict[str, Any] = {"factor": 4, "original_max_position_embeddings": 2048}


def _stretch(length: int) -> float:
    """Compute posenc's divisor of the frequency of the slowest of 64 pairs."""
    plain = posenc.position_interpolation_frequencies(128, factor=1)
    return float(plain[-1] / posenc.dynamic_ntk_frequencies(128, length=length, **MODEL)[-1])


def no_jump() -> None:
    """SymPy: g(L) = 1; posenc's stretch at L and at L + 1 differs by s/L, and is 1 up to L."""
    s, length, full = sympy.symbols("s L l", positive=True)
    stretch = s * full / length - (s - 1)
    assert sympy.simplify(stretch.subs(full, length)) == 1
    assert _stretch(1) == _stretch(2048) == 1
    assert math.isclose(_stretch(2049), 1 + 4 / 2048, rel_tol=1e-12)


def doubling() -> None:
    """Qwen's stretch at every length up to 9 L is posenc's with factor 2 at the rounded length."""
    trained = 64
    plain = posenc.position_interpolation_frequencies(128, factor=1)
    for length in range(1, 9 * trained):
        alpha = max(2 ** math.ceil(math.log2(length / trained) + 1) - 1, 1)
        rounded = trained * 2 ** max(0, math.ceil(math.log2(length / trained)))
        frequencies = posenc.dynamic_ntk_frequencies(
            128, factor=2, original_max_position_embeddings=trained, length=rounded
        )
        assert math.isclose(plain[-1] / frequencies[-1], alpha, rel_tol=1e-9)


def two_stretches() -> str:
    """At four times L, posenc's stretch is 13; with factor 1 it is the paper's l/L."""
    stretch = _stretch(4 * 2048)
    assert math.isclose(stretch, 4**2 - 4 + 1, rel_tol=1e-12)
    paper = posenc.dynamic_ntk_frequencies(128, length=4 * 2048, **{**MODEL, "factor": 1})
    assert np.allclose(paper, posenc.ntk_aware_frequencies(128, factor=4), rtol=1e-12)
    return f"it is {stretch:.0f}"
