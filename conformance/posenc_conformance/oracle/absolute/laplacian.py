"""Dot products of node encodings from Laplacian eigenvectors, which mpmath computes."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def laplacian(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the dot product of two encodings at (node, node)."""
    adjacency, count = arguments["adjacency"], int(arguments["count"])
    nodes = range(len(adjacency))
    dropped = conventions["loops"] == "dropped"
    weights = [
        [
            mpmath.mpf(0 if dropped and row == column else float(adjacency[row][column]))
            for column in nodes
        ]
        for row in nodes
    ]
    degrees = [mpmath.fsum(row) for row in weights]
    matrix = mpmath.eye(len(adjacency))
    for row in nodes:
        for column in nodes:
            if weights[row][column]:
                root = mpmath.sqrt(degrees[row] * degrees[column])
                matrix[row, column] -= weights[row][column] / root
    _, vectors = mpmath.eigsy(matrix)  # eigenvalues ascend

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        left, right = index
        return mpmath.fsum(
            vectors[left, column] * vectors[right, column] for column in range(1, count + 1)
        )

    return value


VALUES = {"laplacian": laplacian}
