"""Fourier features: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_conventions, rounded_waves
from posenc_conformance.families.encodings import (
    Waves,
    at_twice_the_angle,
    dot_products,
    on_circles,
)
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Integers = npt.NDArray[np.int64]
ROWS = 4
SIN, COS, INPUT = 0, 1, 2
SHIFTED_SINE = np.pi / 4
"""A quarter of the error that computing a cosine as sin(a + π/2) adds to that of its angle: both
π/2 and the sum are rounded. The error model multiplies it by 4."""


def features(case: Case) -> tuple[Integers, Integers, Integers]:
    """Return the coordinate, the frequency index, and the wave of each feature."""
    coords, count = case.arguments["x"].shape[-1], case.arguments["num_frequencies"]
    order = case.conventions["order"]
    if order == "by-frequency":
        k, wave, coord = np.indices((count, 2, coords)).reshape(3, -1)
    elif order == "sines-by-frequency":
        wave, k, coord = np.indices((2, count, coords)).reshape(3, -1)
    elif order == "sines-by-coordinate":
        wave, coord, k = np.indices((2, coords, count)).reshape(3, -1)
    else:
        coord, k, wave = np.indices((coords, count, 2)).reshape(3, -1)
    if case.conventions["include_input"] == "first":
        zeros = np.zeros(coords, dtype=np.int64)
        coord = np.concatenate([np.arange(coords), coord])
        k, wave = np.concatenate([zeros, k]), np.concatenate([zeros + INPUT, wave])
    return coord, k, wave


def factor(case: Case) -> float:
    """Return the factor by which the coordinates are multiplied."""
    return {"pi": np.pi, "two-pi": 2 * np.pi, "1": 1.0}[str(case.conventions["factor"])]


def nerf_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x, with features in place of coordinates."""
    return *case.arguments["x"].shape[:-1], len(features(case)[0])


def gaussian_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x, with two features for each direction in place of coordinates."""
    return *case.arguments["x"].shape[:-1], 2 * len(case.arguments["b"])


def from_frequencies(case: Case, frequencies: Floats) -> Floats:
    """Compute the features for ``frequencies``, which include the factor."""
    coord, k, wave = features(case)
    x = case.arguments["x"][..., coord]
    angles = x * frequencies[k]
    waves = np.where(wave == SIN, np.sin(angles), np.cos(angles))
    return np.asarray(np.where(wave == INPUT, x, waves))


def octaves(case: Case) -> Floats:
    """Return the right frequencies, including the factor."""
    return factor(case) * 2.0 ** np.arange(case.arguments["num_frequencies"], dtype=np.float64)


def nerf_terms(case: Case) -> ErrorTerms:
    """Return scale 1, or 0 for copies of the input, and the angle of each feature."""
    coord, k, wave = features(case)
    angle = np.abs(case.arguments["x"])[..., coord] * octaves(case)[k]
    return ErrorTerms(
        np.where(wave == INPUT, 0.0, 1.0), angle + np.where(wave == COS, SHIFTED_SINE, 0.0)
    )


def projections(case: Case) -> Floats:
    """Project each point onto each direction."""
    return np.asarray(case.arguments["x"] @ case.arguments["b"].T)


def gaussian_terms(case: Case) -> ErrorTerms:
    """Return scale 1 and the angle of each feature.

    The angle adds up the magnitudes of its terms, and grows with their number as roundings do.
    """
    x, b = case.arguments["x"], case.arguments["b"]
    angle = 2 * np.pi * (np.abs(x) @ np.abs(b).T) * (x.shape[-1] + 3) / 4
    parts = [angle + SHIFTED_SINE, angle]
    if case.conventions["waves"] == "sin-cos":
        parts.reverse()
    return ErrorTerms(np.ones(()), np.concatenate(parts, axis=-1))


def in_order(case: Case, cos: Floats, sin: Floats) -> Floats:
    """Join cosines and sines in the order of the convention."""
    parts = [cos, sin] if case.conventions["waves"] == "cos-sin" else [sin, cos]
    return np.concatenate(parts, axis=-1)


def nerf_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few points inside and outside of the unit cube."""
    coords = trial.choose("coords", (3, 2, 1, 4))
    return {
        "x": 2 * fine((ROWS, coords)),
        "num_frequencies": trial.choose("num_frequencies", (4, 1, 2, 6, 10)),
    }


def gaussian_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few points, and directions of about 1, 10 or 0.1 turns per unit."""
    coords, count = trial.choose("coords", (2, 3, 1)), trial.choose("features", (4, 1, 3, 16))
    width = trial.pick.one_of((1.0, 10.0, 0.1))
    return {"x": 2 * fine((ROWS, coords)), "b": width * fine((count, coords), 29)}


def nerf_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of many points."""
    others = {name: value for name, value in parameters.items() if name != "coords"}
    return {"x": 2 * fine((63, parameters.get("coords", 3))), "num_frequencies": 12, **others}


def gaussian_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of many points and many directions."""
    coords, count = parameters.get("coords", 3), parameters.get("features", 64)
    return {"x": 2 * fine((63, coords)), "b": 8 * fine((count, coords), 29)}


def nerf_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many coordinates, frequencies and points."""
    for coords, count in ((1, 1), (1, 16), (2, 3), (3, 10), (3, 15), (5, 7), (17, 4), (64, 2)):
        yield {"x": fine((3, coords), 5), "num_frequencies": count}
    for rows in (1, 257, 600):
        yield {"x": fine((rows, 3), 7), "num_frequencies": 5}


def gaussian_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many coordinates, directions and points."""
    for coords, count in ((1, 1), (1, 33), (2, 128), (3, 256), (3, 300), (16, 5)):
        yield {"x": fine((3, coords), 5), "b": 2 * fine((count, coords), 11)}
    for rows in (1, 257, 600):
        yield {"x": fine((rows, 2), 7), "b": 2 * fine((6, 2), 11)}


def waves_of(answer: Answer) -> Waves:
    """Return the sines and cosines of an answer.

    Those of ``nerf`` are sorted by coordinate and then by frequency.
    """
    case = answer.case
    if case.call.name == "nerf":
        coord, k, wave = features(case)
        order = np.lexsort((k, coord, wave))
        sin, cos = (order[wave[order] == kind] for kind in (SIN, COS))
    else:
        halves = np.arange(2 * len(case.arguments["b"])).reshape(2, -1)
        sin, cos = halves if case.conventions["waves"] == "sin-cos" else halves[::-1]
    return Waves(answer[..., sin], answer[..., cos])


def norm_of(arguments: DrawArguments) -> InvariantCheck:
    """Make the check that each pair lies on the unit circle."""

    def norm(trial: Trial) -> None:
        on_circles(trial, waves_of(trial.answer(**arguments(trial))))

    return norm


def dot_by_offset_of(arguments: DrawArguments) -> InvariantCheck:
    """Make the check that a dot product does not change when both points move by the same step."""

    def dot_by_offset(trial: Trial) -> None:
        chosen = arguments(trial)
        # Multiples of 1/32, so that points and their sums are exact in every dtype.
        points = lattice(chosen["x"].shape)
        step = lattice((1, points.shape[-1]), 17)
        here, moved = (
            waves_of(trial.answer(**(chosen | {"x": x}))) for x in (points, points + step)
        )
        trial.assert_zero(
            dot_products(here.sin)
            + dot_products(here.cos)
            - (dot_products(moved.sin) + dot_products(moved.cos)),
            "the dot product of two points depends on more than their difference",
        )

    return dot_by_offset


def reflection_of(arguments: DrawArguments) -> InvariantCheck:
    """Make the check that sines change sign at the opposite point, and cosines do not."""

    def reflection(trial: Trial) -> None:
        chosen = arguments(trial)
        ahead = waves_of(trial.answer(**chosen))
        behind = waves_of(trial.answer(**(chosen | {"x": -chosen["x"]})))
        for residual in (ahead.sin + behind.sin, ahead.cos - behind.cos):
            trial.assert_zero(
                residual, "at the opposite point it is not the sines that change sign"
            )

    return reflection


def octave(trial: Trial) -> None:
    """Check that the angle doubles from one frequency to the next.

    Then sin 2a = 2 sin a cos a and cos 2a = cos² a - sin² a.
    """
    answer = trial.answer(**nerf_arguments(trial))
    waves, count = waves_of(answer), answer.case.arguments["num_frequencies"]
    by_coordinate = np.arange(waves.sin.values.shape[-1]).reshape(-1, count)
    at_twice_the_angle(
        trial,
        waves[:, by_coordinate[:, :-1]],
        waves[:, by_coordinate[:, 1:]],
        "a frequency is not twice the one before it",
    )


def period_of(apart: int) -> InvariantCheck:
    """Make the check that moving points by ``apart`` does not change their features.

    The period is 2 with the factor π, and 1 with 2π.
    """

    def period(trial: Trial) -> None:
        chosen = nerf_arguments(trial)
        points = lattice(chosen["x"].shape)
        answer = trial.answer(**(chosen | {"x": points}))
        moved = trial.answer(**(chosen | {"x": points + apart}))
        trial.assert_zero(answer - moved, f"points {apart} apart in every coordinate differ")

    return period


def coordinates_apart(trial: Trial) -> None:
    """Check that the features of the first coordinate do not depend on the others."""
    chosen = nerf_arguments(trial)
    answer = trial.answer(**chosen)
    coord, _, _ = features(answer.case)
    other = chosen["x"].copy()
    other[:, 1:] = 2 * fine(other[:, 1:].shape, 41)
    moved = trial.answer(**(chosen | {"x": other}))
    trial.assert_zero(
        (answer - moved)[:, coord == 0],
        "features of the first coordinate change with the others",
    )


def coordinates_exchanged(trial: Trial) -> None:
    """Check that reversing the coordinates reverses the order of their features."""
    chosen = nerf_arguments(trial)
    answer = trial.answer(**chosen)
    coord, k, wave = features(answer.case)
    turned = trial.answer(**(chosen | {"x": chosen["x"][:, ::-1].copy()}))
    order = np.lexsort((coord, k, wave)), np.lexsort((-coord, k, wave))
    trial.assert_zero(
        answer[:, order[0]] - turned[:, order[1]],
        "coordinates in reverse order do not have their features in reverse order",
    )


def fewer_frequencies(trial: Trial) -> None:
    """Check that the features of fewer frequencies are among those of more."""
    chosen = nerf_arguments(trial)
    more = chosen["num_frequencies"] + 1
    answer = trial.answer(**chosen)
    larger = trial.answer(**(chosen | {"num_frequencies": more}))
    shared = features(larger.case)[1] < more - 1
    trial.assert_zero(
        answer - larger[:, shared], "one frequency more changes the features of the others"
    )


def input_first(trial: Trial) -> None:
    """Check that the coordinates come first, exactly as given."""
    chosen = nerf_arguments(trial)
    answer = trial.answer(**chosen)
    x = answer.case.arguments["x"]
    trial.assert_none(answer, answer.values[:, : x.shape[-1]] != x, "the input is not copied")


def addition(trial: Trial) -> None:
    """Check that the features of a sum follow from those of its parts by the addition theorems."""
    chosen = gaussian_arguments(trial)
    u, v = lattice(chosen["x"].shape), lattice(chosen["x"].shape, 23)
    a, b, c = (waves_of(trial.answer(**(chosen | {"x": x}))) for x in (u, v, u + v))
    for residual in (
        a.cos * b.cos - a.sin * b.sin - c.cos,
        a.sin * b.cos + a.cos * b.sin - c.sin,
    ):
        trial.assert_zero(residual, "the features of a sum are not those of its parts")


def whole_turns(trial: Trial) -> None:
    """Check that points 1 apart have the same features if all frequencies are whole numbers."""
    chosen = gaussian_arguments(trial)
    points = lattice(chosen["x"].shape)
    chosen["b"] = np.rint(8 * lattice(chosen["b"].shape, 29))
    answer = trial.answer(**(chosen | {"x": points}))
    moved = trial.answer(**(chosen | {"x": points + 1}))
    trial.assert_zero(answer - moved, "a whole number of turns changes the features")


def directions_exchanged(trial: Trial) -> None:
    """Check that reversing the directions reverses the order of their features."""
    chosen = gaussian_arguments(trial)
    answer = trial.answer(**chosen)
    turned = trial.answer(**(chosen | {"b": chosen["b"][::-1].copy()}))
    order = np.arange(2 * len(chosen["b"])).reshape(2, -1)[:, ::-1].ravel()
    trial.assert_zero(
        answer - turned[:, order],
        "directions in reverse order do not have their features in reverse order",
    )


def factor_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another factor on the coordinates: none, π or 2π."""
    for name, other in (
        ("no factor", 1.0),
        ("a factor of π", np.pi),
        ("a factor of 2π", 2 * np.pi),
    ):
        if other != factor(case):
            output = from_frequencies(case, octaves(case) * (other / factor(case)))
            yield Prediction(f"matches {name} on the coordinates", output)


def frequencies_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict powers of two that start at 2 or at 1/2."""
    for first in (1, -1):
        words = f"matches frequencies that start at 2^{first}"
        yield Prediction(words, from_frequencies(case, octaves(case) * 2.0**first))


def linear_frequencies(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict equal steps to the highest frequency, or multiples of the lowest."""
    right = octaves(case)
    steps = np.linspace(right[0], right[-1], len(right))
    yield Prediction("matches frequencies at equal distances", from_frequencies(case, steps))
    harmonics = right[0] * np.arange(1, len(right) + 1)
    yield Prediction("matches frequencies 1, 2, 3, …", from_frequencies(case, harmonics))


def misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the right features in other orders that implementations use."""
    coord, k, wave = features(case)
    right = case.with_arguments().truth
    inputs = wave == INPUT
    orders = {
        "sine and cosine in turns, by coordinate": (wave, k, coord),
        "sines and then cosines of each frequency": (coord, wave, k),
        "all sines before all cosines, by frequency": (coord, k, wave),
        "all sines before all cosines, by coordinate": (k, coord, wave),
        "pairs by frequency": (wave, coord, k),
        "sines and then cosines of each coordinate": (k, wave, coord),
    }
    for words, keys in orders.items():
        order = np.lexsort((*keys, ~inputs))
        yield Prediction(f"matches {words}", right[..., order])


def waves_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sine and cosine exchanged."""
    coord, k, wave = features(case)
    other = np.lexsort((k, coord, wave))
    partner = np.arange(len(wave))
    sines, cosines = (other[wave[other] == kind] for kind in (SIN, COS))
    partner[sines], partner[cosines] = cosines, sines
    yield Prediction("matches sine and cosine exchanged", case.with_arguments().truth[..., partner])


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates or angles rounded to a narrow dtype, and waves of them."""
    coord, k, wave = features(case)
    x = case.arguments["x"][..., coord]

    def waved(angles: Floats, dtype: str = "float64") -> Floats:
        waves = np.where(wave == SIN, np.sin(angles), np.cos(angles))
        return np.where(wave == INPUT, x, round_to(waves, dtype))

    for dtype in ("bfloat16", "float16"):
        held = [
            ("coordinates", round_to(x, dtype) * octaves(case)[k]),
            ("angles", round_to(x * octaves(case)[k], dtype)),
        ]
        yield from rounded_waves(held, dtype, x * octaves(case)[k], waved, waved)


def from_turns(case: Case, turns: Floats) -> Floats:
    """Compute the features for these angles, in turns."""
    return in_order(case, np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns))


def turn_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles without the factor 2π, or with only half of it."""
    for words, part in (("no factor 2π", 1 / (2 * np.pi)), ("π in place of 2π", 0.5)):
        yield Prediction(f"matches {words}", from_turns(case, projections(case) * part))


def pairs_interleaved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the cosine and sine of each direction side by side."""
    right, half = case.with_arguments().truth, len(case.arguments["b"])
    order = np.arange(2 * half).reshape(2, half).T.ravel()
    yield Prediction("matches cosine and sine of each direction side by side", right[..., order])


def scaled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict features divided by the root of their number, as in random features of a kernel."""
    count = len(case.arguments["b"])
    for words, scale in (("(1/m)^1/2", count**-0.5), ("(2/m)^1/2", (2 / count) ** 0.5)):
        yield Prediction(f"matches features times {words}", case.with_arguments().truth * scale)


def transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict b transposed.

    Unless b is square, the mistake shows in the shape.
    """
    b = case.arguments["b"]
    if b.shape[0] == b.shape[1]:
        yield Prediction("matches b transposed", from_turns(case, case.arguments["x"] @ b))


def narrow_projections(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict points, directions, projections or angles in a narrow dtype, and waves of them."""
    x, b, whole = case.arguments["x"], case.arguments["b"], 2 * np.pi
    exact = whole * projections(case)

    def waved(angles: Floats, dtype: str = "float64") -> Floats:
        return round_to(in_order(case, np.cos(angles), np.sin(angles)), dtype)

    for dtype in ("bfloat16", "float16"):
        product = round_to(x, dtype) @ round_to(b, dtype).T
        held = [
            ("points and directions", whole * product),
            ("projections", whole * round_to(projections(case), dtype)),
            ("points, directions and projections", whole * round_to(product, dtype)),
            ("angles", round_to(exact, dtype)),
        ]
        yield from rounded_waves(held, dtype, exact, waved, waved)


KNOWLEDGE = {
    "nerf": CallKnowledge(
        error_terms=nerf_terms,
        arguments=nerf_arguments,
        sweep=nerf_sweep,
        sizes=nerf_sizes,
        shape=nerf_shape,
        invariants={
            "norm": norm_of(nerf_arguments),
            "octave": octave,
            "dot-by-offset": dot_by_offset_of(nerf_arguments),
            "reflection": reflection_of(nerf_arguments),
            "period": period_of(2),
            "period-one": period_of(1),
            "coordinates-apart": coordinates_apart,
            "coordinates-exchanged": coordinates_exchanged,
            "fewer-frequencies": fewer_frequencies,
            "input-first": input_first,
        },
        deviations={
            "factor-wrong": factor_wrong,
            "frequencies-shifted": frequencies_shifted,
            "linear-frequencies": linear_frequencies,
            "order-swapped": misplaced,
            "waves-swapped": waves_swapped,
            "low-precision-angles": narrow_angles,
        },
    ),
    "gaussian_fourier": CallKnowledge(
        error_terms=gaussian_terms,
        arguments=gaussian_arguments,
        sweep=gaussian_sweep,
        sizes=gaussian_sizes,
        shape=gaussian_shape,
        invariants={
            "gaussian-norm": norm_of(gaussian_arguments),
            "gaussian-dot-by-offset": dot_by_offset_of(gaussian_arguments),
            "gaussian-reflection": reflection_of(gaussian_arguments),
            "addition": addition,
            "whole-turns": whole_turns,
            "directions-exchanged": directions_exchanged,
        },
        deviations={
            "gaussian-order-swapped": other_conventions(
                "waves", "matches the order {value} exactly; {claimed} was claimed"
            ),
            "gaussian-interleaved": pairs_interleaved,
            "turn-left-out": turn_wrong,
            "gaussian-scaled": scaled,
            "gaussian-transposed": transposed,
            "low-precision-projections": narrow_projections,
        },
    ),
}
