"""Choices as types of parameters in docstrings: Griffe would read a list of words as arithmetic."""

import re
from typing import Any

import griffe

CHOICE = re.compile(r'^(\s*\w+ : )(?=")', re.M)


class Choices(griffe.Extension):
    """``layout : "half" or "interleaved"`` becomes ``layout : one of "half" or "interleaved"``."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Change the docstring before it is parsed."""
        if func.docstring:
            func.docstring.value = CHOICE.sub(r"\1one of ", func.docstring.value)
