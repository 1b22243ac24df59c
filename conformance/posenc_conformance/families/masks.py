"""Shared parts of attention mask schemes: exact masks, queries at the last key positions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import predict_case
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict

Bools = npt.NDArray[np.bool_]
Saved = Iterator[tuple[ArgumentDict, Array]]
MANY = 2**20
"""The approximate number of elements that are read from a saved mask."""
LONG = 300
"""More keys than 8 bits can count, and more than a block has threads."""
FAR = 2048
"""The number of keys in the longest call, few enough for code that builds the square mask."""


def lengths(trial: Trial) -> ArgumentDict:
    """Draw a few keys, and at most as many queries."""
    k_len = trial.choose("k_len", (7, 2, 12, 33, 5))
    q_len = trial.choose("q_len", (k_len - trial.pick.integer(0, k_len - 1),))
    return {"q_len": q_len, "k_len": k_len}


def square(chosen: ArgumentDict) -> ArgumentDict:
    """Return the arguments with as many queries as keys."""
    return {**chosen, "q_len": chosen["k_len"]}


def lengths_sizes() -> Iterator[ArgumentDict]:
    """Yield single queries, odd and even lengths, lengths beyond 256, few queries and many."""
    for q_len, k_len in ((1, 5), (2, 9), (16, 16), (17, 33), (3, LONG), (LONG, LONG)):
        yield {"q_len": q_len, "k_len": k_len}


def last_two(largest: int) -> dict[str, int]:
    """Return lengths of two queries at the end of many keys, around a power of two."""
    k_len = min(largest, FAR) + 1
    return {"q_len": min(2, k_len), "k_len": k_len}


def places(case: Case) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the positions of the queries, as a column, and of the keys."""
    q_len, k_len = int(case.arguments["q_len"]), int(case.arguments["k_len"])
    return np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)


def right(case: Case) -> Bools:
    """Compute the whole true mask, even where a golden prints only some of it."""
    return np.asarray(case.with_arguments().truth, dtype=np.bool_)


def predicted(explanation: str, mask: Any) -> Prediction:
    """Make a prediction of the mask that a mistake produces, as floats."""
    return Prediction(explanation, np.asarray(mask, dtype=np.float64))


def after_hops(first: Floats, second: Floats) -> Bools:
    """Return which keys each query reaches by a step through one mask and then the other."""
    return np.asarray(first @ second > 0)


def sees_itself(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that a query attends to its own position, so that no row is empty."""

    def check(trial: Trial) -> None:
        answer = trial.answer(**arguments(trial))
        query, key = places(answer.case)
        hidden = (key == query) & (answer.values == 0)
        trial.assert_none(answer, hidden, "a query does not attend to its own position")

    return check


def looks_back_only(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that no key after the query is attended to."""

    def check(trial: Trial) -> None:
        answer = trial.answer(**arguments(trial))
        query, key = places(answer.case)
        seen = (key > query) & (answer.values != 0)
        trial.assert_none(answer, seen, "a query attends to a later key")

    return check


def toeplitz(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that only the distance of a key decides whether it is attended to."""

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        trial.assert_zero(y[1:, 1:] - y[:-1, :-1], "the mask differs along a diagonal")

    return check


def shifted_by(name: str, arguments: DrawArguments) -> InvariantCheck:
    """Make a check that moving query and key on by a whole block changes nothing.

    ``name`` is the argument that gives the length of a block.
    """

    def check(trial: Trial) -> None:
        y = trial.answer(**arguments(trial))
        block = int(y.case.arguments[name])
        trial.assert_zero(
            y[block:, block:] - y[:-block, :-block],
            "the mask changes when query and key move on by a block",
        )

    return check


def last_queries(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that fewer queries than keys get the last rows of the mask of all queries."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        all_queries = square(chosen)
        few, every = trial.answer(**chosen), trial.answer(**all_queries)
        trial.assert_zero(
            few - every[chosen["k_len"] - chosen["q_len"] :],
            "with fewer queries than keys they are not the last ones",
        )

    return check


def keys_per_row(
    arguments: DrawArguments, count: Callable[[Case, npt.NDArray[np.int64]], Any]
) -> InvariantCheck:
    """Make a check that a query attends to the right number of keys.

    ``count`` takes the case and the query positions, and returns the number for each query.
    """

    def check(trial: Trial) -> None:
        answer = trial.answer(**arguments(trial))
        query, _ = places(answer.case)
        expected = count(answer.case, query[:, 0])
        wrong = answer.values.sum(axis=1) != expected
        trial.assert_none(answer, wrong, "a query attends to too many keys, or too few")

    return check


def saved(name: str = "", less: Sequence[int] = (0,)) -> Callable[[Array], Saved]:
    """Make a function that reads lengths and a size from a saved mask, for ``posenc identify``.

    The size is the argument ``name``; without a name, only lengths are read. The size is the number
    of keys in the widest row of the mask, or of the inverted mask, minus each number in ``less``.
    Half of that size is tried too.
    """

    def found(array: Array) -> Saved:
        if array.ndim != 2 or array.shape[0] > array.shape[1]:
            return
        q_len, k_len = array.shape
        few = min(q_len, max(1, MANY // k_len))  # the last queries of a large mask
        chosen, part = {"q_len": few, "k_len": k_len}, array[-few:]
        if not name:
            yield chosen, part
            return
        seen = np.asarray(array, dtype=np.bool_)
        widest = {int(mask.sum(axis=1).max()) for mask in (seen, ~seen)}
        narrower = {w for w in widest if w < k_len - 1}  # a wider row hides one key at most
        for size in sorted({(w - by) // half for w in narrower for by in less for half in (1, 2)}):
            if size > 0:
                yield {**chosen, name: size}, part

    return found


def inverted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict True where attention is forbidden, as in some interfaces."""
    yield predicted("matches the mask inverted: True where attention is forbidden", ~right(case))


def queries_from_zero(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict query i at position i, although there are more keys than queries."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    if q_len < k_len:
        for model in predict_case(
            case.with_arguments(q_len=k_len), "matches queries that start at position 0"
        ):
            yield predicted(model.explanation, model.output[:q_len])


def queries_elsewhere(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries that start at another position than 0 and the right one, if only one fits."""
    q_len, k_len = int(case.arguments["q_len"]), int(case.arguments["k_len"])
    if got.shape != (q_len, k_len):
        return
    whole = case.with_arguments(q_len=k_len).truth
    starts = range(1, k_len - q_len)
    fitting = [start for start in starts if np.array_equal(whole[start : start + q_len], got)]
    if len(fitting) == 1:
        words = f"matches queries that start at position {fitting[0]}; the first is {k_len - q_len}"
        yield predicted(words, whole[fitting[0] : fitting[0] + q_len])


def first_keys_kept(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict some first keys that every later query sees, like attention sinks."""
    query, key = places(case)
    if got.shape != case.shape or not got.size:
        return
    hidden = np.flatnonzero(got[-1] == 0)
    count = int(hidden[0]) if len(hidden) else 0
    if count:
        noun = "key is" if count == 1 else f"{count} keys are"
        words = f"matches the mask in which the first {noun} always seen"
        yield predicted(words, right(case) | ((key < count) & (key <= query)))


def future_visible(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict attention to keys after the query.

    These are all such keys, or the mirror image of the keys before the query.
    """
    query, key = places(case)
    k_len = case.arguments["k_len"]
    whole = case.with_arguments(q_len=k_len).truth
    mirrored = (whole | whole.T)[query[:, 0]]
    yield predicted("matches the mask with the same keys after the query as before it", mirrored)
    yield predicted("matches the mask with every key after the query", right(case) | (key > query))


def itself_hidden(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict a query that does not attend to its own position."""
    query, key = places(case)
    yield predicted(
        "matches the mask without the query's own position", right(case) & (key != query)
    )


READINGS: tuple[DeviationModel, ...] = (queries_elsewhere, first_keys_kept)
"""Models of mistakes that are possible in every mask, for which it has no id."""


def off_by_one(name: str, words: str) -> DeviationModel:
    """Make a model that predicts a size one too large or too small."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        expected = case.arguments[name]
        for size in (expected + 1, expected - 1):
            yield from predict_case(
                case.with_arguments(**{name: size}),
                f"matches {words} {size}; {expected} was asked for",
            )

    return models
