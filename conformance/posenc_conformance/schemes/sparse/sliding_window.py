"""Sliding windows: invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case
from posenc_conformance.families.masks import (
    LONG,
    READINGS,
    after_hops,
    future_visible,
    inverted,
    itself_hidden,
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
    square,
    toeplitz,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

WINDOWS = (4, 2, 6, 40)
ODD_WINDOWS = (1, 3)
BLOCKS = 3
"""Fewest blocks with which a window must begin to tell that it consists of blocks."""


def windows(trial: Trial) -> tuple[int, ...]:
    """List the windows that the claimed reach allows: half of a window must be whole."""
    reach = trial.subject.combination.conventions["reach"]
    return WINDOWS if reach == "half-each-side" else WINDOWS + ODD_WINDOWS


def arguments(trial: Trial) -> ArgumentDict:
    """Draw windows shorter and longer than the keys."""
    return {**lengths(trial), "window": trial.choose("window", windows(trial))}


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place two queries at the end of many keys, half of them in the window."""
    return {**last_two(largest), "window": 1024, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield every length, windows of a block of threads, and longer windows."""
    yield from lengths_sizes()
    for window in (2, 128, 256, LONG):
        yield {"q_len": 3, "k_len": LONG, "window": window}


def sides(case: Case) -> tuple[int, int]:
    """Count the keys before and after the query that the window reaches."""
    window = int(case.arguments["window"])
    return {
        "window-keys": (window - 1, 0),
        "window-before": (window, 0),
        "window-each-side": (window, window),
        "half-each-side": (window // 2, window // 2),
    }[str(case.conventions["reach"])]


def number_of_keys(case: Case, query: Any) -> Any:
    """Count the keys that a query attends to.

    They are the keys of the window, without those before the first key or after the last.
    """
    before, after = sides(case)
    return np.minimum(query, before) + 1 + np.minimum(case.arguments["k_len"] - 1 - query, after)


def two_layers(trial: Trial) -> None:
    """Check that the window reaches twice as far through two layers."""
    chosen = square(arguments(trial))
    window = chosen["window"]
    twice = 2 * window - (trial.subject.combination.conventions["reach"] == "window-keys")
    answer, wide = trial.answer(**chosen), trial.answer(**{**chosen, "window": twice})
    wrong = after_hops(answer.values, answer.values) != (wide.values > 0)
    trial.assert_none(wide, wrong, f"two layers of window {window} are not one of window {twice}")


def whole(trial: Trial) -> None:
    """Check that a window longer than the sequence hides no key before the query.

    The window is twice as long, because only half of it may lie before the query.
    """
    chosen = lengths(trial)
    window = 2 * chosen["k_len"]
    answer = trial.answer(**chosen, window=window)
    query, key = places(answer.case)
    hidden = (key <= query) & (answer.values == 0)
    trial.assert_none(answer, hidden, "a window longer than the text hides a key before the query")


def window_dropped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention to all keys, or to all keys up to the query."""
    query, key = places(case)
    yield predicted("matches a causal mask without a window", key <= query)
    yield predicted("matches no mask at all", np.ones(case.shape))


def window_of_queries(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a window that is cut to the number of queries of the call, as while decoding."""
    window, q_len = int(case.arguments["window"]), int(case.arguments["q_len"])
    even = case.conventions["reach"] != "half-each-side" or q_len % 2 == 0
    if 0 < q_len < window and even:
        yield from predict_case(
            case.with_arguments(window=q_len),
            f"matches a window of {q_len}, the number of queries; {window} was asked for",
        )


def other_sides(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict other numbers of keys before and after the query, read from the result."""
    query, key = places(case)
    if got.shape != case.shape or not got.any():
        return
    lag = np.broadcast_to(query - key, got.shape)
    read = int(lag[got > 0].max()), int(-lag[got > 0].min())
    sides_seen = zip(("before", "after"), read, (lag.max(), -lag.min()), sides(case), strict=True)
    if words := list(filter(None, (of_side(*side) for side in sides_seen))):
        seen = (lag <= read[0]) & (-lag <= read[1])
        yield predicted(f"matches a window in which {' and '.join(words)}", seen)


def of_side(name: str, found: int, farthest: int, asked: int) -> str:
    """Say how many keys on one side of the query are seen; empty if it is the right number.

    ``farthest`` is the distance of the farthest key on that side.
    """
    if min(found, farthest) == min(asked, farthest):
        return ""
    if found == farthest:
        return f"keys {name} the query are not limited"
    if abs(found - asked) == 1:
        return f"the last key {name} the query is one {'farther' if found > asked else 'nearer'}"
    return f"{found} keys {name} the query are seen, where {asked} should be"


def sign_of_diagonal(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the diagonal of hidden keys on the other side of the query."""
    query, key = places(case)
    before, after = sides(case)
    hidden = (key > query + after) & (key <= query + before + 1)
    words = (
        "matches the far edge of the window on the wrong side of the query: a sign of a diagonal"
    )
    yield predicted(words, ~hidden)


def whole_blocks(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a window of whole blocks, as a kernel skips them: the last block of keys is whole.

    At least three blocks must be where a window begins: fewer are at the edges of any window.
    """
    query, key = places(case)
    before, after = sides(case)
    for size in (2**power for power in range(1, 10)):
        apart = (query // size - key // size) * size
        for least, words in ((before + 1, "begun"), (before + 1 + size, "begun, and one more")):
            seen = (apart < least) & (key <= query + after)
            if len(np.unique(seen.argmax(axis=1))) >= BLOCKS:
                yield predicted(
                    f"matches whole blocks of {size} keys, where {words} in the window", seen
                )


def slots_compared(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict places in a rolling buffer compared in place of positions."""
    query, key = places(case)
    window = int(case.arguments["window"])
    seen = (key % window <= query % window) & (key <= query)
    yield predicted("matches places in a buffer of the window compared, not positions", seen)


KNOWLEDGE = {
    "sliding_window": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        identify=saved("window", (0, 1)),
        invariants={
            "sees-itself": sees_itself(arguments),
            "looks-back-only": looks_back_only(arguments),
            "keys-per-row": keys_per_row(arguments, number_of_keys),
            "toeplitz": toeplitz(arguments),
            "two-layers": two_layers,
            "whole": whole,
            "last-queries": last_queries(arguments),
        },
        deviations={
            "reach-swapped": other_conventions(
                "reach", "matches the reach {value}; {claimed} was claimed"
            ),
            "window-of-queries": window_of_queries,
            "window-off-by-one": off_by_one("window", "a window of"),
            "queries-from-zero": queries_from_zero,
            "future-visible": future_visible,
            "itself-hidden": itself_hidden,
            "window-dropped": window_dropped,
            "inverted": inverted,
        },
        readings=(*READINGS, other_sides, sign_of_diagonal, whole_blocks, slots_compared),
    ),
}
