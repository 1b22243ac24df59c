"""The mistake that each golden of KERPLE alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
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


def of_r2(term: Callable[[Array, Array, Array], Array]) -> Mistake:
    """Another derivative by r2, from r1, r2 and the distance; that by r1 is right."""

    def mistake(case: Case) -> Array:
        r1, r2 = (case.arguments[name][:, None, None] for name in ("r1", "r2"))
        _, q_len, k_len = case.arguments["gradient"].shape
        lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
        each = np.where(lag < 0, 0.0, term(r1, r2, np.maximum(lag, 0)))
        out = right(case)
        out[1] = -(case.arguments["gradient"] * each).sum(axis=(1, 2))
        return out

    return mistake


without_distance = of_r2(lambda r1, r2, d: r1 / (1 + r2 * d))
power_rule = of_r2(lambda r1, r2, d: np.where(d > 0, r1 * r2 * np.maximum(d, 1) ** (r2 - 1), 0))


MISTAKES: dict[str, Mistake] = {
    "log-2-heads": letters_exchanged,
    "log-2-of-5": queries_at_last_key,
    "log-one-query-of-1024": distances_at_most(512),
    "power-3-heads": letters_exchanged,
    "power-2-of-5": queries_at_last_key,
    "power-one-query-of-1024": distances_at_most(512),
    "vjp-log-2-of-4": without_distance,
    "vjp-power-2-of-4": power_rule,
}
