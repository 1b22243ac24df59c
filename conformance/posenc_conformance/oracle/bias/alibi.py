"""Linear biases by their definition (Press et al. 2022, section 3) and their authors' code."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def slope(head: int, heads: int, rule: str) -> mpmath.mpf:
    """Return the slope of one head, counted from 0, by the recursion of ``get_slopes``."""
    power = mpmath.floor(mpmath.log(heads, 2) + mpmath.mpf(10) ** -20)
    below = int(mpmath.power(2, power))
    if rule == "uniform" or below == heads:
        return mpmath.power(2, mpmath.mpf(-8) / heads) ** (head + 1)
    if head < below:
        return slope(head, below, rule)
    return slope(2 * (head - below), 2 * below, rule)


def alibi_slopes(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the slope at (head,)."""
    return lambda index: slope(index[0], int(arguments["heads"]), conventions["head_rule"])


def alibi_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    heads, q_len, k_len = (int(arguments[name]) for name in ("heads", "q_len", "k_len"))

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, row, key = index
        if conventions["form"] != "symmetric" and key > k_len - q_len + row:
            return None
        steps = distance(row, key, q_len, k_len, conventions["form"])
        return slope(head, heads, conventions["head_rule"]) * steps

    return value


def distance(row: int, key: int, q_len: int, k_len: int, form: str) -> int:
    """Return the factor on the slope; in the causal form 0 for a key after the query."""
    query = k_len - q_len + row
    return {
        "causal": min(key - query, 0),
        "symmetric": min(key - query, query - key),
        "first-key": key,
        "last-key": key + 1 - k_len,
        "key-from-1": key + 1,
    }[form]


def alibi_bias_vjp(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the gradient of the slopes at (head,).

    It sums the upstream gradient times the distance over the pairs of query and key.
    """
    gradient = arguments["gradient"]
    _, q_len, k_len = gradient.shape

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        terms = (
            mpmath.mpf(float(gradient[index[0], row, key]))
            * distance(row, key, q_len, k_len, conventions["form"])
            for row in range(q_len)
            for key in range(k_len)
        )
        return mpmath.fsum(terms)

    return value


VALUES = {
    "alibi_slopes": alibi_slopes,
    "alibi_bias": alibi_bias,
    "alibi_bias_vjp": alibi_bias_vjp,
}
