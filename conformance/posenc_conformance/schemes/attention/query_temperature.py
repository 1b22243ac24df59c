"""Query temperature: invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Numbers = npt.NDArray[np.int64]
Factor = Callable[[Case, Floats], Floats]
"""A function from the numbers of the rows to the factor of each row."""
ROWS = 6
LENGTHS = (3, 8192, 8, 100, 4096, 16384, 2048)


def first(case: Case) -> int:
    """Return the number of the query at position 0."""
    return int(case.conventions["count"] == "from-1")


def numbers(case: Case) -> Floats:
    """Return the number of each row."""
    return np.asarray(case.arguments["positions"] + first(case), dtype=np.float64)


def length_of(case: Case) -> int:
    """Return the number of queries between two steps, or the trained length."""
    return int(case.arguments["length"])


def in_steps(case: Case, number: Floats) -> Floats:
    """Compute factors that grow at multiples of the length."""
    steps = np.floor(number / length_of(case))
    return np.asarray(1 + case.arguments["beta"] * np.log1p(steps))


def logarithm(case: Case, number: Floats) -> Floats:
    """Compute logarithms to the base of the length, at least 1."""
    length = length_of(case)
    return np.asarray(np.log(np.maximum(number, length)) / np.log(length))


def factor_of(case: Case, number: Floats) -> Floats:
    """Compute the factors of the case's call for these numbers."""
    made = in_steps if case.call.name == "query_temperature" else logarithm
    return made(case, number)


def error_terms(case: Case) -> ErrorTerms:
    """Return the magnitude of the result as scale, and angle 0: nothing is rotated."""
    scale = np.abs(case.arguments["x"]) * factor_of(case, numbers(case))[:, None]
    return ErrorTerms(scale, np.zeros(()))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few queries around a multiple of the length."""
    length = trial.choose("length", LENGTHS)
    blocks = min(
        trial.pick.one_of((1, 0, 5000, 2, 3, 7)), (trial.scope.max_position - ROWS) // length
    )
    start = max(0, blocks * length - 1 - trial.pick.integer(1, 4))
    chosen = {
        "x": fine((2, ROWS, trial.choose("head_dim", (8, 1, 2, 64))), start % 5),
        "positions": start + np.arange(ROWS),
        "length": length,
    }
    if trial.subject.call.name == "query_temperature":
        chosen["beta"] = trial.choose("beta", (0.5, 0.1, 1.0))
    return chosen


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach all powers of two up to the largest position."""
    positions = positions_up_to(largest)
    others = {name: value for name, value in parameters.items() if name != "head_dim"}
    return {
        "x": fine((len(positions), parameters.get("head_dim", 8))),
        "positions": positions,
        "length": 8192,
        "beta": 0.1,
        **others,
    }


def log_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Reach all powers of two up to the largest position, for the logarithm."""
    chosen = sweep(parameters, largest) | {"length": parameters.get("length", 2048)}
    del chosen["beta"]
    return chosen


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, powers of two and others, and many rows."""
    length = length_of(case)
    for head_dim in (1, 2, 6, 64, 80, 128, 256):
        place = np.array([0, length - 1, 3 * length])
        yield {"x": fine((2, 3, head_dim)), "positions": place}
    yield {"x": fine((2049, 2)), "positions": np.arange(2049) * 7}


def untouched(trial: Trial) -> None:
    """Check that queries below the length are unchanged, bit by bit."""
    chosen = arguments(trial)
    chosen["positions"] = np.arange(ROWS) % chosen["length"]
    answer = trial.answer(**chosen)
    short = numbers(answer.case) < chosen["length"]
    wrong = (answer.values != answer.case.arguments["x"])[..., short, :]
    trial.assert_none(answer, wrong, "queries below the length are changed")


def of_the_rows(trial: Trial) -> None:
    """Check that every channel of a row has the same factor.

    The result must be x times the result for ones.
    """
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    ones = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    trial.assert_zero(
        answer - answer.case.arguments["x"] * ones,
        "the result is not x by what a query of ones becomes",
    )


def never_smaller(trial: Trial) -> None:
    """Check that factors never decrease with the position."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    gap = answer[..., 1:, :] - answer[..., :-1, :]
    trial.assert_within(
        answer, np.minimum(gap.values, 0), gap.bound, "a later query has a smaller factor"
    )


def steps_of_length(trial: Trial) -> None:
    """Check that the factor is constant between two multiples of the length."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    steps = numbers(answer.case) // chosen["length"]
    same = np.flatnonzero(np.diff(steps) == 0)
    trial.assert_zero(
        answer[..., same + 1, :] - answer[..., same, :],
        "the factor changes between two multiples of the length",
    )


def squared_length(trial: Trial) -> None:
    """Check that the factor is 2 at the length squared."""
    chosen = arguments(trial)
    short = {"length": trial.choose("length", (8, 100, 64))}
    place = short["length"] ** 2 - int(trial.subject.combination.conventions["count"] == "from-1")
    if place <= trial.scope.max_position:
        answer = trial.answer(**(chosen | short | {"positions": np.full(ROWS, place)}))
        trial.assert_zero(
            answer - 2 * answer.case.arguments["x"], "the factor at the length squared is not 2"
        )


def other_factor(words: str, factor: Factor) -> DeviationModel:
    """Make a model that predicts queries times another factor for each row."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        factors = factor(case, numbers(case))
        yield Prediction(words, np.asarray(case.arguments["x"] * factors[..., :, None]))

    return models


def of_base(base: float) -> Factor:
    """Make a factor that uses logarithms to another base."""

    def factor(case: Case, number: Floats) -> Floats:
        return np.asarray(1 + (in_steps(case, number) - 1) / np.log(base))

    return factor


def other_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict logarithms to base 2 or 10."""
    for base in (2, 10):
        yield from other_factor(f"matches logarithms to base {base}", of_base(base))(case, got)


def without_floor(case: Case, number: Floats) -> Floats:
    """Compute factors from quotients that are not rounded down."""
    return np.asarray(1 + case.arguments["beta"] * np.log1p(number / length_of(case)))


def other_beta(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with 1 or 0.1 for beta."""
    asked = float(case.arguments["beta"])
    for beta in (1.0, 0.1):
        if beta != asked:
            growth = np.log1p(np.floor(numbers(case) / length_of(case)))
            yield Prediction(
                "matches beta {}; {} was asked for".format(*apart(beta, asked, digits=6)),
                case.arguments["x"] * (1 + beta * growth)[:, None],
            )


def other_length(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another length."""
    for length in (*LENGTHS, 1024, 32768, 131072, 262144):
        if length != length_of(case):
            other = case.with_arguments(length=length)
            yield Prediction(
                f"matches the length {length}; {length_of(case)} was asked for",
                case.arguments["x"] * factor_of(other, numbers(case))[:, None],
            )


def narrow_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict numbers, or their quotients by the length, rounded to a narrow dtype.

    Numbers are rounded before the convention's 1 is added, or before and after.
    """
    for dtype in ("bfloat16", "float16"):
        limit = np.finfo(np.float16).max if dtype == "float16" else np.inf
        if numbers(case).max(initial=0) > limit:
            continue
        place = round_to(case.arguments["positions"].astype(np.float64), dtype)
        for number in (round_to(place + first(case), dtype), place + first(case)):
            yield Prediction(
                f"matches positions in {dtype}",
                case.arguments["x"] * factor_of(case, number)[:, None],
            )
        quotient = round_to(numbers(case) / length_of(case), dtype) * length_of(case)
        yield Prediction(
            f"matches numbers divided by the length in {dtype}",
            case.arguments["x"] * factor_of(case, quotient)[:, None],
        )


def squared(case: Case, number: Floats) -> Floats:
    """Compute the factors applied twice."""
    return np.asarray(factor_of(case, number) ** 2)


def inverted(case: Case, number: Floats) -> Floats:
    """Compute the inverse of the factors."""
    return np.asarray(1 / factor_of(case, number))


def of_the_last(case: Case, number: Floats) -> Floats:
    """Compute the factor of the last query for all rows."""
    return np.asarray(factor_of(case, np.full_like(number, number.max(initial=0))))


def counted_anew(case: Case, number: Floats) -> Floats:
    """Compute the factors of rows counted from position 0, regardless of their positions."""
    return factor_of(case, np.arange(len(number), dtype=np.float64) + first(case))


def not_clipped(case: Case, number: Floats) -> Floats:
    """Compute logarithms to the base of the length, without the minimum of 1."""
    return np.asarray(np.log(np.maximum(number, 1e-300)) / np.log(length_of(case)))


def ones(case: Case, number: Floats) -> Floats:
    """Return a factor of 1 for every row."""
    return np.ones_like(number)


Check = Callable[[Trial], None]

SHARED: dict[str, DeviationModel] = {
    "count-swapped": other_conventions(
        "count", "matches queries counted {value}; {claimed} was claimed"
    ),
    "unscaled": other_factor("matches x as it came", ones),
    "scaled-twice": other_factor("matches the factor applied twice", squared),
    "divided": other_factor("matches x divided by the factor", inverted),
    "factor-of-the-last": other_factor(
        "matches the factor of the last query used for all", of_the_last
    ),
    "counted-anew": other_factor(
        "matches rows counted from 0, whatever their positions", counted_anew
    ),
    "other-length": other_length,
    "narrow-positions": narrow_positions,
}


KNOWLEDGE = {
    "query_temperature": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "untouched": untouched,
            "of-the-rows": of_the_rows,
            "never-smaller": never_smaller,
            "steps-of-length": steps_of_length,
        },
        deviations=SHARED
        | {
            "without-floor": other_factor("matches a factor that grows smoothly", without_floor),
            "other-logarithm": other_base,
            "other-beta": other_beta,
        },
    ),
    "query_log_scale": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=log_sweep,
        sizes=sizes,
        invariants={
            "log-untouched": untouched,
            "log-of-the-rows": of_the_rows,
            "log-never-smaller": never_smaller,
            "squared-length": squared_length,
        },
        deviations=SHARED
        | {"not-clipped": other_factor("matches factors below 1 at short lengths", not_clipped)},
    ),
}
