"""Mistakes that a person can mend, and words for exceptions and functions of others."""

import inspect
import re
import traceback
from pathlib import Path
from typing import Any

PLACE = "__posenc_place__"
"""Attribute of a function that is in another process: its file and line."""

FRAMES = 8
"""Most lines of a traceback that are shown."""

LONGEST_TEXT = 2000
"""Most characters of somebody's text that are shown."""

LONGEST_WORD = 200
"""Most characters of somebody's name, id, key or value that are shown."""

MOST_LINES = 30
"""Most lines of somebody's text that are shown."""

LONGEST_ERROR = 10_000
"""Most characters of an error; what it tells of is cut long before."""

UNSHOWN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff"
    r"\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""Characters that would do something to a terminal, turn text around or hide it, or have no place
in a file of text or in XML."""


class UserError(Exception):
    """What happened and why, with a hint at what to do; shown without a traceback."""

    def __init__(self, cause: str, hint: str = "") -> None:
        self.cause = printable(cause, LONGEST_ERROR)
        self.hint = printable(hint, LONGEST_ERROR)
        super().__init__(f"{self.cause}\nhint: {self.hint}" if hint else self.cause)


def describe_exception(error: BaseException) -> str:
    """Describe somebody's exception by type and text, which may itself raise."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def printable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Cut and escape somebody's text so that every terminal, file and process can take it."""
    start = UNSHOWN.sub(_escape, text[:longest])
    return start if len(text) <= longest else f"{start}… ({len(text):,} characters)"


def in_line(text: object, longest: int = LONGEST_WORD) -> str:
    """Cut and escape somebody's name, id, key or value, so that it stays within a line of ours."""
    start = printable(str(text), longest)
    return start.replace("\n", "\\n").replace("\t", "\\t")


def indented(text: str) -> str:
    """Cut and escape somebody's text of several lines, so that none begins as one of ours."""
    lines = text.split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        lines[-1] = f"… ({text.count(chr(10)) + 1:,} lines)"
    return printable("\n".join(lines)).replace("\n", "\n  ")


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def location_of(function: Any) -> str:
    """Return the file and line of a function, or what it is called."""
    if place := getattr(function, PLACE, ""):
        return str(place)
    try:
        function = inspect.unwrap(function)
    except ValueError:  # it says that it wraps itself
        function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(getattr(function, "__qualname__", repr(function)))
    return f"{code.co_filename}:{code.co_firstlineno}"


def is_refusal(error: BaseException) -> bool:
    """Return whether an exception is an ordinary one, and not meant to leave what is running.

    That of ``pytest.exit`` is no refusal, although it is ordinary by its class.
    """
    return isinstance(error, Exception) and type(error).__module__ != "_pytest.outcomes"


def own_traceback(error: BaseException) -> str:
    """Return an implementation's own part of a traceback: its last frames, should it be deep."""
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
