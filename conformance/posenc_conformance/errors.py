"""Mistakes that a person can mend, and words for exceptions and functions of others."""

import inspect
import re
import traceback
from pathlib import Path
from typing import Any

PLACE = "__posenc_place__"
"""File and line of a function that is in another process."""

FRAMES = 8
"""So many lines of a traceback are shown."""

LONGEST = 2000
"""Characters of somebody's text that are shown."""

UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What would do something to a terminal, or has no place in a file of text."""


class UserError(Exception):
    """What happened and why, with a hint at what to do; shown without a traceback."""

    def __init__(self, cause: str, hint: str = "") -> None:
        self.cause = cause
        self.hint = hint
        super().__init__(f"{cause}\nhint: {hint}" if hint else cause)


def told(error: BaseException) -> str:
    """Type and text of somebody's exception, whose text may itself raise."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return shown(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def shown(text: str) -> str:
    """Somebody's text so that every terminal, file and process can take it: its beginning."""
    start = UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text[:LONGEST])
    return start if len(text) <= LONGEST else f"{start}… ({len(text):,} characters)"


def where(function: Any) -> str:
    """File and line of a function, or what it is called."""
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


def refuses(error: BaseException) -> bool:
    """Whether an exception is an ordinary one, and not meant to leave what is running.

    ``pytest.exit`` raises an ordinary one, by its class.
    """
    return isinstance(error, Exception) and type(error).__module__ != "_pytest.outcomes"


def traced(error: BaseException) -> str:
    """An implementation's own part of a traceback: its last frames, should it be deep."""
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
    return shown("\n".join(lines)) or "  (the exception comes from the call itself)"
