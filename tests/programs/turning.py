"""RoPE and T5's buckets through the harness for Python; both print."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "harness" / "python"))

from posenc_harness import claims, serve


@claims("half", dtype=["float64", "float32", "bfloat16"])
def rope(x: Any, positions: Any, base: float) -> Any:
    half = x.shape[-1] // 2
    if 2 * half != x.shape[-1]:
        raise ValueError("an odd number of channels")
    print("turning", x.shape)
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1).astype(x.dtype)


@claims("bidirectional")
def t5_bucket(relative_position: Any, num_buckets: int, max_distance: int) -> Any:
    print("bucket", file=sys.stderr)
    half = num_buckets // 2
    exact = half // 2
    far = np.abs(relative_position)
    with np.errstate(divide="ignore"):
        scaled = np.log(far / exact) / np.log(max_distance / exact) * (half - exact)
    large = np.minimum(exact + np.maximum(scaled, 0).astype(np.int64), half - 1)
    return (half * (relative_position > 0) + np.where(far < exact, far, large)).astype(np.int32)


serve("turning", "2")
