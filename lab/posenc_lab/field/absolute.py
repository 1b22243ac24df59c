"""Absolute encodings, rebuilt from threads."""

from typing import Any

import numpy as np

from posenc_lab.field.bug import Array, bug
from posenc_lab.field.pieces import interleaved, omega, outer


def even(dim: int) -> None:
    if dim % 2 or dim < 2:
        raise ValueError(f"dim={dim}")


@bug("sinusoidal", "paper", thread="harvardnlp/annotated-transformer#131")
def divided_by_the_inverse(
    positions: Array, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """position / div_term, where div_term already is the inverse: angles p·base^(+2t/d)."""
    even(dim)
    angles = positions.astype(np.float64)[:, None] / omega(dim, base)
    return interleaved(np.sin(angles), np.cos(angles)).astype(dtype)


@bug("sinusoidal", "paper", "exponent-doubled", thread="BrianPulfer/PapersReimplementations#9")
def every_second_of_twice_as_many(
    positions: Array, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """Frequencies base^(-2j/d) for all d channels, of which every second is used."""
    even(dim)
    frequencies = base ** (-2 * np.arange(dim) / dim)
    angles = outer(positions, frequencies[::2])
    return interleaved(np.sin(angles), np.cos(angles)).astype(dtype)


@bug("sinusoidal", "paper", "odd-channel-exponent+wrong-base", thread="maxjcohen/transformer#62")
def thousand_and_odd_exponents(
    positions: Array, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """1000 for the base, and exponents from arange(1, d, 2) in the cosines."""
    even(dim)
    place = positions.astype(np.float64)[:, None]
    sin = np.sin(place / 1000 ** (np.arange(0, dim, 2) / dim))
    cos = np.cos(place / 1000 ** (np.arange(1, dim, 2) / dim))
    return interleaved(sin, cos).astype(dtype)


@bug(
    "sinusoidal",
    "paper",
    "channel-for-pair",
    thread="jadore801120/attention-is-all-you-need-pytorch#32",
)
def two_channels_in_the_exponent(
    positions: Array, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """Exponents 2c/d with the channel c in place of the pair."""
    even(dim)
    table = outer(positions, base ** (-2 * np.arange(dim) / dim))
    table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
    return table.astype(dtype)


@bug("sinusoidal", "paper", "channel-for-pair", thread="SamLynnEvans/Transformer#25")
def loop_over_channels(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """A loop in steps of two that doubles its counter, and counts on in the cosine."""
    even(dim)
    table = np.zeros((len(positions), dim))
    for i in range(0, dim, 2):
        table[:, i] = np.sin(positions / base ** (2 * i / dim))
        table[:, i + 1] = np.cos(positions / base ** (2 * (i + 1) / dim))
    return table.astype(dtype)


@bug("sinusoidal", "paper", thread="Kyubyong/transformer#81")
def whole_exponents(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """An integer division in the exponent: 0 in the first half of the channels, 1 in the second."""
    even(dim)
    table = outer(positions, float(base) ** -(2 * np.arange(dim) // dim))
    table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
    return table.astype(dtype)


@bug("sinusoidal", "paper", thread="gmongaras/Diffusion_models_from_scratch#10")
def rows_for_channels(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """Sines in even rows and cosines in odd ones, where even and odd channels are meant."""
    even(dim)
    table = np.repeat(outer(positions, omega(dim, base)), 2, axis=1)
    table[::2], table[1::2] = np.sin(table[::2]), np.cos(table[1::2])
    return table.astype(dtype)


@bug("sinusoidal", "concat", "denominator-swapped", thread="hojonathanho/diffusion#15")
def one_pair_less(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """Exponents over d/2 - 1 where those over d/2 are meant."""
    even(dim)
    step = np.log(base) / max(dim // 2 - 1, 1)
    angles = outer(positions, np.exp(-step * np.arange(dim // 2)))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(dtype)


@bug("sinusoidal", "paper", "layout-swapped", thread="tensorflow/text#1122")
def halves_of_waves(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """All sines before all cosines under the paper's formula."""
    even(dim)
    angles = outer(positions, omega(dim, base))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(dtype)


@bug("sinusoidal", "paper", "layout-swapped+denominator-swapped", thread="huggingface/blog#2183")
def of_another_tutorial(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Any:
    """Diffusion's table, with d/2 - 1 and in halves, where the paper's is expected."""
    return one_pair_less(positions, dim, base=base, dtype=dtype)


@bug("sinusoidal", "paper", "odd-channel-exponent", thread="luhengshiwo/LLMForEverybody#106")
def own_exponent_of_cosine(
    positions: Array, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """2i + 1 in the exponent of the cosine."""
    even(dim)
    place = positions.astype(np.float64)[:, None]
    sin = np.sin(place / base ** (np.arange(0, dim, 2) / dim))
    cos = np.cos(place / base ** (np.arange(1, dim, 2) / dim))
    return interleaved(sin, cos).astype(dtype)


@bug("sinusoidal", "paper", "step-rounded-down", thread="GrumpyZhou/image-matching-toolbox#36")
def divided_whole(positions: Array, dim: int, *, base: float, dtype: str, **_: Any) -> Array:
    """-ln(base) / d // 2, which is rounded down to -1."""
    even(dim)
    frequencies = np.exp(np.arange(0, dim, 2) * (-np.log(base) / dim // 2))
    angles = outer(positions, frequencies)
    return interleaved(np.sin(angles), np.cos(angles)).astype(dtype)


def sinusoid(positions: Array, dim: int, base: float) -> Array:
    """The right table."""
    angles = positions.astype(np.float64)[..., None] * omega(dim, base)
    return interleaved(np.sin(angles), np.cos(angles))


@bug("embedding_sum", "unscaled", "one-row-for-all", thread="DiffPoseTalk/DiffPoseTalk#20")
def row_of_the_length(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """pe[:, n] for pe[:, :n]: the row behind the last, added everywhere."""
    return (x + sinusoid(np.array([x.shape[-2]]), x.shape[-1], base)).astype(x.dtype)


@bug("embedding_sum", "unscaled", "batch-for-sequence", thread="AkiRusProd/numpy-transformer#1")
def rows_of_the_batch(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
    """pe of shape [n, 1, d], cut to the first axis of x, which is the batch."""
    if x.ndim < 3:
        return (x + sinusoid(positions, x.shape[-1], base)).astype(x.dtype)
    return (x + sinusoid(np.arange(x.shape[-3]), x.shape[-1], base)[:, None]).astype(x.dtype)


@bug("timestep", "adm", "order-swapped", thread="flashinfer-ai/flashinfer#3819")
def swapped_before_the_flip(
    positions: Array, dim: int, *, max_period: float, scale: float, dtype: str, **_: Any
) -> Array:
    """Cosines first before the halves are exchanged, so that sines come first."""
    half = dim // 2
    if half < 1:
        raise ValueError(dim)
    angles = scale * outer(positions, float(max_period) ** -(np.arange(half) / half))
    rest = np.zeros((len(positions), dim % 2))
    return np.concatenate([np.sin(angles), np.cos(angles), rest], axis=1).astype(dtype)


@bug("timestep", "adm", "shift-swapped", thread="kohya-ss/sd-scripts#1187")
def shifted_by_one(
    positions: Array, dim: int, *, max_period: float, scale: float, dtype: str, **_: Any
) -> Array:
    """downscale_freq_shift 1 for 0."""
    half = dim // 2
    if half < 1:
        raise ValueError(dim)
    exponents = np.arange(half) / max(half - 1, 1)
    angles = scale * outer(positions, float(max_period) ** -exponents)
    rest = np.zeros((len(positions), dim % 2))
    return np.concatenate([np.cos(angles), np.sin(angles), rest], axis=1).astype(dtype)


@bug("timestep", "adm", "scale-ignored", thread="sihyun-yu/REPA#40")
def times_from_zero_to_one(
    positions: Array, dim: int, *, max_period: float, dtype: str, **_: Any
) -> Array:
    """Times between 0 and 1 that nothing multiplies by 1000."""
    half = dim // 2
    if half < 1:
        raise ValueError(dim)
    angles = outer(positions, float(max_period) ** -(np.arange(half) / half))
    rest = np.zeros((len(positions), dim % 2))
    return np.concatenate([np.cos(angles), np.sin(angles), rest], axis=1).astype(dtype)


@bug("nerf", "paper", "factor-wrong", thread="KanishJebaMathewM/Truxify#12551")
def without_pi(x: Array, num_frequencies: int, **_: Any) -> Array:
    """Octaves without π."""
    angles = x.astype(np.float64)[..., None] * 2.0 ** np.arange(num_frequencies)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return waves.reshape(*x.shape[:-1], -1).astype(x.dtype)


@bug("sincos_2d", "mae", "axes-swapped", thread="NVIDIA/physicsnemo#1096")
def rows_before_columns(
    height: int, width: int, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """The waves of y before those of x."""
    frequencies = omega(dim // 2, base)
    rows, columns = (grid.ravel() for grid in np.mgrid[:height, :width])
    angles = [outer(rows, frequencies), outer(columns, frequencies)]
    parts = [wave(each) for each in angles for wave in (np.sin, np.cos)]
    return np.concatenate(parts, axis=1).reshape(height * width, dim).astype(dtype)


@bug("sincos_2d", "mae", "column-by-column", thread="huggingface/transformers#41380")
def columns_of_cells(
    height: int, width: int, dim: int, *, base: float, dtype: str, **_: Any
) -> Array:
    """A grid of x and y flattened column by column, for patches that come row by row."""
    frequencies = omega(dim // 2, base)
    columns, rows = (grid.ravel() for grid in np.mgrid[:width, :height])
    angles = [outer(columns, frequencies), outer(rows, frequencies)]
    parts = [wave(each) for each in angles for wave in (np.sin, np.cos)]
    return np.concatenate(parts, axis=1).reshape(height * width, dim).astype(dtype)


@bug("learned", "two", "padding-row-zeroed", thread="huggingface/transformers#10200")
def padding_index_kept(positions: Array, table: Array, **_: Any) -> Any:
    """The row of a padding index that lies among those of positions is zeros."""
    zeroed = table.copy()
    zeroed[2] = 0
    return zeroed[positions + 2]


@bug("learned", "two", "offset-swapped", thread="EleutherAI/gpt-neox#650")
def without_the_offset(positions: Array, table: Array, **_: Any) -> Array:
    """OPT's table read from its first row on."""
    return table[positions]
