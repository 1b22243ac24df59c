"""Relative position representations, from equations 3 to 5 of Shaw et al. 2018."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def vector(table: Any, steps_ahead: int) -> list[mpmath.mpf]:
    """Return the vector of an edge to a key ``steps_ahead`` steps ahead.

    This is w_max(-k, min(k, steps)) in the paper.
    """
    reach = (len(table) - 1) // 2
    return [mpmath.mpf(float(x)) for x in table[max(-reach, min(reach, steps_ahead)) + reach]]


def shaw_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key).

    The logit is the query times the sum of the key and the vector of the edge, over sqrt(head_dim).
    """
    q, k, table = (arguments[name] for name in ("q", "k", "table"))
    head_dim, late = q.shape[2], k.shape[1] - q.shape[1]
    sign = 1 if conventions["offset"] == "key-minus-query" else -1

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        edge = vector(table, sign * (key - (late + query)))
        summands = [
            mpmath.mpf(float(q[head, query, c])) * (mpmath.mpf(float(k[head, key, c])) + edge[c])
            for c in range(head_dim)
        ]
        return mpmath.fsum(summands) / mpmath.sqrt(head_dim)

    return value


def shaw_values(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the output at (head, query, channel).

    The output is the weighted sum of the values and the vectors of the edges.
    """
    weights, v, table = (arguments[name] for name in ("weights", "v", "table"))
    late = weights.shape[2] - weights.shape[1]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, channel = index

        def summand(key: int) -> mpmath.mpf:
            edge = vector(table, key - (late + query))[channel]
            return weights[head, query, key].item() * (mpmath.mpf(v[head, key, channel]) + edge)

        return mpmath.fsum(map(summand, range(weights.shape[2])))

    return value


VALUES = {"shaw_scores": shaw_scores, "shaw_values": shaw_values}
