"""Configurations in the forms in which models are released and saved again."""

from collections.abc import Sequence
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import FieldDict, Fields

OLD_PLACES = ("rope_scaling", "rope_theta")
"""The fields about rotation before rope_parameters existed."""


def as_saved_by_transformers_5(config: Fields) -> FieldDict:
    """Return a configuration as transformers 5 saves it: all about rotation in rope_parameters.

    Based on the output of transformers 5.24.0 for the configurations of these families.
    """
    fields = dict(config)
    if "torch_dtype" in fields:
        fields["dtype"] = fields.pop("torch_dtype")
    if fields["model_type"] not in ROTARY or fields.get("alibi"):
        return fields
    style = ROTARY[fields["model_type"]]
    if "rope_parameters" in fields:
        return {name: value for name, value in fields.items() if name not in OLD_PLACES}
    if "rotary_dim" in fields and "rope_theta" not in fields:  # GPT-J keeps its own form
        return fields
    block = dict(fields.pop("rope_scaling", None) or {})
    block["rope_type"] = block.get("rope_type", block.get("type", "default"))
    names = ("rope_theta", "rotary_emb_base", "global_rope_theta")
    block.setdefault("rope_theta", _taken(fields, names, style.base))
    share = _taken(fields, ("partial_rotary_factor", "rotary_pct"), style.partial)
    if share != 1 or style.partial != 1:  # a missing share is the type's default
        block["partial_rotary_factor"] = share
    original = fields.get("original_max_position_embeddings")
    if original is not None and block["rope_type"] == "longrope":
        block["original_max_position_embeddings"] = original
    # Each kind of layers has its own block.
    if style.scaled == ("full",) or style.local_base is not None:
        local_names = ("rope_local_base_freq", "local_rope_theta")
        base = _taken(fields, local_names, style.local_base or block["rope_theta"])
        local = {"rope_type": "default", "rope_theta": base}
        block = {"full_attention": block, "sliding_attention": local}
    return {**fields, "rope_parameters": block}


def _taken(fields: FieldDict, names: Sequence[str], default: Any) -> Any:
    """Remove a field under any of its names, and return its value."""
    values = [fields.pop(name) for name in names if name in fields]
    return values[0] if values else default
