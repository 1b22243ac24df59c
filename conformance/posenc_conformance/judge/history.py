"""A subject's calls in this process, and the findings about it since."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from math import prod
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from posenc_conformance.judge.case import Case

KEPT = 64
"""Number of calls kept: enough to expose the mix-ups of caches with a few dozen entries."""
SMALL = 2**10
"""Most values in the result of a call that is kept: arguments of larger calls would take too much
memory."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class History:
    """A subject's calls, and the findings about it since."""

    openings: dict[str, Case] = field(default_factory=dict)
    """The very first call in each dtype, if its values occur in no other call."""
    declined: dict[str, int] = field(default_factory=dict)
    """How many of the smallest calls the implementation has declined, by dtype."""
    calls: list[Case] = field(default_factory=list)
    """Small calls: the first ones and the last ones."""
    too_large: bool = False
    """Whether the running check has skipped a claimed call for its size."""
    found: dict[Hashable, Any] = field(default_factory=dict)
    """Cached results of functions: see :func:`once_per_subject`."""

    def note_call(self, case: Case) -> None:
        """Keep a call if it is small: a later result may depend on its arguments."""
        if prod(case.shape) <= SMALL:
            self.calls.append(replace(case))  # without its cached properties
            if len(self.calls) > KEPT:
                del self.calls[KEPT // 4]

    def forget(self) -> None:
        """Drop everything, to free memory."""
        self.openings.clear()
        self.declined.clear()
        self.calls.clear()
        self.found.clear()
        self.too_large = False


class HasHistory(Protocol):
    """Anything with a history: a subject."""

    @property
    def history(self) -> History:
        """The calls so far, and the findings from them."""


S = TypeVar("S", bound=HasHistory)


def once_per_subject(find: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a function run once per subject and arguments; cache results in the history."""

    def recall(subject: S, /, *rest: P.args, **named: P.kwargs) -> T:
        cache = subject.history.found
        key = (find, *rest, *named.items())
        if key not in cache:
            cache[key] = find(subject, *rest, **named)
        result: T = cache[key]
        return result

    update_wrapper(recall, find)
    return recall
