"""The names of arrays' axes in scheme files, such as ``[..., n, head_dim]``."""

import re
from dataclasses import dataclass

from posenc_conformance.scheme_file.scheme import Call

IN_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
"""The axes of an array, as a scheme file writes them."""
ANY = "..."
"""The name for any number of leading axes."""
ROWS = ("n", "q_len", "k_len", "length", "total", "height * width")
"""Names of the axis that has a row for each token."""


@dataclass(frozen=True)
class Form:
    """The names of an array's axes, and whether others may come before them."""

    axes: tuple[str, ...]
    """Without the leading axes."""
    leading: bool

    @property
    def has_rows(self) -> bool:
        """Whether the array has a row of channels for each token."""
        return len(self.axes) > 1 and self.axes[-2] in ROWS and self.axes[-1] not in ROWS


def form_of(description: str) -> Form | None:
    """Read the form of an array from its description; None if that has no brackets."""
    found = IN_BRACKETS.search(description)
    if found is None:
        return None
    axes = tuple(part.strip() for part in found[1].split(","))
    return Form(axes[1:], True) if axes[0] == ANY else Form(axes, False)


def forms_of(call: Call) -> dict[str, Form]:
    """Read the form of each argument of a call whose description has one."""
    found = {name: form_of(text) for name, text in call.arguments.items()}
    return {name: form for name, form in found.items() if form is not None}
