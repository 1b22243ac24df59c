"""KERPLE's two kernels (Chi et al. 2022), written as in the paper."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def kernel(form: str, distance: int, r1: Any, r2: Any) -> Any:
    """Return the bias at a non-negative distance."""
    if form == "log":
        return -r1 * mpmath.log1p(r2 * distance)
    return -r1 * mpmath.power(distance, r2)


def kerple_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, query, key = index
        distance = late + query - key
        if distance < 0:
            return None
        r1, r2 = (mpmath.mpf(float(arguments[name][head])) for name in ("r1", "r2"))
        return kernel(conventions["form"], distance, r1, r2)

    return value


def kerple_bias_vjp(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the gradient at (0 for r1 or 1 for r2, head).

    It differentiates the kernel numerically with respect to r1 or r2.
    """
    gradient = arguments["gradient"]
    _, queries, keys = gradient.shape

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        which, head = index
        numbers = tuple(mpmath.mpf(float(arguments[name][head])) for name in ("r1", "r2"))
        derivative: tuple[int, int] = ((1, 0), (0, 1))[which]
        total = mpmath.mpf(0)
        for distance in range(1, keys):  # at distance 0 the bias is always 0
            diagonal = [
                float(gradient[head, query, keys - queries + query - distance])
                for query in range(queries)
                if keys - queries + query >= distance
            ]
            slope = mpmath.diff(
                lambda r1, r2, d=distance: kernel(conventions["form"], d, r1, r2),
                numbers,
                derivative,
            )
            total += slope * mpmath.fsum(diagonal)
        return total

    return value


VALUES = {"kerple_bias": kerple_bias, "kerple_bias_vjp": kerple_bias_vjp}
