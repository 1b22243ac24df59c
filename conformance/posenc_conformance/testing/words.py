"""Words of other code for arguments and values of the specification, where they mean one thing."""

from collections.abc import Mapping
from contextlib import suppress
from operator import index
from typing import Any

import numpy as np

from posenc_conformance.testing.signatures import Signature

NAMES = {
    "theta": "base",  # Llama's and torchtitan's code
    "rope_theta": "base",  # configurations of transformers
    "num_heads": "heads",
    "n_heads": "heads",
    "n_head": "heads",
    "nhead": "heads",  # PyTorch
    "num_attention_heads": "heads",
    "sliding_window": "window",  # configurations of transformers
    "window_size": "window",  # flash-attn
    "d_model": "dim",  # PyTorch's tutorials
    "embed_dim": "dim",
    "embedding_dim": "dim",
    "position_ids": "positions",  # transformers
    "cache_position": "positions",
    "relative_positions": "relative_position",
    "query": "q",  # PyTorch
    "key": "k",
    "value": "v",
    "query_states": "q",  # transformers
    "key_states": "k",
    "value_states": "v",
    "scaling_factor": "factor",
    "mrope_section": "sections",  # Qwen2-VL
    "rotary_ndims": "rotary_dim",  # GPT-NeoX
}
"""An argument of other code, and the same argument here."""
LARGEST_WHOLE = int(np.iinfo(np.int64).max)
"""The largest position."""
STARTS = ("offset", "start_pos", "past_key_values_length")
"""Arguments that are the position of the first row, as in MLX, Llama's code and transformers."""
VALUES = {
    "neox": "half",  # vLLM's is_neox_style
    "gpt_neox": "half",
    "rotate_half": "half",  # transformers
    "gptj": "interleaved",  # vLLM
    "gpt_j": "interleaved",
    "rotate_every_two": "interleaved",  # GPT-J in transformers
}
"""A layout of other code, in small letters and with underscores, and the same layout here."""
SWITCHES = {
    "is_neox_style": ("half", "interleaved"),  # vLLM
    "is_neox": ("half", "interleaved"),
    "interleaved": ("interleaved", "half"),  # flash-attn
    "traditional": ("interleaved", "half"),  # MLX
    "rope_interleaved": ("interleaved", "half"),
    "rope_interleave": ("interleaved", "half"),  # DeepSeek-V3 in transformers
    "rotary_interleaved": ("interleaved", "half"),  # Megatron
}
"""A switch of other code, and the layouts for on and off."""
LENGTHS = (
    "length",
    "seq_len",
    "seq_length",
    "sequence_length",
    "max_len",
    "max_length",
    "max_seq_len",
    "num_positions",
    "n_positions",  # GPT-2 in transformers
    "max_position_embeddings",
)
"""Arguments that are the number of queries and of keys, or of the rows of a table."""
BOTH = ("q_len", "k_len")


def translate(signature: Signature, given: Mapping[str, Any], row_axis: int) -> dict[str, Any]:
    """Return the arguments of a call under the specification's names.

    ``row_axis`` is the axis of tokens in arrays that have a row of channels for each.
    """
    call = signature.call
    known = {*call.arguments, *signature.parameters, *signature.defaults, *call.options}
    words: dict[str, str] = {}
    renamed: dict[str, Any] = {}
    for word, value in given.items():
        name, meant = (word, value) if word in known else _meant(word, value)
        if name not in known:
            name, meant = word, value
        if name in words:
            raise signature.misuse(
                f"{words[name]} and {word} are both {name}", f"give one of them, {name}=…"
            )
        words[name], renamed[name] = word, meant
    for axis in signature.defaults:
        said = renamed.get(axis)
        meant = VALUES.get(said.lower().replace("-", "_")) if isinstance(said, str) else None
        if meant in signature.scheme.conventions[axis].values:
            renamed[axis] = meant
    return _with_positions(signature, _with_lengths(signature, renamed, known), known, row_axis)


def _with_lengths(signature: Signature, given: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Return the arguments with q_len and k_len, or all positions of a table, for one length.

    Where rows are given, a length may be that of a cache, and says nothing about their positions.
    """
    said = [word for word in LENGTHS if word in given and word not in known]
    free = known - given.keys()
    with suppress(TypeError):  # no whole number
        if len(said) == 1 and not isinstance(given[said[0]], bool | np.bool_):
            count = index(given[said[0]])
            rest = {name: value for name, value in given.items() if name != said[0]}
            if free.issuperset(BOTH):
                return rest | dict.fromkeys(BOTH, count)
            if "positions" in free and not signature.has_rows and count > 0:
                return rest | {"positions": range(count)}
    return given


def _meant(word: str, value: Any) -> tuple[str, Any]:
    """Return the argument and the value here for those of other code."""
    if word in SWITCHES and isinstance(value, bool | np.bool_):
        return "layout", SWITCHES[word][not value]
    return NAMES.get(word, word), value


def _with_positions(
    signature: Signature, given: dict[str, Any], known: set[str], row_axis: int
) -> dict[str, Any]:
    """Return the arguments with consecutive positions in place of the first one."""
    starts = [word for word in STARTS if word in given and word not in known]
    if starts and (len(starts) > 1 or "positions" in given) and "positions" in known:
        both = " and ".join(dict.fromkeys([*starts, *["positions"] * ("positions" in given)]))
        raise signature.misuse(f"{both} both say where rows stand", "give positions=… alone")
    rows = next((n for n, form in signature.forms.items() if form.has_rows and n in given), None)
    if len(starts) != 1 or rows is None or "positions" not in known - given.keys():
        return given
    shape, start = np.shape(given[rows]), given[starts[0]]
    _require_one(signature, starts[0], start)
    with suppress(TypeError):  # no whole number
        if len(shape) >= -row_axis:
            first = index(start)
            last = first + shape[row_axis]
            if isinstance(start, bool | np.bool_) or last > LARGEST_WHOLE:
                raise signature.misuse(f"{starts[0]} is no position: {first}")
            rest = {name: value for name, value in given.items() if name != starts[0]}
            return rest | {"positions": np.arange(first, last)}
    return given


def _require_one(signature: Signature, word: str, start: Any) -> None:
    """Raise Misuse for several first positions, one for each sequence."""
    with suppress(Exception):  # what is no array is refused as any other argument
        if not np.ndim(start):
            return
    if not isinstance(start, list | tuple) and not hasattr(start, "shape"):
        return
    several = f"{word} holds a first position for each sequence, and {signature.call.name} has one"
    listed = f"give the positions of each: positions=np.asarray({word})[:, None] + np.arange(n)"
    of_each = f"call 'rope_offsets', which takes offsets={word}, or " if _is_rope(signature) else ""
    raise signature.misuse(several, f"{of_each}{listed}")


def _is_rope(signature: Signature) -> bool:
    """Return whether a call turns rows at one list of positions, by plain RoPE."""
    return signature.call.name in ("rope", "rope_in_place")
