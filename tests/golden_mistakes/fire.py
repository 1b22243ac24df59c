"""The mistake that each golden of FIRE alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def threshold_alone(case: Case) -> Array:
    """Distances of all queries divided by the threshold's logarithm."""
    w1, b1, w2, b2 = (case.arguments[name] for name in ("w1", "b1", "w2", "b2"))
    q_len, k_len, c = (case.arguments[name] for name in ("q_len", "k_len", "c"))
    lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    small = 1e-6 if case.conventions["normalizer"] == "epsilon" else 0.0
    whole = np.log1p(c * case.arguments["threshold"]) + small
    part = np.log1p(c * np.maximum(lag, 0)) / whole
    hidden = np.maximum(part[..., None] * w1 + b1, 0)
    return np.moveaxis(hidden @ w2.T + b2, -1, 0)


def queries_at_last_key(case: Case) -> Array:
    """All queries at the last key, where keys come from a cache."""
    out = right(case)
    if case.arguments["q_len"] < case.arguments["k_len"]:
        out[:] = out[:, -1:]
    return out


def distances_at_most(limit: int) -> Mistake:
    """Distances to earlier keys that stop growing."""

    def mistake(case: Case) -> Array:
        out, k_len = right(case), case.arguments["k_len"]
        if k_len > limit + 1:
            out[..., : k_len - 1 - limit] = out[..., k_len - 1 - limit, None]
        return out

    return mistake


def later_keys_taken_along(case: Case) -> Array:
    """The gradient at keys after the query added to that at the query's own."""
    gradient = case.arguments["gradient"].copy()
    _, q_len, k_len = gradient.shape
    for query in range(q_len):
        own = k_len - q_len + query
        gradient[:, query, own] += gradient[:, query, own + 1 :].sum(axis=-1)
    return case.changed(gradient=gradient).truth


def without_epsilon(case: Case) -> Array:
    """The paper's denominator."""
    return case.changed().under(normalizer="plain").truth


MISTAKES: dict[str, Mistake] = {
    "paper-2-heads": threshold_alone,
    "paper-2-of-5": queries_at_last_key,
    "paper-one-query-of-1024": distances_at_most(512),
    "epsilon-2-heads": threshold_alone,
    "epsilon-2-of-5": queries_at_last_key,
    "vjp-paper-2-of-4": later_keys_taken_along,
    "vjp-epsilon-1-of-4": without_epsilon,
}
