"""Transformer-XL's four terms by their definition, one by one (Dai et al. 2019, section 3.3)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

START = {"past": 1, "full": 1, "padded": 0}
"""The number of keys minus the distance of the first column."""


def relative_shift(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the shifted score at (…, query, key).

    This is the score in the column for the distance between the query and the key.
    """
    x, held = arguments["x"], conventions["distances"]
    q_len, columns = x.shape[-2:]
    distances_ahead = 0 if held == "past" else q_len - 1
    first = columns - 1 - distances_ahead
    k_len = first + START[held]

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        *batch, query, key = index
        distance = (k_len - q_len + query) - key
        if distance < -distances_ahead:
            return None
        return mpmath.mpf(float(x[(*batch, query, first - distance)]))

    return value


def wave(distance: int, channel: int, dim: int, layout: str) -> mpmath.mpf:
    """Return one channel of the sinusoid of a distance."""
    half = dim // 2
    t, is_cosine = (
        (channel % half, channel >= half)
        if layout == "concatenated"
        else (channel // 2, channel % 2 == 1)
    )
    angle = distance / mpmath.root(mpmath.mpf(10000) ** (2 * t), dim)
    return mpmath.cos(angle) if is_cosine else mpmath.sin(angle)


def transformer_xl_scores(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the logit at (head, query, key)."""
    q, k, w_kr, u, v = (arguments[name] for name in ("q", "k", "w_kr", "u", "v"))
    late, (dim, head_dim) = k.shape[1] - q.shape[1], w_kr.shape[1:]
    clamp_len = arguments.get("clamp_len")

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, i, j = index
        distance = late + i - j
        if distance < 0 and conventions["direction"] == "causal":
            return None
        if clamp_len is not None:
            distance = sorted((-clamp_len, distance, clamp_len))[1]
        waves = [wave(distance, t, dim, conventions["layout"]) for t in range(dim)]
        total = mpmath.mpf(0)
        for c in range(head_dim):
            key = mpmath.mpf(float(k[head, j, c]))
            projected = mpmath.fsum(
                mpmath.mpf(float(w_kr[head, t, c])) * waves[t] for t in range(dim)
            )
            query = mpmath.mpf(float(q[head, i, c]))
            total += query * key + query * projected
            total += mpmath.mpf(float(u[head, c])) * key + mpmath.mpf(float(v[head, c])) * projected
        return total / mpmath.sqrt(head_dim)

    return value


VALUES = {"relative_shift": relative_shift, "transformer_xl_scores": transformer_xl_scores}
