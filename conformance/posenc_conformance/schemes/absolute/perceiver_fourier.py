"""Perceiver's Fourier features: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import any_of, rounded_waves
from posenc_conformance.families.encodings import Waves, dot_products, on_circles
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Integers = npt.NDArray[np.int64]
ROWS = 4
SIN, COS, POSITION = 0, 1, 2
SHIFTED_SINE = np.pi / 8
"""The error that computing a cosine as sin(a + π/2) adds to that of its angle a: an eighth of π."""
GRIDS = ([4, 3], [1, 5], [6], [2, 3, 4], [7, 1])


def features(case: Case) -> tuple[Integers, Integers, Integers]:
    """Return the coordinate, the band index and the kind of each feature.

    The kind is SIN, COS or POSITION.
    """
    coords, count = case.arguments["x"].shape[-1], case.arguments["num_bands"]
    position, both = case.conventions["position"], case.conventions["waves"] == "both"
    waves = (SIN, COS) if both else (SIN,)
    axes = range(coords)
    entries = [(axis, 0, POSITION) for axis in axes if position == "first"]
    if case.conventions["order"] == "sines-first":
        entries += [(axis, k, wave) for wave in waves for axis in axes for k in range(count)]
    else:
        for axis in axes:
            entries += [(axis, k, wave) for wave in waves for k in range(count)]
            entries += [(axis, 0, POSITION)] * (position == "last-of-each")
    coord, band, kind = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return coord, band, kind


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x with features in place of coordinates."""
    *leading, coords = case.arguments["x"].shape
    waves = 2 if case.conventions["waves"] == "both" else 1
    own = case.conventions["position"] in ("first", "last-of-each")
    return *leading, coords * (waves * case.arguments["num_bands"] + own)


def bands(case: Case, highest: Any = None) -> Floats:
    """Return the bands of every axis, up to ``highest`` or half the resolution: [coords, bands]."""
    top = case.arguments["max_resolution"] / 2 if highest is None else np.asarray(highest)
    return np.asarray(np.linspace(np.ones(len(top)), top, case.arguments["num_bands"], axis=-1))


def from_half_turns(case: Case, half_turns: Floats, dtype: str = "float64") -> Floats:
    """Compute the features for these angles, in half turns: [..., coords, bands].

    Sines and cosines are rounded to ``dtype``.
    """
    coord, band, kind = features(case)
    angles = np.pi * half_turns[..., coord, band]
    waves = round_to(np.where(kind == SIN, np.sin(angles), np.cos(angles)), dtype)
    return np.asarray(np.where(kind == POSITION, case.arguments["x"][..., coord], waves))


def from_bands(case: Case, frequencies: Floats) -> Floats:
    """Compute the features for these bands: [coords, bands]."""
    return from_half_turns(case, case.arguments["x"][..., None] * frequencies)


def error_terms(case: Case) -> ErrorTerms:
    """Return scale 1, or 0 for copies of the position, and the angle of each feature."""
    coord, band, kind = features(case)
    angle = np.pi * np.abs(case.arguments["x"])[..., coord] * bands(case)[coord, band]
    return ErrorTerms(
        np.where(kind == POSITION, 0.0, 1.0), angle + np.where(kind == COS, SHIFTED_SINE, 0.0)
    )


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few positions, without leading axes or in a batch of two."""
    coords = trial.choose("coords", (2, 1, 3))
    batches = trial.pick.one_of(((), (2,)))
    sizes = trial.pick.one_of(((8, 20, 6), (5, 12, 224), (16, 2, 7)))
    return {
        "x": 1.25 * fine((*batches, ROWS, coords)),
        "max_resolution": resolutions(trial, sizes[:coords]),
        "num_bands": trial.choose("num_bands", (4, 3, 5, 12, 2, 1)),
    }


def resolutions(trial: Trial, sizes: tuple[int, ...]) -> Integers:
    """Return the resolution of each axis, its number of places.

    All axes have the same resolution if the claimed order is that of perceiver-pytorch.
    """
    alike = trial.subject.combination.conventions["order"] == "by-coordinate"
    return np.array([sizes[0]] * len(sizes) if alike else sizes)


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of many positions and the 64 bands of released models."""
    coords = parameters.get("coords", 2)
    return {
        "x": fine((63, coords)),
        "max_resolution": np.full(coords, 224),
        "num_bands": parameters.get("num_bands", 64),
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many coordinates, bands, places and positions."""
    for coords, count, places in ((1, 1, 2), (1, 192, 1920), (2, 64, 224), (3, 32, 16), (4, 7, 3)):
        yield {
            "x": fine((3, coords), 5),
            "max_resolution": np.full(coords, places),
            "num_bands": count,
        }
    for rows in (1, 257, 600):
        yield {
            "x": fine((rows, 2), 7),
            "max_resolution": np.array([12, 12]),
            "num_bands": 5,
        }


def waves_of(answer: Answer) -> Waves:
    """Return the sines and cosines of an answer: [..., coords, bands]."""
    coord, band, kind = features(answer.case)
    order = np.lexsort((band, coord, kind))
    by_axis = (-1, answer.case.arguments["num_bands"])
    sin, cos = (order[kind[order] == which].reshape(by_axis) for which in (SIN, COS))
    return Waves(answer[..., sin], answer[..., cos])


def norm(trial: Trial) -> None:
    """Check that each pair lies on the unit circle."""
    on_circles(trial, waves_of(trial.answer(**arguments(trial))))


def even_steps(trial: Trial) -> None:
    """Check that angles grow by the same step from each band to the next.

    The check compares the sines and the cosines of the steps.
    """
    waves = waves_of(trial.answer(**arguments(trial)))
    lower, higher = waves[..., :-1], waves[..., 1:]
    cos = higher.cos * lower.cos + higher.sin * lower.sin
    sin = higher.sin * lower.cos - higher.cos * lower.sin
    for step in (cos, sin):
        trial.assert_zero(
            step[..., 1:] - step[..., :-1], "the bands of an axis are not at equal distances"
        )


def dot_by_offset(trial: Trial) -> None:
    """Check that the dot product of two positions does not change when both move by one step."""
    chosen = arguments(trial)
    # Multiples of 1/64, so that positions and their sums are exact in every dtype.
    points = lattice(chosen["x"].shape[-2:]) / 2
    step = lattice((1, points.shape[-1]), 17) / 2
    dots = []
    for x in (points, points + step):
        waves = waves_of(trial.answer(**(chosen | {"x": x})))
        dots.append(sum_of_products(waves.sin) + sum_of_products(waves.cos))
    trial.assert_zero(
        dots[0] - dots[1], "the dot product of two positions depends on more than their difference"
    )


def sum_of_products(waves: Answer) -> Answer:
    """Compute the dot product of every two rows: [rows, coords, bands] to [rows, rows]."""
    every = np.indices(waves.values.shape[1:]).reshape(2, -1)
    return dot_products(waves[:, every[0], every[1]])


def reflection(trial: Trial) -> None:
    """Check that at the opposite position sines change sign and cosines do not."""
    chosen = arguments(trial)
    ahead = trial.answer(**chosen)
    behind = trial.answer(**(chosen | {"x": -chosen["x"]}))
    kind = features(ahead.case)[2]
    for residual in (
        (ahead + behind)[..., kind == SIN],
        (ahead - behind)[..., kind == COS],
    ):
        trial.assert_zero(residual, "at the opposite position it is not the sines that change sign")


def repeats(which: int, apart: Callable[[Floats], Floats], what: str) -> Callable[[Trial], None]:
    """Make a check that positions one period apart have the same features in one band.

    ``which`` is 0 for the first band and 1 for the last. ``apart`` computes the periods from the
    resolutions.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        last = chosen["num_bands"] - 1
        if which and not last:
            return
        chosen["max_resolution"] = 2 ** np.arange(2, 2 + len(chosen["max_resolution"]))
        chosen["max_resolution"] = resolutions(trial, tuple(chosen["max_resolution"]))
        points = lattice(chosen["x"].shape)
        step = apart(chosen["max_resolution"].astype(np.float64))
        answer = trial.answer(**(chosen | {"x": points}))
        moved = trial.answer(**(chosen | {"x": points + step}))
        _, band, kind = features(answer.case)
        of_band = (band == which * last) & (kind != POSITION)
        trial.assert_zero((answer - moved)[..., of_band], what)

    return check


def coordinates_apart(trial: Trial) -> None:
    """Check that the first coordinate's features do not depend on the other coordinates."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    coord, _, _ = features(answer.case)
    other = chosen["x"].copy()
    other[..., 1:] = fine(other[..., 1:].shape, 41)
    moved = trial.answer(**(chosen | {"x": other}))
    trial.assert_zero(
        (answer - moved)[..., coord == 0],
        "features of the first coordinate change with the others",
    )


def position_copied(trial: Trial) -> None:
    """Check that the coordinates are among the features, exactly as given."""
    answer = trial.answer(**arguments(trial))
    coord, _, kind = features(answer.case)
    copied = kind == POSITION
    wrong = answer.values[..., copied] != answer.case.arguments["x"][..., coord[copied]]
    trial.assert_none(answer, wrong, "the position is not copied")


def by_bands(words: str, frequencies: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts the features of other bands."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, from_bands(case, frequencies(case)))

    return models


def log_bands(first: float) -> Callable[[Case], Floats]:
    """Make a function for bands in geometric progression, from ``first`` to the highest."""

    def frequencies(case: Case) -> Floats:
        top = case.arguments["max_resolution"] / 2
        count = case.arguments["num_bands"]
        return np.asarray(np.geomspace(np.full(len(top), first), top, count, axis=-1))

    return frequencies


def octaves(ratio: float) -> Callable[[Case], Floats]:
    """Make a function for the same bands on all axes, each ``ratio`` times the band before."""

    def frequencies(case: Case) -> Floats:
        row = ratio ** np.arange(case.arguments["num_bands"])
        return np.asarray(np.broadcast_to(row, (case.arguments["x"].shape[-1], len(row))))

    return frequencies


def up_to(part: float) -> Callable[[Case], Floats]:
    """Make a function for bands up to ``part`` of the resolution."""
    return lambda case: bands(case, case.arguments["max_resolution"] * part)


def without_an_end(first: float, steps: Callable[[int], Floats]) -> Callable[[Case], Floats]:
    """Make a function for bands at parts of the way from ``first`` to the highest.

    ``steps`` computes these parts from the number of bands.
    """

    def frequencies(case: Case) -> Floats:
        top = case.arguments["max_resolution"][:, None] / 2
        return np.asarray(first + (top - first) * steps(case.arguments["num_bands"]))

    return frequencies


def times_factor(factor: float) -> Callable[[Case], Floats]:
    """Make a function for the right bands times ``factor``."""
    return lambda case: bands(case) * factor


def one_resolution(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one axis's resolution used for all axes, or the resolutions in reverse order."""
    places = case.arguments["max_resolution"]
    for words, other in (
        ("the resolution of the first axis for all", np.full_like(places, places[0])),
        ("the resolution of the last axis for all", np.full_like(places, places[-1])),
        ("the largest resolution for all axes", np.full_like(places, places.max())),
        ("the resolutions of the axes in reverse order", places[::-1]),
    ):
        yield Prediction(f"matches {words}", from_bands(case, bands(case, other / 2)))


def first_of_the_batch(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the sines and cosines of the first batch entry for all entries.

    The copied positions are those of each entry, or those of the first.
    """
    x = case.arguments["x"]
    if x.ndim < 3:
        return
    coord, _, kind = features(case)
    first = x.reshape(-1, *x.shape[-2:])[:1].reshape(*[1] * (x.ndim - 2), *x.shape[-2:])
    for only in (first, x[:1]):
        alike = np.broadcast_to(only, x.shape)
        waves = from_half_turns(case, alike[..., None] * bands(case))
        yield Prediction("matches waves of the first of the batch", waves)
        whole = np.where(kind == POSITION, alike[..., coord], waves)
        yield Prediction("matches features of the first of the batch", np.asarray(whole))


def misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the right features in other orders that implementations use."""
    coord, band, kind = features(case)
    right = case.with_arguments().truth
    orders: dict[str, tuple[Any, ...]] = {
        "all sines before all cosines, by coordinate": (band, coord, kind),
        "all sines before all cosines, by band": (coord, band, kind),
        "sines, then cosines of each coordinate": (band, kind, coord),
        "sine and cosine in turns, by coordinate": (kind, band, coord),
        "sines, then cosines of each band": (coord, kind, band),
    }
    for where, key in (
        ("first", kind != POSITION),
        ("last", kind == POSITION),
        ("behind each coordinate", np.where(kind == POSITION, coord, coord - 0.5)),
    ):
        for words, keys in orders.items():
            order = np.lexsort((*keys, key))
            yield Prediction(f"matches {words}, the position {where}", right[..., order])
        order = np.lexsort((band, kind, np.where(kind == POSITION, 3, 0), coord))
        yield Prediction("matches each coordinate behind its waves", right[..., order])


def waves_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines exchanged."""
    yield Prediction(
        "matches sine and cosine exchanged",
        np.where(features(case)[2] == POSITION, case.with_arguments().truth, exchanged(case)),
    )


def exchanged(case: Case) -> Floats:
    """Compute cosines in place of sines, and sines in place of cosines."""
    coord, band, kind = features(case)
    angles = np.pi * case.arguments["x"][..., coord] * bands(case)[coord, band]
    return np.asarray(np.where(kind == SIN, np.cos(angles), np.sin(angles)))


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, bands or angles rounded to a narrow dtype, and waves of them."""
    x, right = case.arguments["x"][..., None], bands(case)
    for dtype in ("bfloat16", "float16"):
        p, w = round_to(x, dtype), round_to(right, dtype)
        both = round_to(np.pi * round_to(p * w, dtype), dtype) / np.pi
        held = [
            ("positions", p * right),
            ("bands", x * w),
            ("positions and bands", p * w),
            ("angles in half turns", round_to(p * w, dtype)),
            ("angles", round_to(np.pi * x * right, dtype) / np.pi),
            ("positions, bands and angles", both),
        ]
        yield from rounded_waves(
            held,
            dtype,
            x * right,
            lambda half_turns: from_half_turns(case, half_turns),
            lambda half_turns, short: from_half_turns(case, half_turns, short),
        )


def grid_shape(case: Case) -> tuple[int, ...]:
    """Return the shape of a grid: a row for every place, a column for every axis."""
    return int(np.prod(case.arguments["index_dims"])), len(case.arguments["index_dims"])


def grid_terms(case: Case) -> ErrorTerms:
    """Return scale 1 and angle 0.5: numbers below 2 are rounded a few times."""
    return ErrorTerms(np.ones(()), np.full((), 0.5))


def grid_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few places along a few axes."""
    allowed = trial.choose("coords", (1, 2, 3))
    fit = [grid for grid in GRIDS if len(grid) == allowed] or [[2] * allowed]
    return {"index_dims": np.array(trial.pick.one_of(fit))}


def grid_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of the places of a small image."""
    return {"index_dims": np.array([16] * parameters.get("coords", 2))}


def grid_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield grids of one place, of many places, and of many axes."""
    for grid in ([1], [2], [1000], [1, 1], [224, 3], [3, 225], [2, 1, 2, 3], [257, 128]):
        yield {"index_dims": np.array(grid)}


def corners(trial: Trial) -> None:
    """Check that each axis starts at -1, and ends at 1 if it has several places."""
    answer = trial.answer(**grid_arguments(trial))
    several_places = answer.case.arguments["index_dims"] > 1
    wrong = "the grid does not go from -1 to 1"
    trial.assert_zero(answer[0] + 1, wrong)
    trial.assert_zero((answer[-1] - 1)[several_places], wrong)


def opposite_places(trial: Trial) -> None:
    """Check that reversing the order of the places negates them.

    Axes of a single place are left out.
    """
    answer = trial.answer(**grid_arguments(trial))
    several_places = answer.case.arguments["index_dims"] > 1
    trial.assert_zero(
        (answer + answer[::-1])[:, several_places],
        "in reverse order the places are not the opposite ones",
    )


def index_of(case: Case) -> tuple[Integers, Integers]:
    """Return each place's index along each axis, and the number of places of each axis."""
    places = case.arguments["index_dims"]
    return np.indices(tuple(places)).reshape(len(places), -1).T, places


def other_places(words: str, where: Callable[[Integers, Integers], Any]) -> DeviationModel:
    """Make a model that computes places from their indices and the number of places per axis."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, np.asarray(where(*index_of(case)), dtype=np.float64))

    return models


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates in reverse order, the first axis fastest, or both."""
    right, places = case.with_arguments().truth, case.arguments["index_dims"]
    yield Prediction("matches coordinates in reverse order", right[:, ::-1])
    turned = np.arange(len(right)).reshape(tuple(places)).T.ravel()
    yield Prediction("matches the first axis fastest", right[turned])
    yield Prediction("matches the grid transposed", right[turned][:, ::-1])


KNOWLEDGE = {
    "perceiver_fourier": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        invariants={
            "norm": norm,
            "even-steps": even_steps,
            "dot-by-offset": dot_by_offset,
            "reflection": reflection,
            "first-band": repeats(
                0,
                lambda places: np.full(places.shape, 2.0),
                "in the first band points 2 apart differ",
            ),
            "last-band": repeats(
                1,
                lambda places: 4 / places,
                "in the last band points 4/max_resolution apart differ",
            ),
            "coordinates-apart": coordinates_apart,
            "position-copied": position_copied,
        },
        deviations={
            "log-bands": any_of(
                by_bands("matches bands in geometric progression from 1", log_bands(1.0)),
                by_bands("matches bands in geometric progression from 2", log_bands(2.0)),
            ),
            "octaves": any_of(
                by_bands("matches bands that double", octaves(2.0)),
                by_bands("matches bands that halve", octaves(0.5)),
            ),
            "nyquist-wrong": any_of(
                by_bands("matches bands up to the resolution, not half of it", up_to(1.0)),
                by_bands("matches bands up to a quarter of the resolution", up_to(0.25)),
            ),
            "last-band-missing": any_of(
                by_bands(
                    "matches equal steps that end before the highest band",
                    without_an_end(1.0, lambda count: np.arange(count) / count),
                ),
                by_bands(
                    "matches equal steps from 0 that leave 0 out",
                    without_an_end(0.0, lambda count: np.arange(1, count + 1) / count),
                ),
                by_bands(
                    "matches equal steps that begin at 0",
                    without_an_end(0.0, lambda count: np.arange(count) / max(count - 1, 1)),
                ),
            ),
            "factor-wrong": any_of(
                by_bands("matches no factor π", times_factor(1 / np.pi)),
                by_bands("matches a factor of 2π", times_factor(2.0)),
            ),
            "one-resolution": one_resolution,
            "first-of-the-batch": first_of_the_batch,
            "order-swapped": misplaced,
            "waves-swapped": waves_swapped,
            "low-precision-angles": narrow_angles,
        },
    ),
    "perceiver_positions": CallKnowledge(
        error_terms=grid_terms,
        arguments=grid_arguments,
        sweep=grid_sweep,
        sizes=grid_sizes,
        shape=grid_shape,
        invariants={"corners": corners, "opposite-places": opposite_places},
        deviations={
            "pixel-centers": other_places(
                "matches places in the middle of their cells", lambda i, n: (2 * i + 1) / n - 1
            ),
            "range-wrong": any_of(
                other_places("matches places from 0 to 1", lambda i, n: i / np.maximum(n - 1, 1)),
                other_places("matches places counted from 0", lambda i, n: i + 0.0),
            ),
            "axes-swapped": axes_swapped,
            "end-missing": other_places(
                "matches steps that do not reach 1", lambda i, n: 2 * i / n - 1
            ),
        },
    ),
}
