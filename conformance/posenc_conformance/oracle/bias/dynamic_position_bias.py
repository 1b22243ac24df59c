"""The network of a dynamic position bias, unit by unit."""

from functools import cache
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def dynamic_position_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def exact(number: Any) -> mpmath.mpf:
        return mpmath.mpf(float(number))

    def silu(x: mpmath.mpf) -> mpmath.mpf:
        return x * (1 + mpmath.tanh(x / 2)) / 2

    @cache
    def hidden(lag: int) -> list[mpmath.mpf]:
        coordinate = mpmath.mpf(lag)
        if conventions["distance"] == "log":
            coordinate = mpmath.sign(lag) * mpmath.log(1 + abs(lag))
        units = [
            silu(exact(w) * coordinate + exact(b))
            for w, b in zip(arguments["w_in"], arguments["b_in"], strict=True)
        ]
        for weights, biases in zip(arguments["w_mid"], arguments["b_mid"], strict=True):
            units = [
                silu(exact(b) + mpmath.fsum(exact(w) * u for w, u in zip(row, units, strict=True)))
                for row, b in zip(weights, biases, strict=True)
            ]
        return units

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, row, key = index
        terms = zip(arguments["w_out"][head], hidden(late + row - key), strict=True)
        return exact(arguments["b_out"][head]) + mpmath.fsum(exact(w) * u for w, u in terms)

    return value


VALUES = {"dynamic_position_bias": dynamic_position_bias}
