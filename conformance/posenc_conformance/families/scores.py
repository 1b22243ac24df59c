"""What the schemes of scores share: logits that are sums of terms for content and for position."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Arguments, InvariantCheck, Trial

Arrays = Callable[..., dict[str, Any]]


def products(rows: Floats, columns: Floats) -> Floats:
    """Dot product of every row of one array with every row of the other."""
    return np.asarray(rows @ np.swapaxes(columns, -1, -2))


def dots(answer: Answer, rows: str, columns: str) -> Answer:
    """The same of two arguments."""
    return answer.given(rows) @ answer.given(columns).swapped(-1, -2)


def root(case: Case) -> float:
    """The square root of head_dim."""
    return float(np.sqrt(case.parameter("head_dim")))


def zeros(chosen: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Arrays of the same shapes that hold nothing."""
    return {name: np.zeros_like(chosen[name]) for name in names}


def alike(chosen: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Arrays of the same shapes whose rows are all like the first of them."""
    return {
        name: np.broadcast_to(chosen[name][..., :1, :], chosen[name].shape).copy() for name in names
    }


def sweep(arrays: Arrays, **more: int) -> Callable[[Mapping[str, Any], int], dict[str, Any]]:
    """Two queries at the end of many keys."""

    def make(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
        usual = {"heads": 2, "q_len": 2, "k_len": min(largest, 300) + 1, "head_dim": 4, **more}
        usual |= parameters
        return arrays(**(usual | {"q_len": min(usual["q_len"], usual["k_len"])}))

    return make


def sizes(arrays: Arrays, *each: tuple[int, ...]) -> Callable[[Case], Iterator[dict[str, Any]]]:
    """Arguments of these sizes."""

    def changes(case: Case) -> Iterator[dict[str, Any]]:
        return (arrays(*some) for some in each)

    return changes


def content_alone(
    arguments: Arguments, root: Callable[[Case], float], what: str, *names: str
) -> InvariantCheck:
    """With zeros in these arguments only dot products are left, divided by a root."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | zeros(chosen, *names)))
        trial.zero(y - dots(y, "q", "k") / root(y.case), what)

    return check


def last_queries(arguments: Arguments, size: int = 1) -> InvariantCheck:
    """Fewer queries, drawn of this size, are the last rows of as many queries as keys."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        heads, q_len, head_dim = chosen["q"].shape
        k_len = chosen["k"].shape[1]
        q = size * fine((heads, k_len, head_dim), 3)
        every = trial.answer(**(chosen | {"q": q}))
        few = trial.answer(**(chosen | {"q": q[:, k_len - q_len :].copy()}))
        trial.zero(
            few - every[:, k_len - q_len :],
            "with fewer queries than keys the queries are not the last ones",
        )

    return check


def token_left_out(arguments: Arguments, rest: slice, what: str, *names: str) -> InvariantCheck:
    """Without the first or the last token, in these arguments, all others score as they did."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        length = chosen["q"].shape[1]
        if length == 1:
            return
        cut = {name: chosen[name][:, rest].copy() for name in names}
        longer, shorter = trial.answer(**chosen), trial.answer(**(chosen | cut))
        trial.zero(shorter - longer[:, rest, rest], what)

    return check


def toeplitz(arguments: Arguments) -> InvariantCheck:
    """Where all tokens are alike, only their distance counts."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        y = trial.answer(**(chosen | alike(chosen, "q", "k")))
        trial.zero(y[:, 1:, 1:] - y[:, :-1, :-1], "logits of equal tokens differ along a diagonal")

    return check


def exchanged(chosen: Mapping[str, Any], query: str, key: str) -> dict[str, Any]:
    """Queries for keys, in content and in two arguments for positions."""
    pairs = (("q", "k"), (query, key))
    return {name: chosen[other] for a, b in pairs for name, other in ((a, b), (b, a))}


def roles_exchanged(arguments: Arguments, query: str, key: str) -> InvariantCheck:
    """With queries and keys exchanged, in content and in positions, the logits are transposed."""

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        one, other = (
            trial.answer(**chosen),
            trial.answer(**(chosen | exchanged(chosen, query, key))),
        )
        trial.zero(
            one - other.swapped(1, 2), "exchanging queries and keys does not transpose the logits"
        )

    return check
