"""Causal masks: invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, other_conventions
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
from posenc_conformance.judge.trial import Trial


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries at the end of many keys."""
    return {**last_two(largest), **parameters}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Lengths only: there is nothing else."""
    return lengths_sizes()


def number_of_keys(case: Case, query: Any) -> Any:
    """Those up to the query, which stands earlier if the first query is at the first key."""
    late = case.arguments["k_len"] - case.arguments["q_len"]
    return query + 1 if case.conventions["alignment"] == "end" else query - late + 1


def one_more_each(trial: Trial) -> None:
    """Each query attends to what the query before it does, and to one key more."""
    answer = trial.answer(**lengths(trial))
    gained = np.diff(answer.values, axis=0)
    wrong = (gained < 0).any(axis=1) | (gained.sum(axis=1) != 1)
    trial.never(answer, wrong, "a query does not attend to exactly one key more than the last")


def transitive(trial: Trial) -> None:
    """Two layers let nothing through that one does not."""
    chosen = square(lengths(trial))
    answer = trial.answer(**chosen)
    wrong = after_hops(answer.values, answer.values) != (answer.values > 0)
    trial.never(answer, wrong, "through two layers a query reaches other keys than through one")


def first_queries(trial: Trial) -> None:
    """Aligned to the start, fewer queries are the first rows of as many queries as keys."""
    chosen = lengths(trial)
    all_queries = square(chosen)
    few, every = trial.answer(**chosen), trial.answer(**all_queries)
    trial.zero(
        few - every[: chosen["q_len"]], "with fewer queries than keys they are not the first ones"
    )


def query_places(case: Case) -> Any:
    """Position of each query, as the alignment has it, as a column."""
    late = case.arguments["k_len"] - case.arguments["q_len"]
    start = late if case.conventions["alignment"] == "end" else 0
    return start + np.arange(case.arguments["q_len"])[:, None]


def diagonal_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """A triangle whose edge lies one key too early or too late."""
    query, key = query_places(case), np.arange(case.arguments["k_len"])
    yield predicted("matches a mask that hides the query's own position", key < query)
    yield predicted("matches a mask that shows the key after the query", key <= query + 1)


def transposed(case: Case, got: Floats) -> Iterator[Model]:
    """Keys from the query on."""
    key = np.arange(case.arguments["k_len"])
    yield predicted(
        "matches the mask transposed: keys from the query on", key >= query_places(case)
    )


def unmasked(case: Case, got: Floats) -> Iterator[Model]:
    """Every query attends to every key."""
    yield predicted("matches no mask at all", np.ones(case.shape))


IDENTIFY = {"causal_mask": saved()}
ERROR_TERMS = {"causal_mask": exact_terms}
ARGUMENTS = {"causal_mask": lengths}
SWEEPS = {"causal_mask": sweep}
SIZES = {"causal_mask": sizes}
INVARIANTS = {
    "causal_mask": {
        "keys-per-row": keys_per_row(lengths, number_of_keys),
        "one-more-each": one_more_each,
        "toeplitz": toeplitz(lengths),
        "transitive": transitive,
        "last-queries": last_queries(lengths),
        "first-queries": first_queries,
    },
}
DEVIATIONS = {
    "causal_mask": {
        "alignment-swapped": other_conventions(
            "alignment", "matches a mask aligned to the {value}; {claimed} was claimed"
        ),
        "diagonal-shifted": diagonal_shifted,
        "transposed": transposed,
        "inverted": inverted,
        "unmasked": unmasked,
    },
}
