"""Configurations of a model in the forms in which it is released and saved again."""

from collections.abc import Sequence
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import FieldDict, Fields

OLD_PLACES = ("rope_scaling", "rope_theta")
"""The fields about rotation before rope_parameters existed."""


def as_saved_by_transformers_5(config: Fields) -> FieldDict:
    """Return a configuration as transformers 5 saves it: all of rotation in rope_parameters.

    Based on the output of transformers 5.24.0 for the configurations of these families.
    """
    found = dict(config)
    if "torch_dtype" in found:
        found["dtype"] = found.pop("torch_dtype")
    if found["model_type"] not in ROTARY or found.get("alibi"):
        return found
    style = ROTARY[found["model_type"]]
    if "rope_parameters" in found:
        return {name: value for name, value in found.items() if name not in OLD_PLACES}
    if "rotary_dim" in found and "rope_theta" not in found:  # GPT-J keeps its own form
        return found
    block = dict(found.pop("rope_scaling", None) or {})
    block["rope_type"] = block.get("rope_type", block.get("type", "default"))
    names = ("rope_theta", "rotary_emb_base", "global_rope_theta")
    block["rope_theta"] = _taken(found, names, style.base)
    share = _taken(found, ("partial_rotary_factor", "rotary_pct"), style.partial)
    if share != 1 or style.partial != 1:  # a missing share is the type's default
        block["partial_rotary_factor"] = share
    original = found.get("original_max_position_embeddings")
    if original is not None and block["rope_type"] == "longrope":
        block["original_max_position_embeddings"] = original
    # Each kind of layers has its own block.
    if style.scaled == ("full",) or style.local_base is not None:
        local_names = ("rope_local_base_freq", "local_rope_theta")
        base = _taken(found, local_names, style.local_base or block["rope_theta"])
        local = {"rope_type": "default", "rope_theta": base}
        block = {"full_attention": block, "sliding_attention": local}
    return {**found, "rope_parameters": block}


def _taken(fields: FieldDict, names: Sequence[str], default: Any) -> Any:
    """Remove a field under any of its names, and return its value."""
    given = [fields.pop(name) for name in names if name in fields]
    return given[0] if given else default
