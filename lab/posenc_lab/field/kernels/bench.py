"""Families of kernels: right styles, and the same kernel with one mistake at a time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.field.implementation import FORMULA, IMPLEMENTATIONS, RIGHT, Implementation
from posenc_lab.field.pieces import Answer

Make = Callable[..., Answer]
"""A function that makes a kernel with its own state; keywords select the fault or style."""


@dataclass(frozen=True)
class Fault:
    """One mistake of a family."""

    name: str
    meaning: str
    names: tuple[str, ...] = ()
    """The specification's names for the mistake."""
    words: tuple[str, ...] = ()
    """Patterns, at least one of which a right diagnosis matches."""
    thread: str = ""
    limits: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    """Further keywords for the kernel, right without the fault."""


@dataclass(frozen=True)
class Style:
    """One right variant of a family."""

    name: str
    meaning: str
    given: dict[str, Any] = field(default_factory=dict)
    claimed: str = ""
    """The claimed combination, if it differs from that of the faults."""
    limits: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """Kernels of one call."""

    call: str
    claimed: str
    make: Make
    styles: Sequence[Style]
    faults: Sequence[Fault]


# Patterns of right diagnoses, chosen before the kit judged anything.
STRIDES = (
    "stride",
    "between its elements",
    "gap",
    "dense in memory",
    "lies in memory",
    "contiguous",
    "neighbours in memory",
)
ALIASED = ("earlier result", "shares memory", "same memory", "written over", "overwrites", "buffer")
STATE = ("an earlier call", "earlier calls", "first call", "counts its calls")
RANDOM = ("deterministic", "differ from run to run", "run to run")
ZEROS = ("got 0", "0 instead", "zeros", "left out", "not written")
STANDS = (
    "stands? (at|where)",
    "turned by position",
    "ha(s|ve) the positions? of",
    "positions (restart|beyond|are)",
    "(later|earlier) than it should",
    "counted twice",
    "stand at 0, 1, 2",
)
CHANNELS = "channels? (that|beyond|of another|left|not)"
COLUMN = "(other|another|next|wrong|first) columns?"
DISTANCES = "distances? (of|are|no|cut)"
HEAD = (
    "(by its|other|another|next|wrong|each|as many) heads?"
    "|heads? .*(has|have) the values|heads axis"
)
KEY = "keys? of (a|another) tile|keys? .*(gets|has|have) the (bias|values)"
KEYS = "keys (are|that|not)"
LAST = "last (row|key|block|tile|sequence)"
PAIRS = "pairs? (of|that|with|are)"
QUERIES = "quer(y|ies) (from|stand|at)"
ROW = "(other|another|next|wrong) row"
SIZES = ("and later only", "last row", "from row", "rows 32", "row 32")


def put(family: Family) -> None:
    """Register the kernels of a family."""
    for style in family.styles:
        claimed = style.claimed or family.claimed
        _put(family, style.name, style.meaning, RIGHT, (), claimed, style.limits, style.given)
    for fault in family.faults:
        names = tuple(rf"\[{re.escape(name)}\]" for name in fault.names)
        words = (*names, *fault.words)
        kind = kind_of(fault)
        keywords = {**fault.given, "fault": fault.name}
        _put(family, fault.name, fault.meaning, kind, words, family.claimed, fault.limits, keywords)


def kind_of(fault: Fault) -> str:
    """Return the kind of fault, according to the words of a right diagnosis."""
    if {*STATE, *ALIASED} & set(fault.words):
        return "state"
    if set(STRIDES) & set(fault.words):
        return "memory"
    return FORMULA


def _put(
    family: Family,
    name: str,
    meaning: str,
    kind: str,
    words: tuple[str, ...],
    claimed: str,
    limits: Mapping[str, Any],
    given: Mapping[str, Any],
) -> None:
    class Kernel:
        """An adapter with its own kernel, and thus its own state."""

        def __init__(self) -> None:
            self.kernel = family.make(**given)

    def method(self: Kernel, *arguments: Any, **keywords: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.kernel(*arguments, **keywords)

    setattr(Kernel, family.call, claims(claimed, **limits)(method))
    place = f"{family.call}.{family.make.__name__}.{name}"
    IMPLEMENTATIONS.append(Implementation("kernels", place, Kernel, meaning, kind, words))
