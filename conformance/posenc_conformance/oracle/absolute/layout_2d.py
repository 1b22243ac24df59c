"""Boxes of words on a page, by the definitions of LayoutLM and its successors."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.bias.t5_bias import bucket


def layout_embedding(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the embedding at (word, channel)."""
    boxes = arguments["bbox"]

    def rows(word: int) -> list[Any]:
        left, upper, right, lower = (int(edge) for edge in boxes[word])
        height, width = lower - upper, right - left
        if conventions["sizes"] == "clipped":
            height, width = max(height, 0), max(width, 0)
        reads = zip("xyxyhw", (left, upper, right, lower, height, width), strict=True)
        return [arguments[f"{letter}_table"][row] for letter, row in reads]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        word, channel = index
        if conventions["join"] == "sum":
            return mpmath.fsum(mpmath.mpf(float(row[channel])) for row in rows(word))
        beside = [number for row in rows(word) for number in row]
        return mpmath.mpf(float(beside[channel]))

    return value


def layout_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    boxes, distance = arguments["bbox"], int(arguments["max_distance"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        bias = mpmath.mpf(0)
        for letter, edge in (("x", 0), ("y", 3)):
            table = arguments[f"{letter}_table"]
            apart = int(boxes[key][edge]) - int(boxes[query][edge])
            row = bucket(apart, "bidirectional", len(table), distance)
            bias += mpmath.mpf(float(table[row][head]))
        if conventions["scaling"] == "root":
            bias /= mpmath.sqrt(int(arguments["head_dim"]))
        return bias

    return value


VALUES = {"layout_embedding": layout_embedding, "layout_bias": layout_bias}
