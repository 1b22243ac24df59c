"""Query temperature by its definition, with Python's own integers."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def number_of(index: tuple[int, ...], positions: Any, conventions: Conventions) -> int:
    """Return the number of the query that contains the element (..., row, channel)."""
    place = int(positions[index[-2]])
    return place + 1 if conventions["count"] == "from-1" else place


def query_temperature(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the scaled query at (..., row, channel)."""
    beta = mpmath.mpf(float(arguments.get("beta", 0.1)))
    length = int(arguments.get("length", 8192))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        number = number_of(index, arguments["positions"], conventions)
        steps = (number - number % length) // length
        return mpmath.mpf(float(arguments["x"][index])) * (1 + beta * mpmath.log(steps + 1))

    return value


def query_log_scale(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the scaled query at (..., row, channel)."""
    length = int(arguments.get("length", 2048))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        number = number_of(index, arguments["positions"], conventions)
        x = mpmath.mpf(float(arguments["x"][index]))
        return x * mpmath.log(number, length) if number > length else x

    return value


VALUES = {"query_temperature": query_temperature, "query_log_scale": query_log_scale}
