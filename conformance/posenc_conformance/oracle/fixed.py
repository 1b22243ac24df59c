"""The fixed pattern by the paper's sets (Child et al. 2019, section 4.3)."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def keys(query: int, block_size: int, summary: int, part: str) -> set[int]:
    """Keys of the query at a position."""
    block = set(range(query - query % block_size, query + 1))
    ends = range(block_size - summary, block_size)
    columns = {start + end for start in range(0, query + 1, block_size) for end in ends}
    columns = {key for key in columns if key <= query}
    return {"union": block | columns, "block": block, "columns": columns}[part]


def fixed_mask(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])
    block_size, summary = int(arguments["block_size"]), int(arguments["summary"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        allowed = key in keys(late + query, block_size, summary, conventions["part"])
        return mpmath.mpf(int(allowed))

    return value


VALUES = {"fixed_mask": fixed_mask}
