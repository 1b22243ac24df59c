import math


def weights() -> tuple[str, str]:
    """Parameters of a table for all offsets of 1,024 keys, and of a network of 32 units."""
    heads, hidden, layers = 8, 32, 1
    network = 2 * hidden + layers * (hidden**2 + hidden) + heads * (hidden + 1)
    return f"{(2 * 1024 - 1) * heads:,}", f"{network:,}"


def slowly() -> tuple[str, str]:
    """The logarithm of the largest distance among 1,024 and 16,384 keys."""
    return f"{math.log(1024):.2f}", f"{math.log(16384):.2f}"
