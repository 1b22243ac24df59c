"""Hints about arguments that a call does not take: the right words, or where they belong."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from posenc_conformance.errors import in_line
from posenc_conformance.testing.signatures import Signature
from posenc_conformance.testing.words import BOTH, LENGTHS

PARTS = ("rotary_pct", "rotary_percent", "rotary_fraction", "partial_rotary_factor")
"""Arguments that are the share of channels that are rotated."""
GRIDS = ("grid", "grid_size", "grid_hw", "hw", "patch_grid")
"""Arguments that are both numbers of cells of an image."""
MEANT: Mapping[str, Sequence[Sequence[str]]] = {
    **dict.fromkeys(PARTS, (("rotary_dim",),)),
    **dict.fromkeys(GRIDS, (("height", "width"),)),
    **dict.fromkeys(LENGTHS, (BOTH, ("q_len",), ("k_len",), ("positions",), ("length",))),
}
"""Arguments of other code, and the names here that it may mean, the likeliest first."""
SAYS = {
    "masked": "masked belongs to @claims of an adapter; check ignores values that a mask hides: "
    "leave it out",
    "max_position": "max_position belongs to @claims of an adapter; a result has its positions",
    "dtype": "the dtype is that of the result, and of the arrays that are given: leave it out",
}
"""Arguments of other functions of the kit, and where they belong."""
BLOCKS = ("rope_scaling", "rope_parameters")
"""Arguments that are a block of a configuration."""
BY_TYPE = {
    "default": "rope",
    "mrope": "m_rope",
    "linear": "position_interpolation",
    "dynamic": "dynamic_ntk",
    "yarn": "yarn",
    "longrope": "longrope",
    "su": "longrope",
    "llama3": "llama3",
    "proportional": "p_rope",
}
"""Calls, by the ``rope_type`` of a block."""
LIKE = 0.75
"""Share of letters that a misspelt argument has in common with the right one, as a ratio of
difflib."""


def describe_unknown(signature: Signature, unknown: Sequence[str], given: Mapping[str, Any]) -> str:
    """Return hints about arguments that a call does not take, one a line; empty without any."""
    if {"q", "k"} <= set(unknown):
        return _of_both(signature)
    free = [name for name in _names(signature) if name not in given]
    hints = (_hint(signature, word, given[word], free) for word in unknown)
    return "\n".join(dict.fromkeys(filter(None, hints)))


def _names(signature: Signature) -> list[str]:
    """Return the names of all arguments and conventions that a test may give."""
    return [*signature.call.arguments, *signature.parameters, *signature.defaults]


def _of_both(signature: Signature) -> str:
    """Say how queries and keys are checked by a call that takes one array."""
    if signature.call.name == "rope":
        return "write check((q, k), 'rope_query_key', q=…, k=…, …) for rotated queries and keys"
    if "x" in signature.call.arguments:
        return f"check each by itself: check(q, {signature.call.name!r}, x=…, …), then the keys"
    return ""


def _hint(signature: Signature, word: str, value: Any, free: Sequence[str]) -> str:
    """Return a hint about one argument that a call does not take."""
    if word in SAYS:
        return SAYS[word]
    if word in BLOCKS and isinstance(value, Mapping):
        return _of_block(signature, word, value)
    near = [[name] for name in get_close_matches(word, free, n=1, cutoff=LIKE)]
    for names in (*MEANT.get(word, ()), *near):
        if set(names) <= set(free):
            return f"did you mean {' and '.join(f'{name}=…' for name in names)}?"
    return ""


def _of_block(signature: Signature, word: str, block: Mapping[str, Any]) -> str:
    """Say which call a block of a configuration asks for, and which of its fields it takes."""
    type = block.get("rope_type", block.get("type"))
    call = BY_TYPE.get(type) if isinstance(type, str) else None
    of_type = f"; rope_type {type!r} is the call {call!r}" if call else ""
    takes = [f"{name}=…" for name in _names(signature) if name in block]
    fields = f": {', '.join(takes)}" if takes and call in (None, signature.call.name) else ""
    return f"give the fields of {in_line(word)} as arguments{fields}{of_type}"
