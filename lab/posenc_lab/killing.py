"""Search for a wrong implementation that a golden catches."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.scheme import Call, Golden, Value
from posenc_lab.miniatures import wrong
from posenc_lab.miniatures.base import WRONG, Mistake

assert wrong.__path__  # importing it fills the list

Group = tuple[str, str, tuple[tuple[str, Value], ...]]


def group(golden: Golden) -> Group:
    """Return the key of goldens that are claimed together: call, combination and options."""
    return golden.call, golden.combination, tuple(sorted(golden.options.items()))


def widest(call: Call) -> str:
    """Return the most exact dtype of a call."""
    return call.dtype if call.dtype in EXACT else "float64"


@np.errstate(all="ignore")
def caught_by(scheme: KnownScheme, golden: Golden) -> str:
    """Return the name of the first wrong miniature that fails a golden; empty if none does.

    Miniatures that claim the golden's combination are tried first, then those that claim others,
    which confuse one convention with another; of the latter only results of the right form count.
    """
    case = golden_case(scheme, golden, widest(scheme.calls[golden.call]))
    candidates = [
        miniature
        for miniature in wrong_subjects(scheme)
        if (miniature.subject.call.name, miniature.subject.label)
        == (golden.call, golden.combination)
        and miniature.subject.offers(golden.options)
        and miniature.subject.covers(case)
    ]
    candidates.sort(key=lambda miniature: not miniature.claimed)
    return next((miniature.name for miniature in candidates if _fails(miniature, case)), "")


@dataclass(frozen=True)
class Wrong:
    """A wrong miniature in one combination of its call."""

    name: str
    subject: Subject
    claimed: bool
    """Whether the miniature itself claims the combination."""


def _fails(made: Wrong, case: Case) -> bool:
    try:
        output = made.subject.run(case)
    except Misbehaviour:
        return made.claimed
    return not compare(case, output.astype(np.float64)).passes


@cache
def wrong_subjects(scheme: KnownScheme) -> list[Wrong]:
    """Return all wrong miniatures of a scheme in every combination and dtype of their calls.

    Each call makes a new instance, so that no state reaches the next golden.
    """
    miniatures = []
    for made in WRONG:
        if made.call in scheme.calls:
            labels = {subject.label for subject in subjects(made(), [scheme])}
            for subject in subjects(_claiming_every_combination(made, scheme), [scheme]):
                miniatures.append(Wrong(made.__name__, subject, subject.label in labels))
    return miniatures


def _claiming_every_combination(made: type[Mistake], scheme: KnownScheme) -> object:
    def method(self: object, *arguments: Any, **keywords: Any) -> Any:
        return made().answer(*arguments, **keywords)

    claim = claims(*scheme.calls[made.call].combinations, dtype=tuple(DTYPES), **made.limits)
    return type(made.__name__, (), {made.call: claim(method)})()
