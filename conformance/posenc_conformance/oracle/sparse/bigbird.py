"""BigBird's pattern by its definition: global blocks, then a window of three blocks."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def bigbird_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    q_len, k_len, size = (int(arguments[name]) for name in ("q_len", "k_len", "block_size"))
    starts = range(0, k_len, size)
    ends = {*range(size), *range(starts[-1], k_len)} if k_len else set()

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = k_len - q_len + index[0], index[1]
        own = query - query % size
        allowed = {query, key} & ends or own - size <= key < own + 2 * size
        return mpmath.mpf(int(bool(allowed)))

    return value


def bigbird_linked_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0.

    A key is allowed if it is allowed without links, or if its block is linked.
    """
    plain = bigbird_mask(arguments, conventions)
    q_len, k_len, size = (int(arguments[name]) for name in ("q_len", "k_len", "block_size"))
    links = [{int(block) for block in row} for row in arguments["links"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        own = (k_len - q_len + index[0]) // size
        if plain(index) == 1 or own == 0:
            return plain(index)
        return mpmath.mpf(int(index[1] // size in links[own - 1]))

    return value


VALUES = {"bigbird_mask": bigbird_mask, "bigbird_linked_mask": bigbird_linked_mask}
