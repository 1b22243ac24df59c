"""The cost of exactness: the reference's time over that of plain formulas in NumPy."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import posenc

Floats = npt.NDArray[np.floating]
TIMES = 7


def ratio(function: Callable[[], object], other: Callable[[], object]) -> float:
    """Return the least processor time of ``function``, in units of ``other``'s.

    They are called alternately: memory freed by one may make the other faster.
    """
    seconds = [(_seconds(function), _seconds(other)) for _ in range(TIMES)]
    return min(own for own, _ in seconds) / min(others for _, others in seconds)


def _seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def sinusoidal(positions: npt.NDArray[np.int64], dim: int) -> Floats:
    """Compute sinusoidal encoding by its formula, in float64."""
    angles = np.outer(positions, 10000.0 ** (-np.arange(0, dim, 2) / dim))
    out = np.empty((len(positions), dim))
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)
    return out


def rope(x: Floats, positions: npt.NDArray[np.int64]) -> Floats:
    """Compute rotary embedding in the half layout by its formula, in the dtype of x."""
    half = x.shape[-1] // 2
    angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
    cos, sin = (np.tile(wave(angles), 2).astype(x.dtype) for wave in (np.cos, np.sin))
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    out: Floats = x * cos + turned * sin
    return out


def ratios() -> Iterator[tuple[str, float]]:
    """Yield a description of each call, and the reference's time in units of the formula's."""
    positions: Any = np.arange(4096)
    yield (
        "posenc.sinusoidal / formula, 4096 x 1024",
        ratio(lambda: posenc.sinusoidal(positions, 1024), lambda: sinusoidal(positions, 1024)),
    )
    for dtype in ("float32", "float64"):
        x = np.random.default_rng(0).standard_normal((32, 1024, 128)).astype(dtype)
        yield f"posenc.rope / formula, 32 x 1024 x 128, {dtype}", _of_rope(x, positions[:1024])


def _of_rope(x: Floats, positions: npt.NDArray[np.int64]) -> float:
    return ratio(lambda: posenc.rope(x, positions, layout="half"), lambda: rope(x, positions))
