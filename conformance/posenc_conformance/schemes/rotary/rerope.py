"""ReRoPE and Leaky ReRoPE: distances, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.families.lengths import Integers, queries
from posenc_conformance.families.remapped import Distance, Remapped, error_terms, keys, logits
from posenc_conformance.families.scores import sweep, toeplitz
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

WINDOWS = (5, 2, 8, 1, 16)
CALLS = ("rerope_scores", "leaky_rerope_scores")


def drawn(trial: Trial) -> ArgumentDict:
    """Draw the window, and for the leaky call the divisor of distances beyond it."""
    chosen: ArgumentDict = {"window": trial.choose("window", WINDOWS)}
    if trial.subject.call.name == "leaky_rerope_scores":
        chosen["factor"] = trial.choose("factor", (4.0, 2.0, 1.5, 16.0))
    return chosen


def beyond(other: Callable[[Case, Floats], Any]) -> Distance:
    """Make a distance that is query minus key within the window, and ``other`` beyond it.

    ``other`` computes the distance from the case and query minus key.
    """

    def distance(case: Case, query: Integers, key: Integers) -> Floats:
        lag = np.asarray(query - key, dtype=np.float64)
        return np.where(lag < case.arguments["window"], lag, other(case, lag))

    return distance


def clipped(case: Case, lag: Floats) -> Any:
    """Return the window as the distance of all keys beyond it."""
    return case.arguments["window"]


def leaking(case: Case, lag: Floats) -> Floats:
    """Compute the distance beyond the window, with the excess divided."""
    window, factor = case.arguments["window"], case.arguments["factor"]
    return np.asarray(window + (lag - window) / factor)


def beyond_window(case: Case) -> Integers:
    """Return group 0 for keys at the window and beyond it, else -1."""
    return np.where(queries(case) - keys(case) < case.arguments["window"], -1, 0)


def without_window(case: Case) -> ArgumentDict:
    """Return the arguments with a window that includes all keys."""
    return {**case.arguments, "window": int(case.parameter("k_len")) + 1}


RIGHT: dict[str, Callable[[Case, Floats], Any]] = {CALLS[0]: clipped, CALLS[1]: leaking}


def places(case: Case, query: Integers, key: Integers) -> tuple[Floats, Floats]:
    """Return the places of queries and of keys: far keys stand at 0, or at a share of theirs."""
    share = 1 / case.arguments["factor"] if "factor" in case.arguments else 0.0
    here = np.where(query - key < case.arguments["window"], key, key * share)
    return beyond(RIGHT[case.call.name])(case, query, key) + here, here


SCORES = Remapped(beyond(clipped), drawn, without_window, {"window": 16}, places)
LEAKY = Remapped(beyond(leaking), drawn, without_window, {"window": 16, "factor": 4.0}, places)


def window_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a window that is one larger or one smaller."""
    window, right = case.arguments["window"], RIGHT[case.call.name]
    lag = np.asarray(queries(case) - keys(case), dtype=np.float64)
    for more in (1, -1):
        edge = window + more
        lags = np.where(lag < edge, lag, right(case, lag - more) + more)
        yield Prediction(f"matches a window of {edge}; {window} was asked for", logits(case, lags))


def keys_turned(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances with far keys turned by their positions, far queries by the window."""
    window = case.arguments["window"]
    return np.where(query - key < window, query - key, window - key).astype(np.float64)


def keys_undivided(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances with divided positions of far queries, undivided ones of far keys."""
    window, factor = case.arguments["window"], case.arguments["factor"]
    moved = (query + window * (factor - 1)) / factor
    return np.where(query - key < window, query - key, moved - key)


def moved_by(offset: Callable[[Case], Any]) -> Distance:
    """Make a distance that is divided beyond the window, after ``offset`` is added."""
    return beyond(lambda case, lag: (lag + offset(case)) / case.arguments["factor"])


WRONG_OFFSETS = (
    ("the distance divided", moved_by(lambda case: 0)),
    ("the distance and the window divided", moved_by(lambda case: case.arguments["window"])),
)


def offset_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict divided distances that do not continue from the window."""
    for words, wrong in WRONG_OFFSETS:
        yield Prediction(
            f"matches {words} beyond the window, which it does not go on from",
            logits(case, wrong(case, queries(case), keys(case))),
        )


def common(scheme: Remapped) -> dict[str, DeviationModel]:
    """Return the models of mistakes that both calls share."""
    return {
        "window-off-by-one": window_off_by_one,
        "far-unrotated": scheme.instead(
            "matches far queries and keys that are not turned at all",
            beyond(lambda case, lag: 0.0),
        ),
        **scheme.deviations,
    }


OFFSETS = SCORES.invariants | {"toeplitz": toeplitz(SCORES.arguments)}
LEAKY_OFFSETS = LEAKY.invariants | {"toeplitz": toeplitz(LEAKY.arguments)}


KNOWLEDGE = {
    "rerope_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=SCORES.arguments,
        sweep=sweep(SCORES.arrays),
        sizes=SCORES.sizes,
        invariants=OFFSETS
        | {
            "far-alike": SCORES.alike(
                "k", beyond_window, "keys beyond the window are alike, and their logits differ"
            )
        },
        deviations={
            "keys-turned": SCORES.instead(
                "matches far keys turned by their positions, far queries by the window", keys_turned
            ),
            **common(SCORES),
        },
        readings=(SCORES.low_precision,),
    ),
    "leaky_rerope_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=LEAKY.arguments,
        sweep=sweep(LEAKY.arrays),
        sizes=LEAKY.sizes,
        invariants={f"leaky-{name}": check for name, check in LEAKY_OFFSETS.items()},
        deviations={
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
        readings=(LEAKY.low_precision,),
    ),
}
