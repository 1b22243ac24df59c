"""Mistakes of different names are told apart by a golden, where any drawn call tells them apart.

A golden at which two mistakes have the same result says that something is wrong, and not what.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, groupby
from typing import NamedTuple

import numpy as np
import pytest

from posenc_conformance.checks.golden import golden_case
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Misbehaviour, Subject
from posenc_conformance.judge.trial import Seeded, Trial
from posenc_conformance.scheme_file.model import Scheme
from posenc_conformance.scheme_file.read import load_all
from tests.killing import WIDE, dtypes, wrong_subjects
from tests.miniatures.mistakes import WRONG

SCHEMES = {scheme.id: scheme for scheme in load_all()}
NAMES = {made.__name__: made.named for made in WRONG if made.named and "+" not in made.named}
DRAWN = 40
ALIKE = {
    ("query_temperature", "counted-anew", "unscaled"),
    ("query_log_scale", "counted-anew", "unscaled"),
    ("transformer_xl_scores", "ascending", "sign-flipped"),
}
"""Alike in short texts, where no position reaches the length; and with as many queries as keys."""


class Named(NamedTuple):
    """A wrong implementation in a combination that it claims."""

    name: str
    subject: Subject


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.filterwarnings("ignore")
def test_goldens_tell_mistakes_apart(scheme: Scheme) -> None:
    with np.errstate(all="ignore"):
        for (call, label), group in groupby(claimed(scheme), key=lambda each: place(each.subject)):
            answers = {each: answers_to_goldens(each.subject) for each in group}
            for one, other in combinations(answers, 2):
                names = tuple(sorted((one.name, other.name)))
                if names[0] == names[1] or (call, *names) in ALIKE:
                    continue
                if same_wrong(answers[one], answers[other]) and differ(one.subject, other.subject):
                    pytest.fail(f"{call}, {label}: no golden tells {' from '.join(names)}")


def claimed(scheme: Scheme) -> list[Named]:
    """Wrong miniatures with a name of their own, by call and combination."""
    found = [
        Named(str(NAMES[name]), subject)
        for name, subject, claims in wrong_subjects(scheme)
        if claims and name in NAMES
    ]
    return sorted(found, key=lambda each: place(each.subject))


def place(subject: Subject) -> tuple[str, str]:
    return subject.call.name, subject.label


def goldens(subject: Subject) -> Iterator[tuple[str, Case]]:
    """Those that a subject claims, by id."""
    for golden in subject.scheme.goldens:
        if (golden.call, golden.combination) == place(subject):
            case = golden_case(subject.scheme, golden, dtypes(subject.call, WIDE)[0])
            if subject.covers(case):
                yield golden.id, case


def answers_to_goldens(subject: Subject) -> Mapping[str, Array | None]:
    """By the golden's id: what is shown of a wrong answer; None for a right one."""
    found: dict[str, Array | None] = {}
    for id, case in goldens(subject):
        if (output := shown(subject, case)) is not None:
            found[id] = None if compare(case, output).right else output
    return found


def shown(subject: Subject, case: Case) -> Array | None:
    """An answer without what a mask hides; None if it is none."""
    try:
        output = subject.run(case)
    except Misbehaviour:
        return None
    hidden = ~np.broadcast_to(case.shown, case.shape)
    return np.where(hidden, 0.0, output.astype(np.float64)) if output.shape == case.shape else None


def same_wrong(one: Mapping[str, Array | None], other: Mapping[str, Array | None]) -> bool:
    """Whether two are wrong at a golden, and alike at all of them."""
    both = [(one[id], other[id]) for id in one.keys() & other.keys()]
    wrong = [(a, b) for a, b in both if a is not None or b is not None]
    return bool(wrong) and all(
        a is not None and b is not None and alike(a, b, 1e-9) for a, b in wrong
    )


def alike(one: Array, other: Array, share: float) -> bool:
    """Whether two are equal but for a share of the largest magnitude."""
    largest = float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one)))
    return one.shape == other.shape and np.allclose(
        one, other, rtol=share, atol=share * largest, equal_nan=True
    )


def differ(one: Subject, other: Subject) -> bool:
    """Whether any of the drawn calls has different answers of two."""
    draw = knowledge_of(one.scheme).ARGUMENTS[one.call.name]
    scope = one.scopes[0]
    for seed in range(DRAWN):
        trial = Trial(one, scope, scope.dtypes[0], {}, Seeded(seed))
        case = trial.case(**draw(trial))
        a, b = shown(one, case), shown(other, case)
        if a is not None and b is not None and not alike(a, b, 1e-5):
            return True
    return False
