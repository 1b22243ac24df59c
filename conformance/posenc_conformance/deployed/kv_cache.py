"""KV caches that store keys in fewer bits than the dtype, and the resulting errors of scores."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from posenc_conformance.judge.arrays import Floats


@dataclass(frozen=True)
class Loss:
    """The largest error of a channel of a query or a key."""

    of_largest: float = 0.0
    """As a fraction of the largest channel of the head."""
    of_itself: float = 0.0
    """As a fraction of the channel itself."""

    def of(self, rows: Floats) -> Floats:
        """Compute the largest error of each channel; 0 stays 0."""
        largest = np.abs(rows).max(axis=-1, keepdims=True)
        lost = self.of_largest * largest + self.of_itself * np.abs(rows)
        return np.asarray(np.where(rows == 0, 0, lost))


@dataclass(frozen=True)
class Kept:
    """The errors of a cached key, and of a query that is rounded for the product with it."""

    key: Loss
    query: Loss

    def off(self, queries: Floats, key: Floats) -> Floats:
        """Compute the largest errors of the products of queries, [queries, channels], and a key."""
        of_key, of_queries = self.key.of(key), self.query.of(queries)
        return np.asarray(np.abs(queries) @ of_key + of_queries @ (np.abs(key) + of_key))


def _steps(bits: int) -> Loss:
    """Return the loss of ``bits``-bit integers with a scale in float16.

    Rounding costs half a step, and the largest number on one side may cost the other half.
    """
    return Loss(of_largest=1 / (2 ** (bits - 1) - 1), of_itself=2.0**-11)


E4M3 = Loss(of_largest=2.0**-10, of_itself=2.0**-4)
"""Three mantissa bits; below 2^-6 the step is 2^-9. Keys are larger than 1."""
E5M2 = Loss(of_largest=2.0**-17, of_itself=2.0**-3)
"""Two mantissa bits; below 2^-14 the step is 2^-16."""
CACHES: Mapping[str, Kept] = {
    "int8": Kept(_steps(8), _steps(8)),
    "int4": Kept(_steps(4), _steps(8)),
    "float8_e4m3": Kept(E4M3, E4M3),
    "float8_e5m2": Kept(E5M2, E5M2),
}
"""Formats in which keys may be claimed to be cached. Queries may have 8 bits in the product."""
