"""The time that the calls of a library may take while it is searched."""

import inspect
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from types import CodeType, FrameType
from typing import Any, Protocol

SECONDS = 20.0
"""The time for a call if no option says another."""
STARTING = 5
"""An import may take this times the seconds of a call."""
AGAIN = 1.0
"""Seconds after which a call that went on is interrupted once more."""
LATE_IMPORT = "let an import only define things, or give it longer: --posenc-timeout=SECONDS"
MOST_LATE = 3
"""Calls without an answer after which a part that has answered before is called no more."""


class Part(Protocol):
    """A public function or class of a library."""

    @property
    def path(self) -> str:
        """Its name within its module."""

    @property
    def value(self) -> Any:
        """The function or class itself."""


class NotReturned(Exception):
    """A call did not return in time, or is not made since earlier ones did not."""


class _Alarm(BaseException):
    """Passes through the library's own ``except Exception``."""

    def __init__(self, running: frozenset[CodeType]) -> None:
        self.running = running


@dataclass
class Patience:
    """What is known of the calls of a library that took too long."""

    seconds: float
    late: Counter[Part] = field(default_factory=Counter)
    """The parts in which calls were interrupted, and how often."""
    answered: set[Part] = field(default_factory=set)
    """The parts of which a call has returned."""

    def given_up(self, parts: Collection[Part]) -> list[Part]:
        """Return those of some parts that are called no more."""
        return [
            each for each in parts if self.late[each] >= (MOST_LATE if each in self.answered else 1)
        ]

    def note(self, parts: Sequence[Part], running: frozenset[CodeType]) -> str:
        """Count an interrupted call of the parts whose code was running; return their names."""
        own = [each for each in parts if _codes(each) & running] or parts
        self.late.update(own)
        return names_of(own)


_CURRENT: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patience(seconds: float | None) -> Iterator[Patience]:
    """Limit the calls of a library in the block to some seconds, or else to the usual ones."""
    held = Patience(SECONDS if seconds is None else seconds)
    token = _CURRENT.set(held)
    try:
        yield held
    finally:
        _CURRENT.reset(token)


def names_of(parts: Collection[Part]) -> str:
    """Return the names of parts, in one line."""
    return ", ".join(dict.fromkeys(each.path for each in parts))


def late_parts() -> tuple[Part, ...]:
    """Return the parts in which calls were interrupted."""
    held = _CURRENT.get()
    return () if held is None else tuple(held.late)


def late_words(parts: Collection[Part]) -> str:
    """Say that calls of some parts were interrupted, and what to do."""
    held = _CURRENT.get()
    seconds = SECONDS if held is None else held.seconds
    return (
        f"{names_of(parts)} did not return within {seconds:g} s; "
        "--posenc-timeout=SECONDS gives a call longer"
    )


def patiently(method: Callable[..., Any], parts: Sequence[Part]) -> Callable[..., Any]:
    """Return a method that raises NotReturned once a call of some parts takes too long."""

    @wraps(method)
    def call(*arguments: Any, **keywords: Any) -> Any:
        held = _CURRENT.get()
        if held is None:
            return method(*arguments, **keywords)
        if stuck := held.given_up(parts):
            raise NotReturned(f"{names_of(stuck)} did not return within {held.seconds:g} s")
        try:
            with _alarm(held.seconds):
                result = method(*arguments, **keywords)
        except _Alarm as alarm:
            names = held.note(parts, alarm.running)
            raise NotReturned(f"{names} did not return within {held.seconds:g} s") from None
        held.answered.update(parts)
        return result

    return call


@contextmanager
def starting() -> Iterator[None]:
    """Limit the import of a module; raise NotReturned if it takes too long."""
    held = _CURRENT.get()
    if held is None:
        yield
        return
    seconds = STARTING * held.seconds
    try:
        with _alarm(seconds):
            yield
    except BaseException as error:
        if isinstance(error, _Alarm) or isinstance(error.__cause__, _Alarm):
            raise NotReturned(f"its code did not end within {seconds:g} s") from None
        raise


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _Alarm in the block after some seconds.

    There is no alarm outside the main thread and on Windows, and none where another tool has set an
    earlier one.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    if 0 < left < seconds:
        yield
        return
    start, over = time.monotonic(), False

    def ring(number: int, frame: FrameType | None) -> None:
        if not over:
            raise _Alarm(frozenset(_running(frame)))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            rest = max(left - (time.monotonic() - start), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, rest, interval)


def _running(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def _codes(part: Part) -> set[CodeType]:
    """Return the code of a function, or of the methods of a class."""
    values = [part.value]
    if isinstance(part.value, type):
        values = [value for base in part.value.__mro__ for value in vars(base).values()]
    inner = (inspect.unwrap(getattr(value, "__func__", value)) for value in values)
    return {code for each in inner if (code := getattr(each, "__code__", None)) is not None}
