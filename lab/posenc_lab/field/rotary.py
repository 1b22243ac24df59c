"""Rotary embedding, rebuilt from threads."""

from typing import Any

import numpy as np

from posenc_lab.field.bug import Array, bug
from posenc_lab.field.pieces import (
    bf16,
    every_two,
    half_of,
    halves,
    neighbours,
    omega,
    outer,
    partly,
    turned,
)


def whole(x: Array, rotary_dim: int | None) -> int:
    return x.shape[-1] if rotary_dim is None else rotary_dim


@bug("rope", "interleaved", "tables-mixed", thread="huggingface/transformers#47328")
def halves_of_tables_for_neighbours(x: Array, positions: Array, *, base: float, **_: Any) -> Any:
    """Cosines and sines tiled in halves, used with neighbouring pairs."""
    angles = np.tile(outer(positions, omega(x.shape[-1], base)), 2)
    return (x * np.cos(angles) + every_two(x) * np.sin(angles)).astype(x.dtype)


@bug("rope", "half", "tables-mixed", thread="raiyanyahya/how-to-train-your-gpt#6")
def neighbours_of_tables_for_halves(x: Array, positions: Array, *, base: float, **_: Any) -> Any:
    """Angles repeated for neighbours, used with pairs of halves."""
    angles = np.repeat(outer(positions, omega(x.shape[-1], base)), 2, axis=-1)
    return (x * np.cos(angles) + half_of(x) * np.sin(angles)).astype(x.dtype)


@bug("rope", "interleaved", "layout-swapped", thread="EleutherAI/gpt-neox#834")
def rotate_half_for_every_two(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Pairs of halves where the paper's neighbours are expected."""
    return halves(x, outer(positions, omega(x.shape[-1], base)))


@bug("rope", "interleaved", "layout-swapped", thread="vllm-project/vllm-metal#44")
def concatenated_after(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Neighbours read, and the members of all pairs written one behind the other."""
    return turned(x, outer(positions, omega(x.shape[-1], base)), "interleaved-to-half")


@bug("rope", "half", "wrong-base", thread="huggingface/candle#3746")
def theta_of_the_default(
    x: Array, positions: Array, *, rotary_dim: int | None = None, **_: Any
) -> Array:
    """10000 for the base that the configuration has."""
    angles = outer(positions, omega(whole(x, rotary_dim), 10000.0))
    return partly(x, rotary_dim, lambda part: halves(part, angles))


@bug("rope", "half", thread="pie-project/pie#602", rotation="partial")
def head_dim_for_all(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Exponents over head_dim, and pairs head_dim/2 apart: the first rotary_dim/2 of these."""
    size, count = x.shape[-1], whole(x, rotary_dim) // 2
    frequencies = np.zeros(size // 2)
    frequencies[:count] = omega(size, base)[:count]
    return halves(x, outer(positions, frequencies))


@bug("rope", "half", "rotary-dim-ignored", thread="vllm-project/vllm#43770", rotation="partial")
def factor_of_one(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """A partial_rotary_factor of 1, because rotary_dim was not found."""
    return halves(x, outer(positions, omega(x.shape[-1], base)))


@bug("rope", "half", thread="labscommunity/cascadia#69", rotation="partial")
def zero_padded(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Frequencies filled up with zeros to the whole head, whose halves are paired."""
    size = whole(x, rotary_dim)
    frequencies = np.zeros(x.shape[-1] // 2)
    frequencies[: size // 2] = omega(size, base)
    return halves(x, outer(positions, frequencies))


@bug("rope", "half", "positions-shifted", thread="fla-org/flash-linear-attention#766")
def counted_too_early(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """The token counted as seen before it is: all layers but the first are one position on."""
    angles = outer(positions + 1, omega(whole(x, rotary_dim), base))
    return partly(x, rotary_dim, lambda part: halves(part, angles))


@bug("rope", "half", "low-precision-angles", thread="nkalyanv99/UNI-D2#6")
def cast_with_the_model(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Positions and frequencies in bfloat16, to which the model was cast."""
    angles = outer(bf16(positions), bf16(omega(whole(x, rotary_dim), base)))
    return partly(x, rotary_dim, lambda part: halves(part, angles))


@bug("rope", "half", thread="KellerJordan/modded-nanogpt#39")
def waves_in_bfloat16(x: Array, positions: Array, *, base: float, **_: Any) -> Any:
    """Cosines and sines of right angles, kept in bfloat16."""
    angles = np.tile(outer(positions, omega(x.shape[-1], base)), 2)
    return (x * bf16(np.cos(angles)) + half_of(x) * bf16(np.sin(angles))).astype(x.dtype)


@bug("rope", "interleaved", "low-precision-angles", thread="NVIDIA/Megatron-LM#744")
def frequencies_cast(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Frequencies in bfloat16."""
    angles = outer(positions, bf16(omega(whole(x, rotary_dim), base)))
    return partly(x, rotary_dim, lambda part: neighbours(part, angles))


@bug("rope", "interleaved", thread="stanford-cs336/assignment1-basics#22")
def odd_numerators(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """Exponents (2k - 1)/d for 2(k - 1)/d, with k from 1."""
    size = whole(x, rotary_dim)
    angles = outer(positions, base ** -(np.arange(1, size, 2) / size))
    return partly(x, rotary_dim, lambda part: neighbours(part, angles))


@bug("rope", "half", "exponent-halved", thread="rasbt/LLMs-from-scratch#410")
def over_all_dimensions(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """arange(d/2) over d in the exponent, as the question proposes."""
    size = whole(x, rotary_dim)
    angles = outer(positions, base ** -(np.arange(size // 2) / size))
    return partly(x, rotary_dim, lambda part: halves(part, angles))


@bug("rope", "interleaved", thread="xlite-dev/LeetCUDA#289")
def whole_numbers_in_the_exponent(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """The kernel's exponent is a quotient of integers, which is 0: every pair turns by p."""
    return neighbours(x, outer(positions, np.ones(x.shape[-1] // 2)))


@bug("rope", "half", thread="NVIDIA/ngpt#10")
def unpacked_in_halves(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """A table of sines and cosines in turns, cut into halves for sines and for cosines."""
    angles = outer(positions, omega(x.shape[-1], base))
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)
    sin, cos = np.split(table, 2, axis=-1)
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    both = [first * cos - second * sin, first * sin + second * cos]
    return np.concatenate(both, axis=-1).astype(x.dtype)


@bug("rope", "half", thread="vllm-project/vllm-ascend#12723")
def sines_of_the_padded_width(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """Sines read where they would start if the width were a power of two."""
    half = x.shape[-1] // 2
    angles = outer(positions, omega(2 * half, base))
    sin = np.zeros_like(angles)
    start = 2 ** int(np.ceil(np.log2(half))) - half
    sin[:, : half - start] = np.sin(angles[:, start:])
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    cos = np.cos(angles)
    both = [first * cos - second * sin, second * cos + first * sin]
    return np.concatenate(both, axis=-1).astype(x.dtype)


@bug("rope", "half", "sign-flipped", thread="karpathy/nanochat#489")
def transposed(
    x: Array, positions: Array, *, base: float, rotary_dim: int | None = None, **_: Any
) -> Array:
    """The transpose of the rotation."""
    angles = outer(-positions, omega(whole(x, rotary_dim), base))
    return partly(x, rotary_dim, lambda part: halves(part, angles))


def sectioned(positions: Array, sections: Array, base: float) -> Any:
    """Angles of three axes, section by section."""
    axes = np.repeat([0, 1, 2], sections)
    return positions[axes].T.astype(np.float64) * omega(2 * len(axes), base)


@bug("m_rope", "glm-4v", "layout-swapped", thread="vllm-project/vllm-ascend#12820")
def always_in_halves(
    x: Array, positions: Array, sections: Array, *, base: float, **_: Any
) -> Array:
    """The mode for halves, whatever the flag for neighbours says."""
    width = 2 * int(np.sum(sections))
    angles = sectioned(positions, sections, base)
    return partly(x, width, lambda part: halves(part, angles))


@bug("m_rope", "qwen2-vl", "one-axis-for-all", thread="sgl-project/sglang#34446")
def first_row_of_positions(
    x: Array, positions: Array, sections: Array, *, base: float, **_: Any
) -> Array:
    """One position loaded for each token, that of the first axis."""
    width = 2 * int(np.sum(sections))
    angles = outer(positions[0], omega(width, base))
    return partly(x, width, lambda part: halves(part, angles))


@bug(
    "m_rope",
    "qwen2-vl",
    "whole-head-rotated",
    thread="AI-Hypercomputer/maxtext#4615",
    rotation="partial",
)
def sections_stretched_over_the_head(
    x: Array, positions: Array, sections: Array, *, base: float, **_: Any
) -> Array:
    """Frequencies of the whole head, whose last pairs belong to the last section."""
    axes = np.repeat([0, 1, 2], sections)
    axes = np.append(axes, np.full(x.shape[-1] // 2 - len(axes), 2))
    angles = positions[axes].T.astype(np.float64) * omega(x.shape[-1], base)
    return halves(x, angles)


@bug("rope_2d", "rope-vit", "axes-swapped", thread="Meituan-AutoML/VisionLLaMA#4")
def height_and_width_exchanged(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """The two coordinates of a patch in each other's place."""
    rows, columns = positions
    frequencies = omega(x.shape[-1] // 2, base)
    angles = [outer(rows, frequencies), outer(columns, frequencies)]
    return neighbours(x, np.concatenate(angles, axis=-1))
