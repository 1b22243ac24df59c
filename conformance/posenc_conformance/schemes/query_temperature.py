"""Query temperature: invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import DeviationModel, Model, other_conventions
from posenc_conformance.judge.arrays import Floats, fine, narrowed
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.positions import reaching
from posenc_conformance.judge.trial import Trial

Numbers = npt.NDArray[np.int64]
Factor = Callable[[Case, Floats], Floats]
"""Factor of each row, from the numbers of the rows."""
ROWS = 6
LENGTHS = (3, 8192, 8, 100, 4096, 16384, 2048)


def first(case: Case) -> int:
    """Number of the query at position 0."""
    return int(case.conventions["count"] == "from-1")


def numbers(case: Case) -> Floats:
    """Number of each row."""
    return np.asarray(case.arguments["positions"] + first(case), dtype=np.float64)


def length_of(case: Case) -> int:
    """Queries between two steps, or the trained length."""
    return int(case.arguments["length"])


def in_steps(case: Case, number: Floats) -> Floats:
    """Factors that grow at multiples of the length."""
    steps = np.floor(number / length_of(case))
    return np.asarray(1 + case.arguments["beta"] * np.log1p(steps))


def logarithm(case: Case, number: Floats) -> Floats:
    """Logarithms to the base of the length, at least 1."""
    length = length_of(case)
    return np.asarray(np.log(np.maximum(number, length)) / np.log(length))


def factor_of(case: Case, number: Floats) -> Floats:
    """Factors of the call."""
    made = in_steps if case.call.name == "query_temperature" else logarithm
    return made(case, number)


def error_terms(case: Case) -> ErrorTerms:
    """The scale is the magnitude of the result; nothing is turned."""
    scale = np.abs(case.arguments["x"]) * factor_of(case, numbers(case))[:, None]
    return ErrorTerms(scale, np.zeros(()))


def arguments(trial: Trial) -> dict[str, Any]:
    """Two heads and a few queries about a multiple of the length."""
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


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """All powers of two up to the largest position."""
    positions = reaching(largest)
    rest = {name: value for name, value in parameters.items() if name != "head_dim"}
    return {
        "x": fine((len(positions), parameters.get("head_dim", 8))),
        "positions": positions,
        "length": 8192,
        "beta": 0.1,
        **rest,
    }


def log_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """The same for the logarithm."""
    chosen = sweep(parameters, largest) | {"length": parameters.get("length", 2048)}
    del chosen["beta"]
    return chosen


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Few and many channels, powers of two and not, and many rows."""
    length = length_of(case)
    for head_dim in (1, 2, 6, 64, 80, 128, 256):
        place = np.array([0, length - 1, 3 * length])
        yield {"x": fine((2, 3, head_dim)), "positions": place}
    yield {"x": fine((2049, 2)), "positions": np.arange(2049) * 7}


def untouched(trial: Trial) -> None:
    """Below the length nothing changes, bit by bit."""
    chosen = arguments(trial)
    chosen["positions"] = np.arange(ROWS) % chosen["length"]
    answer = trial.answer(**chosen)
    short = numbers(answer.case) < chosen["length"]
    wrong = (answer.values != answer.case.arguments["x"])[..., short, :]
    trial.never(answer, wrong, "queries below the length are changed")


def of_the_rows(trial: Trial) -> None:
    """Every channel of a row has the same factor: x by the factor of a row of ones."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    ones = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    trial.zero(
        answer - answer.case.arguments["x"] * ones,
        "the result is not x by what a query of ones becomes",
    )


def never_smaller(trial: Trial) -> None:
    """A later query has no smaller factor."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    gap = answer[..., 1:, :] - answer[..., :-1, :]
    trial.within(answer, np.minimum(gap.values, 0), gap.bound, "a later query has a smaller factor")


def steps_of_length(trial: Trial) -> None:
    """Between two multiples of the length the factor stays."""
    chosen = arguments(trial)
    answer = trial.answer(**(chosen | {"x": np.ones_like(chosen["x"])}))
    steps = numbers(answer.case) // chosen["length"]
    same = np.flatnonzero(np.diff(steps) == 0)
    trial.zero(
        answer[..., same + 1, :] - answer[..., same, :],
        "the factor changes between two multiples of the length",
    )


def squared_length(trial: Trial) -> None:
    """At the length squared the factor is 2."""
    chosen = arguments(trial)
    short = {"length": trial.choose("length", (8, 100, 64))}
    place = short["length"] ** 2 - int(trial.subject.combination.conventions["count"] == "from-1")
    if place <= trial.scope.max_position:
        answer = trial.answer(**(chosen | short | {"positions": np.full(ROWS, place)}))
        trial.zero(
            answer - 2 * answer.case.arguments["x"], "the factor at the length squared is not 2"
        )


def other_factor(words: str, factor: Factor) -> DeviationModel:
    """Queries by another factor for each row."""

    def models(case: Case, got: Floats) -> Iterator[Model]:
        found = factor(case, numbers(case))
        yield Model(words, np.asarray(case.arguments["x"] * found[..., :, None]))

    return models


def of_base(base: float) -> Factor:
    """A logarithm of another base in the steps."""

    def factor(case: Case, number: Floats) -> Floats:
        return np.asarray(1 + (in_steps(case, number) - 1) / np.log(base))

    return factor


def other_base(case: Case, got: Floats) -> Iterator[Model]:
    """Logarithms to base 2 or 10."""
    for base in (2, 10):
        yield from other_factor(f"matches logarithms to base {base}", of_base(base))(case, got)


def without_floor(case: Case, number: Floats) -> Floats:
    """The logarithm of the quotient as it is."""
    return np.asarray(1 + case.arguments["beta"] * np.log1p(number / length_of(case)))


def other_beta(case: Case, got: Floats) -> Iterator[Model]:
    """1, 0.1 or another number for beta."""
    for beta in (1.0, 0.1):
        if beta != case.arguments["beta"]:
            growth = np.log1p(np.floor(numbers(case) / length_of(case)))
            yield Model(
                f"matches beta {beta:g}; {case.arguments['beta']:g} was asked for",
                case.arguments["x"] * (1 + beta * growth)[:, None],
            )


def other_length(case: Case, got: Floats) -> Iterator[Model]:
    """Another length than the one asked for."""
    for length in (*LENGTHS, 1024, 32768, 131072, 262144):
        if length != length_of(case):
            other = case.changed(length=length)
            yield Model(
                f"matches the length {length}; {length_of(case)} was asked for",
                case.arguments["x"] * factor_of(other, numbers(case))[:, None],
            )


def narrow_positions(case: Case, got: Floats) -> Iterator[Model]:
    """Numbers held in a narrow dtype, before or after the 1 is added."""
    for dtype in ("bfloat16", "float16"):
        limit = np.finfo(np.float16).max if dtype == "float16" else np.inf
        if numbers(case).max(initial=0) > limit:
            continue
        place = narrowed(case.arguments["positions"].astype(np.float64), dtype)
        for number in (narrowed(place + first(case), dtype), place + first(case)):
            yield Model(
                f"matches positions in {dtype}",
                case.arguments["x"] * factor_of(case, number)[:, None],
            )
        quotient = narrowed(numbers(case) / length_of(case), dtype) * length_of(case)
        yield Model(
            f"matches numbers divided by the length in {dtype}",
            case.arguments["x"] * factor_of(case, quotient)[:, None],
        )


def squared(case: Case, number: Floats) -> Floats:
    """The factor twice."""
    return np.asarray(factor_of(case, number) ** 2)


def inverted(case: Case, number: Floats) -> Floats:
    """The temperature in the place of its inverse."""
    return np.asarray(1 / factor_of(case, number))


def of_the_last(case: Case, number: Floats) -> Floats:
    """The factor of the last query for all."""
    return np.asarray(factor_of(case, np.full_like(number, number.max(initial=0))))


def counted_anew(case: Case, number: Floats) -> Floats:
    """Rows counted from 0, whatever their positions."""
    return factor_of(case, np.arange(len(number), dtype=np.float64) + first(case))


def not_clipped(case: Case, number: Floats) -> Floats:
    """Logarithms below 1 too."""
    return np.asarray(np.log(np.maximum(number, 1e-300)) / np.log(length_of(case)))


def ones(case: Case, number: Floats) -> Floats:
    """No factor."""
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

ERROR_TERMS = {"query_temperature": error_terms, "query_log_scale": error_terms}
ARGUMENTS = {"query_temperature": arguments, "query_log_scale": arguments}
SWEEPS = {"query_temperature": sweep, "query_log_scale": log_sweep}
SIZES = {"query_temperature": sizes, "query_log_scale": sizes}
INVARIANTS: dict[str, dict[str, Check]] = {
    "query_temperature": {
        "untouched": untouched,
        "of-the-rows": of_the_rows,
        "never-smaller": never_smaller,
        "steps-of-length": steps_of_length,
    },
    "query_log_scale": {
        "log-untouched": untouched,
        "log-of-the-rows": of_the_rows,
        "log-never-smaller": never_smaller,
        "squared-length": squared_length,
    },
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "query_temperature": SHARED
    | {
        "without-floor": other_factor("matches a factor that grows smoothly", without_floor),
        "other-logarithm": other_base,
        "other-beta": other_beta,
    },
    "query_log_scale": SHARED
    | {"not-clipped": other_factor("matches factors below 1 at short lengths", not_clipped)},
}
