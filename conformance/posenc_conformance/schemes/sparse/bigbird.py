"""BigBird's pattern, without and with links to drawn blocks: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

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
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def arguments(trial: Trial) -> ArgumentDict:
    """Draw many blocks, a few or one; the last block may be incomplete."""
    return {**lengths(trial), "block_size": trial.choose("block_size", (1, 2, 3, 4, 40))}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries in the last two blocks of many."""
    return {**last_two(largest), "block_size": 64, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length; blocks of one key, of powers of two and other sizes, and of all keys."""
    yield from lengths_sizes()
    for block_size in (1, 17, 64, 128, LONG):
        yield {"q_len": LONG, "k_len": LONG, "block_size": block_size}


def links_for(k_len: int, block_size: int, count: int, start: int = 0) -> Any:
    """Make unsorted links to blocks, some of them repeated.

    All blocks but the first and the last have links.
    """
    every = -(-k_len // block_size)
    row, column = np.indices((max(every - 2, 1), count))
    return (5 * row + 3 * column + row * column + start) % every


def linked_arguments(trial: Trial) -> ArgumentDict:
    """Draw queries, keys and blocks, with one link, none or several for each block."""
    chosen = arguments(trial)
    count = trial.choose("count", (1, 0, 2, 3))
    start = trial.pick.integer(0, 4)
    return chosen | {"links": links_for(chosen["k_len"], chosen["block_size"], count, start)}


def linked_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries in the last two blocks of many, with links."""
    count = parameters.get("count", 3)
    others = {name: value for name, value in parameters.items() if name != "count"}
    chosen = sweep(others, largest)
    return chosen | {"links": links_for(chosen["k_len"], chosen["block_size"], count)}


def linked_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the sizes of bigbird_mask, with two links for each block.

    Also yield many links for each block, and more rows of links than there are blocks.
    """
    for change in sizes(case):
        size = int({**case.arguments, **change}["block_size"])
        yield change | {"links": links_for(change["k_len"], size, 2)}
    small = {"q_len": 12, "k_len": 12, "block_size": 2}
    yield small | {"links": links_for(12, 2, 9)}
    yield small | {"links": links_for(40, 2, 2)}


def blocks(case: Case) -> tuple[Any, Any, int]:
    """Return the blocks of the queries as a column, those of the keys, and the last block."""
    query, key = places(case)
    block_size = int(case.arguments["block_size"])
    return query // block_size, key // block_size, (case.arguments["k_len"] - 1) // block_size


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys that each query sees.

    They are those of the distinct blocks among the three around the query, the first and the
    last. Queries of the first and of the last block see every key.
    """
    k_len, block_size = case.arguments["k_len"], case.arguments["block_size"]
    last = (k_len - 1) // block_size
    size = np.full(last + 1, block_size)
    size[last] = k_len - last * block_size
    counts = []
    for block in query // block_size:
        near = {0, last, *range(max(block - 1, 0), min(block + 1, last) + 1)}
        counts.append(k_len if block in (0, last) else sum(size[index] for index in near))
    return np.array(counts)


def symmetric(trial: Trial) -> None:
    """Check that exchanging query and key does not change the mask."""
    chosen = square(arguments(trial))
    y = trial.answer(**chosen)
    trial.assert_zero(y - y.swapped(0, 1), "the mask is not symmetric")


def by_blocks(trial: Trial) -> None:
    """Check that all tokens of a block have the block's pattern."""
    chosen = square(arguments(trial))
    count = -(-chosen["k_len"] // chosen["block_size"])
    by_block = {"q_len": count, "k_len": count, "block_size": 1}
    y, coarse = trial.answer(**chosen), trial.answer(**by_block)
    query, key, _ = blocks(y.case)
    trial.assert_zero(y - coarse[query, key], "tokens of one block are not treated alike")


def two_hops(trial: Trial) -> None:
    """Check that every query reaches every key in two hops, via the first block."""
    chosen = square(arguments(trial))
    answer = trial.answer(**chosen)
    wrong = ~after_hops(answer.values, answer.values)
    trial.assert_none(answer, wrong, "two hops do not reach every key")


def links_without_order(trial: Trial) -> None:
    """Check that reversing the links and repeating one of them does not change the mask."""
    chosen = linked_arguments(trial)
    links = chosen["links"][:, ::-1]
    once = trial.answer(**chosen)
    other = {"links": np.concatenate([links, links[:, -1:]], axis=1)}
    if trial.scope.parameters.get("count") or not links.shape[1]:
        return
    trial.assert_zero(once - trial.answer(**(chosen | other)), "the order of links matters")


def links_one_way(trial: Trial) -> None:
    """Check that changing the links of a block affects only that block's queries."""
    chosen = square(linked_arguments(trial))
    row = trial.pick.integer(0, len(chosen["links"]) - 1)
    once = trial.answer(**chosen)
    links = chosen["links"].copy()
    links[row] = (links[row] + 1) % (-(-chosen["k_len"] // chosen["block_size"]))
    other = trial.answer(**(chosen | {"links": links}))
    query, _, _ = blocks(once.case)
    wrong = (once.values != other.values) & (query != row + 1)
    trial.assert_none(once, wrong, "links of one block change the rows of others")


def globals_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mask without global rows or columns, or with one of the two global blocks."""
    query, key, last = blocks(case)
    near = np.abs(query - key) <= 1
    rows, columns = (query == 0) | (query == last), (key == 0) | (key == last)
    masks = {
        "no global blocks": near,
        "no global rows": near | columns,
        "no global columns": near | rows,
        "the first block as the only global one": near | (query == 0) | (key == 0),
        "the last block as the only global one": near | (query == last) | (key == last),
    }
    for words, mask in masks.items():
        yield predicted(f"matches {words}", mask)


def window_of_blocks(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another number of blocks around the query, or a window of tokens."""
    query, key, last = blocks(case)
    ends = (query == 0) | (query == last) | (key == 0) | (key == last)
    yield predicted("matches a window of the query's own block alone", ends | (query == key))
    yield predicted("matches a window of five blocks", ends | (np.abs(query - key) <= 2))
    row, column = places(case)
    near = np.abs(row - column) <= case.arguments["block_size"]
    yield predicted("matches a window of one block size of tokens to each side", ends | near)


def looks_back(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mask with a causal mask on top."""
    query, key = places(case)
    yield predicted("matches the mask with later keys hidden", right(case) & (key <= query))


def with_links(case: Case, links: Any) -> Any:
    """Return the mask with other links; blocks without a row of links have none."""
    query, key, last = blocks(case)
    mask = (query == 0) | (query == last) | (key == 0) | (key == last) | (np.abs(query - key) <= 1)
    for block in range(1, min(last, len(links) + 1)):
        mask = mask | (query == block) & np.isin(key, links[block - 1])
    return mask


def links_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mask without links, or with only the first or the last link of each block."""
    links = case.arguments["links"]
    yield predicted("matches the mask without links", with_links(case, links[:, :0]))
    yield predicted("matches the first link of each block alone", with_links(case, links[:, :1]))
    yield predicted("matches the last link of each block alone", with_links(case, links[:, -1:]))


def links_beside(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows of links, or the blocks that they name, shifted by one."""
    links = case.arguments["links"]
    none = np.full_like(links[:1], -1)
    yield predicted("matches the row of links of the next block", with_links(case, links[1:]))
    late = np.concatenate([none, links])
    yield predicted("matches the row of links of the block before", with_links(case, late))
    for shift in (1, -1):
        yield predicted(f"matches links to blocks {shift:+d}", with_links(case, links + shift))


def links_both_ways(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict links that also apply in the reverse direction."""
    k_len, q_len = case.arguments["k_len"], case.arguments["q_len"]
    whole = right(case.with_arguments(q_len=k_len))
    yield predicted("matches links that lead back as well", (whole | whole.T)[k_len - q_len :])


KNOWLEDGE = {
    "bigbird_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "symmetric": symmetric,
            "by-blocks": by_blocks,
            "two-hops": two_hops,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "globals-missing": globals_missing,
            "window-of-blocks": window_of_blocks,
            "block-off-by-one": off_by_one("block_size", "a block of"),
            "queries-from-zero": queries_from_zero,
            "looks-back": looks_back,
            "inverted": inverted,
        },
    ),
    "bigbird_linked_mask": CallKnowledge(
        error_terms=exact_terms,
        arguments=linked_arguments,
        sweep=linked_sweep,
        sizes=linked_sizes,
        invariants={
            "links-without-order": links_without_order,
            "links-one-way": links_one_way,
            "linked-last-queries": last_queries(linked_arguments),
        },
        deviations={
            "links-ignored": links_ignored,
            "links-beside": links_beside,
            "links-both-ways": links_both_ways,
        },
    ),
}
