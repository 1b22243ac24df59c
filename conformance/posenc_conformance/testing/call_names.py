"""Names of other code for calls of the specification."""

import re
from collections.abc import Collection
from difflib import get_close_matches

MEANT = {
    "apply_rotary_pos_emb": ["rope_apply", "rope"],
    "apply_rotary_emb": ["rope_apply", "rope"],
    "rotary": ["rope"],
    "rotary_embedding": ["rope"],
    "positional_encoding": ["sinusoidal"],
    "position_embedding": ["learned", "sinusoidal"],
}
"""Names of other code, and the calls that they may mean."""
SUBJECTS = (
    ("alibi|slope", "alibi_bias alibi_slopes"),
    ("deberta|disentangled", "deberta_scores deberta_v2_scores deberta_bucket"),
    ("t5|bucket", "t5_bucket t5_bias"),
    ("swin_?v2|cpb", "log_cpb log_cpb_coordinates"),
    ("swin|beit|relative_position_index", "relative_table_2d_rows relative_table_2d"),
    ("shaw|relative_key|rpr", "shaw_scores shaw_values"),
    ("transformer_?xl|rel_shift", "transformer_xl_scores relative_shift"),
    ("relative.*bias", "t5_bias relative_table_2d clipped_bias"),
    ("yarn", "yarn yarn_frequencies"),
    ("llama_?3", "llama3 llama3_frequencies"),
    ("long_?rope|^su$", "longrope longrope_frequencies"),
    ("m_?rope|multimodal.*ro(pe|tary)", "m_rope m_rope_position_ids"),
    ("dynamic", "dynamic_ntk dynamic_ntk_frequencies"),
    ("ntk", "ntk_aware dynamic_ntk"),
    ("linear.*ro(pe|tary)|interpolat", "position_interpolation"),
    ("(2d|vi[st]).*ro(pe|tary)|ro(pe|tary).*(2d|vi[st])", "rope_2d axial_rope"),
    ("cos_sin|sin_cos_cache|freqs_cis", "rope_apply rope_apply_pairs rope_apply_cache"),
    ("rope|rotary", "rope rope_apply rope_query_key"),
    ("sin_?cos|(^|_)mae", "sincos_2d sinusoidal"),
    ("time_?step", "timestep"),
    ("sinus|sine|vaswani|transformer_pos", "sinusoidal sincos_2d timestep"),
    ("learn|absolute_pos", "learned learned_grid"),
    ("window|local_att", "sliding_window dilated_window"),
    ("chunk", "chunked_mask dual_chunk_scores"),
    ("causal|tri[ul]|attn_mask|attention_mask", "causal_mask"),
)
"""Words of the field in a name, as regular expressions, and the calls that they may mean.

A subject stands before those whose words are a part of it.
"""
LIKE = 0.8
"""Share of letters that a misspelt name has in common with the right one, as a ratio of difflib:
two names of one subject have about 0.7 in common, and so do two of different subjects."""


def near_calls(name: str, calls: Collection[str]) -> list[str]:
    """Return the calls that an unknown name, in small letters, may mean; the likeliest first."""
    if name in MEANT:
        return MEANT[name]
    if alike := get_close_matches(name, calls, n=3, cutoff=LIKE):
        return alike
    return next((meant.split() for words, meant in SUBJECTS if re.search(words, name)), [])
