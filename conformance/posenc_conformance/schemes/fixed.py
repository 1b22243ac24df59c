"""The fixed pattern: invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import posenc
from posenc_conformance.diagnose.mistakes import Model, other_conventions
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
from posenc_conformance.judge.trial import Trial

PATTERNS = ((3, 1), (4, 2), (1, 1), (5, 5), (2, 1), (40, 8))


def arguments(trial: Trial) -> dict[str, Any]:
    """Blocks shorter and longer than the keys; one column of each, a few, all."""
    block_size, summary = trial.pick.one_of(PATTERNS)
    block_size = trial.choose("block_size", (block_size,))
    summary = trial.choose("summary", (min(summary, block_size),))
    return {**lengths(trial), "block_size": block_size, "summary": summary}


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries at the end of many keys, with a short summary of each block."""
    return {**last_two(largest), "block_size": 128, "summary": 8, **parameters}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every length; blocks of powers of two and not, of one key and of all."""
    yield from lengths_sizes()
    for block_size, summary in ((1, 1), (17, 5), (128, 32), (256, 8), (LONG, 1)):
        yield {"q_len": 3, "k_len": LONG, "block_size": block_size, "summary": summary}


def number_of_keys(case: Case, query: Any) -> Any:
    """Those of the block so far, and a fixed number for each block before."""
    block_size, summary = case.arguments["block_size"], case.arguments["summary"]
    blocks, place = np.divmod(query, block_size)
    so_far = np.maximum(place + 1 - (block_size - summary), 0)
    return {
        "union": place + 1 + summary * blocks,
        "block": place + 1,
        "columns": so_far + summary * blocks,
    }[str(case.conventions["part"])]


def two_hops(trial: Trial) -> None:
    """A step to the end of a block and one within it reach every earlier key, and no other."""
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    query, key = places(answer.case)
    wrong = after_hops(answer.values, answer.values) != (key <= query)
    trial.never(answer, wrong, "two hops do not reach all earlier keys, or reach later ones")


def columns_misplaced(case: Case, got: Floats) -> Iterator[Model]:
    """Columns at the start of each block, or none of the block before."""
    part = case.conventions["part"]
    if part == "block":
        return
    query, key = places(case)
    block_size, summary = case.arguments["block_size"], case.arguments["summary"]
    own = (key // block_size == query // block_size) if part == "union" else False
    first = key % block_size < summary
    yield predicted("matches columns at the start of each block", (own | first) & (key <= query))


def block_slides(case: Case, got: Floats) -> Iterator[Model]:
    """The last keys up to the query in place of its block."""
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


# Heads with columns of their own.

SETS = ((4, 1, 2), (6, 2, 3), (3, 1, 3), (2, 2, 1), (40, 8, 5))
"""Block, columns of a set, sets."""


def heads_arguments(trial: Trial) -> dict[str, Any]:
    """Few sets and all that a block has; each set in one head, or in two."""
    block_size, summary, sets = trial.pick.one_of(SETS)
    return {
        "heads": trial.choose("heads", (2 * sets, sets)),
        **lengths(trial),
        "block_size": block_size,
        "summary": summary,
        "sets": sets,
    }


def heads_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries at the end of many keys, with the sets of the released example."""
    sets = {"heads": 4, "block_size": 128, "summary": 32, "sets": 4}
    return {**last_two(largest), **sets, **parameters}


def heads_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every length; one head and many, blocks of powers of two and not."""
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
    """Heads, queries and keys."""
    given = case.arguments
    return given["heads"], given["q_len"], given["k_len"]


def of_heads(case: Case, number: Any, own: bool = True, shift: int = 0) -> Any:
    """The masks of heads with these sets of columns; queries stand so much later."""
    given = case.arguments
    query, key = places(case)
    block_size = given["block_size"]
    block = (key // block_size == (query + shift) // block_size) & own
    set_of_key = (block_size - 1 - key % block_size) // given["summary"]
    columns = set_of_key == np.asarray(number)[:, None, None]
    return (block | columns) & (key <= query + shift)


def turns(case: Case) -> Any:
    """The set of each head."""
    return np.arange(case.arguments["heads"]) % case.arguments["sets"]


def first_head(trial: Trial) -> None:
    """The pattern of one set."""
    chosen = heads_arguments(trial)
    answer = trial.answer(**chosen)
    rest = {name: value for name, value in chosen.items() if name not in ("heads", "sets")}
    wrong = answer.values[0] != posenc.fixed_mask(**rest)
    trial.never(answer, wrong, "the first head does not have the pattern of one set")


def all_sets(trial: Trial) -> None:
    """As many sets as a block has columns for."""
    chosen = heads_arguments(trial)
    sets = chosen["block_size"] // chosen["summary"]
    answer = trial.answer(**(chosen | {"heads": sets, "sets": sets}))
    query, key = places(answer.case)
    missed = (answer.values.max(axis=0) > 0) != (key <= query)
    trial.never(answer, missed, "all sets together do not see every earlier key, and no other")


def own_block_alone(answer: Answer) -> Any:
    """Keys of earlier blocks that two heads see."""
    query, key = places(answer.case)
    block_size = answer.case.arguments["block_size"]
    earlier = key // block_size < query // block_size
    return (answer.values.sum(axis=0) > 1) & earlier


def sets_apart(trial: Trial) -> None:
    """One head for each set."""
    chosen = heads_arguments(trial)
    answer = trial.answer(**(chosen | {"heads": chosen["sets"]}))
    trial.never(answer, own_block_alone(answer), "two sets have a column in common")


def heads_alike(case: Case, got: Floats) -> Iterator[Model]:
    """The first set in every head."""
    yield predicted(
        "matches the first set of columns in every head", of_heads(case, 0 * turns(case))
    )


def sets_from_the_start(case: Case, got: Floats) -> Iterator[Model]:
    """Sets counted from the start of the block, or among those used."""
    given = case.arguments
    there = given["block_size"] // given["summary"]
    for many, words in ((there, "start of the block"), (given["sets"], "last set that is used")):
        yield predicted(
            f"matches sets of columns counted from the {words}",
            of_heads(case, many - 1 - turns(case)),
        )


def heads_in_groups(case: Case, got: Floats) -> Iterator[Model]:
    """Neighbouring heads with the same set."""
    each = case.arguments["heads"] // case.arguments["sets"]
    grouped = np.arange(case.arguments["heads"]) // each
    yield predicted("matches sets of columns given to groups of heads", of_heads(case, grouped))


def heads_block_missing(case: Case, got: Floats) -> Iterator[Model]:
    """Columns alone."""
    yield predicted("matches columns without the query's block", of_heads(case, turns(case), False))


def heads_from_zero(case: Case, got: Floats) -> Iterator[Model]:
    """Queries without what stands in the cache."""
    late = case.arguments["k_len"] - case.arguments["q_len"]
    if late:
        masks = of_heads(case, turns(case), shift=-late)
        yield predicted("matches queries that start at position 0", masks)


ERROR_TERMS = {"fixed_mask": exact_terms, "fixed_head_masks": exact_terms}
ARGUMENTS = {"fixed_mask": arguments, "fixed_head_masks": heads_arguments}
SWEEPS = {"fixed_mask": sweep, "fixed_head_masks": heads_sweep}
SIZES = {"fixed_mask": sizes, "fixed_head_masks": heads_sizes}
SHAPES = {"fixed_head_masks": heads_shape}
INVARIANTS = {
    "fixed_mask": {
        "sees-itself": sees_itself(arguments),
        "looks-back-only": looks_back_only(arguments),
        "keys-per-row": keys_per_row(arguments, number_of_keys),
        "block-shift": shifted_by("block_size", arguments),
        "two-hops": two_hops,
        "last-queries": last_queries(arguments),
    },
    "fixed_head_masks": {
        "first-head": first_head,
        "all-sets": all_sets,
        "sets-apart": sets_apart,
    },
}
DEVIATIONS = {
    "fixed_mask": {
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
    "fixed_head_masks": {
        "heads-alike": heads_alike,
        "sets-from-the-start": sets_from_the_start,
        "heads-in-groups": heads_in_groups,
        "heads-block-missing": heads_block_missing,
        "heads-queries-from-zero": heads_from_zero,
        "heads-inverted": inverted,
    },
}
