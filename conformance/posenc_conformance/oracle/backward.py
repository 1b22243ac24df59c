"""Backward passes of linear calls by the definition: the transposed Jacobian, column by column."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Values = Callable[[Arguments, Arguments], Element]


def transposed(forward: Values) -> Values:
    """Make the backward pass of a linear call from its forward pass.

    Element (..., row, channel) is the sum over channels c of gradient c times dy_c/dx.

    The forward pass is linear and works row by row, so a column of its Jacobian is its result for a
    unit vector.
    """

    def elements(arguments: Arguments, conventions: Conventions) -> Element:
        gradient = arguments["x"]

        def value(index: tuple[int, ...]) -> Any:
            row = index[:-1]
            unit = {**arguments, "x": 0 * gradient}
            unit["x"][index] = 1.0
            column = forward(unit, conventions)
            return mpmath.fsum(
                mpmath.mpf(float(gradient[(*row, c)])) * column((*row, c))
                for c in range(gradient.shape[-1])
                if gradient[(*row, c)]
            )

        return value

    return elements
