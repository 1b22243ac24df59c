"""Arguments for which the conventions of a call differ."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import fine
from posenc_conformance.scheme_file.scheme import Arguments

BASE = 10000.0
HEAD_DIMS = (2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 80, 96, 112, 128, 130, 160, 192, 256, 512)
DIMS = (2, 4, 5, 6, 8, 9, 10, 12, 16, 24, 48, 64, 65, 96, 100, 128, 130, 192, 256, 384, 512, 768)

SAMPLE: Mapping[str, Any] = {
    "x": fine((2, 9, 32)).astype(np.float32),
    "positions": np.arange(3, 12),
}
"""Arguments of ``rope`` with which drafts are run before they are compared with anything."""


SCALED: Mapping[str, Any] = {
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 256,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
"""Parameters with which a few of the pairs of 32 channels are scaled in part."""


def sample(keywords: Collection[str]) -> Arguments:
    """Return SAMPLE for a method that takes these keywords."""
    told = {"base": BASE, "layout": "half", **SCALED, "length": 64}
    return {**SAMPLE, **{name: value for name, value in told.items() if name in keywords}}


def rope_query_key(base: float = BASE) -> list[Arguments]:
    """Return arguments with fewer key heads than query heads, and with as many."""
    return [
        {"q": fine((4, 9, 32)), "k": fine((keys, 9, 32), 5), "positions": where, "base": base}
        for keys, where in ((2, np.arange(3, 12)), (4, np.arange(3, 12)))
    ]


def rope(base: float = BASE) -> list[Arguments]:
    """Return two sets of arguments.

    The first has consecutive positions away from 0. The second has unordered ones, some repeated,
    and one far out.
    """
    far = np.array([300, 0, 5, 5, 77, 1])
    return [
        {"x": fine((2, 9, 32)), "positions": np.arange(3, 12), "base": base},
        {"x": fine((2, 6, 64)), "positions": far, "base": base},
    ]


def llama3(base: float = BASE) -> list[Arguments]:
    """Return the arguments of rope with those of the scaling."""
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    return [{**each, **{name: SCALED[name] for name in names}} for each in rope(base)]


def yarn(base: float = BASE) -> list[Arguments]:
    """Return the arguments of rope with those of the scaling."""
    names = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow")
    return [{**each, **{name: SCALED[name] for name in names}} for each in rope(base)]


def with_factor(base: float = BASE) -> list[Arguments]:
    """Return the arguments of rope with a factor, which differs from one to the other."""
    first, second = rope(base)
    return [{**first, "factor": SCALED["factor"]}, {**second, "factor": 2.5}]


def dynamic_ntk(base: float = BASE) -> list[Arguments]:
    """Return the arguments of rope for a sequence of four times the length, and of a shorter one.

    What the first one changes must not stay for the second.
    """
    first, second = rope(base)
    told = {"factor": 2.0, "original_max_position_embeddings": 16}
    return [
        {**first, **told, "length": 64},
        {**first, **told, "length": 13},
        {**second, **told, "length": 301},
    ]


def sinusoidal(base: float = BASE) -> list[Arguments]:
    """Return two sets of arguments.

    The first has consecutive positions away from 0. The second has unordered ones, some repeated,
    and one far out.
    """
    return [
        {"positions": np.arange(3, 12), "dim": 32, "base": base},
        {"positions": np.array([300, 0, 5, 5, 77, 1]), "dim": 64, "base": base},
    ]


def timestep(base: float = BASE) -> list[Arguments]:
    """Return two sets of arguments.

    The first has consecutive time steps away from 0. The second has unordered ones, some repeated,
    and one far out.
    """
    return [
        {"positions": np.arange(3, 12), "dim": 32, "max_period": base, "scale": 1.0},
        {"positions": np.array([999, 0, 5, 5]), "dim": 64, "max_period": base, "scale": 1.0},
    ]


def sincos_2d(base: float = BASE) -> list[Arguments]:
    """Return arguments for a grid that is no square, and for one that is wider than high."""
    return [
        {"height": 5, "width": 3, "dim": 32, "base": base},
        {"height": 2, "width": 7, "dim": 64, "base": base},
    ]


def relative_table_2d_rows(base: float = BASE) -> list[Arguments]:
    """Return windows of patches that are no squares, one higher and one wider."""
    return [{"height": 5, "width": 3}, {"height": 2, "width": 4}]


def alibi_slopes(base: float = BASE) -> list[Arguments]:
    """Return arguments with head counts that are no power of two, and with one that is."""
    return [{"heads": 6}, {"heads": 8}, {"heads": 20}]


def alibi_bias(base: float = BASE) -> list[Arguments]:
    """Return arguments, first with fewer queries than keys and heads that are no power of two."""
    return [{"heads": 6, "q_len": 5, "k_len": 9}, {"heads": 4, "q_len": 7, "k_len": 7}]


def t5_bucket(base: float = BASE) -> list[Arguments]:
    """Return distances of both signs, beyond the largest, with T5's parameters and others."""
    reach = np.arange(-200, 201)
    return [
        {"relative_position": reach, "num_buckets": 32, "max_distance": 128},
        {"relative_position": reach, "num_buckets": 16, "max_distance": 64},
    ]


def t5_bias(base: float = BASE) -> list[Arguments]:
    """Return lengths beyond the largest distance, first with fewer queries than keys."""
    return [
        {"table": fine((32, 3)), "q_len": 20, "k_len": 150, "max_distance": 128},
        {"table": fine((16, 2)), "q_len": 80, "k_len": 80, "max_distance": 64},
    ]


def causal_mask(base: float = BASE) -> list[Arguments]:
    """Return lengths, first with fewer queries than keys."""
    return [{"q_len": 5, "k_len": 12}, {"q_len": 7, "k_len": 7}]


def sliding_window(base: float = BASE) -> list[Arguments]:
    """Return lengths and windows, first with fewer queries than keys."""
    return [{"q_len": 7, "k_len": 12, "window": 4}, {"q_len": 9, "k_len": 9, "window": 2}]


def dilated_window(base: float = BASE) -> list[Arguments]:
    """Return lengths, windows and dilations, first with fewer queries than keys."""
    return [{**each, "dilation": at} for each, at in zip(sliding_window(), (2, 3), strict=True)]


def chunked_mask(base: float = BASE) -> list[Arguments]:
    """Return lengths and chunks, first with fewer queries than keys."""
    return [{"q_len": 7, "k_len": 12, "chunk_size": 4}, {"q_len": 9, "k_len": 9, "chunk_size": 3}]


def strided_mask(base: float = BASE) -> list[Arguments]:
    """Return lengths and strides, first with fewer queries than keys."""
    return [{"q_len": 7, "k_len": 12, "stride": 4}, {"q_len": 9, "k_len": 9, "stride": 3}]


def bigbird_mask(base: float = BASE) -> list[Arguments]:
    """Return lengths and blocks, first with fewer queries than keys."""
    return [{"q_len": 9, "k_len": 21, "block_size": 3}, {"q_len": 12, "k_len": 12, "block_size": 2}]


def fixed_mask(base: float = BASE) -> list[Arguments]:
    """Return lengths, blocks and summaries, first with fewer queries than keys."""
    return [
        {"q_len": 7, "k_len": 12, "block_size": 4, "summary": 2},
        {"q_len": 9, "k_len": 9, "block_size": 3, "summary": 1},
    ]


def token_position_ids(base: float = BASE) -> list[Arguments]:
    """Return tokens with padding at both ends and between others, first with a cache."""
    tokens = np.array([[1, 1, 5, 7, 9, 1], [8, 1, 4, 1, 1, 1]])
    return [{"input_ids": tokens, "padding_index": 1, "past_length": past} for past in (3, 0)]


def fairseq_position_ids(base: float = BASE) -> list[Arguments]:
    """Return masks with padding at both ends, and two indices of the padding token."""
    mask = np.array([[0, 0, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
    return [{"attention_mask": mask, "padding_index": index} for index in (1, 0)]


PROBES = {
    "rope": rope,
    "rope_query_key": rope_query_key,
    "llama3": llama3,
    "yarn": yarn,
    "dynamic_ntk": dynamic_ntk,
    "position_interpolation": with_factor,
    "ntk_aware": with_factor,
    "sinusoidal": sinusoidal,
    "timestep": timestep,
    "sincos_2d": sincos_2d,
    "relative_table_2d_rows": relative_table_2d_rows,
    "alibi_slopes": alibi_slopes,
    "alibi_bias": alibi_bias,
    "t5_bucket": t5_bucket,
    "t5_bias": t5_bias,
    "causal_mask": causal_mask,
    "sliding_window": sliding_window,
    "dilated_window": dilated_window,
    "chunked_mask": chunked_mask,
    "strided_mask": strided_mask,
    "bigbird_mask": bigbird_mask,
    "fixed_mask": fixed_mask,
    "token_position_ids": token_position_ids,
    "fairseq_position_ids": fairseq_position_ids,
}
FIXED = {"beta_fast": 32, "beta_slow": 1, "num_buckets": 32, "max_distance": 128, "scale": 1.0}
"""The assumed values of parameters that a library does not let its callers choose."""
