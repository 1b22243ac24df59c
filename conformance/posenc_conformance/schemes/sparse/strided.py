"""The strided pattern: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.masks import (
    LONG,
    after_hops,
    future_visible,
    inverted,
    keys_per_row,
    last_queries,
    last_two,
    lengths,
    lengths_sizes,
    looks_back_only,
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


def arguments(trial: Trial) -> ArgumentDict:
    """Draw strides shorter and longer than the keys."""
    return {**lengths(trial), "stride": trial.choose("stride", (3, 1, 2, 4, 5, 40))}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys, with a stride near the root of their number.

    The paper recommends such a stride.
    """
    return {**last_two(largest), "stride": 45, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length, strides of a block of threads, and longer strides."""
    yield from lengths_sizes()
    for stride in (17, 128, LONG):
        yield {"q_len": 3, "k_len": LONG, "stride": stride}


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys that a query attends to in the claimed part of the pattern.

    They are the last keys, and one for each whole stride before the query.
    """
    stride, part = case.arguments["stride"], case.conventions["part"]
    strides = query // stride
    return {
        "union": np.minimum(query + 1, stride) + strides,
        "local": np.minimum(query + 1, stride),
        "local-inclusive": np.minimum(query + 1, stride + 1),
        "column": strides + 1,
    }[str(part)]


def two_hops(trial: Trial) -> None:
    """Check that one hop in each part reaches every earlier key, and no other."""
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    part = str(answer.case.conventions["part"])
    partner = {"union": "union", "column": "local"}.get(part, "column")
    other = np.asarray(answer.case.with_conventions(part=partner).truth, dtype=np.float64)
    query, key = places(answer.case)
    wrong = after_hops(answer.values, other) != (key <= query)
    trial.assert_none(answer, wrong, "two hops do not reach all earlier keys, or reach later ones")


def phase_fixed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns at multiples of the stride, regardless of the query."""
    query, key = places(case)
    part = str(case.conventions["part"])
    if part.startswith("local"):
        return
    columns = (key <= query) & (key % case.arguments["stride"] == 0)
    local = case.with_conventions(part="local").truth if part == "union" else False
    yield predicted(
        "matches columns at multiples of the stride, not at multiples from the query",
        columns | local,
    )


KNOWLEDGE = {
    "strided_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "sees-itself": sees_itself(arguments),
            "looks-back-only": looks_back_only(arguments),
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "toeplitz": toeplitz(arguments),
            "two-hops": two_hops,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "part-swapped": other_conventions(
                "part", "matches the part {value}; {claimed} was claimed"
            ),
            "stride-off-by-one": off_by_one("stride", "a stride of"),
            "queries-from-zero": queries_from_zero,
            "future-visible": future_visible,
            "phase-fixed": phase_fixed,
            "inverted": inverted,
        },
    ),
}
