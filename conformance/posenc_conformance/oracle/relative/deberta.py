"""DeBERTa's scores by their definition (He et al. 2021, equations 3 and 4) and released code."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def bucket(distance: int, far: str, buckets: int, max_relative_positions: int) -> int:
    """Return the bucket of one distance.

    Where the logarithm is whole, its ceiling is that number.
    """
    sign = -1 if distance < 0 else 1
    n = abs(distance)
    if far == "clamped":
        n = min(n, max_relative_positions - 1)
    mid = buckets // 2
    if n <= mid:
        return sign * n
    ratio = mpmath.log(mpmath.mpf(n) / mid) / mpmath.log(
        mpmath.mpf(max_relative_positions - 1) / mid
    )
    steps = ratio * (mid - 1)
    nearest = int(mpmath.nint(steps))
    at_edge = abs(steps - nearest) < mpmath.mpf(10) ** -40
    return sign * (mid + (nearest if at_edge else int(mpmath.ceil(steps))))


def deberta_bucket(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bucket at any index."""
    relative = arguments["relative_position"]
    sizes = int(arguments["num_buckets"]), int(arguments["max_relative_positions"])
    return lambda index: mpmath.mpf(bucket(int(relative[index]), conventions["far"], *sizes))


def row(distance: int, span: int) -> int:
    """Return the table row for a distance, by cases as in equation 3."""
    if distance <= -span:
        return 0
    if distance >= span:
        return 2 * span - 1
    return distance + span


def dot(a: Any, b: Any) -> mpmath.mpf:
    """Return the dot product of two vectors."""
    return mpmath.fdot(
        (mpmath.mpf(float(x)), mpmath.mpf(float(y))) for x, y in zip(a, b, strict=True)
    )


def logit(arguments: Arguments, index: tuple[int, ...], c2p: int, p2c: int) -> mpmath.mpf:
    """Add the three terms of equation 4 for table rows ``c2p`` and ``p2c``, and scale the sum."""
    head, i, j = index
    query, key = arguments["q"][head, i], arguments["k"][head, j]
    total = dot(query, key)
    total += dot(query, arguments["k_r"][head, c2p])
    total += dot(key, arguments["q_r"][head, p2c])
    return total / mpmath.sqrt(3 * len(query))


def deberta_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    span = arguments["q_r"].shape[1] // 2

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        _, i, j = index
        ours, theirs = row(i - j, span), row(j - i, span)
        paper = conventions["p2c_index"] == "key-minus-query"
        return logit(arguments, index, ours, theirs if paper else ours)

    return value


def deberta_v2_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    span, limit = arguments["q_r"].shape[1] // 2, int(arguments["max_relative_positions"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        _, i, j = index
        both = row(bucket(i - j, conventions["far"], span, limit), span)
        return logit(arguments, index, both, both)

    return value


VALUES = {
    "deberta_bucket": deberta_bucket,
    "deberta_scores": deberta_scores,
    "deberta_v2_scores": deberta_v2_scores,
}
