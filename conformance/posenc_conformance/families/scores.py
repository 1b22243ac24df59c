"""Shared parts of score schemes: logits that are sums of terms for content and for position."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Arrays = Callable[..., ArgumentDict]


def products(rows: Floats, columns: Floats) -> Floats:
    """Compute the dot product of every row of one array with every row of the other."""
    return np.asarray(rows @ np.swapaxes(columns, -1, -2))


def dots(answer: Answer, rows: str, columns: str) -> Answer:
    """Compute the dot product of every row of one argument with every row of another."""
    return answer.given(rows) @ answer.given(columns).swapped(-1, -2)


def root(case: Case) -> float:
    """Compute the square root of head_dim."""
    return float(np.sqrt(case.parameter("head_dim")))


def zeros(chosen: Arguments, *names: str) -> ArgumentDict:
    """Make arrays of zeros in the shapes of the arguments ``names``."""
    return {name: np.zeros_like(chosen[name]) for name in names}


def alike(chosen: Arguments, *names: str) -> ArgumentDict:
    """Make arrays in the shapes of the arguments ``names``, with all rows equal to the first."""
    return {
        name: np.broadcast_to(chosen[name][..., :1, :], chosen[name].shape).copy() for name in names
    }


def sweep(arrays: Arrays, **more: int) -> Callable[[Arguments, int], ArgumentDict]:
    """Make a sweep that places two queries at the end of many keys."""

    def make(parameters: Arguments, largest: int) -> ArgumentDict:
        usual = {"heads": 2, "q_len": 2, "k_len": min(largest, 300) + 1, "head_dim": 4, **more}
        usual |= parameters
        return arrays(**(usual | {"q_len": min(usual["q_len"], usual["k_len"])}))

    return make


def sizes(arrays: Arrays, *each: tuple[int, ...]) -> Callable[[Case], Iterator[ArgumentDict]]:
    """Make a function that yields the arguments that ``arrays`` makes for each tuple of sizes."""

    def changes(case: Case) -> Iterator[ArgumentDict]:
        return (arrays(*numbers) for numbers in each)

    return changes


def content_alone(
    arguments: DrawArguments, root: Callable[[Case], float], what: str, *names: str
) -> InvariantCheck:
    """Make a check that zeros in ``names`` leave only the dot products q·k, divided by ``root``."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | zeros(chosen, *names)))
        trial.assert_zero(y - dots(y, "q", "k") / root(y.case), what)

    return check


def last_queries(arguments: DrawArguments, size: int = 1) -> InvariantCheck:
    """Make a check that fewer queries than keys get the last rows of the scores of all queries.

    The values of the queries are multiplied by ``size``.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        heads, q_len, head_dim = chosen["q"].shape
        k_len = chosen["k"].shape[1]
        q = size * fine((heads, k_len, head_dim), 3)
        every = trial.answer(**(chosen | {"q": q}))
        few = trial.answer(**(chosen | {"q": q[:, k_len - q_len :].copy()}))
        trial.assert_zero(
            few - every[:, k_len - q_len :],
            "with fewer queries than keys the queries are not the last ones",
        )

    return check


def token_left_out(arguments: DrawArguments, rest: slice, what: str, *names: str) -> InvariantCheck:
    """Make a check that leaving out the first or the last token keeps the scores of the others.

    ``names`` are the arguments that lose the token; ``rest`` selects the other tokens.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        length = chosen["q"].shape[1]
        if length == 1:
            return
        cut = {name: chosen[name][:, rest].copy() for name in names}
        longer, shorter = trial.answer(**chosen), trial.answer(**(chosen | cut))
        trial.assert_zero(shorter - longer[:, rest, rest], what)

    return check


def toeplitz(arguments: DrawArguments) -> InvariantCheck:
    """Make a check that the logits of equal tokens depend only on their distance."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | alike(chosen, "q", "k")))
        trial.assert_zero(
            y[:, 1:, 1:] - y[:, :-1, :-1], "logits of equal tokens differ along a diagonal"
        )

    return check


def exchanged(chosen: Arguments, query: str, key: str) -> ArgumentDict:
    """Exchange q with k, and the position argument ``query`` with ``key``."""
    pairs = (("q", "k"), (query, key))
    return {name: chosen[other] for a, b in pairs for name, other in ((a, b), (b, a))}


def roles_exchanged(arguments: DrawArguments, query: str, key: str) -> InvariantCheck:
    """Make a check that exchanging queries and keys transposes the logits.

    Their content is exchanged, and their position arguments ``query`` and ``key``.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y, other = (
            trial.answer(**chosen),
            trial.answer(**(chosen | exchanged(chosen, query, key))),
        )
        trial.assert_zero(
            y - other.swapped(1, 2), "exchanging queries and keys does not transpose the logits"
        )

    return check
