"""The mistake that each golden of biases by clipped distance alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, queries_from_zero, right


def biases(case: Case, alter: Callable[[Array, int], Array]) -> Array:
    """The biases of rows that are altered from offsets, the table's reach known."""
    table, q_len, k_len = (case.arguments[name] for name in ("table", "q_len", "k_len"))
    offset = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    return np.moveaxis(table[alter(offset, len(table) // 2)], -1, 0)


def heads_mixed(case: Case) -> Array:
    """The table read in the other order."""
    table = case.arguments["table"]
    return case.changed(table=table.reshape(table.shape[::-1]).T.copy()).truth


def wrapped(case: Case) -> Array:
    """Rows counted around the table."""
    return biases(case, lambda offset, reach: (offset + reach) % (2 * reach + 1))


def single_row_dropped(case: Case) -> Array:
    """No bias where the table has one row."""
    return right(case) * (len(case.arguments["table"]) > 1)


def distances_in_int8(case: Case) -> Array:
    """Distances cut to 8 bits before they are clipped."""

    def rows(offset: Array, reach: int) -> Array:
        return np.clip(offset.astype(np.int8).astype(np.int64), -reach, reach) + reach

    return biases(case, rows)


def clipped_left_out(case: Case) -> Array:
    """Only the diagonals that are not clipped."""
    gradient, reach = case.arguments["gradient"], case.arguments["rows"] // 2
    _, q_len, k_len = gradient.shape
    offset = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    return case.changed(gradient=gradient * (np.abs(offset) <= reach)).truth


MISTAKES: dict[str, Mistake] = {
    "within-the-table": heads_mixed,
    "beyond-the-table": wrapped,
    "two-of-five": queries_from_zero,
    "single-row": single_row_dropped,
    "distances-up-to-199": distances_in_int8,
    "vjp-3-of-5": clipped_left_out,
}
