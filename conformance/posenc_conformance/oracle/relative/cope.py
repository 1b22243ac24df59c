"""Contextual positions, from the listing of Golovneva et al. 2024 and their released code."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def cope_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key).

    The gates come from the keys, or from ``gate_keys``.
    """
    q, k, table = (arguments[name] for name in ("q", "k", "table"))
    opening = arguments.get("gate_keys", k)
    late = k.shape[1] - q.shape[1]
    scale = 1 / mpmath.sqrt(q.shape[2])

    def product(a: Any, b: Any) -> mpmath.mpf:
        return mpmath.fdot(
            (mpmath.mpf(float(x)), mpmath.mpf(float(y))) for x, y in zip(a, b, strict=True)
        )

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, row, key = index
        query = late + row
        if key > query:
            return None
        vector = q[head, row]
        counted = [
            1 / (1 + mpmath.exp(-scale * product(vector, opening[head, between])))
            for between in range(key, query + 1)
        ]
        position = min(mpmath.fsum(counted), mpmath.mpf(len(table) - 1))
        below, above = int(mpmath.floor(position)), int(mpmath.ceil(position))
        share = position - below
        placed = (1 - share) * product(vector, table[below]) + share * product(vector, table[above])
        content = scale * product(vector, k[head, key])
        return content + placed * (scale if conventions["scaling"] == "sum" else 1)

    return value


VALUES = {"cope_scores": cope_scores, "cope_gated_scores": cope_scores}
