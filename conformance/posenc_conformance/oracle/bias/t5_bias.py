"""T5's buckets by the formula of its released code, with logarithms at 50 digits."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def bucket(memory_minus_context: int, direction: str, buckets: int, distance: int) -> int:
    """Return the bucket of one distance.

    At the edge of a bucket the logarithm is whole, and its floor is that whole number.
    """
    offset = 0
    past = -memory_minus_context
    if direction == "bidirectional":
        buckets //= 2
        offset = buckets if past < 0 else 0
        past = abs(past)
    else:
        past = max(past, 0)
    exact = buckets // 2
    if past < exact:
        return offset + past
    ratio = mpmath.log(mpmath.mpf(past) / exact) / mpmath.log(mpmath.mpf(distance) / exact)
    steps = ratio * (buckets - exact)
    nearest = int(mpmath.nint(steps))
    at_edge = abs(steps - nearest) < mpmath.mpf(10) ** -40
    whole = nearest if at_edge else int(mpmath.floor(steps))
    return offset + min(exact + whole, buckets - 1)


def t5_bucket(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bucket at any index."""
    relative = arguments["relative_position"]
    buckets, distance = int(arguments["num_buckets"]), int(arguments["max_distance"])
    return lambda index: mpmath.mpf(
        bucket(int(relative[index]), conventions["direction"], buckets, distance)
    )


def t5_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    table, distance = arguments["table"], int(arguments["max_distance"])
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        row = bucket(key - (late + query), conventions["direction"], len(table), distance)
        return mpmath.mpf(float(table[row, head]))

    return value


def t5_bias_vjp(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the gradient of the table at (bucket, head).

    It sums the upstream gradient over the pairs of query and key that read the entry.
    """
    gradient = arguments["gradient"]
    _, queries, keys = gradient.shape
    rule = conventions["direction"], int(arguments["num_buckets"]), int(arguments["max_distance"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, head = index
        return mpmath.fsum(
            mpmath.mpf(float(gradient[head, query, key]))
            for query in range(queries)
            for key in range(keys)
            if bucket(key - (keys - queries + query), *rule) == row
        )

    return value


VALUES = {"t5_bucket": t5_bucket, "t5_bias": t5_bias, "t5_bias_vjp": t5_bias_vjp}
