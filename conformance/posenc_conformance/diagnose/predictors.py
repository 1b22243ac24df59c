"""Building blocks of deviation models: results that a wrong implementation would have returned."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats, round_to
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Constant, DeviationModel, Prediction

BASES = (100.0, 1e3, 1e4, 1e5, 5e5, 1e6, 1e7, 1e8)
"""Bases that occur in released models and in mistakes."""


WHOLE = 1e-9
"""Largest error of a size that is a whole number."""
USUAL = 16
"""A divisor of sizes to which heads are padded."""
LARGEST_SHIFT = 10_000
"""Smallest estimated shift that is not tried: it is no off-by-something mistake."""


def other_conventions(axis: str, explanation: str) -> DeviationModel:
    """Make a model that predicts the right result of every other value of a convention.

    ``explanation`` may contain ``{value}``, the other value, and ``{claimed}``, the claimed one.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        claimed = case.conventions[axis]
        for value in case.scheme.conventions[axis].values:
            if value != claimed:
                other = case.with_conventions(**{axis: value})
                yield from predict_case(other, explanation.format(value=value, claimed=claimed))

    return models


def shifted_positions(case: Case, estimate: float) -> Iterator[Prediction]:
    """Predict results at positions shifted by the estimate, by one or two, or by the first one."""
    rounded = [round(estimate)] if np.isfinite(estimate) and abs(estimate) < LARGEST_SHIFT else []
    first = int(np.ravel(case.arguments["positions"])[0]) if case.arguments["positions"].size else 0
    lost = [-first, first] if 2 < abs(first) < LARGEST_SHIFT else []
    for shift in dict.fromkeys([*rounded, 1, -1, 2, -2, *lost]):
        if shift == 0:
            continue
        moved = case.arguments["positions"] + shift
        restart = ", so that they restart at 0" * (shift == -first < -2 and not np.min(moved))
        yield from predict_case(
            case.with_arguments(positions=moved),
            f"matches positions shifted by {shift:+d}{restart}",
            ("shift", shift),
        )


def negated_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with angles of the opposite sign, unless all positions are 0."""
    if np.any(case.arguments["positions"]):
        yield from predict_case(
            case.with_arguments(positions=-case.arguments["positions"]),
            "matches angles of the opposite sign",
        )


def bases(case: Case, estimate: float | None) -> Iterator[Prediction]:
    """Predict results with another base: the estimated one, then those in common use.

    Each is predicted twice: with the base as the constant of the mistake, and with its ratio to the
    claimed base.
    """
    claimed = case.arguments.get("base", 10000.0)
    for base in (*([estimate] if estimate else []), *BASES):
        if base != claimed:
            other, asked = apart(base, claimed, digits=6)
            words = f"matches base {other}{_as_of_head(case, base)}; {asked} was asked for"
            for model in predict_case(case.with_arguments(base=base), words, ("base", base)):
                yield model
                yield replace(model, constant=("share", base / claimed))


def _as_of_head(case: Case, base: float) -> str:
    """Say which larger head has the frequencies of another base; empty if none of a usual size."""
    x, claimed = case.arguments.get("x"), case.arguments.get("base", 10000.0)
    if case.scheme.family != "rotary" or not isinstance(x, np.ndarray) or min(base, claimed) <= 1:
        return ""
    channels = case.arguments.get("rotary_dim") or x.shape[-1]
    size = channels * np.log(claimed) / np.log(base)
    is_usual = size > channels and abs(size - round(size)) < WHOLE and round(size) % USUAL == 0
    return f", like the first pairs of a head padded to {round(size)}" if is_usual else ""


def other_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict results with other bases in common use."""
    yield from bases(case, None)


def any_of(*models: DeviationModel) -> DeviationModel:
    """Make a model that yields the predictions of all ``models``."""

    def each(case: Case, got: Floats) -> Iterator[Prediction]:
        for model in models:
            yield from model(case, got)

    return each


def apply_constant(case: Case, constant: Constant) -> Case | None:
    """Return the call changed by an estimated number; None if the number does not apply."""
    kind, number = constant
    arguments = case.arguments
    if kind == "shift" and "positions" in arguments:
        return _defined(case.with_arguments(positions=arguments["positions"] + round(number)))
    if kind in ("base", "share") and "base" in arguments:
        return _defined(
            case.with_arguments(base=number * (arguments["base"] if kind == "share" else 1))
        )
    return None


def _defined(case: Case) -> Case | None:
    """Return a case, or None if its call has no result."""
    return case if case.has_result else None


def rounded_angles(
    positions: Floats,
    frequencies: Floats,
    result: Callable[[Floats], Floats],
    in_short: Callable[[Floats, str], Floats] | None = None,
) -> Iterator[Prediction]:
    """Predict results with positions, frequencies, angles, or several of them in a narrow dtype.

    Positions are [n, 1] or [n, frequencies]; ``result`` computes the result from angles, and
    ``in_short`` the same with their cosines and sines rounded to a dtype.
    """
    for dtype in ("bfloat16", "float16"):
        if np.max(np.abs(positions), initial=0) > np.finfo(np.float16).max and dtype == "float16":
            continue  # positions would be infinite
        p, w = round_to(positions, dtype), round_to(frequencies, dtype)
        stepwise = _by_logarithm(frequencies, dtype)
        held = {
            "positions": p * frequencies,
            "frequencies": positions * w,
            "angles": round_to(positions * frequencies, dtype),
            "positions and frequencies": p * w,
            "positions, frequencies and angles": round_to(p * w, dtype),
            "frequencies and their logarithms": positions * stepwise,
            "positions, frequencies, their logarithms and angles": round_to(p * stepwise, dtype),
        }
        yield from rounded_waves(
            tuple(held.items()), dtype, positions * frequencies, result, in_short
        )


def _by_logarithm(frequencies: Floats, dtype: str) -> Floats:
    """Compute frequencies as powers of e, with exponents and powers rounded to a dtype."""
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = round_to(np.exp(round_to(np.log(frequencies), dtype)), dtype)
    return np.where(frequencies > 0, powers, frequencies)


def rounded_waves(
    held: Sequence[tuple[str, Floats]],
    dtype: str,
    exact: Floats,
    result: Callable[[Floats], Floats],
    in_short: Callable[[Floats, str], Floats] | None = None,
) -> Iterator[Prediction]:
    """Predict results of angles, by what is rounded; then with rounded cosines and sines too.

    The latter only for angles that differ from ``exact``: a short table alone is another mistake.
    """
    for name, angles in held:
        yield Prediction(f"matches {name} in {dtype}", result(angles))
    if in_short is not None:
        for name, angles in held:
            if not np.array_equal(angles, exact):
                words = f"matches {name} in {dtype}, and a table of cosines and sines in it"
                yield Prediction(words, in_short(angles, dtype))


def short_tables(angles: Floats, in_short: Callable[[Floats, str], Floats]) -> Iterator[Prediction]:
    """Predict results of right angles with cosines and sines rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        yield Prediction(f"matches cosines and sines in {dtype}", in_short(angles, dtype))


def iterated(
    positions: Floats, frequencies: Floats, result: Callable[[Floats], Floats]
) -> Iterator[Prediction]:
    """Predict results with each angle or frequency computed from the previous one, in float32.

    Positions are [n, 1], frequencies a geometric progression; ``result`` computes the result from
    angles.
    """
    if len(frequencies) < 2:
        return
    single = np.float32
    places, first = positions.astype(single), single(frequencies[0])
    ratios = np.full(len(frequencies), single(frequencies[1] / frequencies[0]))
    ratios[0] = first
    steps = np.concatenate([places * first, np.tile(ratios[1:], (len(places), 1))], axis=1)
    repeated = np.multiply.accumulate(ratios)
    products = (
        ("angles", np.multiply.accumulate(steps, axis=1)),
        ("frequencies", places * repeated),
        ("frequencies", positions * repeated.astype(np.float64)),
    )
    for name, angles in products:
        words = f"matches {name} of which each is the one before times a ratio, in float32"
        yield Prediction(words, result(angles.astype(np.float64)))


def predict_case(
    case: Case, explanation: str, constant: Constant | None = None
) -> Iterator[Prediction]:
    """Predict the right result of another case, if it has one."""
    try:
        yield Prediction(explanation, case.truth, case, constant)
    except ValueError:
        return


def rounded_base(estimate: float) -> float | None:
    """Round an estimated base to a number that a person would have written.

    Rounds to two digits if that changes it by less than a thousandth, else to five. Returns None
    for an estimate that is not finite, or below 1.01.
    """
    if not np.isfinite(estimate) or estimate < 1.01:
        return None
    digits = float(f"{estimate:.2g}")
    return digits if abs(digits / estimate - 1) < 1e-3 else float(f"{estimate:.5g}")
