"""Precision: how the error grows with position."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from posenc_conformance.checks import Check, Extent, Options, variant
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.error_model import exact_angles
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Outcome, Wrong

BFLOAT16_RESOLUTION = 2.0**-8
"""Unit roundoff of bfloat16: a model in bfloat16 cannot resolve a smaller error."""


def checks(subject: Subject) -> Iterator[Check]:
    """Yield one sweep per dtype, up to the largest claimed position."""
    for dtype in subject.dtypes:
        case = sweep_case(subject, dtype)
        if case is not None and subject.claimed(case):

            def run(subject: Subject, options: Options, dtype: str = dtype) -> Outcome:
                case = sweep_case(subject, dtype)
                assert case is not None  # else there would be no check
                subject.require_claimed(case)
                return sweep(subject, case)

            id = f"sweep[{variant(subject)}-{dtype}]"
            yield Check("precision", id, subject, dtype, run, Extent.of(case))


def sweep_case(subject: Subject, dtype: str) -> Case | None:
    """Make the sweep's call, up to the largest claimed position; None if it has no positions."""
    scope = max(
        (scope for scope in subject.scopes if dtype in scope.dtypes),
        key=lambda scope: scope.max_position,
    )
    arguments = subject.knowledge.sweep(_restricted(scope), scope.max_position)
    return None if arguments is None else subject.case(arguments, dtype)


def _restricted(scope: Scope) -> dict[str, object]:
    return {name: values[0] for name, values in scope.parameters.items()}


def sweep(subject: Subject, case: Case) -> Outcome:
    """Compare a sweep's result with the truth; return its errors, curve and horizon."""
    try:
        output = ask(subject, case).astype(np.float64)
    except Misbehaviour as problem:
        raise Wrong(f"precision: {problem}") from None
    angles = "positions" in case.arguments and case.scheme.accuracy.angle > 0
    reach, at_end = horizon(case, output) if angles else (None, None)
    measured = Outcome(horizon=reach, horizon_is_claim=at_end, curve=curve(case, output))
    try:
        right = require_agreement(subject, case, output, "precision")
    except Wrong as wrong:
        outcome = replace(
            wrong.outcome,
            horizon=measured.horizon,
            horizon_is_claim=measured.horizon_is_claim,
            curve=measured.curve,
        )
        raise Wrong(wrong.text, outcome, case) from None
    exact = exact_angles(case, output) if reach is not None else None
    return replace(measured, worst=right.worst, exact_angles=exact)


def curve(case: Case, output: Floats) -> tuple[tuple[int, float, float], ...]:
    """Return position, error and bound of the worst row between successive powers of two.

    Error and bound are in units of the scale. Empty for a call without positions.
    """
    if "positions" not in case.arguments or output.ndim < 2:
        return ()
    scale = np.broadcast_to(case.terms.scale, case.shape)
    error = np.abs(output - case.truth)
    shares = [
        np.divide(part, scale, out=np.zeros(case.shape), where=scale > 0).max(axis=_but_rows(case))
        for part in (error, case.bound)
    ]
    positions = _magnitudes(case)
    steps = np.frexp(positions.astype(np.float64))[1]  # 0 for 0, then one for each power of two
    points = []
    for step in np.unique(steps):
        rows = np.flatnonzero(steps == step)
        row = rows[np.argmax(shares[0][rows])]
        points.append((int(positions[row]), float(shares[0][row]), float(shares[1][row])))
    return tuple(points)


def _magnitudes(case: Case) -> npt.NDArray[np.int64]:
    """Return the magnitude of each row's position; the largest of all axes if it has several."""
    positions = np.abs(case.arguments["positions"])
    largest: npt.NDArray[np.int64] = positions.reshape(-1, positions.shape[-1]).max(axis=0)
    return largest


def _but_rows(case: Case) -> tuple[int, ...]:
    """Return all axes of a result except that of its rows, which is the last but one."""
    count = len(case.shape)
    return *range(count - 2), count - 1


def horizon(case: Case, output: Floats) -> tuple[int, bool]:
    """Find the largest power of two up to which errors of angles stay below bfloat16 resolution.

    Errors of rounding the result itself do not count. Returns 0 if position 1 is beyond it already.
    The second value tells whether they do so at all positions of the call.
    """
    scale = np.broadcast_to(case.terms.scale, case.shape)
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    error = np.abs(output - case.truth)
    beyond = (error > scale * (rounding + BFLOAT16_RESOLUTION)).any(axis=_but_rows(case))
    positions = _magnitudes(case)
    first = int(positions[beyond].min()) if beyond.any() else int(positions.max()) + 1
    return 2 ** ((first - 1).bit_length() - 1) if first > 1 else 0, not beyond.any()
