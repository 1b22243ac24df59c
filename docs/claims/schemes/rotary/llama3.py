import math
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy

import posenc

MODEL: dict[str, Any] = {
    "factor": 8,
    "low_freq_factor": 1,
    "high_freq_factor": 4,
    "original_max_position_embeddings": 8192,
}


def _plain() -> npt.NDArray[np.floating]:
    return posenc.position_interpolation_frequencies(128, base=500000.0, factor=1)


def continuous() -> None:
    """SymPy: the ramp is 1 at r = h and 1/s at r = l, and increases in between."""
    r, low, high, s = sympy.symbols("r l h s", positive=True)
    share = (r - low) / (high - low)
    multiplier = (1 - share) / s + share
    assert sympy.simplify(multiplier.subs(r, high) - 1) == 0
    assert sympy.simplify(multiplier.subs(r, low) - 1 / s) == 0
    slope = sympy.diff(multiplier, r)
    assert sympy.simplify(slope - (1 - 1 / s) / (high - low)) == 0


def by_parts() -> None:
    """posenc.llama3 is posenc.yarn with the paper's ramp between 1 and 4, and no temperature."""
    x = np.random.default_rng(0).standard_normal((20, 128))
    here = np.arange(0, 100000, 5000)
    yarn = posenc.yarn(
        x, here, base=500000.0, factor=8, original_max_position_embeddings=8192, beta_fast=4,
        beta_slow=1, ramp="rotations", temperature="none", layout="interleaved",
    )  # fmt: skip
    assert np.allclose(posenc.llama3(x, here, **MODEL), yarn, atol=1e-9)


def bands() -> tuple[str, str]:
    """Pairs of each band, counted from posenc's frequencies and from the turns of each pair."""
    share = posenc.llama3_frequencies(128, **MODEL) / _plain()
    unchanged = int(np.isclose(share, 1, rtol=1e-12).sum())
    divided = int(np.isclose(share, 1 / 8, rtol=1e-12).sum())
    turns = 8192 * 500000.0 ** (-np.arange(64) / 64) / (2 * np.pi)
    assert (unchanged, divided) == (int((turns >= 4).sum()), int((turns <= 1).sum()))
    return f"{unchanged} pairs stay, {64 - unchanged - divided} lie", f"and {divided} are divided"


def condition() -> tuple[str, ...]:
    """SymPy differentiates; NumPy repeats the float32 steps of transformers for a factor of 32."""
    w, low, high, s, turn = sympy.symbols("w l h s c", positive=True)
    share = (turn * w - low) / (high - low)
    new = w * ((1 - share) / s + share)
    factor = sympy.diff(new, w) * w / new
    at_the_end = factor.subs(w, low / turn) - 1
    assert sympy.simplify(at_the_end - low * (s - 1) / (high - low)) == 0

    single = np.float32
    inverse = single(1) / single(500000) ** (np.arange(0, 128, 2).astype(single) / single(128))
    wavelength = single(2 * math.pi) / inverse
    share = (single(8192) / wavelength - single(1)) / single(3)
    ramp = (wavelength >= 8192 / 4) & (wavelength <= 8192)
    blended = (single(1) - share) * inverse / single(32) + share * inverse
    slow = np.where(wavelength > 8192, inverse / single(32), inverse)
    formed = np.where(ramp, blended, slow).astype(np.float64)
    truth = posenc.llama3_frequencies(128, **{**MODEL, "factor": 32})
    error = np.abs(formed / truth - 1) / 2.0**-24
    assert 6.5 < error[ramp].max() < 7
    assert error[~ramp].max() < 2
    return f"{7 / 3:.1f} for a factor of 8", f"{31 / 3:.1f} for 32"


def order() -> str:
    """posenc's frequencies decrease; with the multiplier inverted they do not."""
    plain, new = _plain(), posenc.llama3_frequencies(128, **MODEL)
    assert (np.diff(new) < 0).all()
    turned_round = plain * (1 / 8) / (new / plain)
    assert not (np.diff(turned_round) < 0).all()
    return f"frequencies is {plain[1] / plain[0]:.2f}"
