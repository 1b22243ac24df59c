"""The error of the reference against the oracle, in units in the last place of the scale."""

from collections.abc import Iterator

import mpmath
import numpy as np

from posenc_conformance.checks.variations import at
from posenc_conformance.commands.goldens import oracle_values, unit
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Seeded, Trial

FAR = 2**53
"""The last position that the reference supports."""
ELEMENTS = 24
"""Number of elements of a result that are compared."""
DRAWN = 6
BELOW = np.array([-1, 0, -300, 2, -5001, -7])


def drawn_cases(subject: Subject) -> Iterator[Case]:
    """Yield cases as the checks draw them, the case of the position sweep, and the goldens."""
    knowledge = subject.knowledge
    dtype = subject.dtypes[0]
    (scope,) = subject.scopes
    for seed in range(DRAWN):
        trial = Trial(subject, scope, dtype, {}, Seeded(seed))
        yield trial.case(**knowledge.arguments(trial))
        if "domain" in subject.call.options:
            below = at(trial.case(**knowledge.arguments(trial)), BELOW)
            yield below.with_conventions(domain="negative")
    if (arguments := knowledge.sweep({}, FAR)) is not None:
        yield subject.case(arguments, dtype)
    for golden in subject.scheme.goldens:
        if (golden.call, golden.combination) == (subject.call.name, subject.combination.name):
            yield case_described_by(subject.scheme, golden, dtype)


def sampled_error(case: Case) -> float:
    """Return the largest error in units in the last place, at elements spread over the result."""
    truth = np.broadcast_to(case.truth, case.shape)
    exact = oracle_values(case)
    worst = 0.0
    places = np.linspace(0, truth.size - 1, min(ELEMENTS, truth.size)).astype(int)
    for place in places:
        index = tuple(int(i) for i in np.unravel_index(place, truth.shape))
        value = exact(index)
        if value is None:
            assert not np.isfinite(truth[index])
            continue
        error = abs(mpmath.mpf(truth[index].item()) - value)
        worst = max(worst, float(error / unit(case, index, float(value))))
    return worst
