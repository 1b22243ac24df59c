"""The mistake that each golden of BigBird's pattern alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right
from tests.golden_mistakes.masks import at_least, queries_from_zero, size_a_power_of_two


def last_whole_block(case: Case) -> Array:
    """The last block that is whole taken for the last one."""
    q_len, k_len, size = (case.arguments[name] for name in ("q_len", "k_len", "block_size"))
    query, key = np.arange(k_len - q_len, k_len)[:, None] // size, np.arange(k_len) // size
    ends = [0, max(k_len // size - 1, 0)]
    return (np.abs(query - key) <= 1) | np.isin(query, ends) | np.isin(key, ends)


def nothing_if_short(case: Case) -> Array:
    """Texts shorter than a block have no block at all."""
    short = case.arguments["k_len"] < case.arguments["block_size"]
    return np.zeros(case.shape, dtype=bool) if short else right(case)


MISTAKES: dict[str, Mistake] = {
    "block-1": at_least("block_size", 2),
    "block-3": size_a_power_of_two("block_size"),
    "block-2-short-last": last_whole_block,
    "block-2-last-queries": queries_from_zero,
    "block-4-of-3-keys": nothing_if_short,
}
