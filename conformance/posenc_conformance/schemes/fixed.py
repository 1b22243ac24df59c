"""The fixed pattern: invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, other_conventions
from posenc_conformance.families.masks import (
    LONG,
    after_hops,
    exact_terms,
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
from posenc_conformance.judge.case import Case
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
    chosen = square(trial, arguments(trial))
    if chosen is None:
        return
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


ERROR_TERMS = {"fixed_mask": exact_terms}
ARGUMENTS = {"fixed_mask": arguments}
SWEEPS = {"fixed_mask": sweep}
SIZES = {"fixed_mask": sizes}
INVARIANTS = {
    "fixed_mask": {
        "sees-itself": sees_itself(arguments),
        "looks-back-only": looks_back_only(arguments),
        "keys-per-row": keys_per_row(arguments, number_of_keys),
        "block-shift": shifted_by("block_size", arguments),
        "two-hops": two_hops,
        "last-queries": last_queries(arguments),
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
}
