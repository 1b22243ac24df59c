"""For each golden, the mistake that it alone of its group catches, as a small wrong variant.

A mistake is a function from a case to the wrong result in float64. All are the reference with
altered arguments, or its result altered; ``case.changed()`` is the case without the printed truth,
so that ``case.changed().truth`` is what the reference says.
"""

from collections.abc import Callable

import numpy as np

import posenc
from posenc_conformance.arrays import DTYPES, Array
from posenc_conformance.cases import Case

Mistake = Callable[[Case], Array]


def right(case: Case) -> Array:
    """A copy of what the reference says."""
    return case.changed().truth.copy()


def power_of_two_from(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def power_of_two_below(number: int) -> int:
    """The greatest power of two below a number, or 1."""
    return max(power_of_two_from(number) // 2, 1)


# Positions: the argument ``positions`` is altered.


def positions_altered(alter: Callable[[Array], Array]) -> Mistake:
    """Other positions than those asked for."""
    return lambda case: case.changed(positions=alter(case.arguments["positions"])).truth


def last_row_missing(rows: int) -> Mistake:
    """A table one row short: the row before stands in; longer sequences have a table of theirs."""
    return positions_altered(lambda p: np.where(p == rows - 1, rows - 2, p))


zero_taken_for_one = positions_altered(lambda p: np.maximum(p, 1))
cast_to_int32 = positions_altered(lambda p: p.astype(np.int32))
cut_to_whole = positions_altered(np.trunc)
wrapped_as_index = positions_altered(lambda p: p % 4096)
numbered_from_first = positions_altered(lambda p: p[0] + np.arange(len(p)))


def zeros_at_zero(case: Case) -> Array:
    """A row of zeros where the position is 0."""
    out = right(case)
    out[case.arguments["positions"] == 0] = 0
    return out


# Frequencies: an altered base gives other exponents, as base ** (-c t) is (base ** c) ** -t.


def base_altered(alter: Callable[[float], float]) -> Mistake:
    """Another base than the one asked for."""
    return lambda case: case.changed(base=alter(case.arguments["base"])).truth


def base_taken_for(base: float, other: float) -> Mistake:
    """One base replaced by another; all others are right."""
    return base_altered(lambda b: other if b == base else b)


base_ignored = base_altered(lambda b: 10000)
base_at_most_500000 = base_altered(lambda b: min(b, 500000))


def head_padded(case: Case) -> Array:
    """Exponents 2t/d whose d is the next power of two."""
    head_dim = case.arguments["x"].shape[-1]
    return base_altered(lambda b: b ** (head_dim / power_of_two_from(head_dim)))(case)


def head_dim_frequencies(case: Case) -> Array:
    """Exponents 2t/d although only r < d channels are rotated."""
    share = case.arguments["rotary_dim"] / case.arguments["x"].shape[-1]
    return base_altered(lambda b: b**share)(case)


def odd_rounded_up(case: Case) -> Array:
    """Exponents t/(n-1) of n pairs, with n counted from d+1 channels where d is odd."""
    pairs, odd = case.arguments["dim"] // 2, case.arguments["dim"] % 2
    return base_altered(lambda b: b ** ((pairs - 1) / (pairs - 1 + odd)))(case)


def single_pair_frequency(frequency: Callable[[float], float]) -> Mistake:
    """A frequency other than 1 for a single pair, made from the base."""

    def mistake(case: Case) -> Array:
        factor = frequency(case.arguments["base"]) if case.arguments["dim"] == 2 else 1
        return positions_altered(lambda p: p * factor)(case)

    return mistake


# Channels of the sinusoidal encoding.


def other_odd_dim(odd_dim: str) -> Mistake:
    """Another rule for an odd number of channels."""
    return lambda case: case.under(odd_dim=odd_dim).truth


def channels_repeated(size: int) -> Mistake:
    """Only the first channels computed, and repeated for the rest."""
    return lambda case: right(case)[:, np.arange(case.arguments["dim"]) % size]


def zeros_first(case: Case) -> Array:
    """For odd d, the column of zeros before the others."""
    return np.roll(right(case), case.arguments["dim"] % 2, axis=1)


def zeros_between(case: Case) -> Array:
    """For odd d, the column of zeros between the two halves."""
    out, half = right(case), case.arguments["dim"] // 2
    if case.arguments["dim"] % 2:
        out = np.insert(out[:, :-1], half, 0.0, axis=1)
    return out


def sine_cut(case: Case) -> Array:
    """For odd d, one sine fewer than cosines."""
    return np.roll(case.under(layout="cos-sin").truth, case.arguments["dim"] // 2, axis=1)


def cosines_early(case: Case) -> Array:
    """For odd d, cosines written from column d//2 on, over the last sine."""
    without_last_sine = np.delete(right(case), case.arguments["dim"] // 2, axis=1)
    return np.pad(without_last_sine, [(0, 0), (0, 1)])


def scale_padded(case: Case) -> Array:
    """The scale (2/d)^1/2 with the next power of two for d."""
    dim = case.arguments["dim"]
    return right(case) * (dim / power_of_two_from(dim)) ** 0.5


# Channels of the rotary embedding.


def single_pair_unrotated(case: Case) -> Array:
    """Heads of one pair returned as they are."""
    x: Array = case.arguments["x"]
    return x if x.shape[-1] == 2 else right(case)


def unrotated_from(channel: int) -> Mistake:
    """Channels from one on returned as they are."""

    def mistake(case: Case) -> Array:
        out = right(case)
        out[..., channel:] = case.arguments["x"][..., channel:]
        return out

    return mistake


def rotary_dim_altered(alter: Callable[[int, int], int]) -> Mistake:
    """Another number of rotated channels, from the number asked for and the size of the head."""

    def mistake(case: Case) -> Array:
        asked, head_dim = case.arguments["rotary_dim"], case.arguments["x"].shape[-1]
        return case.changed(rotary_dim=alter(asked, head_dim)).truth

    return mistake


def whole_head_reordered(case: Case) -> Array:
    """Pairs of the whole head, not only of its rotated part, reordered to halves."""
    x = case.arguments["x"]
    halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    return case.changed(x=halves).under(layout="half").truth


# Slopes of linear biases.


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


# Biases.


def heads_padded(case: Case) -> Array:
    """Slopes of the next power of two of heads, as many as there are heads."""
    heads = case.arguments["heads"]
    return case.changed(heads=power_of_two_from(heads)).truth[:heads]


def queries_from_zero(case: Case) -> Array:
    """Query i at position i although keys come before it."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return case.changed(q_len=k_len).truth[:, :q_len]


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


# Buckets: of distances, and of the keys and queries of a bias.


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


MISTAKES: dict[str, dict[str, Mistake]] = {
    "alibi": {
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
    },
    "rope": {
        "interleaved-d4-start": zero_taken_for_one,
        "interleaved-d2": single_pair_unrotated,
        "interleaved-head64-4k": last_row_missing(4096),
        "llama3-meta-head128": base_ignored,
        "interleaved-head80": head_padded,
        "interleaved-batch-unsorted": numbered_from_first,
        "interleaved-head64-131071": last_row_missing(131072),
        "interleaved-head256-beyond-int32": cast_to_int32,
        "gpt-j-head256-rotary64": head_dim_frequencies,
        "half-d4-start": zero_taken_for_one,
        "half-d2": single_pair_unrotated,
        "llama-head128-4k": last_row_missing(4096),
        "llama3-head128-128k": base_taken_for(500000, 10000),
        "mistral-head128-base-1000000": base_taken_for(1000000, 100000),
        "gemma-head256": unrotated_from(128),
        "half-head80": head_padded,
        "half-head64-1048575": last_row_missing(1048576),
        "half-head64-beyond-int32": cast_to_int32,
        "half-batch-unsorted": numbered_from_first,
        "gpt-neox-head64-rotary16": rotary_dim_altered(lambda asked, head_dim: max(asked, 32)),
        "phi-head80-rotary32": rotary_dim_altered(lambda asked, head_dim: head_dim // 4),
        "deepseek-d4-start": zero_taken_for_one,
        "deepseek-head64-4k": last_row_missing(4096),
        "deepseek-head64-base-500000": base_ignored,
        "deepseek-batch-unsorted": numbered_from_first,
        "deepseek-head64-rotary32": whole_head_reordered,
    },
    "sinusoidal": {
        "paper-d8-start": zeros_at_zero,
        "paper-d2": single_pair_frequency(lambda base: 1 / base),
        "paper-d512": channels_repeated(256),
        "paper-d128-last-row-of-4096": last_row_missing(4096),
        "paper-d16-131071": last_row_missing(131072),
        "paper-d16-1048575": last_row_missing(1048576),
        "paper-d256-beyond-int32": cast_to_int32,
        "paper-d64-base-500000": base_taken_for(500000, 50000),
        "paper-d64-base-1000000": base_at_most_500000,
        "paper-d7-zero": other_odd_dim("cut"),
        "paper-d7-cut": other_odd_dim("uneven"),
        "paper-d7-uneven": other_odd_dim("cut"),
        "paper-d8-real": cut_to_whole,
        "paper-d8-negative": wrapped_as_index,
        "concat-d8": zeros_at_zero,
        "concat-d64-last-row-of-4096": last_row_missing(4096),
        "concat-d16-base-1000000": base_ignored,
        "concat-d5-zero": zeros_between,
        "concat-d5-cut": sine_cut,
        "concat-d5-uneven": cosines_early,
        "tensor2tensor-d8": zeros_at_zero,
        "tensor2tensor-d2": single_pair_frequency(lambda base: 0),
        "tensor2tensor-d9": zeros_first,
        "tensor2tensor-d512": channels_repeated(256),
        "fairseq-d8": zeros_at_zero,
        "fairseq-d64-1024": last_row_missing(1024),
        "fairseq-d9": odd_rounded_up,
        "ddpm-d8": zero_taken_for_one,
        "ddpm-d128-last-step": last_row_missing(1000),
        "ddpm-d9": odd_rounded_up,
        "ddpm-d8-real": cut_to_whole,
        "whisper-d8": zeros_at_zero,
        "whisper-d384-last-frame": last_row_missing(1500),
        "adm-d8": zero_taken_for_one,
        "adm-d256": last_row_missing(1000),
        "adm-d9": zeros_between,
        "adm-d8-real": cut_to_whole,
        "musicgen-d8": zeros_at_zero,
        "musicgen-d512": last_row_missing(2048),
        "opennmt-d8": zeros_at_zero,
        "opennmt-d512": channels_repeated(256),
        "mlx-d8": zeros_at_zero,
        "mlx-d96": scale_padded,
        "x-transformers-d8": zeros_at_zero,
        "x-transformers-d512": last_row_missing(4096),
    },
    "t5-bias": {
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
    },
}
