# Written by `make records`: every name that a module of posenc.schemes offers.

from posenc.schemes.absolute.binary import (
    binary,
)
from posenc.schemes.absolute.fourier_features import (
    gaussian_fourier,
    nerf,
)
from posenc.schemes.absolute.integer import (
    integer,
)
from posenc.schemes.absolute.laplacian import (
    laplacian,
)
from posenc.schemes.absolute.layout_2d import (
    layout_bias,
    layout_embedding,
)
from posenc.schemes.absolute.learned import (
    learned,
    learned_grid,
)
from posenc.schemes.absolute.normalized import (
    normalized,
)
from posenc.schemes.absolute.perceiver_fourier import (
    perceiver_fourier,
    perceiver_positions,
)
from posenc.schemes.absolute.random_walk import (
    random_walk,
)
from posenc.schemes.absolute.sincos_2d import (
    sincos_2d,
)
from posenc.schemes.absolute.sinusoidal import (
    sinusoidal,
)
from posenc.schemes.absolute.time2vec import (
    time2vec,
)
from posenc.schemes.absolute.timestep import (
    timestep,
)
from posenc.schemes.attention.attention import (
    attention,
    attention_weights,
    attention_with_bias,
)
from posenc.schemes.attention.mla import (
    mla_scores,
)
from posenc.schemes.attention.nope import (
    nope_layer,
)
from posenc.schemes.attention.query_temperature import (
    query_log_scale,
    query_temperature,
)
from posenc.schemes.bias.alibi import (
    alibi_bias,
    alibi_bias_vjp,
    alibi_slopes,
)
from posenc.schemes.bias.clipped_bias import (
    clipped_bias,
    clipped_bias_vjp,
)
from posenc.schemes.bias.data_dependent_alibi import (
    data_dependent_alibi_bias,
)
from posenc.schemes.bias.decomposed_relative import (
    decomposed_relative_bias,
    resized_relative_table,
)
from posenc.schemes.bias.dynamic_position_bias import (
    dynamic_position_bias,
)
from posenc.schemes.bias.fire import (
    fire_bias,
    fire_bias_vjp,
)
from posenc.schemes.bias.kerple import (
    kerple_bias,
    kerple_bias_vjp,
)
from posenc.schemes.bias.log_cpb import (
    log_cpb,
    log_cpb_coordinates,
)
from posenc.schemes.bias.relative_table_2d import (
    relative_table_2d,
    relative_table_2d_rows,
)
from posenc.schemes.bias.sandwich import (
    sandwich_bias,
)
from posenc.schemes.bias.t5_bias import (
    t5_bias,
    t5_bias_vjp,
    t5_bucket,
)
from posenc.schemes.combination.concatenation import (
    concatenation,
)
from posenc.schemes.combination.embedding_sum import (
    embedding_sum,
)
from posenc.schemes.combination.hybrid import (
    hybrid_scores,
)
from posenc.schemes.combination.tupe import (
    tupe_relative_scores,
    tupe_scores,
)
from posenc.schemes.convolutional.conv_peg import (
    conv_peg,
)
from posenc.schemes.convolutional.conv_wav2vec2 import (
    conv_data2vec,
    conv_hubert,
    conv_wav2vec2,
)
from posenc.schemes.position_ids.position_ids import (
    cached_position_ids,
    fairseq_position_ids,
    packed_position_ids,
    padded_position_ids,
    token_position_ids,
)
from posenc.schemes.position_ids.randomized_positions import (
    randomized_alibi_bias,
    randomized_positions,
)
from posenc.schemes.position_ids.serving_ids import (
    length_position_ids,
    m_rope_window_position_ids,
    segment_position_ids,
    session_position_ids,
    shard_position_ids,
    tree_position_ids,
)
from posenc.schemes.position_ids.vision_order import (
    merged_position_ids,
    window_edges,
    window_order,
)
from posenc.schemes.relative.cope import (
    cope_gated_scores,
    cope_scores,
)
from posenc.schemes.relative.deberta import (
    deberta_bucket,
    deberta_scores,
    deberta_v2_scores,
)
from posenc.schemes.relative.shaw import (
    shaw_scores,
    shaw_values,
)
from posenc.schemes.relative.transformer_xl import (
    relative_shift,
    transformer_xl_scores,
)
from posenc.schemes.rotary.axial_rope import (
    axial_rope,
    axial_rope_position_ids,
    axial_rope_tiled,
    axial_rope_widths,
)
from posenc.schemes.rotary.dual_chunk import (
    dual_chunk_scores,
)
from posenc.schemes.rotary.dynamic_ntk import (
    dynamic_ntk,
    dynamic_ntk_frequencies,
    dynamic_ntk_vjp,
)
from posenc.schemes.rotary.fope import (
    fope,
)
from posenc.schemes.rotary.llama3 import (
    llama3,
    llama3_frequencies,
    llama3_vjp,
)
from posenc.schemes.rotary.longrope import (
    longrope,
    longrope_frequencies,
    longrope_vjp,
)
from posenc.schemes.rotary.m_rope import (
    m_rope,
    m_rope_position_ids,
    m_rope_vjp,
)
from posenc.schemes.rotary.ntk_aware import (
    ntk_aware,
    ntk_aware_frequencies,
    ntk_aware_vjp,
)
from posenc.schemes.rotary.p_rope import (
    p_rope,
    p_rope_frequencies,
    p_rope_vjp,
)
from posenc.schemes.rotary.permute_qk import (
    permute_qk,
    permute_qk_bias,
)
from posenc.schemes.rotary.pope import (
    pope_key,
    pope_query,
)
from posenc.schemes.rotary.position_interpolation import (
    position_interpolation,
    position_interpolation_frequencies,
    position_interpolation_vjp,
)
from posenc.schemes.rotary.qk_norm_rope import (
    qk_norm_rope,
)
from posenc.schemes.rotary.rerope import (
    leaky_rerope_scores,
    rerope_scores,
)
from posenc.schemes.rotary.rope import (
    rope,
    rope_vjp,
)
from posenc.schemes.rotary.rope_2d import (
    rope_2d,
    rope_2d_image,
    rope_2d_mixed,
    rope_2d_vjp,
)
from posenc.schemes.rotary.rope_apply import (
    rope_apply,
    rope_apply_cache,
    rope_apply_pairs,
)
from posenc.schemes.rotary.rope_cache import (
    rope_shift,
)
from posenc.schemes.rotary.rope_kernel import (
    rope_batched,
    rope_in_place,
    rope_offsets,
    rope_packed,
    rope_qkv,
    rope_query_key,
)
from posenc.schemes.rotary.self_extend import (
    self_extend_scores,
)
from posenc.schemes.rotary.xpos import (
    xpos,
    xpos_vjp,
)
from posenc.schemes.rotary.yarn import (
    yarn,
    yarn_frequencies,
    yarn_vjp,
)
from posenc.schemes.sparse.bigbird import (
    bigbird_linked_mask,
    bigbird_mask,
)
from posenc.schemes.sparse.causal_mask import (
    causal_mask,
)
from posenc.schemes.sparse.chunked import (
    chunked_mask,
)
from posenc.schemes.sparse.dilated_window import (
    dilated_window,
)
from posenc.schemes.sparse.fixed import (
    fixed_head_masks,
    fixed_mask,
)
from posenc.schemes.sparse.sliding_window import (
    sliding_window,
)
from posenc.schemes.sparse.strided import (
    strided_mask,
)

__version__: str
__all__ = [
    "__version__",
    "alibi_bias",
    "alibi_bias_vjp",
    "alibi_slopes",
    "attention",
    "attention_weights",
    "attention_with_bias",
    "axial_rope",
    "axial_rope_position_ids",
    "axial_rope_tiled",
    "axial_rope_widths",
    "bigbird_linked_mask",
    "bigbird_mask",
    "binary",
    "cached_position_ids",
    "causal_mask",
    "chunked_mask",
    "clipped_bias",
    "clipped_bias_vjp",
    "concatenation",
    "conv_data2vec",
    "conv_hubert",
    "conv_peg",
    "conv_wav2vec2",
    "cope_gated_scores",
    "cope_scores",
    "data_dependent_alibi_bias",
    "deberta_bucket",
    "deberta_scores",
    "deberta_v2_scores",
    "decomposed_relative_bias",
    "dilated_window",
    "dual_chunk_scores",
    "dynamic_ntk",
    "dynamic_ntk_frequencies",
    "dynamic_ntk_vjp",
    "dynamic_position_bias",
    "embedding_sum",
    "fairseq_position_ids",
    "fire_bias",
    "fire_bias_vjp",
    "fixed_head_masks",
    "fixed_mask",
    "fope",
    "gaussian_fourier",
    "hybrid_scores",
    "integer",
    "kerple_bias",
    "kerple_bias_vjp",
    "laplacian",
    "layout_bias",
    "layout_embedding",
    "leaky_rerope_scores",
    "learned",
    "learned_grid",
    "length_position_ids",
    "llama3",
    "llama3_frequencies",
    "llama3_vjp",
    "log_cpb",
    "log_cpb_coordinates",
    "longrope",
    "longrope_frequencies",
    "longrope_vjp",
    "m_rope",
    "m_rope_position_ids",
    "m_rope_vjp",
    "m_rope_window_position_ids",
    "merged_position_ids",
    "mla_scores",
    "nerf",
    "nope_layer",
    "normalized",
    "ntk_aware",
    "ntk_aware_frequencies",
    "ntk_aware_vjp",
    "p_rope",
    "p_rope_frequencies",
    "p_rope_vjp",
    "packed_position_ids",
    "padded_position_ids",
    "perceiver_fourier",
    "perceiver_positions",
    "permute_qk",
    "permute_qk_bias",
    "pope_key",
    "pope_query",
    "position_interpolation",
    "position_interpolation_frequencies",
    "position_interpolation_vjp",
    "qk_norm_rope",
    "query_log_scale",
    "query_temperature",
    "random_walk",
    "randomized_alibi_bias",
    "randomized_positions",
    "relative_shift",
    "relative_table_2d",
    "relative_table_2d_rows",
    "rerope_scores",
    "resized_relative_table",
    "rope",
    "rope_2d",
    "rope_2d_image",
    "rope_2d_mixed",
    "rope_2d_vjp",
    "rope_apply",
    "rope_apply_cache",
    "rope_apply_pairs",
    "rope_batched",
    "rope_in_place",
    "rope_offsets",
    "rope_packed",
    "rope_qkv",
    "rope_query_key",
    "rope_shift",
    "rope_vjp",
    "sandwich_bias",
    "segment_position_ids",
    "self_extend_scores",
    "session_position_ids",
    "shard_position_ids",
    "shaw_scores",
    "shaw_values",
    "sincos_2d",
    "sinusoidal",
    "sliding_window",
    "strided_mask",
    "t5_bias",
    "t5_bias_vjp",
    "t5_bucket",
    "time2vec",
    "timestep",
    "token_position_ids",
    "transformer_xl_scores",
    "tree_position_ids",
    "tupe_relative_scores",
    "tupe_scores",
    "window_edges",
    "window_order",
    "xpos",
    "xpos_vjp",
    "yarn",
    "yarn_frequencies",
    "yarn_vjp",
]
