"""The roles of a function's parameters, recognised by name, and the text of a call."""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

ROLES: Mapping[str, str] = {
    "dim": "dim head_size attention_head_size size_per_head head_dim headdim dim_head d_model "
    "d_head dmodel embed_dim embedding_dim emb_dim "
    "embedding_size hidden_size hidden_dim n_embd n_embed n_state channels org_channels "
    "out_channels num_channels dims d size features num_features kv_channels rotary_dim rot_dim "
    "rotary_embed_dim n_elem num_pos_feats embed_size model_dim demb d_emb",
    "rotary": "rotary_dim rot_dim rotary_embed_dim rotary_ndims",
    "share": "rotary_pct rotary_percent rotary_percentage rotary_fraction rotary_ratio "
    "rope_pct rope_percent rope_fraction partial_rotary_factor partial_rotary",
    "neox": "is_neox_style is_neox neox_style neox use_neox_style",
    "interleaved": "interleaved is_interleaved interleave rotary_interleaved use_interleaved",
    "dtype": "dtype torch_dtype",
    "base": "base theta rope_theta rope_base rotary_base temperature max_period max_timescale "
    "freq_base base_freq base_theta max_wavelength rotary_emb_base",
    "length": "max_len max_length max_seq_len max_seq_length max_seqlen max_sequence_length "
    "max_position_embeddings max_position max_positions seq_len seq_length seqlen "
    "sequence_length length end n_ctx context_length context_len ctx_len num_embeddings "
    "num_positions num_pos n_pos n_position n_positions block_size num_patches maxlen init_size n "
    "t l",
    "key_positions": "k_positions key_positions k_pos pos_k positions_k k_position_ids "
    "key_position_ids position_ids_k",
    "positions": "q_positions query_positions q_pos pos_q positions_q q_position_ids "
    "query_position_ids position_ids_q positions position_ids pos_ids pos position pos_seq "
    "input_pos timesteps timestep time times t ids indices index offsets pos_idx token_positions x",
    "offset": "offset offset_pos position_offset pos_offset start_pos start_position start "
    "past_length past_len past_seq_len past_key_values_length cache_position cache_len "
    "cache_length seqlen_offset seq_offset cur_pos current_pos",
    "relative": "relative_position relative_positions rel_pos rel_position distance "
    "relative_pos distances rel rel_positions relative_distance rel_dist",
    "x": "x q query queries xq input inputs tensor hidden_states t embeddings embedding features "
    "states qk x_btd x_bnth token_embeddings tokens token_embedding",
    "other": "k key keys xk",
    "values": "v value values xv",
    "cos": "cos cosine cos_cached cosines",
    "sin": "sin sine sin_cached sines",
    "table": "freqs freqs_cis freq_cis freqs_complex rope_cache cache emb pos_emb rotary_emb "
    "rotary_pos_emb angles sinu_pos rope rotary freq frequencies pe position_embeddings "
    "rotary_position_embedding rope_embed pos sincos sin_cos cos_sin",
    "scale": "scale",
    "heads": "heads num_heads n_heads num_attention_heads n_head nheads h nhead total_heads "
    "attn_heads attention_heads",
    "q_len": "i q_len n_queries num_queries query_length q_length qlen query_len len_q l_q lq nq "
    "q_seq_len seq_len_q seqlen_q q_seqlen query_seq_len query_sequence_length q_sequence_length "
    "target_length tgt_len",
    "k_len": "j k_len kv_len kv_length kv_seq_len n_keys num_keys key_length k_length klen key_len "
    "len_k l_k lk nk k_seq_len seq_len_k seqlen_k k_seqlen key_seq_len key_sequence_length "
    "k_sequence_length kv_sequence_length source_length src_len seq_len seq_length length max_len "
    "max_seq_len sequence_length seq seqlen context_length n maxpos max_length size t s l",
    "bias_table": "table bias_table weight weights embedding relative_attention_bias "
    "rel_pos_bias_table embeddings emb bias values",
    "window": "window window_size w win window_length sliding_window attention_window local_window",
    "chunk_size": "chunk_size chunk chunk_len chunk_length attention_chunk_size chunksize",
    "dilation": "dilation dilation_rate dilation_factor",
    "stride": "stride",
    "block_size": "block_size block block_len blocksize",
    "summary": "summary",
    "height": "h height grid_h grid_height grid_size_h grid_h_size n_rows num_rows nrows rows "
    "win_h window_h window_height",
    "width": "w width grid_w grid_width grid_size_w grid_w_size n_cols num_cols ncols cols "
    "columns win_w window_w window_width",
    "mask": "attention_mask attn_mask padding_mask key_padding_mask mask",
    "scores": "scores attn_scores attention_scores logits attn_logits attention_logits dots "
    "qk_dots sim qk attn attn_weights",
    "grid": "grid_size grid_shape feat_shape feat_size spatial_shape image_shape patch_grid hw",
    "input_ids": "input_ids token_ids ids tokens",
    "padding_index": "padding_idx padding_index pad_idx pad_index pad_token_id padding_id",
    "bidirectional": "bidirectional",
    "causal": "causal is_causal is_decoder",
    "num_buckets": "num_buckets n_buckets buckets relative_attention_num_buckets",
    "max_distance": "max_distance relative_attention_max_distance max_dist",
    "batch": "bsz batch batch_size",
    "dropout": "dropout dropout_p dropout_prob drop dropout_rate p p_drop",
    "config": "config cfg",
    "factor": "factor scaling_factor scale_factor rope_factor rope_scaling_factor "
    "interpolation_factor interpolate_factor linear_factor ntk_factor theta_rescale_factor "
    "base_rescale_factor scaling scale rope_scale alpha ntk_alpha rope_alpha s",
    "rule": "rope_scaling rope_scaling_config rope_parameters scaling_config",
    "low_freq_factor": "low_freq_factor low_frequency_factor",
    "high_freq_factor": "high_freq_factor high_frequency_factor",
    "beta_fast": "beta_fast",
    "beta_slow": "beta_slow",
    "trained": "original_max_position_embeddings original_max_position old_context_len "
    "original_max_seq_len original_context_len original_context_length orig_max_position "
    "initial_context_length original original_length trained_length train_length",
    "own_length": "max_position_embeddings max_position max_positions max_seq_len max_seq_length "
    "max_len",
}
NAMES: Mapping[str, tuple[str, ...]] = {
    name: tuple(role for role, names in ROLES.items() if name in names.split())
    for name in {name for names in ROLES.values() for name in names.split()}
}
PASSED_IF_OPTIONAL = frozenset(
    {
        "base",
        "length",
        "scale",
        "positions",
        "offset",
        "dropout",
        "bidirectional",
        "causal",
        "num_buckets",
        "max_distance",
        "window",
        "chunk_size",
        "dilation",
        "stride",
        "block_size",
        "summary",
        "rotary",
        "share",
        "neox",
        "interleaved",
        "factor",
        "rule",
        "low_freq_factor",
        "high_freq_factor",
        "beta_fast",
        "beta_slow",
        "trained",
        "own_length",
    }
)
Roles = frozenset[str]
SMALLEST_SIZE = 4
"""A default below is none of a number of channels: it may be that of an axis."""


@dataclass(frozen=True)
class CallText:
    """The text of a call, and the roles that it fills."""

    text: str
    used: Roles
    left: tuple[str, ...] = ()
    """Names of optional parameters that the call does not pass."""


def roles_of(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the possible roles of a parameter, the likeliest first."""
    return NAMES.get(re.sub(r"_+$", "", parameter.name.lower()), ())


def has(parameters: Sequence[inspect.Parameter], *roles: str) -> bool:
    """Return whether there is a parameter for each of these roles."""
    return all(any(role in roles_of(parameter) for parameter in parameters) for role in roles)


def takes_width(parameters: Sequence[inspect.Parameter]) -> bool:
    """Return whether there is a number, or a share, of the channels that are rotated.

    A number that is the only size may be that of a head.
    """
    roles = [{*roles_of(each)} for each in parameters]
    widths = sum("rotary" in each for each in roles)
    sizes = sum(bool(each & {"dim", "x"}) for each in roles)
    return any("share" in each for each in roles) or bool(widths and sizes > widths)


def call_text(
    function: str,
    parameters: Sequence[inspect.Parameter],
    offered: Mapping[str, str],
    passed: Collection[str] = PASSED_IF_OPTIONAL,
) -> CallText | None:
    """Return a call that fills each parameter by its role; None if one remains unknown.

    ``offered`` has an expression for each role, the preferred roles first. Optional parameters keep
    their defaults unless their role is in ``passed``, or the default is a size.
    """
    kinds = inspect.Parameter
    written: list[str] = []
    used: list[str] = []
    left: list[str] = []
    by_keyword = False
    for parameter in parameters:
        if parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
            continue
        possible = roles_of(parameter)
        role = next((r for r in offered if r in possible and r not in used), None)
        required = parameter.default is kinds.empty
        if role is None and required:
            return None
        if role is None or not (required or role in passed or _is_sized(parameter, role)):
            by_keyword = True
            left.append(parameter.name)
            continue
        used.append(role)
        keyword = (by_keyword or not required) and parameter.kind is not kinds.POSITIONAL_ONLY
        by_keyword = by_keyword or keyword or parameter.kind is kinds.KEYWORD_ONLY
        written.append(f"{parameter.name}={offered[role]}" if by_keyword else offered[role])
    return CallText(f"{function}({', '.join(written)})", frozenset(used), tuple(left))


def _is_sized(parameter: inspect.Parameter, role: str) -> bool:
    """Return whether an optional parameter is a size whose default is none that a probe has.

    It is a number of channels, or, with None, as many keys or queries as there are of the others.
    """
    default = parameter.default
    if role in ("q_len", "k_len"):
        return default is None
    return role == "dim" and type(default) is int and default >= SMALLEST_SIZE
