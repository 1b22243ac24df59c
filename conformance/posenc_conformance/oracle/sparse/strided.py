"""The strided pattern by the paper's sets (Child et al. 2019, section 4.3)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def keys(query: int, stride: int, part: str) -> set[int]:
    """Return the positions of the keys that the query at position ``query`` sees."""
    inclusive = set(range(max(0, query - stride), query + 1))
    local = set(range(max(0, query - stride + 1), query + 1))
    column = set(range(query, -1, -stride))
    return {
        "union": inclusive | column,  # the paper's; the released code's local part gives the same
        "local": local,
        "local-inclusive": inclusive,
        "column": column,
    }[part]


def strided_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    late, stride = int(arguments["k_len"]) - int(arguments["q_len"]), int(arguments["stride"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        return mpmath.mpf(int(key in keys(late + query, stride, conventions["part"])))

    return value


VALUES = {"strided_mask": strided_mask}
