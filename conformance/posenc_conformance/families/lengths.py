"""Numbers of queries and keys: the queries are at the last key positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, Flags, Floats
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

MANY = 2**13
"""The approximate number of elements that are read from a saved array."""
NEAR = 1e-9
"""A tolerance above float64's error in a quotient of logarithms, and below the distance from such
a quotient to the nearest whole number, unless the quotient is whole."""
Integers = npt.NDArray[np.int64]


def lengths(
    trial: Trial, k_lens: Sequence[int] = (6, 2, 9, 33, 4), **others: Sequence[Any]
) -> ArgumentDict:
    """Draw a few keys, at most as many queries, and values of ``others``."""
    k_len = trial.choose("k_len", k_lens)
    q_len = k_len - trial.pick.integer(0, min(3, k_len - 1))
    chosen = {name: trial.choose(name, values) for name, values in others.items()}
    return {**chosen, "q_len": trial.choose("q_len", (q_len,)), "k_len": k_len}


def queries(case: Case) -> Integers:
    """Return the positions of the queries, as a column."""
    q_len, k_len = int(case.parameter("q_len")), int(case.parameter("k_len"))
    return np.arange(k_len - q_len, k_len)[:, None]


def lags(case: Case, query: Any = None) -> Integers:
    """Compute query minus key: [q_len, k_len].

    The queries are at their own positions, unless ``query`` gives others.
    """
    keys = np.arange(int(case.parameter("k_len")))
    return np.asarray((queries(case) if query is None else query) - keys)


def distances(case: Case, query: Any = None) -> Floats:
    """Compute query minus key, 0 where the key comes after the query: [q_len, k_len]."""
    return np.asarray(np.maximum(lags(case, query), 0), dtype=np.float64)


def one_step(case: Case, where: Flags) -> ErrorTerms:
    """Return error terms that allow an error of 1 in some whole numbers of a result, else none.

    ``where`` marks the numbers that may be off by 1.
    """
    unit = case.scheme.accuracy.angle * UNIT_ROUNDOFF["float32"]
    return ErrorTerms(np.where(where, 2.0, 0.0), np.full((), 0.5 / unit))


def saved_lags(array: Array) -> tuple[Integers, Array] | None:
    """Compute query minus key for a saved array that has an integer for each query and key.

    ``posenc identify`` uses it. Returns the lags and the integers, for only some queries if there
    are many. Returns None if the array has another form.
    """
    if array.ndim != 2 or array.dtype.kind not in "iu" or not 1 < array.shape[1] >= len(array):
        return None
    q_len, k_len = array.shape
    few = min(q_len, max(2, MANY // k_len))
    rows = np.unique(np.linspace(0, q_len - 1, few).astype(np.int64))
    return (k_len - q_len + rows)[:, None] - np.arange(k_len), array[rows]


def no_sweep(parameters: Arguments, largest: int) -> None:
    """Return None: the call has no positions to sweep."""
