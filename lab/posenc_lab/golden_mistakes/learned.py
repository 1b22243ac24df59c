"""Mistakes with learned positions that no wrong miniature makes."""

from collections.abc import Callable

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.learned import (
    centres,
    cubic,
    linear,
    old_size,
    read_with,
)
from posenc_lab.golden_mistakes.common import Mistake, right


def read_if(when: Callable[[Case], bool], weights: Callable[[int, int], Floats]) -> Mistake:
    """Other weights under a condition."""
    return lambda case: read_with(case, weights) if when(case) else right(case)


def grows(case: Case) -> bool:
    """Along both axes."""
    return min(case.arguments["height"], case.arguments["width"]) > max(old_size(case))


MISTAKES: dict[str, Mistake] = {
    "vit-2-to-3": read_if(
        lambda case: max(old_size(case)) < 3, lambda g, n: linear(g, centres(g, n))
    ),
    "timm-2-to-3": read_if(grows, lambda g, n: cubic(g, centres(g, n), -0.5)),
}
