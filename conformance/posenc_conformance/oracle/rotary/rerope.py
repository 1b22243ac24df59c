"""ReRoPE by its definition: near and far pairs of query and key are rotated differently."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.remapped import logits


def rerope_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    window = int(arguments["window"])

    def places(query: int, key: int) -> tuple[int, int]:
        return (query, key) if query - key < window else (window, 0)

    return logits(arguments, conventions, places)


def leaky_rerope_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    window, factor = int(arguments["window"]), mpmath.mpf(float(arguments["factor"]))

    def places(query: int, key: int) -> tuple[Any, Any]:
        if query - key < window:
            return query, key
        return (query + window * (factor - 1)) / factor, key / factor

    return logits(arguments, conventions, places)


VALUES = {"rerope_scores": rerope_scores, "leaky_rerope_scores": leaky_rerope_scores}
