"""The position itself: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import predict_case, shifted_positions
from posenc_conformance.families.encodings import channels_alike
from posenc_conformance.families.encodings import dot_products as dots
from posenc_conformance.judge.arrays import Floats, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 9
LARGEST_FLOAT16 = 65504


def error_terms(case: Case) -> ErrorTerms:
    """Return the position as scale, and angle 0.

    In float16, the scale is nan for positions above 65504, which are not judged.
    """
    size = np.abs(case.arguments["positions"]).astype(np.float64)[:, None]
    beyond = (size > LARGEST_FLOAT16) & (case.dtype == "float16")
    return ErrorTerms(np.where(beyond, np.nan, size), np.zeros(()))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few consecutive positions."""
    return {
        "positions": trial.position(ROWS) + np.arange(ROWS),
        "dim": trial.choose("dim", (4, 1, 2, 3, 7, 64)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position, at most up to 65504."""
    return {"positions": positions_up_to(min(largest, LARGEST_FLOAT16)), "dim": 3, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, powers of two and others, and many rows."""
    for dim in (1, 2, 3, 5, 8, 16, 31, 64, 100, 128, 257, 512, 1000):
        yield {"dim": dim, "positions": np.array([0, 1, 7])}
    yield {"dim": 2, "positions": np.arange(2049)}


def equal_channels(trial: Trial) -> None:
    """Check that all channels of a position contain the same number."""
    channels_alike(trial, trial.answer(**arguments(trial)))


def origin(trial: Trial) -> None:
    """Check that position 0 gives zeros."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.zeros(2, dtype=np.int64)}))
    trial.assert_none(answer, answer.values != 0, "position 0 is not zero")


def step(trial: Trial) -> None:
    """Check that values of neighbouring positions differ by 1."""
    answer = trial.answer(**arguments(trial))
    trial.assert_zero(answer[1:] - answer[:-1] - 1, "neighbours do not differ by 1")


def one_direction(trial: Trial) -> None:
    """Check that each row is a multiple of the first one."""
    answer = trial.answer(**arguments(trial))
    place = answer.case.arguments["positions"][:, None]
    trial.assert_zero(
        answer * place[0] - answer[:1] * place, "rows are not multiples of each other"
    )


def dot_products(trial: Trial) -> None:
    """Check that the dot product of the rows at positions m and n is d m n."""
    answer = trial.answer(**arguments(trial))
    place, dim = answer.case.arguments["positions"], answer.case.arguments["dim"]
    trial.assert_zero(dots(answer) - dim * np.outer(place, place), "a dot product is not d m n")


def positions_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict shifted positions, first by the median error of the values."""
    finite = np.isfinite(case.truth)
    estimate = float(np.median((got - case.truth)[finite])) if finite.any() else np.nan
    yield from shifted_positions(case, estimate)


def row_numbers(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict row numbers, counted from 0 or 1, instead of positions."""
    numbers = np.arange(len(case.arguments["positions"]))
    for first in (0, 1):
        yield from predict_case(
            case.with_arguments(positions=numbers + first),
            f"matches row numbers counted from {first}",
        )


def channel_numbers(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict channel numbers, counted from 0 or 1."""
    for first in (0, 1):
        row = first + np.arange(case.shape[1], dtype=np.float64)
        yield Prediction(f"matches channel numbers counted from {first}", 0 * case.truth + row)


def normalized_after_all(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions divided by the largest one, by their number, or by one less."""
    rows = len(case.arguments["positions"])
    divisors = {
        "the largest position": np.max(case.arguments["positions"], initial=0),
        "the number of positions": rows,
        "the number of positions less one": rows - 1,
    }
    for name, divisor in divisors.items():
        if divisor > 0:
            yield Prediction(f"matches positions divided by {name}", case.truth / float(divisor))


def narrow_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions rounded to a narrow dtype."""
    for dtype in ("bfloat16", "float16"):
        yield Prediction(f"matches positions in {dtype}", round_to(case.truth, dtype))


def positions_wrapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions stored in integers of 8, 16 or 32 bits."""
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        yield from predict_case(
            case.with_arguments(
                positions=case.arguments["positions"].astype(kind).astype(np.int64)
            ),
            f"matches positions held in {np.dtype(kind).name}",
        )


KNOWLEDGE = {
    "integer": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "equal-channels": equal_channels,
            "origin": origin,
            "step": step,
            "one-direction": one_direction,
            "dot-products": dot_products,
        },
        deviations={
            "positions-shifted": positions_shifted,
            "row-numbers": row_numbers,
            "channel-numbers": channel_numbers,
            "normalized-after-all": normalized_after_all,
            "positions-wrapped": positions_wrapped,
            "narrow-positions": narrow_positions,
        },
    ),
}
