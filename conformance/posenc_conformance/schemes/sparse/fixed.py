"""The fixed pattern: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import posenc
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
    shifted_by,
    square,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

PATTERNS = ((3, 1), (4, 2), (1, 1), (5, 5), (2, 1), (40, 8))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw blocks shorter and longer than the keys, with one, a few or all columns of each."""
    block_size, summary = trial.pick.one_of(PATTERNS)
    block_size = trial.choose("block_size", (block_size,))
    summary = trial.choose("summary", (min(summary, block_size),))
    return {**lengths(trial), "block_size": block_size, "summary": summary}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys, with a short summary of each block."""
    return {**last_two(largest), "block_size": 128, "summary": 8, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length, and blocks of powers of two and other sizes, of one key and of all."""
    yield from lengths_sizes()
    for block_size, summary in ((1, 1), (17, 5), (128, 32), (256, 8), (LONG, 1)):
        yield {"q_len": 3, "k_len": LONG, "block_size": block_size, "summary": summary}


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys that a query sees.

    They are those of its block so far, and a fixed number of each earlier block, as the convention
    includes them.
    """
    block_size, summary = case.arguments["block_size"], case.arguments["summary"]
    blocks, place = np.divmod(query, block_size)
    so_far = np.maximum(place + 1 - (block_size - summary), 0)
    return {
        "union": place + 1 + summary * blocks,
        "block": place + 1,
        "columns": so_far + summary * blocks,
    }[str(case.conventions["part"])]


def two_hops(trial: Trial) -> None:
    """Check that two hops reach every earlier key, and no other.

    One hop goes to the end of a block, the other stays within a block.
    """
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    query, key = places(answer.case)
    wrong = after_hops(answer.values, answer.values) != (key <= query)
    trial.assert_none(answer, wrong, "two hops do not reach all earlier keys, or reach later ones")


def columns_misplaced(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns at the start of each block."""
    part = case.conventions["part"]
    if part == "block":
        return
    query, key = places(case)
    block_size, summary = case.arguments["block_size"], case.arguments["summary"]
    own = (key // block_size == query // block_size) if part == "union" else False
    first = key % block_size < summary
    yield predicted("matches columns at the start of each block", (own | first) & (key <= query))


def block_slides(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the last keys up to the query instead of its block."""
    part = case.conventions["part"]
    if part == "columns":
        return
    query, key = places(case)
    block_size, summary = case.arguments["block_size"], case.arguments["summary"]
    columns = (key % block_size >= block_size - summary) if part == "union" else False
    near = key > query - block_size
    yield predicted(
        "matches a window that slides with the query in place of its block",
        (near | columns) & (key <= query),
    )


# Heads with different columns.

SETS = ((4, 1, 2), (6, 2, 3), (3, 1, 3), (2, 2, 1), (40, 8, 5))
"""Block size, columns per set, number of sets."""


def heads_arguments(trial: Trial) -> ArgumentDict:
    """Draw a few sets or all sets of a block, each for one head or two."""
    block_size, summary, sets = trial.pick.one_of(SETS)
    return {
        "heads": trial.choose("heads", (2 * sets, sets)),
        **lengths(trial),
        "block_size": block_size,
        "summary": summary,
        "sets": sets,
    }


def heads_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys, with the sets of the released example."""
    sets = {"heads": 4, "block_size": 128, "summary": 32, "sets": 4}
    return {**last_two(largest), **sets, **parameters}


def heads_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length, one head and many, and blocks of powers of two and other sizes."""
    yield from lengths_sizes()
    for heads, block_size, summary, sets in (
        (1, 1, 1, 1),
        (15, 15, 5, 3),
        (130, 32, 1, 2),
        (3, LONG, 1, 3),
    ):
        sets_of = {"heads": heads, "block_size": block_size, "summary": summary, "sets": sets}
        yield {"q_len": 3, "k_len": LONG, **sets_of}


def heads_shape(case: Case) -> tuple[int, int, int]:
    """Return the shape [heads, q_len, k_len]."""
    values = case.arguments
    return values["heads"], values["q_len"], values["k_len"]


def of_heads(case: Case, number: Any, own: bool = True, shift: int = 0) -> Any:
    """Compute the masks of heads that read these sets of columns.

    ``shift`` is added to the queries' positions. Unless ``own``, the query's block is left out.
    """
    values = case.arguments
    query, key = places(case)
    block_size = values["block_size"]
    block = (key // block_size == (query + shift) // block_size) & own
    set_of_key = (block_size - 1 - key % block_size) // values["summary"]
    columns = set_of_key == np.asarray(number)[:, None, None]
    return (block | columns) & (key <= query + shift)


def turns(case: Case) -> Any:
    """Return the set of each head: heads take the sets in turn."""
    return np.arange(case.arguments["heads"]) % case.arguments["sets"]


def first_head(trial: Trial) -> None:
    """Check that the first head has the pattern of one set."""
    chosen = heads_arguments(trial)
    answer = trial.answer(**chosen)
    others = {name: value for name, value in chosen.items() if name not in ("heads", "sets")}
    wrong = answer.values[0] != posenc.fixed_mask(**others)
    trial.assert_none(answer, wrong, "the first head does not have the pattern of one set")


def all_sets(trial: Trial) -> None:
    """Check that all sets together see every earlier key, and no other.

    The number of sets is the largest that fits a block.
    """
    chosen = heads_arguments(trial)
    sets = chosen["block_size"] // chosen["summary"]
    answer = trial.answer(**(chosen | {"heads": sets, "sets": sets}))
    query, key = places(answer.case)
    missed = (answer.values.max(axis=0) > 0) != (key <= query)
    trial.assert_none(
        answer, missed, "all sets together do not see every earlier key, and no other"
    )


def own_block_alone(answer: Answer) -> Any:
    """Find the keys of earlier blocks that two heads see."""
    query, key = places(answer.case)
    block_size = answer.case.arguments["block_size"]
    earlier = key // block_size < query // block_size
    return (answer.values.sum(axis=0) > 1) & earlier


def sets_apart(trial: Trial) -> None:
    """Check that no two sets have a column in common, with one head for each set."""
    chosen = heads_arguments(trial)
    answer = trial.answer(**(chosen | {"heads": chosen["sets"]}))
    trial.assert_none(answer, own_block_alone(answer), "two sets have a column in common")


def heads_alike(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first set in every head."""
    yield predicted(
        "matches the first set of columns in every head", of_heads(case, 0 * turns(case))
    )


def sets_from_the_start(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sets counted from the start of the block, or from the last used set."""
    values = case.arguments
    fitting = values["block_size"] // values["summary"]
    for many, words in ((fitting, "start of the block"), (values["sets"], "last set that is used")):
        yield predicted(
            f"matches sets of columns counted from the {words}",
            of_heads(case, many - 1 - turns(case)),
        )


def heads_in_groups(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict neighbouring heads with the same set."""
    size = case.arguments["heads"] // case.arguments["sets"]
    grouped = np.arange(case.arguments["heads"]) // size
    yield predicted("matches sets of columns given to groups of heads", of_heads(case, grouped))


def heads_block_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns without the query's block."""
    yield predicted("matches columns without the query's block", of_heads(case, turns(case), False))


def heads_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries that start at position 0, ignoring the cache."""
    late = case.arguments["k_len"] - case.arguments["q_len"]
    if late:
        masks = of_heads(case, turns(case), shift=-late)
        yield predicted("matches queries that start at position 0", masks)


KNOWLEDGE = {
    "fixed_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "sees-itself": sees_itself(arguments),
            "looks-back-only": looks_back_only(arguments),
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "block-shift": shifted_by("block_size", arguments),
            "two-hops": two_hops,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "part-swapped": other_conventions(
                "part", "matches the part {value}; {claimed} was claimed"
            ),
            "columns-misplaced": columns_misplaced,
            "summary-off-by-one": off_by_one("summary", "a summary of"),
            "block-slides": block_slides,
            "block-off-by-one": off_by_one("block_size", "a block of"),
            "queries-from-zero": queries_from_zero,
            "future-visible": future_visible,
            "inverted": inverted,
        },
    ),
    "fixed_head_masks": CallKnowledge(
        error_terms=exact_terms,
        arguments=heads_arguments,
        sweep=heads_sweep,
        sizes=heads_sizes,
        shape=heads_shape,
        invariants={
            "first-head": first_head,
            "all-sets": all_sets,
            "sets-apart": sets_apart,
        },
        deviations={
            "heads-alike": heads_alike,
            "sets-from-the-start": sets_from_the_start,
            "heads-in-groups": heads_in_groups,
            "heads-block-missing": heads_block_missing,
            "heads-queries-from-zero": heads_from_zero,
            "heads-inverted": inverted,
        },
    ),
}
