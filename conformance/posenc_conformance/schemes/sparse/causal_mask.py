"""Causal masks: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions
from posenc_conformance.families.masks import (
    after_hops,
    inverted,
    keys_per_row,
    last_queries,
    last_two,
    lengths,
    lengths_sizes,
    predicted,
    saved,
    square,
    toeplitz,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys."""
    return {**last_two(largest), **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield lengths only: there is nothing else to change."""
    return lengths_sizes()


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys up to the query.

    The query is earlier if the alignment puts the first query at the first key.
    """
    late = case.arguments["k_len"] - case.arguments["q_len"]
    return query + 1 if case.conventions["alignment"] == "end" else query - late + 1


def one_more_each(trial: Trial) -> None:
    """Check that each query attends to the keys of the previous query and to one more."""
    answer = trial.answer(**lengths(trial))
    gained = np.diff(answer.values, axis=0)
    wrong = (gained < 0).any(axis=1) | (gained.sum(axis=1) != 1)
    trial.assert_none(
        answer, wrong, "a query does not attend to exactly one key more than the last"
    )


def transitive(trial: Trial) -> None:
    """Check that two layers reach the same keys as one."""
    chosen = square(lengths(trial))
    answer = trial.answer(**chosen)
    wrong = after_hops(answer.values, answer.values) != (answer.values > 0)
    trial.assert_none(
        answer, wrong, "through two layers a query reaches other keys than through one"
    )


def first_queries(trial: Trial) -> None:
    """Check that, aligned to the start, ``q_len`` queries give the first rows of a square mask."""
    chosen = lengths(trial)
    all_queries = square(chosen)
    few, every = trial.answer(**chosen), trial.answer(**all_queries)
    trial.assert_zero(
        few - every[: chosen["q_len"]], "with fewer queries than keys they are not the first ones"
    )


def query_places(case: Case) -> Any:
    """Return the position of each query under the case's alignment, as a column."""
    late = case.arguments["k_len"] - case.arguments["q_len"]
    start = late if case.conventions["alignment"] == "end" else 0
    return start + np.arange(case.arguments["q_len"])[:, None]


def diagonal_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a triangle whose edge is one key too early or too late."""
    query, key = query_places(case), np.arange(case.arguments["k_len"])
    yield predicted("matches a mask that hides the query's own position", key < query)
    yield predicted("matches a mask that shows the key after the query", key <= query + 1)


def transposed(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a mask that shows the keys from the query on."""
    key = np.arange(case.arguments["k_len"])
    yield predicted(
        "matches the mask transposed: keys from the query on", key >= query_places(case)
    )


def unmasked(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict that every query attends to every key."""
    yield predicted("matches no mask at all", np.ones(case.shape))


KNOWLEDGE = {
    "causal_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=lengths,
        sweep=sweep,
        sizes=sizes,
        identify=saved(),
        invariants={
            "keys-per-row": keys_per_row(lengths, number_of_keys),
            "one-more-each": one_more_each,
            "toeplitz": toeplitz(lengths),
            "transitive": transitive,
            "last-queries": last_queries(lengths),
            "first-queries": first_queries,
        },
        deviations={
            "alignment-swapped": other_conventions(
                "alignment", "matches a mask aligned to the {value}; {claimed} was claimed"
            ),
            "diagonal-shifted": diagonal_shifted,
            "transposed": transposed,
            "inverted": inverted,
            "unmasked": unmasked,
        },
    ),
}
