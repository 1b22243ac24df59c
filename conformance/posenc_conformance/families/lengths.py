"""Numbers of queries and keys: the queries are the last of the keys."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial

Integers = npt.NDArray[np.int64]


def lengths(
    trial: Trial, k_lens: Sequence[int] = (6, 1, 2, 9, 33), **others: Sequence[Any]
) -> dict[str, Any]:
    """A few queries and keys, as many queries as keys or fewer, and sizes of other names."""
    k_len = trial.choose("k_len", k_lens)
    q_len = k_len - trial.pick.integer(0, min(3, k_len - 1))
    chosen = {name: trial.choose(name, values) for name, values in others.items()}
    return {**chosen, "q_len": trial.choose("q_len", (q_len,)), "k_len": k_len}


def queries(case: Case) -> Integers:
    """Positions of the queries, as a column."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    return np.arange(k_len - q_len, k_len)[:, None]


def lags(case: Case, query: Any = None) -> Integers:
    """Query minus key, the queries in their own places or in others: [q_len, k_len]."""
    keys = np.arange(int(case.parameter("k_len")))
    return np.asarray((queries(case) if query is None else query) - keys)


def no_sweep(parameters: Mapping[str, Any], largest: int) -> None:
    """None: the call has no positions to sweep."""
