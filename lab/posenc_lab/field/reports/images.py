"""Mistakes of images and videos: M-RoPE, axes, tables of a grid, windows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_lab.field.implementation import Code
from posenc_lab.field.pieces import Array, bf16, omega, outer
from posenc_lab.field.reports.common import (
    Given,
    half,
    inter,
    of_segments,
    offsets_2d,
    wrong,
)

EDGES = "huggingface/transformers#37535"


def by_axis(x: Array, positions: Array, axes: Array, frequencies: Array) -> Array:
    """Rotate each pair by its axis of the positions."""
    return half(x, positions[axes].T * frequencies)


def blocks(sections: Array) -> Array:
    """Return the axis of each pair, in contiguous sections."""
    return np.repeat(np.arange(3), sections)


@wrong("alibaba/MNN#4133", "m_rope", "qwen3-vl", "allocation-swapped")
def blocks_for_turns(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """Sections are contiguous where Qwen3-VL interleaves."""
    return by_axis(x, positions, blocks(sections), omega(x.shape[-1], base))


@wrong("Blaizzy/mlx-vlm#576", "m_rope", "qwen2-vl", "allocation-swapped")
def turns_for_blocks(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """Sections are interleaved where Qwen2-VL has blocks."""
    axes = np.zeros(int(np.sum(sections)), np.int64)
    for axis in (1, 2):
        axes[axis : sections[axis] * 3 : 3] = axis
    return by_axis(x, positions, axes, omega(x.shape[-1], base))


@wrong("sgl-project/sglang#35744", "m_rope", "qwen3-vl", "one-axis-for-all")
def time_for_all(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """A fused kernel drops height and width: time is for all pairs."""
    return half(x, outer(positions[0], omega(x.shape[-1], base)))


@wrong(
    "sgl-project/sglang-jax#1472", "m_rope", "qwen2-vl", "low-precision-angles", dtype="bfloat16"
)
def frequencies_in_bfloat16(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """Frequencies are rounded to bfloat16."""
    return by_axis(x, positions, blocks(sections), bf16(omega(x.shape[-1], base)))


@wrong("InfiniTensor/InfiniCore#1350", "m_rope", "qwen2-vl", "by axes 0, 0, 0, 0, 0, 0 of")
def sections_in_channels(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """Sections in channels are taken for pairs: doubled and cut at half the head."""
    pairs = x.shape[-1] // 2
    return by_axis(x, positions, blocks(2 * sections)[:pairs], omega(x.shape[-1], base))


@wrong("vllm-project/vllm-gaudi#1437", "m_rope", "qwen3-vl", "allocation-swapped")
def tables_split_by_sections(x: Array, positions: Array, sections: Array, *, base: float) -> Array:
    """Tables of interleaved M-RoPE are split and concatenated by sections."""
    turns = np.split(positions[:, :, None] * omega(x.shape[-1], base), np.cumsum(sections)[:-1], -1)
    return half(x, np.concatenate([part[axis] for axis, part in enumerate(turns)], axis=-1))


def seconds(report: str, *words: str) -> Callable[[Code], Code]:
    """Register wrong ids of images and videos with frames spaced by seconds."""
    return wrong(report, "m_rope_position_ids", "spatial", *words, spacing="seconds")


def interval(given: Given) -> float:
    """Return the distance of frames, 1 without seconds."""
    if given.get("tokens_per_second") is None:
        return 1.0
    return float(given["tokens_per_second"] * given["second_per_grid"])


@seconds("huggingface/transformers#45381", "rows stand at 6, 8, 10|start is multiplied")
def start_multiplied(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """The start of a video is multiplied by the interval too."""

    def time(frame: Array, start: int, frames: int) -> Array:
        return np.floor((start + frame) * interval(given)) if frames > 1 else start + frame

    return of_segments(segments, merge_size, time)


@seconds("huggingface/transformers#45325", "rows stand at 12, 12|start is multiplied")
def still_images_multiplied(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """The start of a still image is multiplied by tokens_per_second."""
    rate = given.get("tokens_per_second") or 1

    def time(frame: Array, start: int, frames: int) -> Array:
        return start + np.floor(frame * interval(given)) if frames > 1 else frame + start * rate

    return of_segments(segments, merge_size, time)


@seconds("huggingface/transformers#48669", "seconds-cut-early")
def seconds_cut_early(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """second_per_grid is cut before the product, so that frames collapse below a second."""
    cut = {**given, "second_per_grid": int(given.get("second_per_grid") or 0)}
    return of_segments(
        segments, merge_size, lambda frame, start, _: start + np.floor(frame * interval(cut))
    )


@seconds("huggingface/transformers#41152", "seconds-ignored")
def seconds_ignored(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """second_per_grid is not passed on: 1 is used."""
    return of_segments(
        segments,
        merge_size,
        lambda frame, start, _: start + frame * (given.get("tokens_per_second") or 1),
    )


@seconds("EvolvingLMMs-Lab/lmms-eval#1260", "rows stand at 3, 3, 3;|0\\.0833|second_per_grid")
def another_frame_rate(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """The sampled frame rate is lost: seconds are those of another one."""
    fixed = {**given, "second_per_grid": 0.0833} if given.get("tokens_per_second") else given
    return of_segments(
        segments, merge_size, lambda frame, start, _: start + np.floor(frame * interval(fixed))
    )


@wrong("vllm-project/vllm#32143", "m_rope_position_ids", "largest", "images-as-text")
@wrong("NVIDIA-NeMo/Automodel#2172", "m_rope_position_ids", "spatial", "images-as-text")
def running_index(segments: Array, *, merge_size: int) -> Array:
    """Three rows are computed and not used: the running index is on all axes."""
    return np.tile(np.arange(of_segments(segments, merge_size).shape[1]), (3, 1))


@wrong("vllm-project/vllm#29425", "m_rope_position_ids", "largest", "height-zeroed")
def height_zeroed(segments: Array, *, merge_size: int) -> Array:
    """The height index is set to zero after it is computed."""
    flat = of_segments(segments, merge_size, lambda frame, start, _: 0 * frame + start, True)
    ids = of_segments(segments, merge_size, largest=True)
    text = (ids == ids[0]).all(axis=0)
    return np.stack([ids[0], np.where(text, ids[1], flat[0]), ids[2]])


@wrong("huggingface/pytorch-image-models#2541", "rope_2d_image", "dinov3", "exchanged", base=100.0)
def grid_transposed(x: Array, height: int, width: int) -> Array:
    """Coordinates are those of the transposed grid."""
    places = [2 * (np.arange(size) + 0.5) / size - 1 for size in (width, height)]
    cells = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 2)
    turns = 2 * math.pi * cells[:, :, None] * omega(x.shape[-1] // 2, 100.0)
    return half(x, turns.reshape(len(cells), -1))


def two_axes(first: Array, second: Array, x: Array, base: float) -> Array:
    """Return angles of two axes, one after the other."""
    wave = omega(x.shape[-1] // 2, base)
    return np.concatenate([outer(first, wave), outer(second, wave)], axis=-1)


@wrong("osaurus-ai/vmlx-swift#225", "rope_2d", "qwen2-vl", "axes-swapped")
def column_first(x: Array, positions: Array, *, base: float) -> Array:
    """The column comes first where the row does."""
    return half(x, two_axes(positions[1], positions[0], x, base))


@wrong("ggml-org/llama.cpp#13282", "rope_2d", "rope-vit", "axes-swapped")
@wrong("ServiceNow/Fast-LLM#401", "rope_2d", "pixtral", "progression-swapped")
def row_first(x: Array, positions: Array, *, base: float) -> Array:
    """Each axis has its own frequencies, and the row comes first."""
    return inter(x, two_axes(positions[0], positions[1], x, base))


@wrong("Blaizzy/mlx-vlm#2128", "rope_2d", "rope-vit", "at 3 (of|times)|3 times|multiplied by 3")
def positions_too_fast(x: Array, positions: Array, *, base: float) -> Array:
    """SAM 3's rotary_scale is missing: positions advance 3 times too fast."""
    return inter(x, two_axes(3 * positions[1], 3 * positions[0], x, base))


@wrong(
    "naver/croco#49", "rope_2d_vjp", "croco", "positions is ignored|unrotated", fault="gradients"
)
def no_backward(x: Array, positions: Array, *, base: float) -> Array:
    """The kernel has no backward pass: the gradient is passed on as it is."""
    return x.copy()


@wrong("osaurus-ai/vmlx-swift#225", "merged_position_ids", "block-by-block", "merge-ignored")
def row_by_row(grids: Array, *, merge_size: int) -> Array:
    """Patches are numbered row by row although they come in blocks."""
    cells = [np.indices(grid).reshape(3, -1)[1:] for grid in grids.tolist()]
    return np.concatenate(cells, axis=1)


def one_axis(places: Array, dim: int) -> Array:
    """Return sines and cosines of one axis, one after the other."""
    turns = outer(places, omega(dim, 10000))
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=1)


@wrong("NVIDIA/physicsnemo#1096", "sincos_2d", "mae", "axes-swapped", base=10000.0)
def axes_stacked_wrongly(height: int, width: int, dim: int) -> Array:
    """Encodings of the axes are stacked in the wrong order."""
    row, column = np.indices((height, width)).reshape(2, -1)
    made = [one_axis(row, dim // 2), one_axis(column, dim // 2)]
    return np.concatenate(made, axis=1).astype(np.float32)


@wrong("IDEA-Research/DN-DETR#51", "sincos_2d", "deformable-detr", "bracket|half a cell", base=1e4)
def half_outside_the_bracket(height: int, width: int, dim: int) -> Array:
    """Half a cell is subtracted after the division, as proposed there."""

    def encoded(size: int) -> Array:
        places = (np.arange(1, size + 1) / (size + 1e-6) - 0.5) * 2 * math.pi
        turns = outer(places, omega(dim // 2, 10000))
        return np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(size, -1)

    rows, columns = np.repeat(encoded(height), width, axis=0), np.tile(encoded(width), (height, 1))
    return np.concatenate([rows, columns], axis=1).astype(np.float32)


def cubic(size: int, grid: int, sharpness: float = -0.75, corners: bool = False) -> Array:
    """Return weights of a bicubic resampling, of shape [size, grid]."""
    weights = np.zeros((size, grid))
    for row in range(size):
        centre = row * (grid - 1) / max(size - 1, 1) if corners else (row + 0.5) * grid / size - 0.5
        for column in range(math.floor(centre) - 1, math.floor(centre) + 3):
            away = abs(centre - column)
            near = (sharpness + 2) * away**3 - (sharpness + 3) * away**2 + 1
            far = sharpness * (away**3 - 5 * away**2 + 8 * away - 4)
            value = near if away <= 1 else far if away < 2 else 0.0
            weights[row, min(max(column, 0), grid - 1)] += value
    return weights


def resampled(table: Array, rows: Array, columns: Array, tokens: int = 1) -> Array:
    """Return a table resampled by weights of rows and columns, behind its first tokens."""
    side = math.isqrt(len(table) - tokens)
    cells = table[tokens:].reshape(side, side, -1).astype(np.float64)
    made = np.einsum("yi,xj,ijd->yxd", rows, columns, cells).reshape(-1, table.shape[1])
    return np.concatenate([table[:tokens], made.astype(table.dtype)])


@wrong("pytorch/torchtitan#4244", "learned_grid", "siglip", "grid-transposed")
def coordinates_exchanged(table: Array, height: int, width: int) -> Array:
    """(y, x) is given where (x, y) is wanted."""
    side = math.isqrt(len(table))
    return resampled(table, cubic(width, side), cubic(height, side), tokens=0)


@wrong("facebookresearch/dino#36", "learned_grid", "vit", "one scale|both axes")
def one_scale_for_both(table: Array, height: int, width: int) -> Array:
    """One scale is for both axes, and the rest is cut or repeated."""
    weights = cubic(int(math.sqrt(height * width)), math.isqrt(len(table) - 1))
    made = resampled(table, weights, weights)
    return np.concatenate([made[:1], np.resize(made[1:], (height * width, table.shape[1]))])


@wrong("facebookresearch/dinov2#468", "learned_grid", "vit", "other-kernel")
def corners_aligned(table: Array, height: int, width: int) -> Array:
    """Corners are aligned, as proposed there, where weights were trained without."""
    side = math.isqrt(len(table) - 1)
    rows, columns = (cubic(size, side, corners=True) for size in (height, width))
    return resampled(table, rows, columns)


@wrong("facebookresearch/dinov2#378", "learned_grid", "dinov2", "resampling-swapped")
def size_for_scale(table: Array, height: int, width: int) -> Array:
    """The size is given instead of a scale with 0.1, for a model of the old kind."""
    side = math.isqrt(len(table) - 1)
    return resampled(table, cubic(height, side), cubic(width, side))


@wrong("openvinotoolkit/openvino.genai#4444", "learned_grid", "timm", "other-kernel|antialias")
def not_antialiased(table: Array, height: int, width: int) -> Array:
    """A grid shrinks without antialiasing."""
    side = math.isqrt(len(table) - 1)
    return resampled(table, cubic(height, side, -0.5), cubic(width, side, -0.5))


def rows_of(height: int, width: int, stride: int) -> Array:
    """Return rows of a table of offsets, with this number of rows between heights."""
    down, right = offsets_2d(height, width)
    return (down + height - 1) * stride + right + width - 1


@wrong("282857341/nnFormer#88", "relative_table_2d_rows", "swin", "row-stride")
def stride_of_three_widths(height: int, width: int) -> Array:
    """Heights are 3·width - 1 rows apart instead of 2·width - 1."""
    return rows_of(height, width, 3 * width - 1)


@wrong("microsoft/Swin-Transformer#367", "relative_table_2d_rows", "swin", "row-stride")
def stride_one_too_small(height: int, width: int) -> Array:
    """Heights are 2·width - 2 rows apart, as asked there: offsets share rows."""
    return rows_of(height, width, 2 * width - 2)


@wrong("282857341/nnFormer#8", "relative_table_2d", "swin", "height.* width|rows between offsets")
def stride_of_the_height(table: Array, *, height: int, width: int) -> Array:
    """Heights are 2·height - 1 rows apart, as proposed there."""
    rows = np.minimum(rows_of(height, width, 2 * height - 1), len(table) - 1)
    return table[rows].transpose(2, 0, 1).copy()


@wrong("lucidrains/global-self-attention-network#2", "relative_table_2d_rows", "swin", "absolute")
def absolute_offsets(height: int, width: int) -> Array:
    """Rows are those of absolute offsets, too few."""
    down, right = np.abs(offsets_2d(height, width))
    return np.asarray(down * width + right)


@wrong("microsoft/Swin-Transformer#329", "log_cpb_coordinates", "swin", r"times 8|factor.* 8|log2")
def without_eight(
    height: int, width: int, *, pretrained_height: int, pretrained_width: int
) -> Array:
    """Coordinates are not multiplied by 8, and logarithms not divided by log2(8)."""
    scales = max((pretrained_height or height) - 1, 1), max((pretrained_width or width) - 1, 1)
    places = [
        np.arange(1 - size, size) / scale
        for size, scale in zip((height, width), scales, strict=True)
    ]
    cells = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 2)
    return (np.sign(cells) * np.log2(np.abs(cells) + 1)).astype(np.float32)


@wrong(EDGES, "window_edges", "edges-in-patches", "repeat|padding", fault="shapes")
def whole_window_of_padding(grids: Array, window: int, *, merge_size: int) -> Array:
    """A grid that divides gets a whole window of padding: edges are repeated."""
    edges = [0]
    for frames, height, width in grids.tolist():
        rows, columns = height // merge_size, width // merge_size
        down, right = (np.arange(size // window + 1) * window for size in (rows, columns))
        sizes = np.multiply.outer(
            np.clip(rows - down, 0, window), np.clip(columns - right, 0, window)
        )
        cells = np.tile(sizes.ravel(), frames) * merge_size**2
        edges.extend((np.cumsum(cells) + edges[-1]).tolist())
    return np.array(edges)
