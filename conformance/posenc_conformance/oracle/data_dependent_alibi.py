"""Data-dependent ALiBi by its definition: the logarithm of the product of the gates passed."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def data_dependent_alibi_bias(
    arguments: Mapping[str, Any], conventions: Mapping[str, Any]
) -> Element:
    """Element (head, query, key); None where the key comes after the query."""
    gates = arguments["gates"]
    ahead = gates.shape[1] - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, i, j = index
        query = ahead + i
        if j > query:
            return None
        return -mpmath.fsum(
            mpmath.log1p(mpmath.exp(-mpmath.mpf(float(gates[head, token]))))
            for token in range(j + 1, query + 1)
        )

    return value


VALUES = {"data_dependent_alibi_bias": data_dependent_alibi_bias}
