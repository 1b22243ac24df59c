"""Pieces from which deviations are modelled: what a wrong implementation would have returned."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.judge.arrays import Floats, narrowed
from posenc_conformance.judge.case import Case

BASES = (100.0, 1e3, 1e4, 1e5, 5e5, 1e6, 1e7, 1e8)
"""Bases met in released models and in mistakes."""


LARGEST_SHIFT = 10_000
"""Shifts beyond this are no off-by-something mistakes."""


Constant = tuple[str, float]
"""A number that was estimated, and what it is."""


@dataclass(frozen=True)
class Model:
    """One explanation and the result that it predicts."""

    explanation: str
    output: Floats
    of: Case | None = None
    """The case whose truth this is, or None; another mistake may come on top of it."""
    constant: Constant | None = None
    """What the mistake has in every call, such as a base; None if there is nothing."""
    of_state: bool = False
    """Whether it is what an earlier call has left."""


DeviationModel = Callable[[Case, Floats], Iterator[Model]]
"""Takes the case and what the implementation returned, from which it may estimate."""


def other_conventions(axis: str, explanation: str) -> DeviationModel:
    """The right result of another value of a convention."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        claimed = case.conventions[axis]
        for value in case.scheme.conventions[axis].values:
            if value != claimed:
                other = case.under(**{axis: value})
                yield from attempt(other, explanation.format(value=value, claimed=claimed))

    return models


def shifted_positions(case: Case, estimate: float) -> Iterator[Model]:
    """Positions that start too early or too late: as estimated, or by one or two."""
    rounded = [round(estimate)] if np.isfinite(estimate) and abs(estimate) < LARGEST_SHIFT else []
    for shift in dict.fromkeys([*rounded, 1, -1, 2, -2]):
        if shift == 0:
            continue
        yield from attempt(
            case.changed(positions=case.arguments["positions"] + shift),
            f"matches positions shifted by {shift:+d}",
            ("shift", shift),
        )


def negated_positions(case: Case, got: Floats) -> Iterator[Model]:
    """Angles of the opposite sign."""
    if np.any(case.arguments["positions"]):
        yield from attempt(
            case.changed(positions=-case.arguments["positions"]),
            "matches angles of the opposite sign",
        )


def bases(case: Case, estimate: float | None) -> Iterator[Model]:
    """Another base: the one estimated from the numbers, then those in common use."""
    claimed = case.arguments.get("base", 10000.0)
    for base in (*([estimate] if estimate else []), *BASES):
        if base != claimed:
            words = f"matches base {base:.6g}; {claimed:.6g} was asked for"
            for model in attempt(case.changed(base=base), words, ("base", base)):
                yield model
                yield replace(model, constant=("share", base / claimed))


def other_base(case: Case, got: Floats) -> Iterator[Model]:
    """Another base in common use."""
    yield from bases(case, None)


def several(*models: DeviationModel) -> DeviationModel:
    """All of these."""

    def each(case: Case, got: Floats) -> Iterator[Model]:
        for model in models:
            yield from model(case, got)

    return each


def applied(case: Case, constant: Constant) -> Case | None:
    """The call that an estimated number makes of another one; None if there is none."""
    what, number = constant
    given = case.arguments
    if what == "shift" and "positions" in given:
        return _defined(case.changed(positions=given["positions"] + round(number)))
    if what in ("base", "share") and "base" in given:
        return _defined(case.changed(base=number * (given["base"] if what == "share" else 1)))
    return None


def _defined(case: Case) -> Case | None:
    """A case, unless its call has no result."""
    return case if any(attempt(case, "")) else None


def rounded_angles(
    positions: Floats, frequencies: Floats, result: Callable[[Floats], Floats]
) -> Iterator[Model]:
    """Positions, frequencies or angles, or all of them, held in a narrow dtype.

    Positions are of shape [n, 1] or [n, frequencies]; ``result`` takes angles to what they give.
    """
    for dtype in ("bfloat16", "float16"):
        if np.max(np.abs(positions), initial=0) > np.finfo(np.float16).max and dtype == "float16":
            continue  # positions would be infinite
        p, w = narrowed(positions, dtype), narrowed(frequencies, dtype)
        held = {
            "positions": p * frequencies,
            "frequencies": positions * w,
            "angles": narrowed(positions * frequencies, dtype),
            "positions and frequencies": p * w,
            "positions, frequencies and angles": narrowed(p * w, dtype),
        }
        for what, angles in held.items():
            yield Model(f"matches {what} in {dtype}", result(angles))


def iterated(
    positions: Floats, frequencies: Floats, result: Callable[[Floats], Floats]
) -> Iterator[Model]:
    """Angles, or frequencies, each of which is the one before times a ratio, in float32.

    Positions are of shape [n, 1], frequencies a geometric progression; ``result`` takes angles to
    what they give.
    """
    if len(frequencies) < 2:
        return
    single = np.float32
    places, first = positions.astype(single), single(frequencies[0])
    ratios = np.full(len(frequencies), single(frequencies[1] / frequencies[0]))
    ratios[0] = first
    each = np.concatenate([places * first, np.tile(ratios[1:], (len(places), 1))], axis=1)
    found = {
        "angles": np.multiply.accumulate(each, axis=1),
        "frequencies": places * np.multiply.accumulate(ratios),
    }
    for what, angles in found.items():
        words = f"matches {what} of which each is the one before times a ratio, in float32"
        yield Model(words, result(angles.astype(np.float64)))


def attempt(case: Case, explanation: str, constant: Constant | None = None) -> Iterator[Model]:
    """The truth of another case, if it has one."""
    try:
        yield Model(explanation, case.truth, case, constant)
    except ValueError:
        return


def rounded_base(estimate: float) -> float | None:
    """A base as somebody would have written it, if the estimate is near such a number."""
    if not np.isfinite(estimate) or estimate < 1.01:
        return None
    digits = float(f"{estimate:.2g}")
    return digits if abs(digits / estimate - 1) < 1e-3 else float(f"{estimate:.5g}")
