"""Errors of functions that tests call, without the frames of the kit."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from posenc_conformance.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")


def show_caller(function: Callable[P, R]) -> Callable[P, R]:
    """Let errors of a function show where it was called, not where the kit raises them.

    pytest shows the caller's frame alone, Python this one besides.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (UserError, AssertionError) as error:
            raise error.with_traceback(None) from error.__cause__

    return call
