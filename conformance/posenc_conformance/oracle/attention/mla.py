"""Multi-head latent attention by its definition: every query and key is rotated separately."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.rotary.yarn import frequency, number


def mla_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    q, k_nope, k_rope = (arguments[name] for name in ("q", "k_nope", "k_rope"))
    nope, rope = k_nope.shape[-1], k_rope.shape[-1]
    ahead = k_nope.shape[1] - q.shape[1]
    factor = arguments.get("factor")
    alone, all_dim = mpmath.mpf(1), mpmath.mpf(1)
    if factor is not None:
        grown = mpmath.log(number(factor)) / 10
        all_dim = 1 + number(arguments.get("mscale_all_dim", 1)) * grown
        alone = (1 + number(arguments.get("mscale", 1)) * grown) / all_dim

    def speed(pair: int) -> mpmath.mpf:
        if factor is not None:
            return frequency(arguments, "index", rope, pair)
        return number(arguments.get("base", 10000)) ** (-mpmath.mpf(2 * pair) / rope)

    def turned(row: Any, place: int, pair: int) -> mpmath.mpc:
        first, second = (pair, pair + rope // 2)
        if conventions["layout"] == "interleaved":
            first, second = 2 * pair, 2 * pair + 1
        plane = mpmath.mpc(float(row[first]), float(row[second]))
        return alone * plane * mpmath.expj(place * speed(pair))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, i, j = index
        query = q[head, i]
        content = mpmath.fsum(
            mpmath.mpf(float(query[c])) * mpmath.mpf(float(k_nope[head, j, c])) for c in range(nope)
        )
        position = mpmath.fsum(
            (turned(query[nope:], ahead + i, pair) * mpmath.conj(turned(k_rope[j], j, pair))).real
            for pair in range(rope // 2)
        )
        return (content + position) * all_dim**2 / mpmath.sqrt(nope + rope)

    return value


VALUES = {"mla_scores": mla_scores}
