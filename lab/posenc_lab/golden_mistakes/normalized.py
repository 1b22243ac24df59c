"""Mistakes with normalised positions that no wrong miniature makes."""

from collections.abc import Callable

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def divided_by(divisor: Callable[[int], int]) -> Mistake:
    """Another denominator, from the length."""

    def mistake(case: Case) -> Array:
        length = case.arguments["length"]
        return right(case) * ((length - 1) / divisor(length))

    return mistake


MISTAKES: dict[str, Mistake] = {
    "length-2-d3": divided_by(lambda length: max(length - 1, 2)),
    "length-17-d2": divided_by(lambda length: min(length, 16) - 1),
}
