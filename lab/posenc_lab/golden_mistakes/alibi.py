"""Mistakes with linear biases that no wrong miniature makes."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, power_of_two_from, right


def power_of_two_below(number: int) -> int:
    """The greatest power of two below a number, or 1."""
    return max(power_of_two_from(number) // 2, 1)


def slopes_in_two_parts(first: int, longer: int, heads: int) -> Array:
    """All slopes of the first number of heads, then every second one of the longer list."""
    parts = posenc.alibi_slopes(first), posenc.alibi_slopes(longer)[::2]
    return np.concatenate(parts)[:heads]


def power_of_two_strictly_below(case: Case) -> Array:
    """The first part taken from the power of two strictly below the number of heads."""
    heads = case.arguments["heads"]
    first = power_of_two_below(heads)
    return slopes_in_two_parts(first, 2 * first, heads)


def second_part_from_at_least_16(case: Case) -> Array:
    """The second part taken from a list of no fewer than 16 slopes."""
    heads = case.arguments["heads"]
    first = power_of_two_below(heads + 1)
    return slopes_in_two_parts(first, max(2 * first, 16), heads)


def second_part_falls_by_4(case: Case) -> Array:
    """The second part as a progression of ratio 1/4."""
    out, first = right(case), power_of_two_below(case.arguments["heads"] + 1)
    if first < len(out):
        out[first:] = out[first] * 4.0 ** -np.arange(len(out) - first)
    return out


MISTAKES: dict[str, Mistake] = {
    "slopes-8": power_of_two_strictly_below,
    "slopes-6": second_part_from_at_least_16,
    "slopes-12": second_part_falls_by_4,
}
