"""Data-dependent ALiBi by its definition: the logarithm of the product of gates after the key."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def data_dependent_alibi_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key).

    The bias is None where the key comes after the query.
    """
    gates = arguments["gates"]
    ahead = gates.shape[1] - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, i, j = index
        query = ahead + i
        if j > query:
            return None
        return -mpmath.fsum(
            mpmath.log1p(mpmath.exp(-mpmath.mpf(float(gates[head, token]))))
            for token in range(j + 1, query + 1)
        )

    return value


VALUES = {"data_dependent_alibi_bias": data_dependent_alibi_bias}
