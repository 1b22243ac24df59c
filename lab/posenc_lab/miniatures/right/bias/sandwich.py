"""Right implementations: Sandwich."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def _checked(heads: int, q_len: int, k_len: int, dim: int) -> None:
    if q_len > k_len or dim % 2 or heads < 1:
        raise ValueError("out of the domain")


@right
class SandwichedAsReleased:
    """The released steps in float32: reciprocal powers, cosines, sums, then the quotient."""

    @claims("nemo", "attention-gym", dtype=NARROW)
    def sandwich_bias(
        self,
        heads: int,
        q_len: int,
        k_len: int,
        *,
        dim: int,
        exponents: str,
        own_key: str,
        dtype: Any,
    ) -> Array:
        _checked(heads, q_len, k_len, dim)
        single = np.float32
        first = int(exponents == "from-1")
        w = single(1) / single(10000) ** (
            single(2) * np.arange(first, first + dim // 2, dtype=single) / single(dim)
        )
        lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
        sums = np.cos(lag[:, :, None].astype(single) * w).sum(axis=2)
        if own_key == "zero":
            sums = sums - single(dim / 2)
        numbers = np.arange(1, heads + 1, dtype=single) * single(8) / single(heads)
        return (sums / numbers[:, None, None]).astype(dtype)


@right
class SandwichedBySinusoids:
    """The dot product of two tables of sines and cosines, in float64."""

    @claims("nemo", "attention-gym", dtype=FLOATS)
    def sandwich_bias(
        self,
        heads: int,
        q_len: int,
        k_len: int,
        *,
        dim: int,
        exponents: str,
        own_key: str,
        dtype: Any,
    ) -> Array:
        _checked(heads, q_len, k_len, dim)
        start = exponents == "from-1"
        w = np.exp(-math.log(10000) * (np.arange(dim // 2) + start) * 2 / dim)
        angles = np.multiply.outer(np.arange(k_len), w)
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        dots = table[k_len - q_len :] @ table.T - (dim / 2 if own_key == "zero" else 0)
        scale = heads / 8 / np.arange(1, heads + 1)
        return (scale[:, None, None] * dots).astype(dtype)
