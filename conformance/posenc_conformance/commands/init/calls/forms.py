"""The forms of arrays that rotations take, and expressions for their parameters."""

from collections.abc import Iterable, Mapping

from posenc_conformance.commands.init.calls.scaled import offered_to
from posenc_conformance.commands.init.draft import HEAD_DIM
from posenc_conformance.scheme_file.scheme import Call

LAYOUTS: Mapping[str, tuple[str, str]] = {
    "bhsd": (".reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:])", ".reshape(x.shape)"),
    "bshd": (
        ".reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:]).swapaxes(1, 2)",
        ".swapaxes(1, 2).reshape(x.shape)",
    ),
    "shbd": (
        ".reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:]).swapaxes(0, 2)",
        ".swapaxes(0, 2).reshape(x.shape)",
    ),
    "hsd": (".reshape(math.prod(x.shape[:-2]), *x.shape[-2:])", ".reshape(x.shape)"),
}
"""How x gets axes of batch, heads, sequence and channels in some order, and back."""
SEQUENCE_FORMS: Mapping[str, tuple[str, str]] = {
    "hsd": ("hnd", ""),
    "bhsd": ("bhnd", ""),
    "bshd": ("bnhd", ""),
    "shd": ("hnd", ".swapaxes(0, 1)"),
    "sbhd": ("bnhd", ".swapaxes(0, 1)"),
}
"""Arrays for calls without positions: a form of by_heads, and a swap that puts rows first."""
ZEROS_LIKE_X = {
    "torch": f"to_torch(x).new_zeros(1, length, {HEAD_DIM})",
    "jax": f"jnp.zeros((1, length, {HEAD_DIM}), x.dtype)",
    "numpy": f"np.zeros((1, length, {HEAD_DIM}), x.dtype)",
}
"""A sequence for calls that make tables of its length, and of its dtype."""
LAYOUT = {
    "neox": '{"half": True, "interleaved": False}[layout]',
    "interleaved": '{"half": False, "interleaved": True}[layout]',
}
PLAIN = {"base": "base", "length": "length", "other": "heads", **LAYOUT}


def plain(call: Call) -> Mapping[str, str]:
    """Return PLAIN with the parameters of a scaling, which go before those of the same names."""
    return {**offered_to(call), **PLAIN}


def of_axes(forms: Mapping[str, tuple[str, str]], said: str) -> Iterable[tuple[str, str]]:
    """Return the form of the axes that a call's texts name; all forms if they name none of them."""
    return [forms[said]] if said in forms else forms.values()
