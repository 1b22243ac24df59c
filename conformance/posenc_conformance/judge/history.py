"""What a subject was asked in this process, and what is known of it since."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from math import prod
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from posenc_conformance.judge.case import Case

KEPT = 64
"""Number of calls that are kept: enough for caches of a few dozen entries to show what they mix
up."""
SMALL = 2**10
"""Most values in the result of a call that is kept: the arguments of larger ones would take much
room."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class History:
    """What a subject was asked, and what is known of it since."""

    openings: dict[str, Case] = field(default_factory=dict)
    """The very first call in each dtype, if it had numbers that no other call has."""
    declined: dict[str, int] = field(default_factory=dict)
    """How many of the smallest calls the implementation has declined, by their dtype."""
    calls: list[Case] = field(default_factory=list)
    """Small calls that were made: the first ones and the last ones."""
    too_large: bool = False
    """Whether the check that is running has left out a claimed call for its size."""
    found: dict[Hashable, Any] = field(default_factory=dict)
    """What functions have found out: see :func:`once_per_subject`."""

    def note_call(self, case: Case) -> None:
        """Keep a call if it is small: a later result may show something of its arguments."""
        if prod(case.shape) <= SMALL:
            self.calls.append(replace(case))  # without what was computed for it
            if len(self.calls) > KEPT:
                del self.calls[KEPT // 4]

    def forget(self) -> None:
        """Drop everything, because it takes room."""
        self.openings.clear()
        self.declined.clear()
        self.calls.clear()
        self.found.clear()
        self.too_large = False


class HasHistory(Protocol):
    """Something that has a history: a subject."""

    @property
    def history(self) -> History:
        """What it was asked."""


S = TypeVar("S", bound=HasHistory)


def once_per_subject(find: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a function find something out about a subject once, as long as its history lasts."""

    def recall(subject: S, /, *rest: P.args, **named: P.kwargs) -> T:
        found = subject.history.found
        key = (find, *rest, *named.items())
        if key not in found:
            found[key] = find(subject, *rest, **named)
        result: T = found[key]
        return result

    update_wrapper(recall, find)
    return recall
