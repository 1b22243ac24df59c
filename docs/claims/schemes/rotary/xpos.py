import math

import numpy as np
import numpy.typing as npt

import posenc


def _rates(dim: int = 128) -> npt.NDArray[np.floating]:
    """Compute the rates: the lengths of unit pairs scaled by posenc at position 512."""
    units = np.zeros((dim // 2, dim))
    units[np.arange(dim // 2), np.arange(0, dim, 2)] = 1
    scaled = posenc.xpos(units, [512] * (dim // 2), scale_base=512)
    return np.hypot(scaled[:, 0::2], scaled[:, 1::2]).max(axis=1)


def rates() -> str:
    """Lengths of posenc's scaled pairs at position B, against the formula."""
    values = _rates()
    assert np.allclose(values, (np.arange(64) / 64 + 0.4) / 1.4, rtol=1e-12)
    assert (np.diff(values) > 0).all()
    assert values[-1] < 1
    return f"from {values[0]:.3f} for"


def lost() -> None:
    """The fastest rate is about 1 - 0.7, the slowest of 128 channels about 1 - 0.01."""
    values = _rates()
    assert round(10 * (1 - values[0])) == 7
    assert round(100 * (1 - values[-1])) == 1


def overflow() -> tuple[str, ...]:
    """Logarithms to base 3.5 of the largest numbers of two dtypes, times 512."""
    growth = 1 / float(_rates()[0])
    half, single = (
        512 * math.log(float(np.finfo(dtype).max)) / math.log(growth)
        for dtype in (np.float16, np.float32)
    )
    key = np.array([[1.0, 0.0]])
    for place, finite in ((int(half) - 1, True), (int(half) + 2, False)):
        length = np.hypot(*posenc.xpos(key, [place], downscale=1)[0])
        assert (length <= np.finfo(np.float16).max) == finite
    return (
        f"factor {growth:.1f} every",
        f"some {round(half, -2):,.0f} positions",
        f"float32 some {round(single, -3):,.0f}",
    )


def after() -> str:
    """The score of a unit pair with a key 2,048 positions later, divided by that of RoPE."""
    unit = np.array([[1.0, 0.0]])
    score = posenc.xpos(unit, [0])[0] @ posenc.xpos(unit, [2048], downscale=1)[0]
    plain = posenc.rope(unit, [0])[0] @ posenc.rope(unit, [2048])[0]
    assert math.isclose(score / plain, 3.5**4, rel_tol=1e-9)
    return f"\\(\\zeta_0^{{-2048/512}} = 3.5^4\\), about {round(score / plain, -1):.0f}"
