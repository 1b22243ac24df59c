"""FIRE by its equation (Li et al. 2024, section 3)."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def fire_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])
    c = mpmath.mpf(float(arguments.get("c", 0.1)))
    threshold = mpmath.mpf(float(arguments.get("threshold", 512)))
    small = mpmath.mpf("1e-6") if conventions["normalizer"] == "epsilon" else mpmath.mpf(0)
    w1, b1, w2, b2 = (arguments[name] for name in ("w1", "b1", "w2", "b2"))

    def exact(number: Any) -> mpmath.mpf:
        return mpmath.mpf(float(number))

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, row, key = index
        i = late + row
        if key > i:
            return None
        part = mpmath.log(c * (i - key) + 1) / (mpmath.log(c * max(threshold, i) + 1) + small)
        answer = exact(b2[head])
        for unit in range(len(w1)):
            active = exact(w1[unit]) * part + exact(b1[unit])
            if active > 0:
                answer += exact(w2[head, unit]) * active
        return answer

    return value


def fire_bias_vjp(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the gradient of the second layer at (head, unit).

    The last unit is the bias of the layer.

    The attention bias is linear in the second layer, so its derivative with respect to one weight
    is the attention bias with that weight 1 and all others 0.
    """
    gradient, hidden = arguments["gradient"], len(arguments["w1"])
    _, queries, keys = gradient.shape

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, unit = index
        alone = 0.0 * arguments["w1"][None]
        if unit < hidden:
            alone[0, unit] = 1.0
        lengths = {"q_len": queries, "k_len": keys}
        layer = {"w2": alone, "b2": [float(unit == hidden)]}
        bias = fire_bias({**arguments, **lengths, **layer}, conventions)
        terms = (
            (gradient[head, query, key], bias((0, query, key)))
            for query in range(queries)
            for key in range(keys)
        )
        return mpmath.fsum(mpmath.mpf(float(g)) * b for g, b in terms if b is not None)

    return value


VALUES = {"fire_bias": fire_bias, "fire_bias_vjp": fire_bias_vjp}
