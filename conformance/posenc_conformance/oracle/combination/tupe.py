"""TUPE's scores by their definition (Ke et al. 2021, equations 9 to 11) and released code."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.bias.t5_bias import bucket


def dot(a: Any, b: Any) -> mpmath.mpf:
    """Return the dot product of two vectors."""
    return mpmath.fdot(
        (mpmath.mpf(float(x)), mpmath.mpf(float(y))) for x, y in zip(a, b, strict=True)
    )


def position(arguments: Arguments, head: int, i: int, j: int) -> mpmath.mpf:
    """Return the position logit of two tokens before scaling, with [CLS] untied."""
    p_q, p_k = arguments["p_q"][head], arguments["p_k"][head]
    if i == 0:
        return dot(p_q[0], p_k[0])
    if j == 0:
        return dot(p_q[1], p_k[1])
    return dot(p_q[i + 1], p_k[j + 1])


def tupe_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    q, k, p_q, p_k = (arguments[name] for name in ("q", "k", "p_q", "p_k"))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, i, j = index
        if conventions["cls"] == "tied":
            positions = dot(p_q[head, i], p_k[head, j])
        else:
            positions = position(arguments, head, i, j)
        return (dot(q[head, i], k[head, j]) + positions) / mpmath.sqrt(2 * q.shape[2])

    return value


def tupe_relative_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    q, k, table = (arguments[name] for name in ("q", "k", "table"))
    limit = int(arguments["max_distance"])
    apart = conventions["reset"] == "apart"
    buckets = len(table) - apart

    def bias(head: int, i: int, j: int) -> mpmath.mpf:
        if i and j:
            row = bucket(j - i, "bidirectional", buckets, limit)
        elif apart:
            row = buckets if i else buckets // 2
        else:
            return mpmath.mpf(0)
        return mpmath.mpf(float(table[row, head]))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, i, j = index
        absolute = dot(q[head, i], k[head, j]) + position(arguments, head, i, j)
        return absolute / mpmath.sqrt(2 * q.shape[2]) + bias(head, i, j)

    return value


VALUES = {"tupe_scores": tupe_scores, "tupe_relative_scores": tupe_relative_scores}
