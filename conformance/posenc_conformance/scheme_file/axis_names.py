"""Axis names of arrays in scheme files, such as ``[..., n, head_dim]``."""

import re
from dataclasses import dataclass

from posenc_conformance.scheme_file.scheme import Call

IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
"""The axes of an array, as a scheme file writes them."""
ANY = "..."
"""The name for any number of leading axes."""
ROWS = ("n", "q_len", "k_len", "length", "total", "height * width")
"""Names of axes with one row per token."""


@dataclass(frozen=True)
class Form:
    """The names of an array's axes, and whether other axes may precede them."""

    axes: tuple[str, ...]
    """Names of the axes, except the leading ones."""
    leading: bool

    @property
    def has_rows(self) -> bool:
        """Whether the array has a row of channels for each token."""
        return len(self.axes) > 1 and self.axes[-2] in ROWS and self.axes[-1] not in ROWS


def form_of(description: str) -> Form | None:
    """Parse the axis names in an array's description; return None if it has no brackets."""
    match = IN_BRACKETS.search(description)
    if match is None:
        return None
    axes = tuple(part.strip() for part in match[1].split(","))
    return Form(axes[1:], True) if axes[0] == ANY else Form(axes, False)


def forms_of(call: Call) -> dict[str, Form]:
    """Parse the axis names of each argument of a call whose description lists them."""
    forms = {name: form_of(text) for name, text in call.arguments.items()}
    return {name: form for name, form in forms.items() if form is not None}
