"""Suppress NumPy's warnings in the kit's own arithmetic, but not in calls."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

_usual: ContextVar[Any] = ContextVar("usual", default=None)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings of overflow and NaN, so that huge results are judged like others."""
    token = _usual.set(np.geterr())
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _usual.reset(token)


def as_usual() -> Any:
    """Return a context in which arithmetic warns as it did outside of ``without_warnings``."""
    usual = _usual.get()
    return nullcontext() if usual is None else np.errstate(**usual)
