"""Dual chunk attention by its definition: three kinds of queries, and keys counted by chunks."""

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.remapped import logits


def dual_chunk_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    size = int(arguments["chunk_size"])
    length = size - int(arguments["local_size"])
    successive = [min(length + place, size) for place in range(length)]

    def places(query: int, key: int) -> tuple[int, int]:
        (chunk, inside), (other, place) = divmod(query, length), divmod(key, length)
        if chunk == other:
            return inside, place
        return successive[inside if chunk == other + 1 else -1], place

    return logits(arguments, conventions, places)


VALUES = {"dual_chunk_scores": dual_chunk_scores}
