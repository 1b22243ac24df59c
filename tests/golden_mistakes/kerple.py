"""The mistake that each golden of KERPLE alone catches."""

import numpy as np

from posenc_conformance.arrays import Array
from posenc_conformance.cases import Case
from tests.golden_mistakes.common import Mistake, right


def letters_exchanged(case: Case) -> Array:
    """r1 in the place of r2, and the reverse."""
    return case.changed(r1=case.arguments["r2"], r2=case.arguments["r1"]).truth


def queries_at_last_key(case: Case) -> Array:
    """All queries at the last key, where keys come from a cache."""
    out = right(case)
    if case.arguments["q_len"] < case.arguments["k_len"]:
        out[:] = out[:, -1:]
    return out


def distances_at_most(limit: int) -> Mistake:
    """Distances to earlier keys that stop growing."""

    def mistake(case: Case) -> Array:
        row = case.changed(q_len=1, k_len=limit + 1).truth[:, 0, ::-1]
        q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
        lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
        return np.where(lag < 0, -np.inf, row[:, np.clip(lag, 0, limit)])

    return mistake


MISTAKES: dict[str, Mistake] = {
    "log-2-heads": letters_exchanged,
    "log-2-of-5": queries_at_last_key,
    "log-one-query-of-1024": distances_at_most(512),
    "power-3-heads": letters_exchanged,
    "power-2-of-5": queries_at_last_key,
    "power-one-query-of-1024": distances_at_most(512),
}
