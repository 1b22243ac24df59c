# Written by `make records`: every name that a module of posenc.schemes offers.

from posenc.schemes.alibi import (
    alibi_bias,
    alibi_bias_vjp,
    alibi_slopes,
)
from posenc.schemes.attention import (
    attention,
    attention_weights,
    attention_with_bias,
)
from posenc.schemes.bigbird import (
    bigbird_mask,
)
from posenc.schemes.binary import (
    binary,
)
from posenc.schemes.causal_mask import (
    causal_mask,
)
from posenc.schemes.chunked import (
    chunked_mask,
)
from posenc.schemes.clipped_bias import (
    clipped_bias,
    clipped_bias_vjp,
)
from posenc.schemes.concatenation import (
    concatenation,
)
from posenc.schemes.conv_peg import (
    conv_peg,
)
from posenc.schemes.conv_wav2vec2 import (
    conv_wav2vec2,
)
from posenc.schemes.cope import (
    cope_scores,
)
from posenc.schemes.deberta import (
    deberta_bucket,
    deberta_scores,
    deberta_v2_scores,
)
from posenc.schemes.dilated_window import (
    dilated_window,
)
from posenc.schemes.dynamic_ntk import (
    dynamic_ntk,
    dynamic_ntk_frequencies,
    dynamic_ntk_vjp,
)
from posenc.schemes.embedding_sum import (
    embedding_sum,
)
from posenc.schemes.fire import (
    fire_bias,
    fire_bias_vjp,
)
from posenc.schemes.fixed import (
    fixed_mask,
)
from posenc.schemes.fourier_features import (
    gaussian_fourier,
    nerf,
)
from posenc.schemes.hybrid import (
    hybrid_scores,
)
from posenc.schemes.integer import (
    integer,
)
from posenc.schemes.kerple import (
    kerple_bias,
    kerple_bias_vjp,
)
from posenc.schemes.learned import (
    learned,
    learned_grid,
)
from posenc.schemes.llama3 import (
    llama3,
    llama3_frequencies,
    llama3_vjp,
)
from posenc.schemes.longrope import (
    longrope,
    longrope_frequencies,
    longrope_vjp,
)
from posenc.schemes.m_rope import (
    m_rope,
    m_rope_position_ids,
    m_rope_vjp,
)
from posenc.schemes.nope import (
    nope_layer,
)
from posenc.schemes.normalized import (
    normalized,
)
from posenc.schemes.ntk_aware import (
    ntk_aware,
    ntk_aware_frequencies,
    ntk_aware_vjp,
)
from posenc.schemes.p_rope import (
    p_rope,
    p_rope_frequencies,
    p_rope_vjp,
)
from posenc.schemes.position_ids import (
    cached_position_ids,
    fairseq_position_ids,
    packed_position_ids,
    padded_position_ids,
)
from posenc.schemes.position_interpolation import (
    position_interpolation,
    position_interpolation_frequencies,
    position_interpolation_vjp,
)
from posenc.schemes.rope import (
    rope,
    rope_vjp,
)
from posenc.schemes.rope_2d import (
    rope_2d,
    rope_2d_mixed,
    rope_2d_vjp,
)
from posenc.schemes.shaw import (
    shaw_scores,
    shaw_values,
)
from posenc.schemes.sincos_2d import (
    sincos_2d,
)
from posenc.schemes.sinusoidal import (
    sinusoidal,
)
from posenc.schemes.sliding_window import (
    sliding_window,
)
from posenc.schemes.strided import (
    strided_mask,
)
from posenc.schemes.t5_bias import (
    t5_bias,
    t5_bias_vjp,
    t5_bucket,
)
from posenc.schemes.timestep import (
    timestep,
)
from posenc.schemes.transformer_xl import (
    relative_shift,
    transformer_xl_scores,
)
from posenc.schemes.tupe import (
    tupe_relative_scores,
    tupe_scores,
)
from posenc.schemes.xpos import (
    xpos,
    xpos_vjp,
)
from posenc.schemes.yarn import (
    yarn,
    yarn_frequencies,
    yarn_vjp,
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
    "bigbird_mask",
    "binary",
    "cached_position_ids",
    "causal_mask",
    "chunked_mask",
    "clipped_bias",
    "clipped_bias_vjp",
    "concatenation",
    "conv_peg",
    "conv_wav2vec2",
    "cope_scores",
    "deberta_bucket",
    "deberta_scores",
    "deberta_v2_scores",
    "dilated_window",
    "dynamic_ntk",
    "dynamic_ntk_frequencies",
    "dynamic_ntk_vjp",
    "embedding_sum",
    "fairseq_position_ids",
    "fire_bias",
    "fire_bias_vjp",
    "fixed_mask",
    "gaussian_fourier",
    "hybrid_scores",
    "integer",
    "kerple_bias",
    "kerple_bias_vjp",
    "learned",
    "learned_grid",
    "llama3",
    "llama3_frequencies",
    "llama3_vjp",
    "longrope",
    "longrope_frequencies",
    "longrope_vjp",
    "m_rope",
    "m_rope_position_ids",
    "m_rope_vjp",
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
    "position_interpolation",
    "position_interpolation_frequencies",
    "position_interpolation_vjp",
    "relative_shift",
    "rope",
    "rope_2d",
    "rope_2d_mixed",
    "rope_2d_vjp",
    "rope_vjp",
    "shaw_scores",
    "shaw_values",
    "sincos_2d",
    "sinusoidal",
    "sliding_window",
    "strided_mask",
    "t5_bias",
    "t5_bias_vjp",
    "t5_bucket",
    "timestep",
    "transformer_xl_scores",
    "tupe_relative_scores",
    "tupe_scores",
    "xpos",
    "xpos_vjp",
    "yarn",
    "yarn_frequencies",
    "yarn_vjp",
]
