"""Attention by its definition (Vaswani et al. 2017, equation 1), one weight at a time."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def logits_of_row(
    arguments: Arguments, conventions: Conventions, row: tuple[int, ...]
) -> list[mpmath.mpf]:
    """Return the logits of the keys that one query may see."""
    q, k = arguments["q"], arguments["k"]
    *leading, i = row
    query, keys = q[row], k[tuple(leading)]
    seen = len(keys)
    if conventions["mask"] == "causal":
        seen -= q.shape[-2] - 1 - i
    root = mpmath.sqrt(len(query)) if conventions.get("scaling", "root") == "root" else 1
    logits = []
    for j in range(seen):
        product = mpmath.fsum(
            mpmath.mpf(float(a)) * float(b) for a, b in zip(query, keys[j], strict=True)
        )
        logits.append(product / root)
        if "bias" in arguments:
            bias = arguments["bias"]
            place = (*leading, i, j)[-bias.ndim :]
            logits[j] += mpmath.mpf(float(bias[place]))
    return logits


def weight(logits: list[mpmath.mpf], j: int) -> mpmath.mpf:
    """Return the attention weight of key j, which is 0 if the query may not see it.

    It is 1 over the sum of ``exp(other - logits[j])`` over all logits.
    """
    if j >= len(logits):
        return mpmath.mpf(0)
    return 1 / mpmath.fsum(mpmath.exp(other - logits[j]) for other in logits)


def attention_weights(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the weight at (…, query, key)."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, j = index
        return weight(logits_of_row(arguments, conventions, tuple(row)), j)

    return value


def attention(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the output at (…, query, channel)."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        logits = logits_of_row(arguments, conventions, tuple(row))
        values = arguments["v"][(*row[:-1],)]
        return mpmath.fsum(
            weight(logits, j) * mpmath.mpf(float(values[j][channel])) for j in range(len(logits))
        )

    return value


VALUES = {
    "attention_weights": attention_weights,
    "attention": attention,
    "attention_with_bias": attention,
}
