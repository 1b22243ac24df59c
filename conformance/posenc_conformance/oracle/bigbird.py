"""BigBird's pattern by its definition: global blocks, then a window of three blocks."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def bigbird_mask(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key)."""
    q_len, k_len, size = (int(arguments[name]) for name in ("q_len", "k_len", "block_size"))
    starts = range(0, k_len, size)
    ends = {*range(size), *range(starts[-1], k_len)} if k_len else set()

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = k_len - q_len + index[0], index[1]
        own = query - query % size
        allowed = {query, key} & ends or own - size <= key < own + 2 * size
        return mpmath.mpf(int(bool(allowed)))

    return value


def bigbird_linked_mask(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key): allowed without links, or linked."""
    plain = bigbird_mask(arguments, conventions)
    q_len, k_len, size = (int(arguments[name]) for name in ("q_len", "k_len", "block_size"))
    links = [{int(each) for each in row} for row in arguments["links"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        own = (k_len - q_len + index[0]) // size
        if plain(index) == 1 or own == 0:
            return plain(index)
        return mpmath.mpf(int(index[1] // size in links[own - 1]))

    return value


VALUES = {"bigbird_mask": bigbird_mask, "bigbird_linked_mask": bigbird_linked_mask}
