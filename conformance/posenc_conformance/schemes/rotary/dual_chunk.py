"""Dual chunk attention: distances, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.families.lengths import Integers, queries
from posenc_conformance.families.remapped import Distance, Remapped, error_terms, keys, logits
from posenc_conformance.families.scores import sweep
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

NUMBERS = ((8, 3), (6, 2), (5, 0), (4, 3), (16, 4), (3, 1), (64, 16))
"""Values of ``chunk_size``, the largest distance, and of ``local_size``."""
NAMES = ("chunk_size", "local_size")


def drawn(trial: Trial) -> ArgumentDict:
    """Draw chunks of a few tokens."""
    chosen = trial.pick.one_of(NUMBERS)
    return {name: trial.choose(name, (n,)) for name, n in zip(NAMES, chosen, strict=True)}


def length_of(case: Case) -> int:
    """Return the number of tokens in a chunk."""
    return int(case.arguments["chunk_size"] - case.arguments["local_size"])


def apart(case: Case, query: Integers, key: Integers) -> Integers:
    """Count the chunks by which a key precedes a query."""
    length = length_of(case)
    return np.asarray(query // length - key // length)


def own(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances within a chunk."""
    return np.asarray(query - key, dtype=np.float64)


def successive(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances of keys in the previous chunk."""
    length = length_of(case)
    place = np.minimum(query % length + length, case.arguments["chunk_size"])
    return np.asarray(place - key % length, dtype=np.float64)


def constant(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances of keys in far chunks, those before the previous one."""
    length = length_of(case)
    place = min(2 * length - 1, case.arguments["chunk_size"])
    return np.asarray(query * 0 + place - key % length, dtype=np.float64)


def of_chunks(first: Distance, second: Distance, third: Distance) -> Distance:
    """Combine the distances of keys in the query's chunk, the previous one and far ones."""

    def distance(case: Case, query: Integers, key: Integers) -> Floats:
        chunks = np.clip(apart(case, query, key), 0, 2)
        parts = [compute(case, query, key) for compute in (first, second, third)]
        return np.choose(chunks, parts)

    return distance


def unclamped(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances of keys in the previous chunk, without a limit."""
    length = length_of(case)
    return np.asarray(query % length + length - key % length, dtype=np.float64)


def beyond_all(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances of keys in far chunks from the query's own place, unclamped.

    The place is chunk_size plus the query's place in its chunk.
    """
    length = length_of(case)
    result = query % length + case.arguments["chunk_size"] - key % length
    return np.asarray(result, dtype=np.float64)


def keys_counted_on(case: Case, query: Integers, key: Integers) -> Floats:
    """Compute the distances with keys of other chunks at their positions in the text."""
    chunks, length = apart(case, query, key), length_of(case)
    right = SCORES.distance(case, query, key)
    return np.where(chunks > 0, right + key % length - key, right)


def places(case: Case, query: Integers, key: Integers) -> tuple[Floats, Floats]:
    """Return the places of queries for each key, and of keys in their chunks."""
    here = np.asarray(key % length_of(case), np.float64)
    return DISTANCE(case, query, key) + here, here


DISTANCE = of_chunks(own, successive, constant)
SCORES = Remapped(
    DISTANCE,
    drawn,
    lambda case: {
        **case.arguments,
        "chunk_size": int(case.parameter("k_len") + case.arguments["local_size"]) + 1,
    },
    {"chunk_size": 16, "local_size": 4},
    places,
)


def limit_off_by_one(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a largest distance of one less or more than chunk_size, with the same chunks."""
    size, length = case.arguments["chunk_size"], length_of(case)
    query, key = queries(case), keys(case)
    chunks = apart(case, query, key)
    for more in (-1, 1):
        place = np.where(chunks == 1, query % length + length, 2 * length - 1)
        clamped = np.minimum(place, size + more) - key % length
        yield Prediction(
            f"matches a largest distance of {size + more}; {size} was asked for",
            logits(case, np.where(chunks > 0, clamped, query - key).astype(np.float64)),
        )


def not_clamped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict query positions that are not clamped to the largest distance."""
    for third, words in (
        (constant, "for the chunk before"),
        (beyond_all, "for any chunk before"),
    ):
        distances = of_chunks(own, unclamped, third)(case, queries(case), keys(case))
        yield Prediction(
            f"matches queries {words} that are not held at the largest distance",
            logits(case, distances),
        )


def chunks_of_chunk_size(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict chunks as long as the largest distance."""
    size = case.arguments["chunk_size"]
    query, key = queries(case), keys(case)
    distances = np.where(query // size == key // size, query - key, size - key % size)
    yield Prediction(
        f"matches chunks of {size} tokens; without what is local they have {length_of(case)}",
        logits(case, distances.astype(np.float64)),
    )


def far_chunks(case: Case) -> Integers:
    """Return group 0 for keys of far chunks, and -1 for keys in no group.

    Far chunks are those before the previous one.
    """
    return np.where(apart(case, queries(case), keys(case)) > 1, 0, -1)


def chunk_of_far(case: Case) -> Integers:
    """Return the query's chunk for keys of far chunks, else -1."""
    return np.where(far_chunks(case) < 0, -1, queries(case) // length_of(case))


KNOWLEDGE = {
    "dual_chunk_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=SCORES.arguments,
        sweep=sweep(SCORES.arrays),
        sizes=SCORES.sizes,
        invariants=SCORES.invariants
        | {
            "far-chunks-alike": SCORES.alike(
                "k",
                far_chunks,
                "keys at one place of far chunks are alike, and their logits differ",
                length_of,
            ),
            "far-queries-alike": SCORES.alike(
                "q",
                chunk_of_far,
                "queries of one chunk are alike, and their logits for far chunks differ",
            ),
        },
        deviations={
            "limit-off-by-one": limit_off_by_one,
            "not-clamped": not_clamped,
            "successive-missing": SCORES.instead(
                "matches one distance for all queries of a chunk from the chunk before as well",
                of_chunks(own, constant, constant),
            ),
            "far-as-successive": SCORES.instead(
                "matches all chunks before treated as the one just before",
                of_chunks(own, successive, successive),
            ),
            "chunks-of-chunk-size": chunks_of_chunk_size,
            "keys-counted-on": SCORES.instead(
                "matches keys of other chunks at their positions in the text", keys_counted_on
            ),
            **SCORES.deviations,
        },
        readings=(SCORES.low_precision,),
    ),
}
