"""Precision: how the error grows with position."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance import schemes
from posenc_conformance.arrays import UNIT_ROUNDOFF
from posenc_conformance.cases import Case
from posenc_conformance.checks import Check, Options, Outcome, Wrong, variant
from posenc_conformance.failure import compared
from posenc_conformance.subject import Misbehaviour, Scope, Subject
from posenc_conformance.tolerance import Floats

BFLOAT16_RESOLUTION = 2.0**-8


def checks(subject: Subject) -> Iterator[Check]:
    """One sweep per dtype, as far as the claim reaches."""
    for dtype in subject.dtypes:
        case = sweep_case(subject, dtype)
        if case is not None:

            def run(options: Options, case: Case = case) -> Outcome:
                return sweep(subject, case)

            yield Check("precision", f"sweep[{variant(subject)}-{dtype}]", subject, dtype, run)


def sweep_case(subject: Subject, dtype: str) -> Case | None:
    """A call that reaches from position 0 to the largest one claimed; None if there are none."""
    scope = max(
        (scope for scope in subject.scopes if dtype in scope.dtypes),
        key=lambda scope: scope.max_position,
    )
    make = schemes.module(subject.scheme).SWEEPS[subject.call.name]
    arguments = make(_restricted(scope), scope.max_position)
    return None if arguments is None else subject.case(arguments, dtype)


def _restricted(scope: Scope) -> dict[str, object]:
    return {name: values[0] for name, values in scope.parameters.items()}


def sweep(subject: Subject, case: Case) -> Outcome:
    """Compare with the truth at every position; tell the grade and the horizon."""
    try:
        output = subject.run(case).astype(np.float64)
    except Misbehaviour as problem:
        raise Wrong(f"precision: {problem}") from None
    angles = "positions" in case.arguments and case.scheme.accuracy.angle > 0
    reach, at_end = horizon(case, output) if angles else (None, None)
    try:
        outcome = compared(case, output, "precision")
    except Wrong as wrong:
        failed = wrong.outcome
        outcome = Outcome(failed.worst, None, reach, at_end, failed.explanations)
        raise Wrong(wrong.text, outcome, case) from None
    exact = outcome.exact_angles if reach is not None else None
    return Outcome(outcome.worst, exact, reach, at_end)


def horizon(case: Case, output: Floats) -> tuple[int, bool]:
    """Largest power of two up to which angles cost less than bfloat16 resolution.

    What rounding the result itself may cost is not held against the angles. 0 if position 1 is
    beyond it already. Also says whether all positions asked for are within.
    """
    terms = schemes.error_terms(case)
    scale = np.broadcast_to(terms.scale, case.shape)
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    error = np.abs(output - case.truth)
    beyond = (error > scale * (rounding + BFLOAT16_RESOLUTION)).any(axis=-1)
    positions = np.abs(case.arguments["positions"])
    positions = positions.reshape(-1, positions.shape[-1]).max(axis=0)  # of all axes, if several
    first = int(positions[beyond].min()) if beyond.any() else int(positions.max()) + 1
    return 2 ** ((first - 1).bit_length() - 1) if first > 1 else 0, not beyond.any()
