"""The mistake that each golden of linear biases alone catches."""

from collections.abc import Callable

import numpy as np

import posenc
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, power_of_two_from, queries_from_zero, right


def power_of_two_below(number: int) -> int:
    """The greatest power of two below a number, or 1."""
    return max(power_of_two_from(number) // 2, 1)


def single_head_half(case: Case) -> Array:
    """Slope 1/2 for one head."""
    return np.array([0.5]) if case.arguments["heads"] == 1 else right(case)


def slopes_in_two_parts(first: int, longer: int, heads: int) -> Array:
    """All slopes of the first number of heads, then every second one of the longer list."""
    parts = posenc.alibi_slopes(first), posenc.alibi_slopes(longer)[::2]
    return np.concatenate(parts)[:heads]


def power_of_two_strictly_below(case: Case) -> Array:
    """The first part taken from the power of two strictly below the number of heads."""
    heads = case.arguments["heads"]
    first = power_of_two_below(heads)
    return slopes_in_two_parts(first, 2 * first, heads)


def second_part_from_at_least(longer: int) -> Mistake:
    """The second part taken from a list that is never shorter than this."""

    def mistake(case: Case) -> Array:
        heads = case.arguments["heads"]
        first = power_of_two_below(heads + 1)
        return slopes_in_two_parts(first, max(2 * first, longer), heads)

    return mistake


def second_part_falls_by(ratio: float) -> Mistake:
    """The second part as a progression of fixed ratio."""

    def mistake(case: Case) -> Array:
        out, first = right(case), power_of_two_below(case.arguments["heads"] + 1)
        if first < len(out):
            out[first:] = out[first] * ratio ** np.arange(len(out) - first)
        return out

    return mistake


def slopes_repeated(size: int) -> Mistake:
    """Only the first slopes computed, and repeated for the rest."""
    return lambda case: right(case)[np.arange(case.arguments["heads"]) % size]


def interpolated(case: Case) -> Array:
    """The authors' rule for numbers of heads that are no power of two, not the paper's."""
    return case.under(head_rule="interpolated").truth


def heads_padded(case: Case) -> Array:
    """Slopes of the next power of two of heads, as many as there are heads."""
    heads = case.arguments["heads"]
    return case.changed(heads=power_of_two_from(heads)).truth[:heads]


def queries_at_last_key(case: Case) -> Array:
    """All queries at the last key, where keys come from a cache."""
    out = right(case)
    if case.arguments["q_len"] < case.arguments["k_len"]:
        out[:] = out[:, -1:]
    return out


def distances_at_most(limit: int) -> Mistake:
    """Distances to earlier keys that stop growing."""

    def mistake(case: Case) -> Array:
        slopes = posenc.alibi_slopes(case.arguments["heads"])[:, None, None]
        return np.maximum(right(case), -slopes * limit)

    return mistake


def later_keys_not_penalised(case: Case) -> Array:
    """Zero for the keys after the query."""
    return np.where(np.isfinite(case.under(form="causal").truth), right(case), 0.0)


def keys_in_bfloat16(case: Case) -> Array:
    """Key positions held in bfloat16."""
    keys = np.arange(case.arguments["k_len"]).astype(DTYPES["bfloat16"]).astype(np.float64)
    slopes = posenc.alibi_slopes(case.arguments["heads"])[:, None, None]
    return np.broadcast_to(slopes * keys, case.shape)


def zero_at_query(case: Case) -> Array:
    """Zero at the query instead of the last key."""
    return case.under(form="causal").truth


def gradient_with(distance: Callable[[Array, Array], Array]) -> Mistake:
    """The sum of gradient times another distance, a function of key and query."""

    def mistake(case: Case) -> Array:
        gradient = case.arguments["gradient"]
        _, q_len, k_len = gradient.shape
        key, query = np.arange(k_len), np.arange(k_len - q_len, k_len)[:, None]
        return np.asarray((gradient * distance(key, query)).sum(axis=(1, 2)))

    return mistake


MISTAKES: dict[str, Mistake] = {
    "slopes-8": power_of_two_strictly_below,
    "slopes-1": single_head_half,
    "slopes-6": second_part_from_at_least(16),
    "slopes-12": second_part_falls_by(1 / 4),
    "slopes-112": slopes_repeated(32),
    "slopes-6-uniform": interpolated,
    "slopes-64-uniform": slopes_repeated(32),
    "causal-3-heads": heads_padded,
    "causal-2-of-5": queries_at_last_key,
    "causal-one-query-of-4096": distances_at_most(2048),
    "causal-uniform-6-heads": interpolated,
    "symmetric-2-heads": later_keys_not_penalised,
    "symmetric-1-of-5": queries_from_zero,
    "first-key-6-heads": heads_padded,
    "first-key-one-query-of-2048": keys_in_bfloat16,
    "last-key-12-heads": heads_padded,
    "last-key-2-of-5": zero_at_query,
    "vjp-causal-2-of-4": gradient_with(lambda key, query: key - query),
    "vjp-symmetric-3": gradient_with(lambda key, query: np.minimum(key - query, 0)),
    "vjp-first-key-2-of-3": gradient_with(lambda key, query: np.minimum(key - query, 0)),
    "vjp-last-key-2-of-3": gradient_with(lambda key, query: np.minimum(key - query, 0)),
}
