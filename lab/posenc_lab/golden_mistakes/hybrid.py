"""Mistakes with absolute and relative encodings together that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, power_of_two_from, right


def without_table(case: Case) -> Array:
    """The absolute part."""
    return case.with_arguments(table=np.zeros_like(case.arguments["table"])).truth


def far_rows_without(case: Case) -> Array:
    """No bias beyond the table."""
    n, reach = len(case.arguments["x"]), len(case.arguments["table"]) // 2
    near = np.abs(np.arange(n) - np.arange(n)[:, None]) <= reach
    return np.where(near, right(case), without_table(case))


def zero_rows_without(case: Case) -> Array:
    """The bias alone where a row of x is zero."""
    x = case.arguments["x"]
    empty = ~x.any(axis=1)
    bias = right(case) - without_table(case)
    return np.where(empty[:, None] | empty, bias, right(case))


def heads_padded(case: Case) -> Array:
    """Divided by the square root of another number of channels."""
    channels = case.parameter("head_dim")
    scale = np.sqrt(channels / power_of_two_from(channels))
    return right(case) + without_table(case) * (scale - 1)


MISTAKES: dict[str, Mistake] = {
    "beyond-the-table": far_rows_without,
    "embeddings-of-zeros": zero_rows_without,
    "three-channels": heads_padded,
}
