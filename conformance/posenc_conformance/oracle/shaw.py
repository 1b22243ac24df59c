"""Relative position representations, from equations 3 to 5 of Shaw et al. 2018."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def vector(table: Any, steps_ahead: int) -> list[mpmath.mpf]:
    """The vector of an edge to a key so many steps ahead, w_max(-k, min(k, steps)) of the paper."""
    reach = (len(table) - 1) // 2
    return [mpmath.mpf(float(x)) for x in table[max(-reach, min(reach, steps_ahead)) + reach]]


def shaw_scores(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (head, query, key): the query times the sum of the key and the edge's vector."""
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


def shaw_values(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (head, query, channel): values and edges' vectors, weighted."""
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
