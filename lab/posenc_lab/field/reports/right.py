"""Right code: the fixes of reports, and common styles beside them."""

import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.field.pieces import Array, omega, outer, slopes
from posenc_lab.field.reports.biases import LABML
from posenc_lab.field.reports.common import (
    angles,
    distances,
    half,
    inter,
    leading,
    llama3_omega,
    magnitude,
    of_segments,
    offsets_2d,
    right,
    rotate_every_two,
    rotate_half,
    shifted,
    tables,
    yarn_omega,
    yarn_ramp,
)
from posenc_lab.field.reports.ids import normed
from posenc_lab.field.reports.scaled import OLD, grown, longrope, scaled_mla, xpos_scale
from posenc_lab.field.reports.sinusoids import LIST

BF16 = ml_dtypes.bfloat16


@right("raiyanyahya/how-to-train-your-gpt#7", "rope", "interleaved")
def repeated_for_neighbours(x: Array, positions: Array, *, base: float) -> Array:
    """Angles are repeated for neighbours, in float32 throughout."""
    wave = np.repeat(positions.astype(np.float32)[:, None] * omega(x.shape[-1], base), 2, axis=-1)
    return tables(x, rotate_every_two(x), wave)


@right("EleutherAI/gpt-neox#834", "rope", "half")
def tables_in_float32(x: Array, positions: Array, *, base: float) -> Array:
    """Tables of halves are in float32."""
    exponents = np.arange(0, x.shape[-1], 2, dtype=np.float32) / np.float32(x.shape[-1])
    wave = np.float32(1) / np.power(np.float32(base), exponents)
    turns = np.einsum("i,j->ij", positions.astype(np.float32), wave)
    return tables(x, rotate_half(x), np.tile(turns, 2))


@right("lucidrains/rotary-embedding-torch#11", "rope", "interleaved")
class CacheByPositions:
    """The key of the cache has the positions."""

    def __init__(self) -> None:
        self.cache: dict[tuple[Any, ...], Array] = {}

    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        key = (base, x.shape[-1], tuple(positions.tolist()))
        if key not in self.cache:
            self.cache[key] = np.repeat(angles(x, positions, base), 2, axis=-1)
        return tables(x, rotate_every_two(x), self.cache[key])


@right("karpathy/nanochat#612", "rope", "half")
class GrowingTable:
    """A table in float32 grows on demand."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, float], tuple[Array, Array]] = {}

    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        key, rows = (x.shape[-1], base), int(np.max(positions, initial=-1)) + 1
        if key not in self.kept or len(self.kept[key][0]) < rows:
            turns = angles(x, np.arange(max(256, 1 << rows.bit_length())), base)
            self.kept[key] = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
        cos, sin = (table[positions] for table in self.kept[key])
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@right("huggingface/transformers#29285", "rope", "half", dtype="bfloat16")
def angles_in_float32(x: Array, positions: Array, *, base: float) -> Array:
    """Angles and rotation are in float32, the result in bfloat16."""
    wave = positions.astype(np.float32)[:, None] * omega(x.shape[-1], base).astype(np.float32)
    return tables(x.astype(np.float32), rotate_half(x), np.tile(wave, 2)).astype(x.dtype)


@right("Modalities/modalities#462", "rope", "half", dtype="bfloat16")
def tables_in_bfloat16(x: Array, positions: Array, *, base: float) -> Array:
    """Tables and products are in bfloat16, as in released models; angles in float32."""
    wave = positions.astype(np.float32)[:, None] * omega(x.shape[-1], base).astype(np.float32)
    cos, sin = (np.tile(part(wave), 2).astype(BF16) for part in (np.cos, np.sin))
    return np.asarray(x * cos + rotate_half(x) * sin)


@right("Meta's style", "rope", "interleaved", dtype=["float32", "float64"])
def complex_numbers(x: Array, positions: Array, *, base: float) -> Array:
    """Pairs are complex numbers."""
    made = (x[..., ::2] + 1j * x[..., 1::2].astype(np.float64)) * np.exp(
        1j * angles(x, positions, base)
    )
    return np.stack([made.real, made.imag], axis=-1).reshape(x.shape).astype(x.dtype)


@right("llama2.c's style", "rope", "interleaved", max_position=4096, head_dim=[4, 8, 16])
def loops(x: Array, positions: Array, *, base: float) -> Array:
    """Loops run over rows and pairs."""
    out = x.astype(np.float64)
    for row, at in enumerate(positions.tolist()):
        for i in range(0, x.shape[-1], 2):
            cos, sin = (
                math.cos(at / base ** (i / x.shape[-1])),
                math.sin(at / base ** (i / x.shape[-1])),
            )
            first, second = out[..., row, i].copy(), out[..., row, i + 1].copy()
            out[..., row, i] = first * cos - second * sin
            out[..., row, i + 1] = first * sin + second * cos
    return out.astype(x.dtype)


@right("rotation matrices", "rope", "half", head_dim=[2, 4, 8, 16, 32], max_position=5000)
def matrices(x: Array, positions: Array, *, base: float) -> Array:
    """Each row has its matrix."""
    turns, dim = angles(x, positions, base), x.shape[-1]
    first = np.arange(dim // 2)
    second = first + dim // 2
    matrix = np.zeros((len(turns), dim, dim))
    matrix[:, first, first] = matrix[:, second, second] = np.cos(turns)
    matrix[:, first, second], matrix[:, second, first] = -np.sin(turns), np.sin(turns)
    return np.einsum("nij,...nj->...ni", matrix, x.astype(np.float64)).astype(x.dtype)


@right("pie-project/pie#603", "rope", "half interleaved", rotation="partial")
def partial_in_both_layouts(
    x: Array,
    positions: Array,
    *,
    base: float,
    rotary_dim: int = 0,
    layout: str = "interleaved",
) -> Array:
    """Exponents and pairs of a partial rotation are those of its own width."""
    width = rotary_dim or x.shape[-1]
    turns = angles(x[..., :width], positions, base)
    turned = (half if layout == "half" else inter)(x[..., :width], turns)
    return np.concatenate([turned, x[..., width:]], axis=-1)


@right("DeepSeek's style", "rope", "interleaved-to-half")
def neighbours_to_halves(x: Array, positions: Array, *, base: float) -> Array:
    """Neighbours are read, halves are written."""
    apart = x.reshape(*x.shape[:-1], -1, 2).swapaxes(-1, -2).reshape(x.shape)
    return half(apart, angles(x, positions, base))


@right("half precision", "rope", "half", dtype="float16")
@right("a kernel for both directions", "rope", "half", domain="negative")
def forward(x: Array, positions: Array, *, base: float) -> Array:
    """The forward pass, rounded at the end."""
    return half(x, angles(x, positions, base))


@right("a kernel for both directions", "rope_vjp", "half")
def backward(x: Array, positions: Array, *, base: float) -> Array:
    """The backward pass has the negated sine."""
    return half(x, -angles(x, positions, base))


@cache
def table_of(dim: int, base: float, rows: int) -> Array:
    """Return the angles of a bucket of rows, kept for ever."""
    return outer(np.arange(rows), omega(dim, base))


@right("a compiler's style", "rope", "half", max_position=20000)
def buckets_of_shapes(x: Array, positions: Array, *, base: float) -> Array:
    """Tables are kept by buckets of shapes."""
    rows = 1 << int(np.max(positions, initial=0)).bit_length()
    return half(x, table_of(x.shape[-1], float(base), rows)[positions])


@right("unslothai/unsloth#3803", "rope_batched", "batched-half")
def positions_of_each_sequence(x: Array, positions: Array, *, base: float) -> Array:
    """Each sequence has its positions."""
    return half(x, angles(x, positions, base)[:, None])


@right("allenai/OLMo-core#591", "rope_packed", "packed-half")
def positions_of_documents(x: Array, cu_seqlens: Array, offsets: Array, *, base: float) -> Array:
    """Positions begin anew at each boundary."""
    rows = np.arange(x.shape[-2])
    number = np.searchsorted(cu_seqlens, rows, side="right") - 1
    return half(x, angles(x, rows - cu_seqlens[number] + offsets[number], base))


@right("flagos-ai/FlagGems#5142", "rope_in_place", "in-place-half")
def both_loads_first(x: Array, positions: Array, *, base: float) -> None:
    """Both members of a pair are loaded before either is stored."""
    x[...] = half(x, angles(x, positions, base))


@right("keras-team/keras-hub#2981", "yarn", "code-half gpt-oss")
def yarn_as_released(x: Array, positions: Array, *, ramp: str = "index", **given: Any) -> Array:
    """The correction range is rounded or not, as claimed."""
    ramped = yarn_ramp(x.shape[-1], given, rounded=ramp == "index")
    frequencies = yarn_omega(x.shape[-1], given, ramped)
    return half(x, outer(positions, frequencies), magnitude(given["factor"]))


def of_llama3(dim: int, given: dict[str, Any]) -> Array:
    """Return Llama 3's frequencies by a call's keywords."""
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    return llama3_omega(dim, given["base"], given["factor"], low, high, given[OLD])


@right("sbryngelson/ANEForge#58", "llama3", "half")
def llama3_at_once(x: Array, positions: Array, **given: Any) -> Array:
    """Llama 3's scaling is computed for all pairs at once."""
    return half(x, outer(positions, of_llama3(x.shape[-1], given)))


@right("trholding/llama2.c#14", "llama3", "interleaved")
def llama3_by_loop(x: Array, positions: Array, **given: Any) -> Array:
    """A loop runs over frequencies, with the parameters that are given."""
    low, high, factor = given["low_freq_factor"], given["high_freq_factor"], given["factor"]
    made = []
    for frequency in omega(x.shape[-1], given["base"]).tolist():
        wave = 2 * math.pi / frequency
        if wave < given[OLD] / high:
            made.append(frequency)
        elif wave > given[OLD] / low:
            made.append(frequency / factor)
        else:
            smooth = (given[OLD] / wave - low) / (high - low)
            made.append((1 - smooth) * frequency / factor + smooth * frequency)
    return inter(x, outer(positions, np.array(made)))


@right("lablup/mlxcel#1358", "longrope", "phi-3")
def list_by_positions(x: Array, positions: Array, short: Array, long: Array, **given: Any) -> Array:
    """The list is chosen by the largest position."""
    longest = np.max(positions, initial=0) + 1
    return longrope(x, positions, long if longest > given[OLD] else short, given)


@right("ml-explore/mlx-lm#1553", "dynamic_ntk", "half")
def base_of_the_length(x: Array, positions: Array, **given: Any) -> Array:
    """The base grows with the length; positions are not scaled."""
    return grown(x, positions, given, given["length"])


@right("huggingface/transformers#32424", "ntk_aware", "half interleaved")
def static_ntk(
    x: Array, positions: Array, *, base: float, factor: float, layout: str = "interleaved"
) -> Array:
    """The base is multiplied by factor^(d/(d-2))."""
    turns = angles(x, positions, base * factor ** (x.shape[-1] / (x.shape[-1] - 2)))
    return (half if layout == "half" else inter)(x, turns)


@right("lablup/mlxcel#1386", "position_interpolation", "half")
def positions_divided(x: Array, positions: Array, *, base: float, factor: float) -> Array:
    """Positions are divided by the factor."""
    return half(x, angles(x, positions / factor, base))


@right("lucidrains/rotary-embedding-torch#34", "xpos", "lucidrains")
def scales_of_neighbours(x: Array, positions: Array, **given: Any) -> Array:
    """The scale of a pair is that of both its channels."""
    middle = (int(np.max(positions, initial=-1)) + 1) // 2
    scale = np.repeat(xpos_scale(x, positions - middle, given), 2, axis=-1)
    turned = inter(x.astype(np.float64), angles(x, positions, given["base"]))
    return (turned * scale).astype(x.dtype)


@right("alibaba/MNN#4133", "m_rope", "qwen3-vl qwen2-vl")
def sections_by_slices(
    x: Array, positions: Array, sections: Array, *, base: float, allocation: str = "contiguous"
) -> Array:
    """Slices of the time's angles are overwritten, or sections are concatenated."""
    turns = positions[:, :, None] * omega(x.shape[-1], base)
    if allocation == "interleaved":
        made = turns[0].copy()
        for axis in (1, 2):
            chosen = slice(axis, int(sections[axis]) * 3, 3)
            made[:, chosen] = turns[axis, :, chosen]
        return half(x, made)
    parts = np.split(turns, np.cumsum(sections)[:-1], axis=-1)
    return half(x, np.concatenate([part[axis] for axis, part in enumerate(parts)], axis=-1))


@right("huggingface/transformers#48669", "m_rope_position_ids", "spatial", spacing="seconds")
def product_before_the_cut(segments: Array, *, merge_size: int, **given: Any) -> Array:
    """The product of seconds is computed first, then cut."""
    rate, step = given.get("tokens_per_second"), given.get("second_per_grid")
    by = 1 if rate is None or step is None else rate * step
    return of_segments(segments, merge_size, lambda at, start, _: start + np.floor(at * by))


@right("ServiceNow/Fast-LLM#401", "rope_2d", "pixtral")
def even_and_odd_members(x: Array, positions: Array, *, base: float) -> Array:
    """Rows have even frequencies, columns odd ones."""
    wave = omega(x.shape[-1], base)
    turns = [outer(positions[0], wave[::2]), outer(positions[1], wave[1::2])]
    return inter(x, np.concatenate(turns, axis=-1))


@right("naver/croco#3", "rope_2d", "croco")
def each_half_by_itself(x: Array, positions: Array, *, base: float) -> Array:
    """Each half of a head is rotated by itself."""
    parts = zip(np.split(x, 2, axis=-1), positions, strict=True)
    return np.concatenate([half(part, angles(part, at, base)) for part, at in parts], axis=-1)


@right("facebookresearch/mae#18", "sincos_2d", "mae", base=10000.0)
def mesh_with_width_first(height: int, width: int, dim: int) -> Array:
    """The mesh has the width first."""
    mesh = np.stack(np.meshgrid(np.arange(width), np.arange(height))).reshape(2, -1)
    turns = [outer(axis, omega(dim // 2, 10000)) for axis in mesh]
    made = [part for axis in turns for part in (np.sin(axis), np.cos(axis))]
    return np.concatenate(made, axis=1).astype(np.float32)


def recursive(heads: int) -> list[float]:
    """Return ALiBi's slopes by recursion."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * i / heads) for i in range(1, heads + 1)]
    whole = 1 << (heads.bit_length() - 1)
    return recursive(whole) + recursive(2 * whole)[0::2][: heads - whole]


@right("ml-explore/mlx#3071", "alibi_slopes", "interpolated")
def slopes_by_recursion(heads: int) -> Array:
    """Slopes between powers of two come from the next one."""
    return np.array(recursive(heads), np.float32)


@right("ml-explore/mlx#3071", "alibi_bias", "symmetric")
def symmetric_bias(heads: int, q_len: int, k_len: int) -> Array:
    """The bias falls on both sides of the query."""
    values = slopes(heads)[:, None, None] * -np.abs(distances(q_len, k_len))
    return np.asarray(values.astype(np.float32))


@right("keras-team/keras-hub#2977", "alibi_bias", "first-key", broadcast=True)
def row_over_the_cache(heads: int, q_len: int, k_len: int) -> Array:
    """One row over the cache is for all queries."""
    return (slopes(heads)[:, None, None] * np.arange(k_len)).astype(np.float32)


@right("BLOOM's style", "alibi_slopes", "interpolated")
def powers_of_a_base(heads: int) -> Array:
    """Slopes are powers of a base, with extra ones."""
    whole = 2 ** math.floor(math.log2(heads))
    first = (2 ** -(2 ** -(math.log2(whole) - 3))) ** np.arange(1, 1 + whole)
    extra = 2 ** -(2 ** -(math.log2(2 * whole) - 3))
    more = extra ** np.arange(1, 1 + 2 * (heads - whole), 2)
    return np.concatenate([first, more]).astype(np.float32)


@right("lucidrains/x-transformers#10", "t5_bucket", "bidirectional causal")
def buckets_of_transformers(
    relative_position: Array,
    *,
    num_buckets: int,
    max_distance: int,
    direction: str = "bidirectional",
) -> Array:
    """Buckets are those of transformers, in both directions."""
    both = direction == "bidirectional"
    count = num_buckets // 2 if both else num_buckets
    first = (relative_position > 0) * count if both else 0
    away = np.abs(relative_position) if both else -np.minimum(relative_position, 0)
    exact = count // 2
    share = np.log(np.maximum(away, 1) / exact) / math.log(max_distance / exact)
    far = np.minimum(exact + np.floor(share * (count - exact) + 1e-10).astype(int), count - 1)
    return np.asarray(first + np.where(away < exact, away, far))


@right(LABML, "relative_shift", "transformer-xl")
def first_row_dropped(x: Array) -> Array:
    """Scores are padded, reshaped, and cut at the beginning."""
    return shifted(x, slice(1, None))


@right("ml-explore/mlx-lm#390", "sliding_window", "window-keys")
def window_of_keys(q_len: int, k_len: int, window: int) -> Array:
    """A query sees W keys in all."""
    gap = distances(q_len, k_len)
    return (gap >= 0) & (gap < window)


@right("ml-explore/mlx-lm#390", "chunked_mask", "causal")
def chunks_of_positions(q_len: int, k_len: int, chunk_size: int) -> Array:
    """Chunks are those of absolute positions."""
    row, column = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (column >= row // chunk_size * chunk_size) & (column <= row)


@right("ml-explore/mlx-lm#390", "causal_mask", "end start")
def causal_at_either_end(q_len: int, k_len: int, *, alignment: str = "end") -> Array:
    """The mask is aligned to the end or to the start."""
    return np.tril(np.ones((q_len, k_len), bool), k_len - q_len if alignment == "end" else 0)


@right(LIST, "sinusoidal", "paper", max_position=3000)
def exponent_of_the_pair(positions: Array, dim: int, *, base: float = 10000.0) -> Array:
    """The exponent is 2·(i//2)/d, in a list comprehension."""
    rows = [[at / base ** (2 * (i // 2) / dim) for i in range(dim)] for at in positions.tolist()]
    turns = np.array(rows, np.float64).reshape(-1, dim)
    return np.where(np.arange(dim) % 2, np.cos(turns), np.sin(turns)).astype(np.float32)


@right("The Annotated Transformer", "sinusoidal", "paper", base=10000.0, max_position=5000)
def exponential_of_a_logarithm(positions: Array, dim: int) -> Array:
    """Frequencies are exponentials of a logarithm, in float32 throughout."""
    wave = np.exp(np.arange(0, dim, 2, dtype=np.float32) * np.float32(-math.log(10000.0) / dim))
    turns = positions.astype(np.float32)[:, None] * wave
    return np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(len(turns), dim)


@right("kohya-ss/sd-scripts#1187", "timestep", "adm ddpm")
def either_order_and_shift(positions: Array, dim: int, **given: Any) -> Array:
    """Order and shift are those that are given."""
    steps = np.arange(dim // 2) / (dim // 2 - int(given["frequency_shift"]))
    turns = outer(positions, given["max_period"] ** -steps) * given["scale"]
    parts = [np.sin(turns), np.cos(turns)]
    made = np.concatenate(parts[::-1] if given["order"] == "cos-sin" else parts, axis=1)
    return np.pad(made, ((0, 0), (0, dim % 2))).astype(np.float32)


@right("huggingface/transformers#31788", "permute_qk", "to-half to-interleaved")
def keys_by_their_heads(
    q_weight: Array,
    k_weight: Array,
    heads: int,
    key_heads: int,
    *,
    direction: str = "interleaved-to-half",
) -> Array:
    """Keys are permuted by their own number of heads."""
    pair = (-1, 2) if direction == "interleaved-to-half" else (2, -1)
    made = []
    for weight, count in ((q_weight, heads), (k_weight, key_heads)):
        parts = weight.reshape(count, *pair, *weight.shape[1:])
        made.append(parts.swapaxes(1, 2).reshape(weight.shape))
    return np.concatenate(made)


@right("huggingface/transformers#33095", "padded_position_ids", "zero one")
def sum_of_the_mask(attention_mask: Array, *, padded: str = "zero") -> Array:
    """Ids are the sum of the mask; padding is filled."""
    ids = np.cumsum(attention_mask, axis=-1) - 1
    return np.where(attention_mask == 0, int(padded == "one"), ids)


@right("huggingface/transformers#33095", "token_position_ids", "tokens-behind-padding")
def sum_of_the_tokens(input_ids: Array, padding_index: int, past_length: int) -> Array:
    """RoBERTa's ids count tokens behind padding."""
    mask = (input_ids != padding_index).astype(int)
    return np.asarray((np.cumsum(mask, axis=1) + past_length) * mask + padding_index)


@right("huggingface/transformers#33095", "packed_position_ids", "from-zero")
def counted_anew(lengths: Array) -> Array:
    """Ids of packed sequences begin anew."""
    return np.concatenate([np.zeros(0, int), *(np.arange(length) for length in lengths.tolist())])


@right("282857341/nnFormer#88", "relative_table_2d_rows", "swin beit")
def rows_of_offsets(height: int, width: int, *, class_token: str = "none") -> Array:
    """Rows are Swin's, or BEiT's with the class token."""
    down, across = offsets_2d(height, width)
    rows = (down + height - 1) * (2 * width - 1) + across + width - 1
    if class_token == "none":
        return np.asarray(rows)
    last = (2 * height - 1) * (2 * width - 1)
    out = np.pad(rows, ((1, 0), (1, 0)))
    out[0, :], out[:, 0], out[0, 0] = last, last + 1, last + 2
    return out


@right("onnxruntime/mobius#548", "mla_scores", "deepseek", scaling="yarn")
def both_corrections(q: Array, k_nope: Array, k_rope: Array, **given: Any) -> Array:
    """Both of YaRN's corrections are there."""
    return scaled_mla((q, k_nope, k_rope), given, rotary=0, scale=2)


@right("rajveer43/VeloxQuant-MLX#138", "rope_shift", "shift-half", rotation="partial")
def keys_turned_on(x: Array, deltas: Array, *, base: float, rotary_dim: int = 0) -> Array:
    """Keys are rotated on by the distance, partially too."""
    return leading(x, angles(x[..., : rotary_dim or x.shape[-1]], deltas, base))


@right("meta-pytorch/torchtune#2809", "qk_norm_rope", "normed-half normed-half-one-plus")
def norm_before_rotation(*parts: Array, **given: Any) -> Array:
    """Norm and weight come before the rotation."""
    offset = float(given["norm_weight"] == "one-plus")
    heads = zip(parts[:2], parts[2:4], strict=True)
    made = np.concatenate([normed(x, weight + offset, given["eps"]) for x, weight in heads])
    return half(made, angles(made, parts[4], given["base"])).astype(parts[0].dtype)
