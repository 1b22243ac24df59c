"""Caches that keep keys in fewer bits than a dtype has, and what a score loses there."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from posenc_conformance.judge.arrays import Floats


@dataclass(frozen=True)
class Loss:
    """The largest error of a channel of a query or a key."""

    of_largest: float = 0.0
    """As a part of the largest channel of the head."""
    of_itself: float = 0.0
    """As a part of the channel itself."""

    def of(self, rows: Floats) -> Floats:
        """Compute the largest error of each channel; what is 0 stays 0."""
        largest = np.abs(rows).max(axis=-1, keepdims=True)
        lost = self.of_largest * largest + self.of_itself * np.abs(rows)
        return np.asarray(np.where(rows == 0, 0, lost))


@dataclass(frozen=True)
class Kept:
    """What is lost of a key, and of a query that is made as short for the product."""

    key: Loss
    query: Loss

    def off(self, queries: Floats, key: Floats) -> Floats:
        """Compute how far the products of queries, [queries, channels], and a key may be off."""
        of_key, of_queries = self.key.of(key), self.query.of(queries)
        return np.asarray(np.abs(queries) @ of_key + of_queries @ (np.abs(key) + of_key))


def _steps(bits: int) -> Loss:
    """Return the loss of whole numbers of so many bits with a scale in float16.

    Rounding costs half a step, and the largest number on one side may cost the other half.
    """
    return Loss(of_largest=1 / (2 ** (bits - 1) - 1), of_itself=2.0**-11)


E4M3 = Loss(of_largest=2.0**-10, of_itself=2.0**-4)
"""Three bits behind the first; below 2^-6 they have a step of 2^-9. Keys are larger than 1."""
E5M2 = Loss(of_largest=2.0**-17, of_itself=2.0**-3)
"""Two bits behind the first; below 2^-14 they have a step of 2^-16."""
CACHES: Mapping[str, Kept] = {
    "int8": Kept(_steps(8), _steps(8)),
    "int4": Kept(_steps(4), _steps(8)),
    "float8_e4m3": Kept(E4M3, E4M3),
    "float8_e5m2": Kept(E5M2, E5M2),
}
"""What keys may be claimed to be kept as. Of queries 8 bits are granted to the product."""
