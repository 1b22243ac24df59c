"""Scalings of rotary embedding, rebuilt from threads."""

from typing import Any

import numpy as np

from posenc_lab.field.bug import Array, bug
from posenc_lab.field.pieces import (
    by_wavelength,
    halves,
    neighbours,
    omega,
    outer,
    turned,
    yarned,
)


@bug("llama3", "half", "scaling-missing+layout-swapped", thread="NeuraLegion/shainet#111")
def neighbours_and_no_scaling(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Neighbouring pairs at the frequencies of RoPE."""
    return neighbours(x, outer(positions, omega(x.shape[-1], base)))


@bug("llama3_frequencies", "standard", thread="meta-llama/llama-models#241")
def factor_of_eight(
    rotary_dim: int, *, base: float, factor: float, dtype: str, **bounds: Any
) -> Array:
    """A factor of 8, whatever the configuration says."""
    return by_wavelength(omega(rotary_dim, base), 8.0, **bounds).astype(dtype)


@bug("llama3_frequencies", "standard", "scaling-missing", thread="jmaczan/tiny-vllm#1")
def not_implemented(rotary_dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """Frequencies of RoPE."""
    return omega(rotary_dim, base).astype(dtype)


@bug("llama3_frequencies", "standard", "ramp-in-wavelength", thread="ml-explore/mlx-examples#907")
def smooth_in_wavelengths(
    rotary_dim: int,
    *,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
    dtype: str,
) -> Array:
    """The share between the bounds taken of the wavelength."""
    plain = omega(rotary_dim, base)
    length = 2 * np.pi / plain
    longest = original_max_position_embeddings / low_freq_factor
    shortest = original_max_position_embeddings / high_freq_factor
    share = np.clip((length - shortest) / (longest - shortest), 0, 1)
    return (plain * (1 - share) + plain / factor * share).astype(dtype)


@bug("dynamic_ntk", "half", "always-full", thread="vllm-project/vllm#41236")
def of_the_longest_length(
    x: Array,
    positions: Array,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    **_: Any,
) -> Array:
    """The base of the longest context, at every length."""
    dim = x.shape[-1]
    stretch = factor * (original_max_position_embeddings * factor)
    stretch = stretch / original_max_position_embeddings - (factor - 1)
    return halves(x, outer(positions, omega(dim, base * stretch ** (dim / (dim - 2)))))


@bug("dynamic_ntk_frequencies", "standard", thread="vllm-project/vllm#52675")
def below_the_trained_length(
    rotary_dim: int,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    length: int,
    dtype: str,
) -> Any:
    """The formula without a guard for short texts, where it goes below 1 and then below 0."""
    stretch = factor * length / original_max_position_embeddings - (factor - 1)
    power = complex(stretch) ** (rotary_dim / (rotary_dim - 2))
    return np.abs(complex(base * power) ** -(np.arange(0, rotary_dim, 2) / rotary_dim)).astype(
        dtype
    )


@bug("dynamic_ntk", "half", "positions-doubled", thread="lablup/mlxcel#1324")
def scale_of_two(
    x: Array,
    positions: Array,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    length: int,
    **_: Any,
) -> Array:
    """Positions doubled, on top of the larger base."""
    dim = x.shape[-1]
    longer = max(length, original_max_position_embeddings)
    stretch = factor * longer / original_max_position_embeddings - (factor - 1)
    return halves(x, outer(2 * positions, omega(dim, base * stretch ** (dim / (dim - 2)))))


@bug("dynamic_ntk_frequencies", "standard", thread="QwenLM/Qwen#401")
def next_power_of_two(
    rotary_dim: int,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    length: int,
    dtype: str,
) -> Array:
    """A stretch of 2^(ceil(log2(l/L)) + 1) - 1 that steps at powers of two and knows no factor."""
    steps = np.ceil(np.log2(max(length / original_max_position_embeddings, 1)))
    stretch = 2.0 ** (steps + 1) - 1 if steps > 0 else 1.0
    return omega(rotary_dim, base * stretch ** (rotary_dim / (rotary_dim - 2))).astype(dtype)


@bug("position_interpolation", "half", thread="ollama/ollama#13453")
def default_of_eight(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """A factor of 8 by default, which a smaller model does not have."""
    return halves(x, outer(positions, omega(x.shape[-1], base) / 8))


@bug("position_interpolation", "half", "unscaled", thread="lablup/mlxcel#1340")
def field_never_read(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """The factor parsed and not used."""
    return halves(x, outer(positions, omega(x.shape[-1], base)))


def yarn_turned(
    x: Array,
    positions: Array,
    layout: str,
    longer: float,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float,
    beta_slow: float,
    **_: Any,
) -> Array:
    frequencies = yarned(
        x.shape[-1], base, factor, original_max_position_embeddings, beta_fast, beta_slow
    )
    wide = turned(x.astype(np.float64), outer(positions, frequencies), layout)
    return (longer * wide).astype(x.dtype)


def mscale(factor: float, weight: float = 1.0) -> float:
    return float(0.1 * weight * np.log(factor) + 1) if factor > 1 else 1.0


@bug("yarn", "code-half", "attention-ignored", thread="vllm-project/vllm#48623", attention="mscale")
def both_mscales_unread(
    x: Array, positions: Array, *, layout: str, factor: float, **rest: Any
) -> Array:
    """0.1 ln s + 1, although mscale and mscale_all_dim are given."""
    return yarn_turned(x, positions, layout, mscale(factor), factor=factor, **rest)


@bug(
    "yarn",
    "code-half",
    "attention-in-logarithm",
    thread="NVIDIA/TensorRT-LLM#16379",
    attention="explicit",
)
def through_the_logarithm(
    x: Array,
    positions: Array,
    *,
    layout: str,
    factor: float,
    attention_factor: float | None = None,
    **rest: Any,
) -> Array:
    """A given attention_factor put through 0.1 m ln s + 1."""
    weight = 1.0 if attention_factor is None else attention_factor
    return yarn_turned(x, positions, layout, mscale(factor, weight), factor=factor, **rest)


@bug("yarn", "code-half", "mscale-all-dim-alone", thread="kekzl/imp#880", attention="mscale")
def all_dim_on_the_waves(
    x: Array,
    positions: Array,
    *,
    layout: str,
    factor: float,
    mscale_all_dim: float | None = None,
    **rest: Any,
) -> Array:
    """mscale_all_dim alone on cosine and sine."""
    weight = 1.0 if mscale_all_dim is None else mscale_all_dim
    return yarn_turned(x, positions, layout, mscale(factor, weight), factor=factor, **rest)


@bug("longrope", "phi-3", "choice-swapped", thread="ml-explore/mlx-lm#660")
def long_factors_always(
    x: Array,
    positions: Array,
    short_factors: Array,
    long_factors: Array,
    *,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    **_: Any,
) -> Any:
    """Long factors in short texts as well."""
    frequencies = omega(x.shape[-1], base) / long_factors.astype(np.float64)
    longer = np.sqrt(1 + np.log(factor) / np.log(original_max_position_embeddings))
    wide = halves(x.astype(np.float64), outer(positions, frequencies))
    return (longer * wide).astype(x.dtype)
