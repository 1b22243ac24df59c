"""Rotary embedding of cached keys that are moved to other positions.

Source: build_rope_shift in ggml-org/llama.cpp, and SinkCache in transformers 4.38.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.schemes.rotary.rope import rope

__all__ = ["rope_shift"]

LAYOUTS = ("half", "interleaved")
Result = npt.NDArray[np.floating]


def rope_shift(
    x: npt.ArrayLike,
    deltas: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
) -> Result:
    """Rotate the already rotated keys of a cache by the distances that they are moved.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Cached keys.
    deltas : integer array of shape [n]
        New position minus old position of each row; negative towards the start.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pair t of r rotated channels is channels (2t, 2t + 1), or (t, t + r / 2).
    rotary_dim : int, optional
        Number of leading channels that were rotated; all by default.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or deltas are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("layout", layout, LAYOUTS)
    keys, moved = rotation.queries_or_keys("x", x), np.asarray(deltas)
    if moved.dtype.kind not in "iu":
        raise TypeError(f"deltas are {moved.dtype}; they must be integers")
    if moved.shape != keys.shape[-2:-1]:
        raise ValueError(f"deltas have shape {moved.shape}, but x {keys.shape}")
    return rope(keys, moved.astype(np.int64), base=base, layout=layout, rotary_dim=rotary_dim)
