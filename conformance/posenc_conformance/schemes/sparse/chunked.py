"""Chunked attention: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

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
    saved,
    sees_itself,
    shifted_by,
    square,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

MOST_SHIFTS = 64
"""Upper limit on the start positions tried for shifted chunks."""


def arguments(trial: Trial) -> ArgumentDict:
    """Draw chunks shorter and longer than the keys."""
    return {**lengths(trial), "chunk_size": trial.choose("chunk_size", (3, 1, 2, 4, 5, 40))}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries on either side of a boundary."""
    return {**last_two(largest), "chunk_size": 1024, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length; chunks of powers of two and other sizes, of one key and of all.

    Single queries are the first, the second and the last of a chunk.
    """
    yield from lengths_sizes()
    for k_len in (9, 10, 12, 257):
        yield {"q_len": 1, "k_len": k_len, "chunk_size": 4}
    for chunk_size in (1, 17, 128, 256, LONG):
        yield {"q_len": 3, "k_len": LONG, "chunk_size": chunk_size}


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys of the chunk up to the query."""
    return query % case.arguments["chunk_size"] + 1


def closed(trial: Trial) -> None:
    """Check that two layers reach the same keys as one: more layers never connect chunks."""
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    wrong = after_hops(answer.values, answer.values) != (answer.values > 0)
    trial.assert_none(
        answer, wrong, "through two layers a query reaches other keys than through one"
    )


def window_for_chunk(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a sliding window of keys, or the previous chunk as well."""
    query, key = places(case)
    chunk_size = case.arguments["chunk_size"]
    earlier = key <= query
    yield predicted("matches a window that slides", earlier & (key > query - chunk_size))
    near = query // chunk_size - key // chunk_size <= 1
    yield predicted("matches chunks that see the chunk before as well", earlier & near)


def rows_for_queries(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries, or only their chunks, counted from the first query of the call."""
    yield from queries_from_zero(case, got)
    query, key = places(case)
    late, chunk_size = (
        case.arguments["k_len"] - case.arguments["q_len"],
        case.arguments["chunk_size"],
    )
    if late:
        same = (query - late) // chunk_size == key // chunk_size
        yield predicted(
            "matches chunks of the queries that are counted from the first query of the call",
            same & (key <= query),
        )


def chunks_shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict chunks that do not begin at position 0, as with padding or a cache."""
    query, key = places(case)
    chunk_size = int(case.arguments["chunk_size"])
    for shift in range(1, min(chunk_size, MOST_SHIFTS)):
        same = (key - shift) // chunk_size == (query - shift) // chunk_size
        yield predicted(f"matches chunks that begin at position {shift}", same & (key <= query))


def chunks_of_kept_keys(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict chunks counted from the first key that a cache of one chunk less a key keeps."""
    query, key = places(case)
    chunk_size, q_len = int(case.arguments["chunk_size"]), int(case.arguments["q_len"])
    first = len(key) - (chunk_size - 1 + q_len)
    if first > 0:
        same = (key - first) // chunk_size == (query - first) // chunk_size
        yield predicted(
            f"matches chunks counted from the first key that a cache keeps, here key {first}",
            same & (key >= first) & (key <= query),
        )


def chunks_dropped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict every key up to the query, as if a single query had no mask."""
    query, key = places(case)
    yield predicted("matches a causal mask without chunks", np.asarray(key <= query))


def borders_late(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict borders that are late from the first one on, or one key before each chunk seen."""
    query, key = places(case)
    size = case.arguments["chunk_size"]
    late = [np.maximum(each - 1, 0) // size for each in (query, key)]
    words = "matches chunks that each begin 1 later than they should, the first one excepted"
    yield predicted(words, (late[0] == late[1]) & (key <= query))
    begin = query // size * size
    words = "matches queries that see one key before the begin of their chunk as well"
    yield predicted(words, (key >= begin - 1) & (key <= query))
    words = "matches queries of which the first of each chunk still sees the chunk before"
    yield predicted(words, (key >= np.maximum(query - 1, 0) // size * size) & (key <= query))
    words = "matches queries of which the first of each chunk sees the chunk before, and not itself"
    yield predicted(words, (key // size == late[0]) & (key <= query))


KNOWLEDGE = {
    "chunked_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        identify=saved("chunk_size"),
        invariants={
            "sees-itself": sees_itself(arguments),
            "looks-back-only": looks_back_only(arguments),
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "chunk-shift": shifted_by("chunk_size", arguments),
            "closed": closed,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "window-for-chunk": window_for_chunk,
            "chunk-off-by-one": off_by_one("chunk_size", "a chunk of"),
            "queries-from-zero": rows_for_queries,
            "chunks-of-kept-keys": chunks_of_kept_keys,
            "chunks-shifted": chunks_shifted,
            "future-visible": future_visible,
            "chunks-dropped": chunks_dropped,
            "inverted": inverted,
        },
        readings=(borders_late,),
    ),
}
