"""Errors that the user can fix, and descriptions of exceptions, functions and numbers."""

import inspect
import re
import traceback
from pathlib import Path
from typing import Any

PLACE = "__posenc_place__"
"""Attribute that stores the file and line of a function in another process."""

FRAMES = 8
"""Most frames shown of a traceback."""

LONGEST_TEXT = 2000
"""Most characters shown of an external text."""

LONGEST_WORD = 200
"""Most characters shown of an external name, id, key or value."""

MOST_DIGITS = 17
"""Digits that tell any two float64 numbers apart."""

MOST_LINES = 30
"""Most lines shown of an external text."""

LONGEST_ERROR = 10_000
"""Most characters of an error message; external texts in it have lower limits."""

UNSHOWN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    r"\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""Characters that control a terminal, reverse or hide text, or are invalid in a text file or in
XML."""


class UserError(Exception):
    """An error that the user can fix: a cause and a hint, shown without a traceback."""

    def __init__(self, cause: str, hint: str = "") -> None:
        self.cause = printable(cause, LONGEST_ERROR)
        self.hint = printable(hint, LONGEST_ERROR)
        super().__init__(f"{self.cause}\nhint: {self.hint}" if hint else self.cause)


def describe_exception(error: BaseException) -> str:
    """Describe an external exception by type and text, even if computing its text raises."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def printable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Cut and escape an external text so that every terminal, file and process accepts it."""
    start = UNSHOWN.sub(_escape, text[:longest])
    return start if len(text) <= longest else f"{start}… ({len(text):,} characters)"


def in_line(text: object, longest: int = LONGEST_WORD) -> str:
    """Cut and escape an external name, id, key or value, so that it stays within one line."""
    start = printable(str(text), longest)
    return start.replace("\n", "\\n").replace("\t", "\\t")


def apart(*numbers: float, digits: int = 4) -> list[str]:
    """Write numbers with ``digits`` digits, or as many more as tell different ones apart."""
    different = len(set(numbers))
    texts: list[str] = []
    for count in range(digits, MOST_DIGITS + 1):
        texts = [f"{number:.{count}g}" for number in numbers]
        if len(set(texts)) >= different:
            break
    return texts


def indented(text: str) -> str:
    """Cut, escape and indent an external text, so that no line looks like one of the kit."""
    lines = text.split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        lines[-1] = f"… ({text.count(chr(10)) + 1:,} lines)"
    return printable("\n".join(lines)).replace("\n", "\n  ")


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def location_of(function: Any) -> str:
    """Return the file and line of a function; if unknown, its name."""
    if place := getattr(function, PLACE, ""):
        return str(place)
    try:
        function = inspect.unwrap(function)
    except ValueError:  # a cycle of __wrapped__
        function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(getattr(function, "__qualname__", repr(function)))
    return f"{code.co_filename}:{code.co_firstlineno}"


def is_refusal(error: BaseException) -> bool:
    """Return whether an exception is an ordinary one, not meant to end the run.

    The exception of ``pytest.exit`` is no refusal, although its class derives from Exception.
    """
    return isinstance(error, Exception) and type(error).__module__ != "_pytest.outcomes"


def own_traceback(error: BaseException) -> str:
    """Return the last FRAMES frames of a traceback that belong to the implementation."""
    ours = str(Path(__file__).parent)
    theirs = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<frozen importlib"))
        or "implementations" in frame.filename
    ]
    lines = [
        f"  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in theirs[-FRAMES:]
    ]
    return printable("\n".join(lines)) or "  (the exception comes from the call itself)"
