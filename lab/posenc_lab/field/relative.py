"""Biases, scores, masks and numbers of positions, rebuilt from threads."""

from typing import Any

import numpy as np

from posenc_lab.field.bug import Array, bug
from posenc_lab.field.pieces import offsets, slopes, softmax, t5_buckets


@bug("alibi_bias", "causal", "bias-sign-flipped", thread="meta-pytorch/attention-gym#86")
def query_minus_key(heads: int, q_len: int, k_len: int, *, dtype: str, **_: Any) -> Array:
    """Slopes times query minus key: what is far is favoured."""
    distance = np.maximum(-offsets(q_len, k_len), 0)
    return (slopes(heads)[:, None, None] * distance).astype(dtype)


@bug("alibi_slopes", "interpolated", "slopes-spread-wrongly", thread="paiml/aprender#2143")
def heads_from_zero(heads: int, *, dtype: str, **_: Any) -> Array:
    """2^(-8h/n) with h from 0."""
    return (2.0 ** (-8 * np.arange(heads) / heads)).astype(dtype)


@bug("alibi_bias", "causal", "bias-head-rule-swapped", thread="ml-explore/mlx#3071")
def one_progression(heads: int, q_len: int, k_len: int, *, dtype: str, **_: Any) -> Array:
    """One progression of slopes for every number of heads."""
    steep = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return (steep[:, None, None] * np.minimum(offsets(q_len, k_len), 0)).astype(dtype)


@bug("alibi_bias", "causal", "distance-shifted", thread="vllm-project/vllm#945")
def from_the_context_length(heads: int, q_len: int, k_len: int, *, dtype: str, **_: Any) -> Any:
    """Key minus length, which is one more than the place of the last query."""
    distance = offsets(q_len, k_len) - 1
    return (slopes(heads)[:, None, None] * np.minimum(distance, 0)).astype(dtype)


@bug("t5_bucket", "bidirectional", thread="huggingface/candle#1312")
def without_a_last_bucket(
    relative_position: Array, *, num_buckets: int, max_distance: int, **_: Any
) -> Array:
    """Buckets of far distances that no minimum holds back."""
    return t5_buckets(relative_position, num_buckets, max_distance, True, cut=False)


@bug("t5_bias", "causal", "bias-queries-from-zero", thread="huggingface/candle#899")
def without_the_cache(
    table: Array, q_len: int, k_len: int, *, max_distance: int, **_: Any
) -> Array:
    """Queries at positions from 0 on, although keys from a cache come before them."""
    relative = np.arange(k_len) - np.arange(q_len)[:, None]
    buckets = t5_buckets(relative, len(table), max_distance, False)
    return np.ascontiguousarray(np.moveaxis(table[buckets], -1, 0))


@bug(
    "relative_shift",
    "transformer-xl",
    "shift-off-by-one",
    thread="labmlai/annotated_deep_learning_paper_implementations#185",
)
def last_row_cut_off(x: Array, **_: Any) -> Array:
    """The last row of the padded scores cut off in place of the first."""
    *batch, rows, columns = x.shape
    padded = np.concatenate([np.zeros((*batch, rows, 1), x.dtype), x], axis=-1)
    return padded.reshape(*batch, columns + 1, rows)[..., :-1, :].reshape(x.shape).copy()


@bug("causal_mask", "end", "diagonal-shifted", thread="flashinfer-ai/flashinfer#348")
def one_key_too_far(q_len: int, k_len: int, **_: Any) -> Array:
    """Hidden only where the key is more than one behind the query."""
    return offsets(q_len, k_len) <= 1


@bug("causal_mask", "end", "alignment-swapped", thread="gittensor-ai-lab/sparkinfer#3")
def rows_of_the_chunk(q_len: int, k_len: int, **_: Any) -> Array:
    """Query i sees keys up to i, although keys come before the chunk."""
    return np.tri(q_len, k_len, dtype=bool)


@bug("causal_mask", "start", "alignment-swapped", thread="pytorch/executorch#22426")
def corner_of_the_other_library(q_len: int, k_len: int, **_: Any) -> Array:
    """The last query with the last key, where the first goes with the first."""
    return offsets(q_len, k_len) <= 0


@bug("attention_weights", "causal", "mask-at-start", thread="thu-ml/SageAttention#372")
def equal_lengths_assumed(q: Array, k: Array, **_: Any) -> Array:
    """A causal mask of equal lengths."""
    logits = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.tri(logits.shape[-2], logits.shape[-1], dtype=np.bool_)
    return softmax(np.where(seen, logits, -np.inf)).astype(q.dtype)


@bug(
    "sliding_window",
    "window-keys",
    ("window-off-by-one", "reach-swapped"),
    thread="huggingface/transformers#26792",
)
def one_key_more(q_len: int, k_len: int, window: int, **_: Any) -> Array:
    """A diagonal of -window, which leaves a key more than the window has."""
    offset = offsets(q_len, k_len)
    return (offset <= 0) & (offset >= -window)


@bug("sliding_window", "window-keys", "future-visible", thread="jax-ml/jax#39576")
def only_a_left_bound(q_len: int, k_len: int, window: int, **_: Any) -> Array:
    """The left bound of the band alone."""
    return offsets(q_len, k_len) > -window


@bug("sliding_window", "window-keys", thread="huggingface/transformers#41228")
def the_window_ahead(q_len: int, k_len: int, window: int, **_: Any) -> Array:
    """The window added to the diagonal in place of subtracted: it limits what is hidden ahead."""
    offset = offsets(q_len, k_len)
    return (offset <= 0) | (offset > window)


@bug("sliding_window", "window-each-side", thread="huggingface/transformers#47010")
def strictly_less_ahead(q_len: int, k_len: int, window: int, **_: Any) -> Array:
    """One key less ahead than behind."""
    offset = offsets(q_len, k_len)
    return (offset >= -window) & ((offset < window) | (offset <= 0))


@bug("causal_mask", "end", "inverted", thread="InseeFrLab/torchTextClassifiers#92")
def true_where_hidden(q_len: int, k_len: int, **_: Any) -> Array:
    """True for what is padded, where True means seen."""
    return offsets(q_len, k_len) > 0


def scaled_weights(q: Array, k: Array, factor: float) -> Array:
    logits = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    return softmax(logits * factor).astype(q.dtype)


@bug("attention_weights", "full", "scale-wrong", thread="lucidrains/vit-pytorch#65")
def root_of_the_model(q: Array, k: Array, **_: Any) -> Array:
    """The root of the model's width, which is eight heads'."""
    return scaled_weights(q, k, (8 * q.shape[-1]) ** -0.5)


@bug("attention_weights", "full", "scale-wrong", thread="esceptico/perceiver-io#9")
def divided_by_the_factor(q: Array, k: Array, **_: Any) -> Array:
    """Divided by d^(-1/2) instead of multiplied."""
    return scaled_weights(q, k, q.shape[-1] ** 0.5)


@bug("attention_weights", "full", "scale-wrong", thread="tenstorrent/tt-metal#56789")
def root_of_the_heads(q: Array, k: Array, **_: Any) -> Array:
    """The root of the number of heads, twelve."""
    return scaled_weights(q, k, 12**-0.5)


@bug(
    "padded_position_ids",
    "zero",
    "padding-counted",
    thread="TransformerLensOrg/TransformerLens#1609",
)
def plain_count(attention_mask: Array, **_: Any) -> Any:
    """Columns counted, padding or not."""
    return np.arange(attention_mask.shape[1]) + 0 * np.asarray(attention_mask)


@bug("padded_position_ids", "zero", thread="fla-org/flash-linear-attention#902")
def shifted_below_zero(attention_mask: Array, **_: Any) -> Array:
    """Real tokens counted from 0, less the padding that is no longer there."""
    mask = np.asarray(attention_mask)
    missing = mask.shape[1] - mask.sum(axis=1, keepdims=True)
    return np.where(mask == 1, np.cumsum(mask, axis=1) - 1 - missing, 0)


@bug("cached_position_ids", "from-zero", "from-zero", thread="Blaizzy/mlx-vlm#1983")
def cache_ignored(past_length: int, q_len: int) -> Array:
    """Positions of a chunk, without its offset."""
    return np.arange(q_len)


@bug(
    "cached_position_ids",
    "from-zero",
    "cache-miscounted",
    thread="microsoft/onnxruntime-genai#2354",
)
def token_counted_as_past(past_length: int, q_len: int) -> Array:
    """The token about to be processed counted as past already."""
    return np.arange(q_len) + past_length + (1 if past_length else 0)


@bug("cached_position_ids", "from-zero", "all-alike", thread="jundot/omlx#2363")
def start_for_the_window(past_length: int, q_len: int) -> Array:
    """Every row of the window at its first position."""
    return np.full(q_len, past_length)
