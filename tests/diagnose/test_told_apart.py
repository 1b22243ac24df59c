"""Goldens tell mistakes of different names apart wherever any drawn call does.

A golden at which two mistakes have the same result shows that something is wrong, but not what.
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
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Seeded, Trial
from posenc_conformance.registry import load_all
from posenc_lab.killing import widest, wrong_subjects
from posenc_lab.miniatures.base import WRONG

SCHEMES = {scheme.id: scheme for scheme in load_all()}
NAMES = {made.__name__: made.named for made in WRONG if made.named and "+" not in made.named}
DRAWN = 40
ALIKE = {
    ("query_temperature", "counted-anew", "unscaled"),
    ("query_log_scale", "counted-anew", "unscaled"),
    ("transformer_xl_scores", "ascending", "sign-flipped"),
    *(
        (call, "last-block-skipped", "unrotated")
        for call in ("rope_batched", "rope_query_key", "rope_qkv")
    ),
    *(
        (call, "exponent-doubled", "exponent-to-the-end")
        for call in ("rope_offsets", "rope_packed")
    ),
}
"""Mistakes alike in texts shorter than the length or than a block, with as many queries as keys, or
in four channels; checks other than goldens tell them apart."""
OFTEN = DRAWN // 4
"""Number of calls from which a number counts as drawn often, and not as an occasional edge."""
HIDDEN = 3
"""The most mistakes that a number may hide, as a factor of 1 hides mistakes with the factor."""


class Named(NamedTuple):
    """A wrong implementation in a combination that it claims."""

    name: str
    subject: Subject


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.filterwarnings("ignore")
def test_goldens_tell_mistakes_apart(scheme: KnownScheme) -> None:
    with np.errstate(all="ignore"):
        for (call, label), group in groupby(claimed(scheme), key=lambda item: place(item.subject)):
            answers = {item: answers_to_goldens(item.subject) for item in group}
            for left, other in combinations(answers, 2):
                names = tuple(sorted((left.name, other.name)))
                if names[0] == names[1] or (call, *names) in ALIKE:
                    continue
                if same_wrong(answers[left], answers[other]) and differ(
                    left.subject, other.subject
                ):
                    pytest.fail(f"{call}, {label}: no golden tells {' from '.join(names)}")


@pytest.mark.slow
@pytest.mark.remembered(miniatures=True)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.filterwarnings("ignore")
def test_no_drawn_number_hides_many_mistakes(scheme: KnownScheme) -> None:
    """A factor of 1, for example, undoes a scaling. Edges may hide a few mistakes."""
    hidden: dict[tuple[str, str, float], set[str]] = {}
    with np.errstate(all="ignore"):
        for wrong in claimed(scheme):
            if any(entry.type == "real" for entry in wrong.subject.call.parameters.values()):
                for parameter, value in never_wrong_at(wrong.subject):
                    place = wrong.subject.call.name, parameter, value
                    hidden.setdefault(place, set()).add(wrong.name)
    assert {place: names for place, names in hidden.items() if len(names) > HIDDEN} == {}


def never_wrong_at(subject: Subject) -> Iterator[tuple[str, float]]:
    """Yield drawn numbers at which a mistake never shows, though it does in most other calls."""
    seen: dict[tuple[str, float], list[bool]] = {}
    for case in drawn(subject):
        if subject.covers(case):
            output = shown(subject, case)
            wrong = output is None or not compare(case, output).passes
            for name, value in case.arguments.items():
                if isinstance(value, float):
                    seen.setdefault((name, value), []).append(wrong)
    for (name, value), here in seen.items():
        elsewhere = [
            wrong
            for (other, at), answers in seen.items()
            if (other, at == value) == (name, False)
            for wrong in answers
        ]
        if len(here) >= OFTEN and not any(here) and 2 * sum(elsewhere) > len(elsewhere):
            yield name, value


def claimed(scheme: KnownScheme) -> list[Named]:
    """Return wrong miniatures with a name of their own, by call and combination."""
    result = [
        Named(str(NAMES[wrong.name]), wrong.subject)
        for wrong in wrong_subjects(scheme)
        if wrong.claimed and wrong.name in NAMES
    ]
    return sorted(result, key=lambda wrong: place(wrong.subject))


def place(subject: Subject) -> tuple[str, str]:
    return subject.call.name, subject.label


def goldens(subject: Subject) -> Iterator[tuple[str, Case]]:
    """Yield the goldens that a subject claims, with their ids."""
    for golden in subject.scheme.goldens:
        if (golden.call, golden.combination) == place(subject):
            case = golden_case(subject.scheme, golden, widest(subject.call))
            if subject.covers(case):
                yield golden.id, case


def answers_to_goldens(subject: Subject) -> Mapping[str, Array | None]:
    """Return by golden the visible part of a wrong answer, or None for a right one."""
    answers: dict[str, Array | None] = {}
    for id, case in goldens(subject):
        if (output := shown(subject, case)) is not None:
            answers[id] = None if compare(case, output).passes else output
    return answers


def shown(subject: Subject, case: Case) -> Array | None:
    """Return an answer with hidden values set to 0, or None for an invalid answer."""
    try:
        output = subject.run(case)
    except Misbehaviour:
        return None
    hidden = ~np.broadcast_to(case.shown, case.shape)
    return np.where(hidden, 0.0, output.astype(np.float64)) if output.shape == case.shape else None


def same_wrong(one: Mapping[str, Array | None], other: Mapping[str, Array | None]) -> bool:
    """Return whether two subjects fail some golden, and give equal answers where either fails."""
    both = [(one[id], other[id]) for id in one.keys() & other.keys()]
    wrong = [(a, b) for a, b in both if a is not None or b is not None]
    return bool(wrong) and all(
        a is not None and b is not None and alike(a, b, 1e-9) for a, b in wrong
    )


def alike(one: Array, other: Array, share: float) -> bool:
    """Return whether two are equal up to a share of the largest magnitude."""
    largest = float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one)))
    return one.shape == other.shape and np.allclose(
        one, other, rtol=share, atol=share * largest, equal_nan=True
    )


def drawn(subject: Subject) -> Iterator[Case]:
    """Yield calls as the kit draws them, in the widest dtype."""
    draw = subject.knowledge.arguments
    scope = subject.scopes[0]
    for seed in range(DRAWN):
        trial = Trial(subject, scope, scope.dtypes[0], {}, Seeded(seed))
        yield trial.case(**draw(trial))


def differ(one: Subject, other: Subject) -> bool:
    """Return whether two subjects answer any drawn call differently."""
    for case in drawn(one):
        a, b = shown(one, case), shown(other, case)
        if a is not None and b is not None and not alike(a, b, 1e-5):
            return True
    return False
