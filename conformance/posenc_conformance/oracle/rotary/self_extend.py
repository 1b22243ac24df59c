"""Self-Extend by its definition: near keys at their positions, far keys at those of groups.

With blocks, positions are those of a cache that closes a block of keys as soon as it is full.
"""

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.remapped import logits


def self_extend_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    group, window = int(arguments["group_size"]), int(arguments["window"])

    def sliding(query: int, key: int) -> tuple[int, int]:
        if query - key < window:
            return query, key
        return query // group + (window - window // group), key // group

    def in_cache(query: int, key: int) -> tuple[int, int]:
        closed, opened = 0, 0
        while query >= closed + window:
            closed, opened = closed + window, opened + window // group
        where = key // group if key < closed else opened + key - closed
        return opened + query - closed, where

    places = sliding if conventions["neighbours"] == "sliding" else in_cache
    return logits(arguments, conventions, places)


VALUES = {"self_extend_scores": self_extend_scores}
