"""Self-Extend: distances, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.lengths import Integers, queries
from posenc_conformance.families.remapped import Distance, Remapped, error_terms, keys, logits
from posenc_conformance.families.scores import sweep
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

NUMBERS = ((3, 6), (2, 4), (4, 4), (1, 5), (5, 10), (2, 64))
"""Group sizes and windows. The windows are multiples of the group sizes, as blocks require."""
UNEVEN = ((3, 7), (4, 6), (2, 1), (3, 2))
"""Group sizes and windows. The windows are not multiples of the group sizes."""


def drawn(trial: Trial) -> ArgumentDict:
    """Draw groups of a few positions and windows of a few groups."""
    sliding = trial.subject.combination.conventions["neighbours"] == "sliding"
    chosen = trial.pick.one_of(NUMBERS + UNEVEN if sliding else NUMBERS)
    names = ("group_size", "window")
    return {name: trial.choose(name, (n,)) for name, n in zip(names, chosen, strict=True)}


def is_near(case: Case, query: Integers, key: Integers) -> Any:
    """Return which keys are neighbours of which queries."""
    window = case.arguments["window"]
    if case.conventions["neighbours"] == "sliding":
        return query - key < window
    return query // window == key // window


def grouped(case: Case, query: Integers) -> Integers:
    """Compute grouped query positions, so that far distances continue from near ones."""
    group, window = case.arguments["group_size"], case.arguments["window"]
    if case.conventions["neighbours"] == "sliding":
        return np.asarray(query // group + window - window // group)
    return np.asarray(query % window + query // window * (window // group))


def far(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances between grouped positions."""
    return np.asarray(grouped(case, query) - key // case.arguments["group_size"], np.float64)


def near(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the plain distances, query minus key."""
    return np.asarray(query - key, np.float64)


def distance(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances: plain for neighbours, grouped for other keys."""
    return joined(near, far)(case, query, key)


def joined(one: Distance, other: Distance) -> Distance:
    """Combine distance ``one`` for neighbours and ``other`` for other keys."""
    return lambda case, query, key: np.where(
        is_near(case, query, key), one(case, query, key), other(case, query, key)
    )


def places(case: Case, query: Integers, key: Integers) -> tuple[Floats, Floats]:
    """Return the places of queries and of keys: their own for neighbours, grouped for others."""
    here = np.where(is_near(case, query, key), key, key // case.arguments["group_size"])
    return distance(case, query, key) + here, here.astype(np.float64)


def unmoved(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances between grouped positions, without the shift of queries."""
    group = case.arguments["group_size"]
    return np.asarray(query // group - key // group, np.float64)


def fractions(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances between positions divided by the group size.

    The quotients are not rounded down, so no two positions share a group.
    """
    group, window = case.arguments["group_size"], case.arguments["window"]
    if case.conventions["neighbours"] == "sliding":
        return np.asarray((query - key) / group + window - window / group)
    return np.asarray(query % window + (query // window * window - key) / group)


def of_distances(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances divided by the group size, in place of divided positions."""
    group, window = case.arguments["group_size"], case.arguments["window"]
    lag = query - key
    if case.conventions["neighbours"] == "sliding":
        return np.asarray(lag // group + window - window // group, np.float64)
    return np.asarray(query % window + (query // window * window - key) // group, np.float64)


def from_the_window(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances of which only the part beyond the window is divided."""
    group, window = case.arguments["group_size"], case.arguments["window"]
    return np.asarray(window + (query - key - window) // group, np.float64)


def from_one(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute distances between grouped positions counted from 1."""
    return far(case, query + 1, key + 1)


def shift_not_floored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict window / group_size not rounded down, if it is not an integer."""
    group, window = case.arguments["group_size"], case.arguments["window"]
    if window % group:
        less = window / group - window // group
        wrong = joined(near, lambda *at: far(*at) - less)
        yield Prediction(
            f"matches queries moved by {window} - {window}/{group}, not rounded down",
            logits(case, wrong(case, queries(case), keys(case))),
        )


def window_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict one neighbour too many or too few.

    With blocks, predict a block closed one token late or early.
    """
    query, key, window = queries(case), keys(case), case.arguments["window"]
    plain, regrouped = near(case, query, key), far(case, query, key)
    for more in (1, -1):
        if case.conventions["neighbours"] == "sliding":
            distances = np.where(query - key < window + more, plain, regrouped)
            words = f"{window + more} neighbours; {window} were asked for"
        else:
            group, begun = case.arguments["group_size"], np.maximum(query - more, 0) // window
            moved = query - begun * (window - window // group) - key // group
            distances = np.where(key >= begun * window, plain, moved)
            words = f"blocks that are closed one token too {'late' if more > 0 else 'early'}"
        yield Prediction(f"matches {words}", logits(case, distances.astype(np.float64)))


def distances_grouped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, not positions, rounded down to groups."""
    for other, words in ((of_distances, ""), (from_the_window, " beyond the window")):
        wrong = joined(near, other)(case, queries(case), keys(case))
        yield Prediction(
            f"matches distances{words} rounded down to groups, not positions", logits(case, wrong)
        )


SCORES = Remapped(
    distance,
    drawn,
    lambda case: {**case.arguments, "window": case.arguments["group_size"] * 64},
    {"group_size": 4, "window": 16},
    places,
)


def group_of_far(case: Case) -> Integers:
    """Return the group of each far key, and -1 for neighbours."""
    query, key = queries(case), keys(case)
    return np.where(is_near(case, query, key), -1, key // case.arguments["group_size"])


KNOWLEDGE = {
    "self_extend_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=SCORES.arguments,
        sweep=sweep(SCORES.arrays),
        sizes=SCORES.sizes,
        invariants=SCORES.invariants
        | {
            "groups-alike": SCORES.alike(
                "k", group_of_far, "far keys of a group are alike, and their logits differ"
            )
        },
        deviations={
            "neighbours-swapped": other_conventions(
                "neighbours", "matches {value} neighbours exactly; {claimed} was claimed"
            ),
            "shift-missing": SCORES.instead(
                "matches grouped positions of queries that are not moved on by the window",
                joined(near, unmoved),
            ),
            "shift-not-floored": shift_not_floored,
            "window-off-by-one": window_off_by_one,
            "no-neighbours": SCORES.instead("matches grouped positions for near keys as well", far),
            "parts-exchanged": SCORES.instead(
                "matches near keys at grouped positions and far ones at their own",
                joined(far, near),
            ),
            "positions-not-floored": SCORES.instead(
                "matches positions divided by the size of groups, not rounded down",
                joined(near, fractions),
            ),
            "distances-grouped": distances_grouped,
            "groups-from-1": SCORES.instead(
                "matches groups of positions counted from 1", joined(near, from_one)
            ),
            **SCORES.deviations,
        },
        readings=(SCORES.low_precision,),
    ),
}
