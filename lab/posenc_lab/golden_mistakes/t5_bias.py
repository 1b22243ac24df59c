"""Mistakes with T5's biases that no wrong miniature makes."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, altered


def later_keys_biased_by_distance(case: Case) -> Array:
    """Keys after the query with the biases of those before it."""
    table, max_distance = case.arguments["table"], case.arguments["max_distance"]
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    distance = np.abs(np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None])
    bucket = posenc.t5_bucket(
        -distance, direction="causal", num_buckets=len(table), max_distance=max_distance
    )
    return np.moveaxis(table[bucket], -1, 0)


MISTAKES: dict[str, Mistake] = {
    "bias-bidirectional-64-buckets": altered("table", lambda table: table[:32]),
    "bias-causal": later_keys_biased_by_distance,
}
