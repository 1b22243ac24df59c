"""Sinusoids on the embeddings and biases on the logits, by definition."""

from functools import cache

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def hybrid_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    x, w_q, w_k, table = (arguments[name] for name in ("x", "w_q", "w_k", "table"))
    base, dim, head_dim = mpmath.mpf(arguments["base"]), x.shape[1], w_q.shape[2]
    reach = (len(table) - 1) // 2

    @cache
    def placed(position: int) -> list[mpmath.mpf]:
        row = []
        for channel in range(dim):
            wave = mpmath.sin if channel % 2 == 0 else mpmath.cos
            exponent = mpmath.mpf(channel - channel % 2) / dim
            row.append(mpmath.mpf(float(x[position, channel])) + wave(position / base**exponent))
        return row

    @cache
    def projected(which: str, head: int, position: int) -> list[mpmath.mpf]:
        weights = (w_q if which == "query" else w_k)[head]
        return [
            mpmath.fsum(h * float(w) for h, w in zip(placed(position), column, strict=True))
            for column in weights.T
        ]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        product = mpmath.fdot(projected("query", head, query), projected("key", head, key))
        row = max(0, min(2 * reach, reach + key - query))
        return product / mpmath.sqrt(head_dim) + float(table[row, head])

    return value


VALUES = {"hybrid_scores": hybrid_scores}
