"""Mistakes that goldens of several masks catch."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, power_of_two_from, right


def size_altered(name: str, alter: Callable[[int], int]) -> Mistake:
    """Another window, stride, block or chunk than the one asked for."""
    return lambda case: case.changed(**{name: alter(case.arguments[name])}).truth


def size_a_power_of_two(name: str) -> Mistake:
    """A size rounded up to a power of two."""
    return size_altered(name, lambda size: power_of_two_from(size) if size else size)


def at_least(name: str, least: int) -> Mistake:
    """A size that is never smaller than this."""
    return size_altered(name, lambda size: max(size, least))


def queries_from_zero(case: Case) -> Array:
    """Query i at position i although keys come before it."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return case.changed(q_len=k_len).truth[:q_len]


def several_queries_from_zero(case: Case) -> Array:
    """The same, unless there is a single query."""
    return right(case) if case.arguments["q_len"] == 1 else queries_from_zero(case)


def later_keys_hidden_in_squares(case: Case) -> Array:
    """Keys after the query hidden where there are as many queries as keys."""
    square = case.arguments["q_len"] == case.arguments["k_len"]
    return np.tril(right(case)) if square else right(case)


def all_visible(when: Callable[[Case], bool]) -> Mistake:
    """No mask in some cases."""
    return lambda case: np.ones(case.shape, dtype=bool) if when(case) else right(case)


def is_square(case: Case) -> bool:
    """Whether there are as many queries as keys."""
    return bool(case.arguments["q_len"] == case.arguments["k_len"])
