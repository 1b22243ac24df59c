"""Normalised positions: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping

import numpy as np

from posenc_conformance.families.encodings import channels_alike
from posenc_conformance.judge.arrays import Floats, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LENGTHS = (9, 2, 3, 5, 4, 6, 17, 33, 100)
SMALLEST_NORMAL = {"float16": 2.0**-14}
"""The smallest normal number of float16; those of other dtypes are too small to matter."""
LARGEST_FLOAT16 = 65504


def shape(case: Case) -> tuple[int, int]:
    """Return the shape [length, dim]."""
    return case.arguments["length"], case.arguments["dim"]


def error_terms(case: Case) -> ErrorTerms:
    """Return the value as scale, and angle 0.

    The scale is at least the smallest normal number, but 0 where the value is 0.
    """
    part = parts(case)
    least = SMALLEST_NORMAL.get(case.dtype, 0.0)
    return ErrorTerms(np.where(part > 0, np.maximum(part, least), 0.0), np.zeros(()))


def places(case: Case) -> Floats:
    """Return the positions as a column."""
    return np.arange(case.arguments["length"], dtype=np.float64)[:, None]


def parts(case: Case) -> Floats:
    """Compute the column that is repeated along the channels."""
    return np.asarray(places(case) / (case.arguments["length"] - 1))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a short sequence."""
    lengths = [length for length in LENGTHS if length - 1 <= trial.scope.max_position]
    return {
        "length": trial.choose("length", lengths),
        "dim": trial.choose("dim", (4, 1, 2, 3, 7, 64)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of more positions than 16 bits can count, or up to the largest position."""
    return {"length": max(2, min(largest, 2**16) + 1), "dim": 1, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield short and long, narrow and wide results, with powers of two and other sizes."""
    for length in (2, 3, 4, 7, 8, 16, 64, 65, 127, 256, 257, 512, 1000, 2049):
        yield {"length": length, "dim": 2}
    for dim in (1, 2, 3, 5, 8, 16, 31, 64, 100, 128, 257, 512, 1000):
        yield {"length": 3, "dim": dim}


def equal_channels(trial: Trial) -> None:
    """Check that all channels of a position contain the same number."""
    channels_alike(trial, trial.answer(**arguments(trial)))


def endpoints(trial: Trial) -> None:
    """Check that the first row is 0 and the last is 1."""
    answer = trial.answer(**arguments(trial))
    trial.assert_zero(answer[[0, -1]] - np.array([[0], [1]]), "the ends are not 0 and 1")


def equal_steps(trial: Trial) -> None:
    """Check that the step is 1/(L-1) everywhere."""
    answer = trial.answer(**arguments(trial))
    step = 1 / (answer.case.arguments["length"] - 1)
    trial.assert_zero(answer[1:] - answer[:-1] - step, "neighbours do not differ by 1/(L-1)")


def reversal(trial: Trial) -> None:
    """Check that rows p and L-1-p add up to 1."""
    answer = trial.answer(**arguments(trial))
    trial.assert_zero(answer + answer[::-1] - 1, "rows p and L-1-p do not add up to 1")


def stretched(trial: Trial) -> None:
    """Check that a sequence is every k-th row of one that is k times as long."""
    chosen = arguments(trial)
    k = trial.pick.integer(2, 4)
    length = trial.choose("length", (k * (chosen["length"] - 1) + 1,))
    if length != k * (chosen["length"] - 1) + 1 or length - 1 > trial.scope.max_position:
        return
    answer, longer = trial.answer(**chosen), trial.answer(**(chosen | {"length": length}))
    trial.assert_zero(
        answer - longer[::k],
        f"row p of length {chosen['length']} is not row {k}p of length {length}",
    )


def as_models(explanations: Mapping[str, Floats], case: Case) -> Iterator[Prediction]:
    """Predict columns repeated along the channels."""
    for explanation, column in explanations.items():
        yield Prediction(explanation, np.broadcast_to(column, case.shape).astype(np.float64))


def divided_by_length(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict p/L."""
    yield from as_models({"matches p/L": places(case) / case.arguments["length"]}, case)


def counted_from_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict (p+1)/L."""
    yield from as_models({"matches (p+1)/L": (places(case) + 1) / case.arguments["length"]}, case)


def half_steps(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict (p+1/2)/L."""
    column = (places(case) + 0.5) / case.arguments["length"]
    yield from as_models({"matches (p+1/2)/L": column}, case)


def symmetric_range(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a range from -1 to 1."""
    yield from as_models({"matches the range from -1 to 1": 2 * parts(case) - 1}, case)


def unnormalized(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the position p itself."""
    yield from as_models({"matches the positions themselves": places(case)}, case)


def reversed_rows(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a range from 1 to 0."""
    yield from as_models({"matches rows in reverse order": parts(case)[::-1]}, case)


def narrow_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, quotients or both rounded to a narrow dtype."""
    last = case.arguments["length"] - 1
    for dtype in ("bfloat16", "float16"):
        if last > LARGEST_FLOAT16 and dtype == "float16":
            continue  # positions would be infinite
        place = round_to(places(case), dtype)
        held = {
            "quotients": round_to(parts(case), dtype),
            "positions": place / last,
            "positions and the last one": place / place[-1],
            "positions and quotients": round_to(place / place[-1], dtype),
        }
        explanations = {f"matches {name} in {dtype}": column for name, column in held.items()}
        yield from as_models(explanations, case)


KNOWLEDGE = {
    "normalized": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        invariants={
            "equal-channels": equal_channels,
            "endpoints": endpoints,
            "equal-steps": equal_steps,
            "reversal": reversal,
            "stretched": stretched,
        },
        deviations={
            "divided-by-length": divided_by_length,
            "counted-from-one": counted_from_one,
            "half-steps": half_steps,
            "symmetric-range": symmetric_range,
            "unnormalized": unnormalized,
            "reversed": reversed_rows,
            "narrow-positions": narrow_positions,
        },
    ),
}
