"""Random walks by their definition: all walks from each node, step by step."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def random_walk(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the probability of return at (node, step)."""
    adjacency = arguments["adjacency"]
    nodes = range(len(adjacency))
    weights = [[mpmath.mpf(float(adjacency[row][column])) for column in nodes] for row in nodes]
    if conventions["degree"] == "in":
        weights = [[weights[row][column] for row in nodes] for column in nodes]
    degrees = [mpmath.fsum(row) for row in weights]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        start, last = index
        here = [mpmath.mpf(node == start) for node in nodes]
        for _ in range(last + 1):
            here = [
                mpmath.fsum(
                    here[node] * weights[node][other] / degrees[node]
                    for node in nodes
                    if degrees[node]
                )
                for other in nodes
            ]
        return here[start]

    return value


VALUES = {"random_walk": random_walk}
