"""The mistake that each golden of the fixed pattern alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake
from tests.golden_mistakes.masks import at_least, queries_from_zero


def places(case: Case) -> tuple[Array, Array]:
    """Positions of the queries, as a column, and of the keys."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)


def summary_shorter(case: Case) -> Array:
    """A summary that is never the whole block."""
    shorter = min(case.arguments["summary"], case.arguments["block_size"] - 1)
    return case.changed(summary=shorter).truth


def sliding(case: Case) -> Array:
    """The last keys in place of the block."""
    query, key = places(case)
    return (key > query - case.arguments["block_size"]) & (key <= query)


def first_columns(case: Case) -> Array:
    """The first keys of each block."""
    query, key = places(case)
    return (key % case.arguments["block_size"] < case.arguments["summary"]) & (key <= query)


MISTAKES: dict[str, Mistake] = {
    "union-4-1": at_least("summary", 2),
    "union-4-2-decoding": queries_from_zero,
    "union-3-3": summary_shorter,
    "block-3": sliding,
    "columns-4-2": first_columns,
}
