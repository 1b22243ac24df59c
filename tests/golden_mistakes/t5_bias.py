"""The mistake that each golden of T5's biases alone catches."""

from collections.abc import Callable
from typing import Any

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, queries_from_zero


def argument_altered(name: str, alter: Callable[[int], int]) -> Mistake:
    """Another number than the one asked for."""
    return lambda case: case.changed(**{name: alter(case.arguments[name])}).truth


max_distance_ignored = argument_altered("max_distance", lambda distance: 128)


def edges_lost(case: Case) -> Array:
    """Logarithms a little too small: a distance exactly at an edge falls into the bucket before."""
    relative, buckets = case.arguments["relative_position"], case.arguments["num_buckets"] // 2
    exact, distance = buckets // 2, np.abs(relative)
    far = np.maximum(distance, exact) / exact
    ratio = np.log(far) / np.log(case.arguments["max_distance"] / exact) * (1 - 1e-9)
    bucket = np.minimum(exact + (ratio * (buckets - exact)).astype(np.int64), buckets - 1)
    return np.where(distance < exact, distance, bucket) + buckets * (relative > 0)


def distances_in_int16(case: Case) -> Array:
    """Distances cut to 16 bits."""
    relative = case.arguments["relative_position"]
    return case.changed(relative_position=relative.astype(np.int16)).truth


def later_keys_by_distance(case: Case) -> Array:
    """Keys after the query in the buckets of those before it."""
    relative = case.arguments["relative_position"]
    return case.changed(relative_position=-np.abs(relative)).truth


def later_keys_biased_by_distance(case: Case) -> Array:
    """Keys after the query with the biases of those before it."""
    table, max_distance = case.arguments["table"], case.arguments["max_distance"]
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    distance = np.abs(np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None])
    bucket = posenc.t5_bucket(
        -distance, direction="causal", num_buckets=len(table), max_distance=max_distance
    )
    return np.moveaxis(table[bucket], -1, 0)


def table_altered(alter: Callable[[Array], Array]) -> Mistake:
    """Another table than the one given."""
    return lambda case: case.changed(table=alter(case.arguments["table"])).truth


last_bucket_missing = table_altered(lambda table: np.vstack([table[:-1], table[-2:-1]]))

buckets_taken_for_32 = table_altered(lambda table: table[:32])


def overwritten(case: Case) -> Array:
    """Of each bucket, the gradient of its last pair alone."""
    gradient = case.arguments["gradient"]
    heads, q_len, k_len = gradient.shape
    relative = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    given: dict[str, Any] = dict(case.conventions)
    given |= {name: case.arguments[name] for name in ("num_buckets", "max_distance")}
    out = np.zeros((given["num_buckets"], heads))
    out[posenc.t5_bucket(relative, **given)] = np.moveaxis(gradient, 0, -1)
    return out


def later_keys_left_out(case: Case) -> Array:
    """No gradient from keys after the query."""
    return case.changed(gradient=np.tril(case.arguments["gradient"])).truth


MISTAKES: dict[str, Mistake] = {
    "bidirectional-32-128": edges_lost,
    "bidirectional-64-128": argument_altered("num_buckets", lambda buckets: min(buckets, 32)),
    "bidirectional-8-20": max_distance_ignored,
    "bidirectional-far": distances_in_int16,
    "causal-32-128": later_keys_by_distance,
    "causal-32-1024": argument_altered("max_distance", lambda distance: min(distance, 512)),
    "causal-odd-buckets": argument_altered("num_buckets", lambda buckets: buckets // 2 * 2),
    "bias-bidirectional-64-buckets": buckets_taken_for_32,
    "bias-bidirectional-128-keys": last_bucket_missing,
    "bias-bidirectional-1-of-9": queries_from_zero,
    "bias-bidirectional-max-1024": max_distance_ignored,
    "bias-causal": later_keys_biased_by_distance,
    "bias-causal-2-of-20": queries_from_zero,
    "bias-causal-max-1024": max_distance_ignored,
    "vjp-bidirectional-3-of-5": overwritten,
    "vjp-causal-4": later_keys_left_out,
}
