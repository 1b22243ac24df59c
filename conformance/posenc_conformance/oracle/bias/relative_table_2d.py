"""Tables of offsets in two dimensions by their definition: offsets are listed and looked up."""

from itertools import product

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def row_of(query: int, key: int, height: int, width: int, class_token: str) -> int:
    """Return the index of an offset in the list of all, from up and left to down and right.

    The three indices after the list are for the class token.
    """
    offsets = list(product(range(1 - height, height), range(1 - width, width)))
    if class_token == "first":
        if query == 0 or key == 0:
            return len(offsets) + (2 if query == key else 1 if key == 0 else 0)
        query, key = query - 1, key - 1
    return offsets.index((query // width - key // width, query % width - key % width))


def relative_table_2d(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    sizes = int(arguments["height"]), int(arguments["width"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        row = row_of(query, key, *sizes, conventions["class_token"])
        return mpmath.mpf(float(arguments["table"][row][head]))

    return value


def relative_table_2d_rows(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the row of the table at (query, key)."""
    sizes = int(arguments["height"]), int(arguments["width"])
    return lambda index: mpmath.mpf(row_of(index[0], index[1], *sizes, conventions["class_token"]))


VALUES = {
    "relative_table_2d": relative_table_2d,
    "relative_table_2d_rows": relative_table_2d_rows,
}
