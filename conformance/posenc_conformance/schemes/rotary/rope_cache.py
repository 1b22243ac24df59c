"""Rotary embedding of keys in a KV cache: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import rounded_angles
from posenc_conformance.families.rotary import (
    LAYOUT_SWAPPED,
    POLAR,
    all_channels_rotated,
    channels,
    in_dtype,
    partial,
    progression,
    rest_passes,
    rotary_dim,
    some_channels,
)
from posenc_conformance.judge.arrays import Floats, Ints, fine, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LENGTHS = (6, 7, 17, 33, 65)
"""Numbers of rows to draw from. No block size divides them, except for the first."""
OF_TRUTH = 2.0**-48
"""The kit's float64 error when it turns a pair by a small angle, relative to the pair's length."""


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    return progression(case.arguments.get("base", 10000.0), rotary_dim(case))


def pairs_of(case: Case) -> tuple[Ints, Ints]:
    """Return the channels of the first and of the second member of each pair."""
    return channels(rotary_dim(case), str(case.conventions["layout"]))


def turned(case: Case, by: Ints) -> Floats:
    """Turn the rows of x by the distances ``by``."""
    return by_angles(case, by[:, None] * frequencies(case))


def by_angles(case: Case, angles: Floats, dtype: str = "float64") -> Floats:
    """Turn the rows of x by these angles, with cosines and sines in ``dtype``."""
    x, cos, sin = case.arguments["x"], *in_dtype(angles, dtype)
    (first, second), out = pairs_of(case), x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return np.asarray(out)


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, frequencies or angles in a narrow dtype, and tables of them."""
    yield from rounded_angles(
        np.asarray(case.arguments["deltas"][:, None], np.float64),
        frequencies(case),
        lambda angles: by_angles(case, angles),
        lambda angles, dtype: by_angles(case, angles, dtype),
    )


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, the length of the turned pair, and the angle."""
    x, omega = case.arguments["x"], frequencies(case)
    first, second = pairs_of(case)
    lost = np.abs(case.arguments["deltas"])[:, None] * omega * (1 + np.abs(np.log(omega)))
    scale, angles = np.zeros(x.shape), np.zeros(x.shape)
    for channel in (first, second):
        scale[..., channel] = np.hypot(x[..., first], x[..., second])
        angles[..., channel] = lost + POLAR / case.scheme.accuracy.angle
    return ErrorTerms(scale, angles)


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies of all rows in the claimed layout, then in the other."""
    claimed = str(case.conventions["layout"])
    x, bound = case.arguments["x"], case.bound
    rows = x.reshape(-1, x.shape[-1])
    result, allowed = (array.reshape(rows.shape) for array in (output, bound))
    places = np.broadcast_to(case.arguments["deltas"], x.shape[:-1]).reshape(-1, 1)
    for layout in dict.fromkeys((claimed, *case.scheme.conventions["layout"].values)):
        first, second = channels(rotary_dim(case), str(layout))
        yield fit_frequencies(
            case,
            (rows[:, first] + 1j * rows[:, second], result[:, first] + 1j * result[:, second]),
            places,
            frequencies(case),
            allowed[:, first] + allowed[:, second],
            f", in the {layout} layout" * (layout != claimed),
        )


# Arguments.


def drawn_deltas(trial: Trial, n: int) -> Ints:
    """Draw shift distances: 0 for up to two first rows, like the sinks of a cache, then others.

    The others are equal or different, more often toward the front than away from it.
    """
    most = max(0, min(4095, trial.scope.max_position))
    far = trial.pick.integer(min(3, most), most)
    sign = trial.pick.one_of((-1, -1, 1))
    stay = trial.pick.one_of((2, 0, 1))
    how = trial.pick.one_of(("alike", "each", "both ways"))
    deltas = np.full(n, far)
    if how != "alike":
        deltas = far - np.arange(n) % (1 + min(far, 5))
    if how == "both ways":
        deltas[::2] *= -1
    deltas[:stay] = 0
    return np.asarray(sign * deltas)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads of a few rows, and a distance for each row."""
    n = trial.pick.one_of(LENGTHS)
    size = trial.choose("head_dim", (8, 4, 6, 16, 64, 80, 128))
    base = trial.choose("base", (10000.0, 500000.0, 1e6, 100.0))
    chosen = {"x": fine((2, n, size)), "deltas": drawn_deltas(trial, n), "base": base}
    return some_channels(trial, size) | chosen


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make shifts by all powers of two up to the largest distance, in both directions."""
    far = positions_up_to(largest)
    deltas = far * np.where(np.arange(len(far)) % 3 == 1, 1, -1)
    x = fine((1, len(far), parameters.get("head_dim", 128)))
    return {"x": x, "deltas": deltas, "base": 10000.0, **_given(parameters)}


def _given(parameters: Arguments) -> ArgumentDict:
    return {name: value for name, value in parameters.items() if name != "head_dim"}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield row counts that no block divides, small and large heads, and distances of all kinds."""
    for rows, dim in (
        *((3, dim) for dim in (2, 4, 6, 10, 16, 48, 64, 80, 96, 128, 130, 256, 512)),
        *((rows, 4) for rows in (1, 31, 63, 65, 127, 129, 255, 1000, 2049, 4097)),
    ):
        yield {"x": fine((2, rows, dim)), "deltas": 5 - np.arange(rows) % 12}
    for heads in (1, 7, 130):
        yield {"x": fine((heads, 3, 4)), "deltas": np.array([0, -40, 7])}
    # One row, moved by one distance after another, as in a recorded call.
    for delta in (0, -1, -512, 0, 4095):
        yield {"x": fine((2, 1, 8)), "deltas": np.array([delta])}
    yield {"x": fine((2, 0, 8)), "deltas": np.array([], dtype=np.int64)}
    for deltas in ([5, 0, 3, -1, 4, -2], [-3, -3, 0, -3, 0, 0], [-100, -255, 3, -1, 0, -5000]):
        yield {"x": fine((2, 6, 8)), "deltas": np.array(deltas)}


# Invariants.


def carried(once: Answer) -> Floats:
    """Bound the error of each member of a pair after the pair has been turned by any angle."""
    first, second = pairs_of(once.case)
    out = np.zeros(once.bound.shape)
    out[..., first] = out[..., second] = np.hypot(once.bound[..., first], once.bound[..., second])
    return np.asarray(out)


def shifted_as_rotated(trial: Trial) -> None:
    """Check that rotated keys, when moved, are the keys rotated at the new positions."""
    chosen = arguments(trial)
    deltas = chosen["deltas"]
    positions = max(0, -int(deltas.min(initial=0))) + np.arange(len(deltas))
    plain = trial.case(**chosen)
    before, expected = turned(plain, positions), turned(plain, positions + deltas)
    keys = round_to(before, trial.dtype)
    answer = trial.answer(**(chosen | {"x": keys}))
    rounding = Answer(answer.case, answer.output, keys - before, np.abs(keys - before))
    far = np.abs(positions)[:, None] + np.abs(deltas)[:, None] + 1
    scale = answer.case.terms.scale
    allowed = carried(rounding) + OF_TRUTH * far * scale
    trial.assert_zero(
        (answer - Exact(expected)).allowing(allowed),
        "keys rotated at their old positions and moved are not those of the new positions",
    )


def two_shifts(trial: Trial) -> None:
    """Check that two shifts are one shift by their sum, and that moving keys back restores them."""
    chosen = arguments(trial)
    deltas = chosen["deltas"]
    once = trial.answer(**chosen)
    half = deltas // 2
    for then, whole in ((-deltas, 0 * deltas), (half - deltas, half)):
        twice = trial.answer(**(chosen | {"x": once.values, "deltas": then}))
        at_once = trial.answer(**(chosen | {"deltas": whole}))
        trial.assert_zero(
            at_once - twice.allowing(carried(once)),
            "moved twice, keys are not what they are moved by the sum at once",
        )


def isometry(trial: Trial) -> None:
    """Check that every pair keeps its length."""
    answer = trial.answer(**arguments(trial))
    x = answer.case.arguments["x"]
    first, second = pairs_of(answer.case)
    before = x[..., first] ** 2 + x[..., second] ** 2
    after = answer[..., first] * answer[..., first] + answer[..., second] * answer[..., second]
    trial.assert_zero(after - before, "a pair has another length than before")


def pass_through(trial: Trial) -> None:
    """Check that channels from rotary_dim on are returned bit for bit."""
    rest_passes(trial, partial(trial, arguments(trial)))


# Models of mistakes.


def last_block_skipped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows after the last full block left unchanged, or never written."""
    x, n = case.arguments["x"], case.shape[-2]
    whole = turned(case, case.arguments["deltas"])
    for full in dict.fromkeys(n // size * size for size in (2 ** np.arange(1, 12)).tolist()):
        if 0 < full < n:
            for words, beyond in (("left as they were", x), ("never written", 0 * x)):
                rows = np.where(np.arange(n)[:, None] < full, whole, beyond)
                yield Prediction(f"matches full blocks of rows, those from {full} on {words}", rows)


def shift_reversed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys turned the wrong way."""
    back = turned(case, -case.arguments["deltas"])
    yield Prediction("matches keys turned back by the shift", back)


def shift_unsigned(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict negative distances taken for 0, or for positive ones."""
    deltas = case.arguments["deltas"]
    if (deltas < 0).any():
        clipped = turned(case, np.maximum(deltas, 0))
        yield Prediction("matches distances below 0 taken for 0", clipped)
        yield Prediction("matches distances without their sign", turned(case, np.abs(deltas)))


def shift_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys left unchanged."""
    yield Prediction("matches keys as they were, not moved", case.arguments["x"])


def first_delta_for_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all rows turned by the distance of one row."""
    deltas = case.arguments["deltas"]
    for row, words in ((0, "first"), (-1, "last")):
        if deltas.size:
            same = np.full_like(deltas, deltas[row])
            yield Prediction(f"matches the distance of the {words} row for all", turned(case, same))


def rotated_anew(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows turned by their index plus the distance."""
    deltas = case.arguments["deltas"]
    anew = turned(case, np.arange(len(deltas)) + deltas)
    yield Prediction("matches rows turned by their own number, too", anew)


KNOWLEDGE = {
    "rope_shift": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=lambda case: case.arguments["x"].shape,
        places=lambda case: case.arguments["deltas"],
        at_one=lambda case, place: case.with_arguments(
            deltas=np.full_like(case.arguments["deltas"], place)
        ),
        frequencies=read_frequencies,
        readings=(low_precision,),
        invariants={
            "shifted-as-rotated": shifted_as_rotated,
            "two-shifts": two_shifts,
            "shift-isometry": isometry,
            "shift-pass-through": pass_through,
        },
        deviations={
            "layout-swapped": LAYOUT_SWAPPED,
            "rotary-dim-ignored": all_channels_rotated,
            "shift-ignored": shift_ignored,
            "shift-reversed": shift_reversed,
            "shift-unsigned": shift_unsigned,
            "first-delta-for-all": first_delta_for_all,
            "rotated-anew": rotated_anew,
            "last-block-skipped": last_block_skipped,
        },
    ),
}
