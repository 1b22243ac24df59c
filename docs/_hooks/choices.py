"""Docstrings as the API pages show them."""

import re
from typing import Any

import griffe

CHOICE = re.compile(r'^(\s*\w+ : )(?=")', re.M)
REFERENCE = "posenc.schemes."
PARAMETERS = re.compile(r"^Parameters\n-+\n.*?(?=\n\n\w+\n-+\n|\Z)", re.S | re.M)


class Choices(griffe.Extension):
    """Choices as types of parameters, which Griffe would read as arithmetic; short references.

    ``layout : "half" or "interleaved"`` becomes ``layout : one of "half" or "interleaved"``. Of a
    function of the reference, the first line and the parameters remain: its scheme's page says the
    rest.
    """

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Change the docstring before it is parsed."""
        if func.docstring:
            text = func.docstring.value
            short = shortened(text) if func.path.startswith(REFERENCE) else text
            func.docstring.value = CHOICE.sub(r"\1one of ", short)


def shortened(docstring: str) -> str:
    """Keep the first paragraph of a docstring, and its parameters."""
    first = docstring.partition("\n\n")[0]
    return "\n\n".join([first, *PARAMETERS.findall(docstring)])
