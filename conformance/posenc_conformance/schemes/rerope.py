"""ReRoPE and Leaky ReRoPE: their distances, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.families.lengths import Integers, queries
from posenc_conformance.families.remapped import Distance, Remapped, error_terms, keys, logits
from posenc_conformance.families.scores import sweep, toeplitz
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import InvariantCheck, Trial

WINDOWS = (5, 2, 8, 1, 16)
CALLS = ("rerope_scores", "leaky_rerope_scores")


def drawn(trial: Trial) -> dict[str, Any]:
    """Windows, and what distances beyond are divided by if they leak."""
    chosen: dict[str, Any] = {"window": trial.choose("window", WINDOWS)}
    if trial.subject.call.name == "leaky_rerope_scores":
        chosen["factor"] = trial.choose("factor", (4.0, 2.0, 1.5, 16.0))
    return chosen


def beyond(other: Callable[[Case, Floats], Any]) -> Distance:
    """Another distance beyond the window, from the distance of positions."""

    def distance(case: Case, query: Integers, key: Integers) -> Floats:
        lag = np.asarray(query - key, dtype=np.float64)
        return np.where(lag < case.arguments["window"], lag, other(case, lag))

    return distance


def clipped(case: Case, lag: Floats) -> Any:
    """The window."""
    return case.arguments["window"]


def leaking(case: Case, lag: Floats) -> Floats:
    """The rest divided."""
    window, factor = case.arguments["window"], case.arguments["factor"]
    return np.asarray(window + (lag - window) / factor)


def beyond_window(case: Case) -> Integers:
    """Keys at the window and beyond are one group."""
    return np.where(queries(case) - keys(case) < case.arguments["window"], -1, 0)


def without_window(case: Case) -> dict[str, Any]:
    """The arguments with a window for all keys."""
    return {**case.arguments, "window": int(case.parameter("k_len")) + 1}


RIGHT: dict[str, Callable[[Case, Floats], Any]] = {CALLS[0]: clipped, CALLS[1]: leaking}
SCORES = Remapped(beyond(clipped), drawn, without_window, {"window": 16})
LEAKY = Remapped(beyond(leaking), drawn, without_window, {"window": 16, "factor": 4.0})


def window_off_by_one(case: Case, got: Floats) -> Iterator[Model]:
    """Distances that end, or begin to leak, one too late or too early."""
    window, right = case.arguments["window"], RIGHT[case.call.name]
    lag = np.asarray(queries(case) - keys(case), dtype=np.float64)
    for more in (1, -1):
        edge = window + more
        found = np.where(lag < edge, lag, right(case, lag - more) + more)
        yield Model(f"matches a window of {edge}; {window} was asked for", logits(case, found))


def keys_turned(case: Case, query: Integers, key: Integers) -> Floats:
    """Far queries turned by the window, far keys still by their own positions."""
    window = case.arguments["window"]
    return np.where(query - key < window, query - key, window - key).astype(np.float64)


def keys_undivided(case: Case, query: Integers, key: Integers) -> Floats:
    """Positions of far queries divided, those of far keys not."""
    window, factor = case.arguments["window"], case.arguments["factor"]
    moved = (query + window * (factor - 1)) / factor
    return np.where(query - key < window, query - key, moved - key)


def moved_by(offset: Callable[[Case], Any]) -> Distance:
    """Divided distances to which another offset is added before."""
    return beyond(lambda case, lag: (lag + offset(case)) / case.arguments["factor"])


WRONG_OFFSETS = (
    ("the distance divided", moved_by(lambda case: 0)),
    ("the distance and the window divided", moved_by(lambda case: case.arguments["window"])),
)


def offset_wrong(case: Case, got: Floats) -> Iterator[Model]:
    """Divided distances that do not go on from the window."""
    for words, wrong in WRONG_OFFSETS:
        yield Model(
            f"matches {words} beyond the window, which it does not go on from",
            logits(case, wrong(case, queries(case), keys(case))),
        )


def common(scheme: Remapped) -> dict[str, DeviationModel]:
    """Mistakes of both calls."""
    return {
        "window-off-by-one": window_off_by_one,
        "far-unrotated": scheme.instead(
            "matches far queries and keys that are not turned at all",
            beyond(lambda case, lag: 0.0),
        ),
        **scheme.deviations,
    }


ERROR_TERMS = dict.fromkeys(CALLS, error_terms)
ARGUMENTS = {CALLS[0]: SCORES.arguments, CALLS[1]: LEAKY.arguments}
SWEEPS = {CALLS[0]: sweep(SCORES.arrays), CALLS[1]: sweep(LEAKY.arrays)}
SIZES = {CALLS[0]: SCORES.sizes, CALLS[1]: LEAKY.sizes}
OFFSETS = SCORES.invariants | {"toeplitz": toeplitz(SCORES.arguments)}
LEAKY_OFFSETS = LEAKY.invariants | {"toeplitz": toeplitz(LEAKY.arguments)}
INVARIANTS: dict[str, dict[str, InvariantCheck]] = {
    "rerope_scores": OFFSETS
    | {
        "far-alike": SCORES.alike(
            "k", beyond_window, "keys beyond the window are alike, and their logits differ"
        )
    },
    "leaky_rerope_scores": {f"leaky-{name}": check for name, check in LEAKY_OFFSETS.items()},
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "rerope_scores": {
        "keys-turned": SCORES.instead(
            "matches far keys turned by their positions, far queries by the window", keys_turned
        ),
        **common(SCORES),
    },
    "leaky_rerope_scores": {
        "leak-missing": LEAKY.instead(
            "matches the window for all distances beyond it, without a leak", beyond(clipped)
        ),
        "leak-offset-wrong": offset_wrong,
        "leak-floored": LEAKY.instead(
            "matches divided distances rounded down",
            beyond(lambda case, lag: np.floor(leaking(case, lag))),
        ),
        "leak-multiplied": LEAKY.instead(
            "matches distances beyond the window multiplied by the factor",
            beyond(
                lambda case, lag: (
                    case.arguments["window"]
                    + (lag - case.arguments["window"]) * case.arguments["factor"]
                )
            ),
        ),
        "keys-undivided": LEAKY.instead(
            "matches divided positions of far queries and undivided ones of far keys",
            keys_undivided,
        ),
        "interpolated": LEAKY.instead(
            "matches all distances divided, those of near keys as well",
            lambda case, query, key: (query - key) / case.arguments["factor"],
        ),
        **common(LEAKY),
    },
}
