"""Which mistakes a golden catches that no other golden of its group catches.

Mistakes are asked in turn: the wrong miniatures of the golden's call, then those that any call may
have, then those that lab/posenc_lab/golden_mistakes/NAME.py makes for one scheme.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.model import Call, Golden, Value
from posenc_lab import golden_mistakes
from posenc_lab.golden_mistakes import common
from posenc_lab.golden_mistakes.common import Mistake
from posenc_lab.miniatures import wrong
from posenc_lab.miniatures.mistakes import WRONG
from posenc_lab.miniatures.mistakes import Mistake as Miniature

assert wrong.__path__  # importing it fills the list

WIDE = ("float64", "float32")
Group = tuple[str, str, tuple[tuple[str, Value], ...]]


class Unanswered(Exception):
    """A mistake has no meaning for a golden of the group."""


@dataclass(frozen=True)
class Suspect:
    """Something wrong, as it answers the goldens of a group."""

    name: str
    answer: Callable[[Case], Array | None]
    """None where it gives no array of the right form. Raises Unanswered where it has no meaning."""
    claims: Callable[[Case], bool] = lambda case: True
    """Whether it says that it answers a case."""

    def killed_by(self, scheme: KnownScheme, golden: Golden, dtype: str) -> bool:
        case = golden_case(scheme, golden, dtype)
        output = self.answer(case)
        return output is None or not compare(case, output.astype(np.float64)).passes


def group(golden: Golden) -> Group:
    """What a golden shares with those that are claimed together with it."""
    return golden.call, golden.combination, tuple(sorted(golden.options.items()))


def dtypes(call: Call, names: Sequence[str] = tuple(DTYPES)) -> tuple[str, ...]:
    """Those of the names in which a call answers."""
    return (call.dtype,) if call.dtype in EXACT else tuple(names)


@cache
@np.errstate(all="ignore")
def killers(scheme: KnownScheme) -> Mapping[str, str]:
    """By the golden's id: the first mistake found that it alone of its group catches."""
    groups: dict[Group, list[Golden]] = {}
    for golden in scheme.goldens:
        groups.setdefault(group(golden), []).append(golden)
    found: dict[str, str] = {}
    for key, goldens in groups.items():
        wanted = {golden.id for golden in goldens}
        for suspect in chain(_miniatures(scheme, key), _shared(scheme, key), _own(scheme, goldens)):
            if not wanted:
                break
            caught = _only_catcher(suspect, scheme, goldens)
            if caught in wanted:
                wanted.remove(caught)
                found[caught] = suspect.name
    return found


@np.errstate(all="ignore")
def wrong_miniature_caught(scheme: KnownScheme, golden: Golden) -> str:
    """The first wrong miniature found that fails a golden within its claim; empty if none does."""
    dtype = dtypes(scheme.calls[golden.call], WIDE)[0]
    for suspect in _miniatures(scheme, group(golden)):
        with suppress(Unanswered):
            claimed = suspect.claims(golden_case(scheme, golden, dtype))
            if claimed and suspect.killed_by(scheme, golden, dtype):
                return suspect.name
    return ""


def _only_catcher(suspect: Suspect, scheme: KnownScheme, goldens: Sequence[Golden]) -> str | None:
    """The golden that catches a mistake in float64 and float32, if no other does in any dtype.

    It must lie within what the mistake claims; the others need not.
    """
    call = scheme.calls[goldens[0].call]
    wide = dtypes(call, WIDE)
    narrow = [dtype for dtype in dtypes(call) if dtype not in wide]
    claimed = [g for g in goldens if suspect.claims(golden_case(scheme, g, wide[0]))]
    caught = None
    try:
        for golden in claimed:
            kills = [suspect.killed_by(scheme, golden, dtype) for dtype in wide]
            if any(kills) or any(suspect.killed_by(scheme, golden, dtype) for dtype in narrow):
                if caught or not all(kills):
                    return None
                caught = golden.id
        beyond = (golden for golden in goldens if golden not in claimed)
        if caught and any(
            suspect.killed_by(scheme, golden, dtype)
            for golden in beyond
            for dtype in (*wide, *narrow)
        ):
            return None
    except Unanswered:
        return None
    return caught


def _miniatures(scheme: KnownScheme, key: Group) -> Iterator[Suspect]:
    """The wrong implementations of a call."""
    name, combination, options = key
    for miniature, subject, claimed in wrong_subjects(scheme):
        here = (subject.call.name, subject.label) == (name, combination)
        if here and subject.offers(dict(options)):
            yield Suspect(
                miniature,
                partial(_answer, subject, claimed),
                subject.covers,
            )


@cache
def wrong_subjects(scheme: KnownScheme) -> list[tuple[str, Subject, bool]]:
    """All wrong miniatures of a scheme, by name, in every combination and dtype of their calls.

    And whether they claim the combination themselves. Each call has an instance of its own, so that
    what one keeps does not reach the next golden.
    """
    found = []
    for made in WRONG:
        if made.call in scheme.calls:
            labels = {subject.label for subject in subjects(made(), [scheme])}
            for subject in subjects(_claiming_every_combination(made, scheme), [scheme]):
                found.append((made.__name__, subject, subject.label in labels))
    return found


def _claiming_every_combination(made: type[Miniature], scheme: KnownScheme) -> object:
    def method(self: object, *arguments: Any, **keywords: Any) -> Any:
        return made().answer(*arguments, **keywords)

    claim = claims(*scheme.calls[made.call].combinations, dtype=tuple(DTYPES), **made.limits)
    return type(made.__name__, (), {made.call: claim(method)})()


def _answer(subject: Subject, claimed: bool, case: Case) -> Array | None:
    try:
        return subject.run(case)
    except Misbehaviour:
        if claimed:
            return None
        raise Unanswered from None


def _shared(scheme: KnownScheme, key: Group) -> Iterator[Suspect]:
    """The mistakes that any call may have."""
    for name, mistake in common.shared(scheme, scheme.calls[key[0]]):
        yield Suspect(name, partial(_where_it_applies, mistake))


def _where_it_applies(mistake: Mistake, case: Case) -> Array:
    try:
        output = np.asarray(mistake(case))
    except Exception:  # the reference refuses what it was made to be asked
        raise Unanswered from None
    if output.shape != case.shape:
        raise Unanswered
    return output


@cache
def own_mistakes(scheme: KnownScheme) -> Mapping[str, Mistake]:
    """Those that a scheme's own module makes, by the golden's id; none if there is no module."""
    name = f"{golden_mistakes.__name__}.{scheme.module_name}"
    if find_spec(name) is None:
        return {}
    mistakes: Mapping[str, Mistake] = import_module(name).MISTAKES
    return mistakes


def own_name(golden: str) -> str:
    return f"the mistake of {golden}"


def _own(scheme: KnownScheme, goldens: Sequence[Golden]) -> Iterator[Suspect]:
    for golden in goldens:
        if golden.id in own_mistakes(scheme):
            yield Suspect(own_name(golden.id), own_mistakes(scheme)[golden.id])
