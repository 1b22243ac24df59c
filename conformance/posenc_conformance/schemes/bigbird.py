"""BigBird's pattern without random blocks: invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model
from posenc_conformance.families.masks import (
    LONG,
    after_hops,
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
    right,
    square,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.trial import Trial


def arguments(trial: Trial) -> dict[str, Any]:
    """Blocks of which there are many, few and one; the last one whole or not."""
    return {**lengths(trial), "block_size": trial.choose("block_size", (1, 2, 3, 4, 40))}


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """Two queries in the last two blocks of many."""
    return {**last_two(largest), "block_size": 64, **parameters}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Every length; blocks of one key, of powers of two and not, and of all."""
    yield from lengths_sizes()
    for block_size in (1, 17, 64, 128, LONG):
        yield {"q_len": LONG, "k_len": LONG, "block_size": block_size}


def blocks(case: Case) -> tuple[Any, Any, int]:
    """Blocks of the queries, as a column, and of the keys, and the last block."""
    query, key = places(case)
    block_size = int(case.arguments["block_size"])
    return query // block_size, key // block_size, (case.arguments["k_len"] - 1) // block_size


def number_of_keys(case: Case, query: Any) -> Any:
    """The keys of the distinct blocks among the three around the query, the first and the last."""
    k_len, block_size = case.arguments["k_len"], case.arguments["block_size"]
    last = (k_len - 1) // block_size
    size = np.full(last + 1, block_size)
    size[last] = k_len - last * block_size
    counts = []
    for block in query // block_size:
        near = {0, last, *range(max(block - 1, 0), min(block + 1, last) + 1)}
        counts.append(k_len if block in (0, last) else sum(size[each] for each in near))
    return np.array(counts)


def symmetric(trial: Trial) -> None:
    """Query and key may change places."""
    chosen = square(arguments(trial))
    y = trial.answer(**chosen)
    trial.zero(y - y.swapped(0, 1), "the mask is not symmetric")


def by_blocks(trial: Trial) -> None:
    """Tokens of one block are treated alike: it is the pattern of the blocks."""
    chosen = square(arguments(trial))
    count = -(-chosen["k_len"] // chosen["block_size"])
    by_block = {"q_len": count, "k_len": count, "block_size": 1}
    y, coarse = trial.answer(**chosen), trial.answer(**by_block)
    query, key, _ = blocks(y.case)
    trial.zero(y - coarse[query, key], "tokens of one block are not treated alike")


def two_hops(trial: Trial) -> None:
    """Over the first block every query reaches every key."""
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    wrong = ~after_hops(answer.values, answer.values)
    trial.never(answer, wrong, "two hops do not reach every key")


def globals_missing(case: Case, got: Floats) -> Iterator[Model]:
    """Rows or columns of global blocks left out, or one of the two blocks."""
    query, key, last = blocks(case)
    near = np.abs(query - key) <= 1
    rows, columns = (query == 0) | (query == last), (key == 0) | (key == last)
    found = {
        "no global blocks": near,
        "no global rows": near | columns,
        "no global columns": near | rows,
        "the first block as the only global one": near | (query == 0) | (key == 0),
        "the last block as the only global one": near | (query == last) | (key == last),
    }
    for what, mask in found.items():
        yield predicted(f"matches {what}", mask)


def window_of_blocks(case: Case, got: Floats) -> Iterator[Model]:
    """Another number of blocks around the query, or a window of tokens."""
    query, key, last = blocks(case)
    ends = (query == 0) | (query == last) | (key == 0) | (key == last)
    yield predicted("matches a window of the query's own block alone", ends | (query == key))
    yield predicted("matches a window of five blocks", ends | (np.abs(query - key) <= 2))
    row, column = places(case)
    near = np.abs(row - column) <= case.arguments["block_size"]
    yield predicted("matches a window of one block size of tokens to each side", ends | near)


def looks_back(case: Case, got: Floats) -> Iterator[Model]:
    """A causal mask on top."""
    query, key = places(case)
    yield predicted("matches the mask with later keys hidden", right(case) & (key <= query))


ERROR_TERMS = {"bigbird_mask": exact_terms}
ARGUMENTS = {"bigbird_mask": arguments}
SWEEPS = {"bigbird_mask": sweep}
SIZES = {"bigbird_mask": sizes}
INVARIANTS = {
    "bigbird_mask": {
        "keys-per-row": keys_per_row(arguments, number_of_keys),
        "symmetric": symmetric,
        "by-blocks": by_blocks,
        "two-hops": two_hops,
        "last-queries": last_queries(arguments),
    },
}
DEVIATIONS = {
    "bigbird_mask": {
        "globals-missing": globals_missing,
        "window-of-blocks": window_of_blocks,
        "block-off-by-one": off_by_one("block_size", "a block of"),
        "queries-from-zero": queries_from_zero,
        "looks-back": looks_back,
        "inverted": inverted,
    },
}
