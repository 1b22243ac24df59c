"""Chunked attention by its definition: the first key of a query's chunk up to the query."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def chunked_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    late, size = int(arguments["k_len"]) - int(arguments["q_len"]), int(arguments["chunk_size"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = late + index[0], index[1]
        return mpmath.mpf(int(query - query % size <= key <= query))

    return value


VALUES = {"chunked_mask": chunked_mask}
