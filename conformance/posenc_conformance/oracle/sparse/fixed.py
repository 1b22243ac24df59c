"""The fixed pattern by the paper's sets (Child et al. 2019, section 4.3)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def keys(query: int, block_size: int, summary: int, part: str) -> set[int]:
    """Return the positions of the keys that the query at position ``query`` sees."""
    block = set(range(query - query % block_size, query + 1))
    ends = range(block_size - summary, block_size)
    columns = {start + end for start in range(0, query + 1, block_size) for end in ends}
    columns = {key for key in columns if key <= query}
    return {"union": block | columns, "block": block, "columns": columns}[part]


def fixed_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])
    block_size, summary = int(arguments["block_size"]), int(arguments["summary"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        allowed = key in keys(late + query, block_size, summary, conventions["part"])
        return mpmath.mpf(int(allowed))

    return value


def fixed_head_masks(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (head, query, key) where the key is allowed, else 0.

    The first set of columns is at the end of a block, and the next one is before it.
    """
    late = int(arguments["k_len"]) - int(arguments["q_len"])
    length, summary = int(arguments["block_size"]), int(arguments["summary"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        end = length - head % int(arguments["sets"]) * summary
        place = late + query
        block = range(place - place % length, place + 1)
        seen = key in block or key % length in range(end - summary, end)
        return mpmath.mpf(int(seen and key <= place))

    return value


VALUES = {"fixed_mask": fixed_mask, "fixed_head_masks": fixed_head_masks}
