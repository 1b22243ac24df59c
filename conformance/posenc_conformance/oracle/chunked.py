"""Chunked attention by its definition: the first key of a query's chunk up to the query."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def chunked_mask(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key)."""
    late, size = int(arguments["k_len"]) - int(arguments["q_len"]), int(arguments["chunk_size"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = late + index[0], index[1]
        return mpmath.mpf(int(query - query % size <= key <= query))

    return value


VALUES = {"chunked_mask": chunked_mask}
