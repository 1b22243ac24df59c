"""Causal masks by their definition: the distance of a key before its query."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def causal_mask(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    q_len, k_len = int(arguments["q_len"]), int(arguments["k_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        if conventions["alignment"] == "end":  # both counted back from the last
            allowed = (k_len - 1 - key) - (q_len - 1 - query) >= 0
        else:
            allowed = query - key >= 0
        return mpmath.mpf(int(allowed))

    return value


VALUES = {"causal_mask": causal_mask}
