"""Log-spaced continuous position bias by its equations and released code (Liu et al. 2022)."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

AXES = ("height", "width")


def coordinate(offset: int, axis: str, arguments: Arguments, kind: str) -> mpmath.mpf:
    """Return the coordinate along an axis of an offset in patches."""
    sign = mpmath.sign(offset)
    if kind == "plain":
        return sign * mpmath.log(1 + abs(offset))
    size = int(arguments.get(f"pretrained_{axis}", 0)) or int(arguments[axis])
    if offset == 0:
        return mpmath.mpf(0)
    return sign * mpmath.log(1 + mpmath.mpf(8 * abs(offset)) / (size - 1), 8)


def log_cpb_coordinates(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the coordinate at (offset, axis)."""
    height, width = (int(arguments[axis]) for axis in AXES)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, axis = index
        offset = row // (2 * width - 1) - height + 1, row % (2 * width - 1) - width + 1
        return coordinate(offset[axis], AXES[axis], arguments, conventions["coordinates"])

    return value


def log_cpb(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    width = int(arguments["width"])
    w1, b1, w2 = (arguments[name] for name in ("w1", "b1", "w2"))

    def exact(number: Any) -> mpmath.mpf:
        return mpmath.mpf(float(number))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        offset = query // width - key // width, query % width - key % width
        place = [
            coordinate(steps, axis, arguments, conventions["coordinates"])
            for steps, axis in zip(offset, AXES, strict=True)
        ]
        answer = mpmath.mpf(0)
        for unit in range(len(b1)):
            inside = exact(w1[unit][0]) * place[0] + exact(w1[unit][1]) * place[1]
            answer += exact(w2[head][unit]) * max(inside + exact(b1[unit]), 0)
        return 16 / (1 + mpmath.exp(-answer)) if conventions["output"] == "sigmoid" else answer

    return value


VALUES = {"log_cpb": log_cpb, "log_cpb_coordinates": log_cpb_coordinates}
