"""Mistakes of kernels and of position ids: batches, packing, caches, heads, ranks, weights."""

from typing import Any

import numpy as np

from posenc_lab.field.pieces import Array, omega, outer
from posenc_lab.field.reports.common import angles, half, inter, wrong

WARPS = "vllm-project/vllm#51049"
COUNTED, IGNORED = "padding-counted", "index-ignored"


@wrong("unslothai/unsloth#3803", "rope_batched", "batched-half", "first-sequence-for-all")
def one_row_for_all(x: Array, positions: Array, *, base: float) -> Array:
    """One row of positions is used for every sequence of a padded batch."""
    return half(x, angles(x, positions[0], base))


@wrong("allenai/OLMo-core#591", "rope_packed", "packed-half", "boundaries-ignored")
def boundaries_ignored(x: Array, cu_seqlens: Array, offsets: Array, *, base: float) -> Array:
    """Packed documents are rotated by positions of the whole row."""
    return half(x, angles(x, np.arange(x.shape[-2]), base))


@wrong("NVIDIA/Megatron-LM#5243", "rope_packed", "packed-half", "offsets-ignored")
def packed_from_zero(x: Array, cu_seqlens: Array, offsets: Array, *, base: float) -> Array:
    """Later sequences use the positions of the first: offsets are ignored."""
    lengths = np.diff(cu_seqlens).tolist()
    positions = np.concatenate([np.zeros(0), *(np.arange(length) for length in lengths)])
    return half(x, angles(x, positions, base))


def starting(x: Array, offsets: Array, base: float) -> Array:
    """Rotate each sequence from its own offset."""
    positions = offsets[:, None] + np.arange(x.shape[-2])
    return half(x, angles(x, positions, base)[:, None])


@wrong("flashinfer-ai/flashinfer#847", "rope_offsets", "offsets-half", "offsets-ignored")
def offset_not_processed(x: Array, offsets: Array, *, base: float) -> Array:
    """The offset is not read: all sequences start at 0."""
    return starting(x, offsets * 0, base)


@wrong(
    "fla-org/flash-linear-attention#766", "rope_offsets", "offsets-half", "at 38, 39, 40|1 later"
)
def seen_counted_early(x: Array, offsets: Array, *, base: float) -> Array:
    """Tokens count as seen too early: the offset is one too large while decoding."""
    return starting(x, offsets + (offsets > 0), base)


@wrong("ml-explore/mlx#3949", "rope_offsets", "offsets-half", "first-sequence-only")
def first_of_single_rows(x: Array, offsets: Array, *, base: float) -> Array:
    """With one row, only the first sequence is written."""
    out = starting(x, offsets, base)
    if x.shape[-2] == 1:
        out[1:] = 0
    return out


@wrong(
    "flagos-ai/FlagGems#5142", "rope_in_place", "in-place-half", "pair-overwritten", fault="memory"
)
def pair_overwritten(x: Array, positions: Array, *, base: float) -> None:
    """The second member of a pair is computed from the rotated first."""
    turns, middle = angles(x, positions, base), x.shape[-1] // 2
    cos, sin = np.cos(turns), np.sin(turns)
    x[..., :middle] = x[..., :middle] * cos - x[..., middle:] * sin
    x[..., middle:] = x[..., :middle] * sin + x[..., middle:] * cos


@wrong("XPU-Forces/mojo_opset#279", "rope_query_key", "query-key-half", "head-counts-mixed")
def first_head_alone(q: Array, k: Array, positions: Array, *, base: float) -> Array:
    """head_dim is taken for the whole width: only the first head is rotated."""
    turns = angles(q, positions, base)
    return np.concatenate([half(q[:1], turns), q[1:], half(k[:1], turns), k[1:]])


@wrong("sgl-project/sglang#20559", "rope_query_key", "query-key-half", "index 2 has .* index 3")
def key_heads_by_all_heads(q: Array, k: Array, positions: Array, *, base: float) -> Array:
    """Heads of keys are indexed without subtracting the heads of queries."""
    heads = np.minimum(np.arange(len(k)) + len(q), len(k) - 1)
    turns = angles(q, positions, base)
    return np.concatenate([half(q, turns), half(k[heads], turns)])


@wrong("epfLLM/Megatron-LLM#45", "rope_qkv", "qkv-half-by-group", "group|one query head")
def groups_of_one_query(
    qkv: Array, positions: Array, heads: int, key_heads: int, *, base: float
) -> Array:
    """A grouped projection is read as if every group had one head of queries."""
    width = qkv.shape[1] // (heads + 2 * key_heads)
    parts = qkv.reshape(len(qkv), -1, width).copy()
    turned = np.arange(parts.shape[1]) % 3 != 2  # q, k, v, q, k, v
    parts[:, turned] = half(parts[:, turned], outer(positions, omega(width, base))[:, None])
    return parts.reshape(qkv.shape)


def normed(x: Array, weight: Array | float, eps: float) -> Array:
    """Return the RMS norm in float64."""
    wide = x.astype(np.float64)
    return np.asarray(wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps) * weight)


def both_normed(parts: tuple[Array, ...], eps: float) -> Array:
    """Return heads of queries and keys, each with its norm."""
    q, k, q_weight, k_weight, _ = parts
    return np.concatenate([normed(q, q_weight, eps), normed(k, k_weight, eps)])


@wrong(WARPS, "qk_norm_rope", "normed-half", "partner|half a head", rotation="partial")
def partner_half_a_head_away(*parts: Array, **given: Any) -> Array:
    """In every other head the second member of a pair is read half a head away."""
    out = both_normed(parts, given["eps"])
    width = given.get("rotary_dim") or out.shape[-1]
    turns, pairs = outer(parts[4], omega(width, given["base"])), width // 2
    cos, sin = np.cos(turns), np.sin(turns)
    for head, each in enumerate(out.copy()):
        away = out.shape[-1] // 2 if head % 2 else pairs
        first, second = each[:, :pairs], each[:, pairs:width]
        out[head, :, :pairs] = first * cos - each[:, away : away + pairs] * sin
        out[head, :, pairs:width] = second * cos + first * sin
    return out.astype(parts[0].dtype)


@wrong("meta-pytorch/torchtune#2809", "qk_norm_rope", "normed-half", "weight-behind-rotation")
def norm_after_rotation(*parts: Array, **given: Any) -> Array:
    """Norm and weight are applied after the rotation."""
    turns = angles(parts[0], parts[4], given["base"])
    turned = [half(part.astype(np.float64), turns) for part in parts[:2]]
    made = [normed(x, weight, given["eps"]) for x, weight in zip(turned, parts[2:4], strict=True)]
    return np.concatenate(made).astype(parts[0].dtype)


@wrong("linkedin/Liger-Kernel#74", "qk_norm_rope", "normed-half-one-plus", "norm-weight-swapped")
def norm_without_offset(*parts: Array, **given: Any) -> Array:
    """Gemma's weight lacks the offset 1."""
    made = both_normed(parts, given["eps"])
    return half(made, angles(made, parts[4], given["base"])).astype(parts[0].dtype)


@wrong("vllm-project/vllm-metal#660", "qk_norm_rope", "normed-half", "norm-left-out")
def norm_skipped(*parts: Array, **given: Any) -> Array:
    """The norms of heads are skipped."""
    made = np.concatenate(parts[:2])
    return half(made, angles(made, parts[4], given["base"]))


@wrong("ggml-org/llama.cpp#3835", "rope_shift", "shift-interleaved", "above 0|below 0|not moved")
def shifted_only_backwards(x: Array, deltas: Array, *, base: float) -> Array:
    """Keys are shifted only if some token leaves the cache."""
    return inter(x, angles(x, deltas, base)) if (deltas < 0).any() else x.copy()


@wrong("rajveer43/VeloxQuant-MLX#138", "rope_shift", "shift-half", "shift-ignored")
def keys_keep_their_rotation(x: Array, deltas: Array, *, base: float) -> Array:
    """Stored keys keep their old rotation after eviction."""
    return x.copy()


def after(held: list[int], kind: int, first: int, second: int) -> list[int]:
    """Return positions in a cache after tokens leave or move."""
    if kind == 1:
        return [at for at in held if not first <= at < second]
    return [at + second if at >= first else at for at in held]


@wrong("rajveer43/VeloxQuant-MLX#389", "session_position_ids", "behind-the-last", "cells-counted")
def rows_kept_counted(events: Array) -> Array:
    """The offset is the number of rows kept after eviction."""
    held: list[int] = []
    out: list[int] = []
    for kind, first, second in events.tolist():
        new = list(range(len(held), len(held) + first)) if kind == 0 else []
        out += new
        held = after(held, kind, first, second) if kind else held + new
    return np.array(out, np.int64)


@wrong(
    "skyzh/tiny-llm#46", "session_position_ids", "behind-the-last", "stand at 14, 15|again|twice"
)
def prompt_added_again(events: Array) -> Array:
    """The first step of decoding adds the prompt's length again."""
    held: list[int] = []
    out: list[int] = []
    for number, (kind, first, second) in enumerate(events.tolist()):
        start = max(held, default=-1) + 1
        if number == 1 and events[0][0] == 0:
            start += int(events[0][1])
        new = list(range(start, start + first)) if kind == 0 else []
        out += new
        held = after(held, kind, first, second) if kind else held + new
    return np.array(out, np.int64)


@wrong("huggingface/transformers#33095", "padded_position_ids", "zero", COUNTED)
def padding_counted(attention_mask: Array) -> Array:
    """Default position ids count padding on the left."""
    return np.where(attention_mask == 0, 0, np.arange(attention_mask.shape[1])[None])


@wrong("torch-spyre/sendnn-inference#495", "padded_position_ids", "zero", "50256")
def padding_by_its_token(attention_mask: Array) -> Array:
    """Padding gets the id of its token as position."""
    return np.where(attention_mask == 0, 50256, np.cumsum(attention_mask, axis=1) - 1)


@wrong("huggingface/transformers#1761", "fairseq_position_ids", "behind-padding", COUNTED)
def behind_the_index(attention_mask: Array, padding_index: int) -> Array:
    """Ids run on behind padding_idx whether a token is padding or not."""
    columns = np.arange(attention_mask.shape[1]) + padding_index + 1
    return np.broadcast_to(columns, attention_mask.shape).copy()


@wrong("huggingface/transformers#19265", "token_position_ids", "tokens-behind-padding", COUNTED)
def tokens_not_read(input_ids: Array, padding_index: int, past_length: int) -> Array:
    """Ids of embeddings run on behind padding_idx, tokens are not read."""
    return behind_the_index(input_ids, padding_index)


@wrong("huggingface/sentence-transformers#3879", "fairseq_position_ids", "behind-padding", IGNORED)
def flattened_from_zero(attention_mask: Array, padding_index: int) -> Array:
    """Flattened sequences begin at 0 where RoBERTa begins behind padding_idx."""
    return np.where(attention_mask == 0, padding_index, np.cumsum(attention_mask, axis=1) - 1)


@wrong("EleutherAI/gpt-neox#650", "learned", "two", "offset-swapped")
def offset_of_two_left_out(positions: Array, table: Array) -> Array:
    """OPT's table is read without its offset of two."""
    return table[positions]


@wrong("sgl-project/sglang#25015", "cached_position_ids", "from-zero", "1 later than it should")
def advanced_early(past_length: int, q_len: int) -> Array:
    """Positions advance before the step of decoding instead of after it."""
    return np.arange(past_length, past_length + q_len) + int(q_len == 1 and past_length > 0)


@wrong("NVIDIA/TensorRT-LLM#13081", "tree_position_ids", "by-depth", "rows-for-depths")
def nodes_counted(past_length: int, parents: Array) -> Array:
    """Every node of a flattened tree gets a position of its own."""
    return past_length + np.arange(len(parents))


@wrong("huggingface/nanoVLM#201", "packed_position_ids", "from-zero", "not-restarted")
def not_restarted(lengths: Array) -> Array:
    """One range runs over the packed row."""
    return np.arange(int(np.sum(lengths)))


@wrong("NVIDIA/Megatron-LM#560", "shard_position_ids", "zigzag", "share-swapped")
def contiguous_share(length: int, rank: int, ranks: int) -> Array:
    """A rank has a contiguous share where shares are zigzag."""
    return np.arange(length // ranks) + rank * (length // ranks)


@wrong("sgl-project/sglang#28463", "shard_position_ids", "round-robin", "counted-locally")
def counted_locally(length: int, rank: int, ranks: int) -> Array:
    """Ranks by turns get their own positions from 0."""
    return np.arange(length // ranks)


@wrong("dylanyunlon/Neuron_SP#42", "shard_position_ids", "contiguous", "rank-0-for-all")
def rank_zero_for_all(length: int, rank: int, ranks: int) -> Array:
    """The table is not sliced by the rank: every rank counts from 0."""
    return np.arange(length)[: length // ranks]


def to_interleaved(weight: Array, heads: int) -> Array:
    """Return rows of halves as rows of neighbours."""
    parts = weight.reshape(heads, 2, -1, *weight.shape[1:])
    return parts.swapaxes(1, 2).reshape(weight.shape)


@wrong("ggml-org/llama.cpp#3364", "permute_qk", "to-interleaved", "quotient|divided")
def heads_divided(q_weight: Array, k_weight: Array, heads: int, key_heads: int) -> Array:
    """Keys are permuted as heads divided by key heads."""
    blocks = heads if heads == key_heads else heads // key_heads
    return np.concatenate([to_interleaved(q_weight, heads), to_interleaved(k_weight, blocks)])


@wrong("huggingface/transformers#31788", "permute_qk", "to-half", "key-heads-as-query-heads")
def keys_as_query_heads(q_weight: Array, k_weight: Array, heads: int, key_heads: int) -> Array:
    """Keys are permuted with the number of heads of queries."""
    if len(k_weight) % (2 * heads):
        raise NotImplementedError("the shape does not divide")

    def permuted(weight: Array) -> Array:
        parts = weight.reshape(heads, -1, 2, *weight.shape[1:])
        return parts.swapaxes(1, 2).reshape(weight.shape)

    return np.concatenate([permuted(q_weight), permuted(k_weight)])


@wrong("huggingface/nanotron#427", "permute_qk", "to-half", "not-permuted")
@wrong("vllm-project/vllm#55335", "permute_qk_bias", "to-half", "not-permuted")
def nothing_permuted(query: Array, key: Array, heads: int, key_heads: int) -> Array:
    """Nothing is permuted, or weights without their biases."""
    return np.concatenate([query, key])


@wrong("onnxruntime/mobius#396", "permute_qk", "to-half", "inverse-permutation")
def permuted_the_other_way(q_weight: Array, k_weight: Array, heads: int, key_heads: int) -> Array:
    """The way back has the shape of the way there."""
    return np.concatenate([to_interleaved(q_weight, heads), to_interleaved(k_weight, key_heads)])
