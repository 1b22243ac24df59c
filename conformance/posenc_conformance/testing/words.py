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
    "sliding_window": "window",  # configurations of transformers
    "window_size": "window",  # flash-attn
}
"""An argument of other code, and the same argument here."""
STARTS = ("offset", "start_pos", "past_key_values_length")
"""Arguments that are the position of the first row, as in MLX, Llama's code and transformers."""
VALUES = {
    "neox": "half",  # vLLM's is_neox_style
    "gpt-neox": "half",
    "rotate_half": "half",  # transformers
    "gptj": "interleaved",  # vLLM
    "gpt-j": "interleaved",
    "rotate_every_two": "interleaved",  # GPT-J in transformers
}
"""A layout of other code, and the same layout here."""


def translate(signature: Signature, given: Mapping[str, Any], row_axis: int) -> dict[str, Any]:
    """Return the arguments of a call under the specification's names.

    ``row_axis`` is the axis of tokens in arrays that have a row of channels for each.
    """
    call = signature.call
    known = {*call.arguments, *signature.parameters, *signature.defaults, *call.options}
    renamed: dict[str, Any] = {}
    for word, value in given.items():
        name = NAMES.get(word, word)
        fits = word not in known and name in known and name not in given
        renamed[name if fits else word] = value
    for axis in signature.defaults:
        said = renamed.get(axis)
        meant = VALUES.get(said) if isinstance(said, str) else None
        if meant in signature.scheme.conventions[axis].values:
            renamed[axis] = meant
    return _with_positions(signature, renamed, known, row_axis)


def _with_positions(
    signature: Signature, given: dict[str, Any], known: set[str], row_axis: int
) -> dict[str, Any]:
    """Return the arguments with consecutive positions in place of the first one."""
    starts = [word for word in STARTS if word in given and word not in known]
    rows = next((n for n, form in signature.forms.items() if form.has_rows and n in given), None)
    if len(starts) != 1 or rows is None or "positions" not in known - given.keys():
        return given
    shape = np.shape(given[rows])
    with suppress(TypeError):  # several first positions, one for each sequence
        if len(shape) >= -row_axis:
            first = index(given[starts[0]])
            rest = {name: value for name, value in given.items() if name != starts[0]}
            return rest | {"positions": np.arange(first, first + shape[row_axis])}
    return given
