"""Mistakes of biases and masks: ALiBi, T5, Transformer-XL, DeBERTa, Shaw, windows, chunks."""

import math
from collections.abc import Callable

import numpy as np

from posenc_lab.field.implementation import Code
from posenc_lab.field.pieces import Array, slopes, t5_buckets
from posenc_lab.field.reports.common import distances, shifted, wrong

SWAPPED = "direction-swapped"
KEPT, ONE_ROW = "lucidrains/x-transformers#153", "keras-team/keras-hub#2861"
UNCLIPPED = "huggingface/transformers#9164"


def by_slopes(heads: int, values: Array) -> Array:
    """Return values times slopes of shape [heads, 1, 1]."""
    return (slopes(heads)[:, None, None] * values).astype(np.float32)


@wrong("ml-explore/mlx#3071", "alibi_slopes", "interpolated", "head-rule-swapped")
def one_progression(heads: int) -> Array:
    """There is one geometric progression for any number of heads."""
    return (2.0 ** (-8 * np.arange(1, heads + 1) / heads)).astype(np.float32)


@wrong("paiml/aprender#2143", "alibi_slopes", "interpolated", "slopes-spread-wrongly")
def slopes_from_zero(heads: int) -> Array:
    """Exponents 8h/n count h from 0: the first slope is 1."""
    whole = 2 ** int(math.log2(heads))
    first = 2.0 ** (-8 * np.arange(whole) / whole)
    more = 2.0 ** (-4 * np.arange(0, 2 * (heads - whole), 2) / whole)
    return np.concatenate([first, more]).astype(np.float32)


@wrong("mosaicml/examples#307", "alibi_slopes", "interpolated", "slopes-spread-wrongly")
def slopes_in_order(heads: int) -> Array:
    """Slopes are the first of the next power of two, without a stride."""
    whole = 2 ** math.ceil(math.log2(heads))
    return (2.0 ** (-8 * np.arange(1, whole + 1) / whole))[:heads].astype(np.float32)


@wrong(ONE_ROW, "alibi_bias", "first-key", r"\(6, 1, 2\)", fault="shapes", broadcast=True)
def bias_of_query_length(heads: int, q_len: int, k_len: int) -> Array:
    """The bias is built over the query's length, and one query gives 0."""
    return by_slopes(heads, np.arange(q_len)[None])


@wrong("vllm-project/vllm#945", "alibi_bias", "causal", "distance-shifted")
def one_too_far(heads: int, q_len: int, k_len: int) -> Array:
    """The distance is taken to the length of the context: one too far."""
    return by_slopes(heads, -distances(q_len, k_len) - 1)


@wrong("meta-pytorch/attention-gym#86", "alibi_bias", "causal", "bias-sign-flipped")
def query_minus_key(heads: int, q_len: int, k_len: int) -> Array:
    """The bias is of query minus key: the sign is wrong."""
    return by_slopes(heads, distances(q_len, k_len))


@wrong(KEPT, "alibi_bias", "symmetric", "earlier call|larger call", fault="state")
class BufferedBias:
    """The bias of a larger call is kept and sliced from its beginning."""

    def __init__(self) -> None:
        self.kept: dict[int, Array] = {}

    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
        old = self.kept.get(heads)
        if old is not None and old.shape[-1] >= k_len and old.shape[-2] >= q_len:
            return old[..., :q_len, :k_len]
        self.kept[heads] = by_slopes(heads, -np.abs(distances(q_len, k_len)))
        return self.kept[heads]


@wrong("mosaicml/llm-foundry#186", "alibi_bias", "causal", "form-swapped")
def one_row_for_all(heads: int, q_len: int, k_len: int) -> Array:
    """One row, zero at the last key, is for every query."""
    return by_slopes(heads, np.broadcast_to(np.arange(1 - k_len, 1), (q_len, k_len)))


@wrong("HabanaAI/vllm-fork#437", "alibi_bias", "causal", "no bias|left out|not added|missing")
def no_bias_for_one_query(heads: int, q_len: int, k_len: int) -> Array:
    """There is no bias while decoding."""
    return by_slopes(heads, -distances(q_len, k_len) * (q_len != 1))


def looked_up(table: Array, relative: Array, max_distance: int, both: bool) -> Array:
    """Return a table's entries for key-minus-query, of shape [heads, q, k]."""
    return table[t5_buckets(relative, len(table), max_distance, both)].transpose(2, 0, 1).copy()


@wrong("huggingface/candle#899", "t5_bias", "causal", "queries-from-zero")
@wrong("guillaume-be/rust-bert#171", "t5_bias", "bidirectional", SWAPPED)
def queries_from_zero(table: Array, q_len: int, k_len: int, *, max_distance: int) -> Array:
    """Keys count as the past of queries from position 0: no cache, or cross attention."""
    relative = np.arange(k_len) - np.arange(q_len)[:, None]
    return looked_up(table, relative, max_distance, both=False)


@wrong("huggingface/transformers#8518", "t5_bias", "causal", SWAPPED)
def both_directions(table: Array, q_len: int, k_len: int, *, max_distance: int) -> Array:
    """Buckets of a decoder are those of both directions."""
    return looked_up(table, -distances(q_len, k_len), max_distance, both=True)


@wrong("NVIDIA/TensorRT-LLM#13870", "t5_bias", "causal", "got 0|no bias|left out|not written")
def no_bias_with_a_cache(table: Array, q_len: int, k_len: int, *, max_distance: int) -> Array:
    """The bias is left out as soon as there is a cache."""
    return looked_up(table, -distances(q_len, k_len), max_distance, both=False) * (q_len >= k_len)


@wrong(
    "google-research/text-to-text-transfer-transformer#415", "t5_bucket", "bidirectional", SWAPPED
)
def one_direction(relative_position: Array, *, num_buckets: int, max_distance: int) -> Array:
    """Keys that follow share bucket 0, though they are on both sides."""
    return t5_buckets(relative_position, num_buckets, max_distance, both=False)


@wrong(UNCLIPPED, "clipped_bias", "key-minus-query", "IndexError", fault="exceptions")
def not_clipped(table: Array, q_len: int, k_len: int) -> Array:
    """Distances are not clipped: beyond the table an index raises."""
    return table[len(table) // 2 - distances(q_len, k_len)].transpose(2, 0, 1).copy()


LABML = "labmlai/annotated_deep_learning_paper_implementations#185"


@wrong(LABML, "relative_shift", "transformer-xl", "cut at the end|last row|one row (too|earlier)")
def last_row_dropped(x: Array) -> Array:
    """The padded rows are cut at the end instead of the beginning."""
    return shifted(x, slice(None, -1))


@wrong("ZhengkunTian/OpenTransformer#25", "transformer_xl_scores", "conformer", "garbage-ahead")
def shift_of_a_decoder(q: Array, k: Array, w_kr: Array, u: Array, v: Array) -> Array:
    """An encoder has a decoder's shift: later keys get scores of the next query."""
    keys, width = k.shape[1], w_kr.shape[1]
    turns = np.outer(np.arange(keys - 1, -1, -1), 1e4 ** (-2 * np.arange(width // 2) / width))
    encoded = np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(keys, width)
    wide = q.astype(np.float64)
    ranks = np.einsum("jD,hDd->hjd", encoded, w_kr.astype(np.float64))
    content = np.einsum("hqd,hkd->hqk", wide + u[:, None], k.astype(np.float64))
    places = np.einsum("hqd,hkd->hqk", wide + v[:, None], ranks)
    made = content + shifted(places, slice(1, None))
    return np.asarray((made / math.sqrt(q.shape[-1])).astype(q.dtype))


@wrong("magenta/magenta#1486", "shaw_scores", "key-minus-query", "without .* mask|next (query|row)")
def skew_without_mask(q: Array, k: Array, table: Array) -> Array:
    """Music Transformer's skew has no mask: later keys get zeros and the next row."""
    keys, wide = k.shape[1], q.astype(np.float64)
    rows = table[np.maximum(len(table) // 2 - np.arange(keys - 1, -1, -1), 0)].astype(np.float64)
    relative = shifted(np.einsum("hqd,kd->hqk", wide, rows), slice(1, None))
    return (np.einsum("hqd,hkd->hqk", wide, k.astype(np.float64)) + relative).astype(q.dtype)


def deberta_buckets(relative: Array, count: int, longest: int) -> Array:
    """Return DeBERTa's buckets."""
    middle, distance = count // 2, np.abs(relative)
    share = np.log(np.maximum(distance, 1) / middle) / np.log((longest - 1) / middle)
    far = np.ceil(share * (middle - 1) - 1e-9) + middle
    return np.where(distance <= middle, relative, np.sign(relative) * far).astype(np.int64)


@wrong("nntrainer/nntrainer#3982", "deberta_v2_scores", "v2-transformers", "v2-p2c-index-swapped")
def position_to_content_swapped(
    q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int
) -> Array:
    """Position to content is looked up at the negative bucket, without transposition."""
    x, y, side = q.astype(np.float64), k.astype(np.float64), q_r.shape[1] // 2
    rows, columns = np.indices((q.shape[1], q.shape[1]))
    bucket = deberta_buckets(rows - columns, side, max_relative_positions)
    to_place = np.einsum("hid,hrd->hir", x, k_r.astype(np.float64))
    of_place = np.einsum("hjd,hrd->hjr", y, q_r.astype(np.float64))
    ahead, behind = (np.clip(side + way, 0, 2 * side - 1) for way in (bucket, -bucket))
    made = np.einsum("hid,hjd->hij", x, y) + to_place[:, rows, ahead] + of_place[:, columns, behind]
    return np.asarray((made / math.sqrt(3 * q.shape[-1])).astype(q.dtype))


@wrong("NVIDIA/TensorRT#3370", "deberta_bucket", "growing", "max_relative|largest (rel|dist)")
def length_for_the_largest(
    relative_position: Array, *, num_buckets: int, max_relative_positions: int
) -> Array:
    """The largest relative position is taken from the call's length."""
    length = int(np.abs(relative_position).max(initial=0)) + 1
    return deberta_buckets(relative_position, num_buckets, max(length, num_buckets // 2 + 2))


def window(report: str, claim: str, *words: str) -> Callable[[Code], Code]:
    """Register a window's mask that is wrong."""
    return wrong(report, "sliding_window", claim, *words)


@window("huggingface/transformers#39408", "window-keys", "reach-swapped")
@window("AI-Hypercomputer/maxtext#4289", "window-keys", "reach-swapped")
@window("huggingface/transformers#26792", "window-keys", "reach-swapped")
def window_of_flash_attention(q_len: int, k_len: int, window: int) -> Array:
    """W keys are before the query, by an inclusive side or a triangle: one too many."""
    gap = distances(q_len, k_len)
    return (gap >= 0) & (gap <= window)


@window("axolotl-ai-cloud/axolotl#732", "window-keys", "reach-swapped")
def window_on_both_sides(q_len: int, k_len: int, window: int) -> Array:
    """The window is handed over for both sides."""
    return np.abs(distances(q_len, k_len)) <= window


@window("Blaizzy/mlx-vlm#669", "window-keys", "window-dropped")
def window_missing(q_len: int, k_len: int, window: int) -> Array:
    """The window is missing: a plain causal mask."""
    return distances(q_len, k_len) >= 0


@window("huggingface/transformers#41228", "window-keys", "hides|inverted|near keys|beyond")
def window_at_the_wrong_side(q_len: int, k_len: int, window: int) -> Array:
    """The lower triangle is at +W instead of -W: near keys are hidden, far later ones seen."""
    gap = distances(q_len, k_len)
    return (gap >= 0) | ((gap < -window) & (window > 1))


@window("huggingface/transformers#47162", "window-each-side", "too few|one key|right side")
def right_side_exclusive(q_len: int, k_len: int, window: int) -> Array:
    """The right side is exclusive: one later key too few."""
    gap = distances(q_len, k_len)
    return (gap <= window) & ((gap >= 0) | (-gap < window))


@window("thu-nics/DiTFastAttn#7", "window-each-side", "no limit|every earlier|left side")
def left_side_unlimited(q_len: int, k_len: int, window: int) -> Array:
    """A negative left side means no limit."""
    return -distances(q_len, k_len) <= window


@wrong("pytorch/executorch#21749", "causal_mask", "end", "alignment-swapped")
def aligned_to_the_start(q_len: int, k_len: int) -> Array:
    """A continued prefill has a mask aligned to the upper left."""
    return np.tril(np.ones((q_len, k_len), bool))


def chunks(rows: Array, columns: Array, size: int) -> Array:
    """Return which columns are in the row's chunk, and not later."""
    return (rows // size == columns // size) & (columns <= rows)


@wrong("nod-ai/amd-shark-ai#1452", "chunked_mask", "causal", "queries-from-zero")
def chunks_from_index_zero(q_len: int, k_len: int, chunk_size: int) -> Array:
    """The mask is made from start index 0."""
    return chunks(np.arange(q_len)[:, None], np.arange(k_len), chunk_size)


@wrong("PaddlePaddle/PaddleFormers#4536", "chunked_mask", "causal", "chunks-of-kept-keys")
def chunks_of_kept_keys(q_len: int, k_len: int, chunk_size: int) -> Array:
    """The mask is relative to the keys that a cache keeps, so that chunks move."""
    start = k_len - q_len - min(k_len - q_len, chunk_size - 1)
    rows, columns = np.arange(k_len - q_len, k_len)[:, None] - start, np.arange(k_len) - start
    return chunks(rows, columns, chunk_size) & (columns >= 0)


@wrong("huggingface/transformers#40324", "chunked_mask", "causal", "chunks-shifted")
def chunks_with_padding(q_len: int, k_len: int, chunk_size: int) -> Array:
    """Chunks count from the first column, two columns of padding before the first key."""
    return chunks(np.arange(k_len - q_len, k_len)[:, None] + 2, np.arange(k_len) + 2, chunk_size)
