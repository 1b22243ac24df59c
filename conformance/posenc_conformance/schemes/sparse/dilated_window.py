"""Dilated sliding windows: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.masks import (
    LONG,
    Bools,
    inverted,
    keys_per_row,
    last_queries,
    last_two,
    lengths,
    lengths_sizes,
    off_by_one,
    places,
    predicted,
    queries_from_zero,
    sees_itself,
    square,
    toeplitz,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

OTHER_REACH = other_conventions("reach", "matches the reach {value}; {claimed} was claimed")
WINDOWS = (2, 4, 6)
ODD_WINDOWS = (1, 3)
DILATIONS = (2, 1, 3, 4, 20)


def arguments(trial: Trial) -> ArgumentDict:
    """Draw windows and dilations that end within the keys or beyond them."""
    reach = trial.subject.combination.conventions["reach"]
    windows = WINDOWS if reach == "half-each-side" else WINDOWS + ODD_WINDOWS
    return {
        **lengths(trial),
        "window": trial.choose("window", windows),
        "dilation": trial.choose("dilation", DILATIONS),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys, most of them within reach."""
    return {**last_two(largest), "window": 512, "dilation": 3, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length; many keys per side, and gaps longer than a block of threads."""
    yield from lengths_sizes()
    for window, dilation in ((64, 2), (2, 130), (256, 1), (2, 5), (4, 7), (2, 8), (3, 33)):
        yield {"q_len": 3, "k_len": LONG, "window": window, "dilation": dilation}


def sides(case: Case) -> tuple[int, int]:
    """Count the keys before and after the query in the window."""
    window = int(case.arguments["window"])
    return {
        "window-each-side": (window, window),
        "window-before": (window, 0),
        "half-each-side": (window // 2, window // 2),
    }[str(case.conventions["reach"])]


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys in the window, without those outside of the sequence."""
    before, after = sides(case)
    dilation, late = case.arguments["dilation"], case.arguments["k_len"] - 1 - query
    return np.minimum(query // dilation, before) + 1 + np.minimum(late // dilation, after)


def classes_apart(trial: Trial) -> None:
    """Check that every dilation-th token has a plain window of such tokens only."""
    chosen = square(arguments(trial))
    dilation, k_len = chosen["dilation"], chosen["k_len"]
    counts = [len(range(start, k_len, dilation)) for start in range(min(dilation, k_len))]
    answer = trial.answer(**chosen)
    expected = np.zeros_like(answer.values)
    for start, count in enumerate(counts):
        alone = trial.answer(**{**chosen, "q_len": count, "k_len": count, "dilation": 1})
        expected[start::dilation, start::dilation] = alone.values
    wrong = answer.values != expected
    trial.assert_none(answer, wrong, "every dilation-th token does not have a plain window")


def band(case: Case, distance: Any, dilation: int, reach: int) -> Bools:
    """Find the keys at multiples of the dilation within reach, on the sides of the convention."""
    before, after = sides(case)
    near = (distance >= -reach * before) & (distance <= reach * after)
    return np.asarray(near & (distance % dilation == 0))


def dilation_misread(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the dilation dropped, or applied only to the step or only to the reach."""
    query, key = places(case)
    dilation, distance = int(case.arguments["dilation"]), key - query
    yield predicted("matches a window without dilation", band(case, distance, 1, 1))
    yield predicted(
        "matches a step but not a reach that is dilated", band(case, distance, dilation, 1)
    )
    yield predicted(
        "matches a reach but not a step that is dilated", band(case, distance, 1, dilation)
    )


def reach_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another reach; half of an odd window is rounded down."""
    yield from OTHER_REACH(case, got)
    window, claimed = int(case.arguments["window"]), case.conventions["reach"]
    if window % 2:
        query, key = places(case)
        dilation, half = int(case.arguments["dilation"]), window // 2
        distance = key - query
        near = (np.abs(distance) <= half * dilation) & (distance % dilation == 0)
        yield predicted(f"matches the reach half-each-side; {claimed} was claimed", near)


def phase_fixed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys at multiples of the dilation, regardless of the query."""
    query, key = places(case)
    near = band(case, key - query, 1, int(case.arguments["dilation"]))
    yield predicted(
        "matches keys at multiples of the dilation, not at multiples from the query",
        near & ((key % case.arguments["dilation"] == 0) | (key == query)),
    )
    yield predicted(
        "matches keys at multiples of the dilation, without the query's own",
        near & (key % case.arguments["dilation"] == 0),
    )


KNOWLEDGE = {
    "dilated_window": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "sees-itself": sees_itself(arguments),
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "toeplitz": toeplitz(arguments),
            "classes-apart": classes_apart,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "reach-swapped": reach_swapped,
            "dilation-misread": dilation_misread,
            "gap-for-dilation": off_by_one("dilation", "a dilation of"),
            "window-off-by-one": off_by_one("window", "a window of"),
            "queries-from-zero": queries_from_zero,
            "phase-fixed": phase_fixed,
            "inverted": inverted,
        },
    ),
}
