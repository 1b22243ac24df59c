"""Mistakes with the sum of embedding and sinusoid that no wrong miniature makes."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, power_of_two_from, right


def root_of_power_of_two(case: Case) -> Array:
    """As if channels were padded."""
    x = case.arguments["x"]
    dim = x.shape[-1]
    return right(case) + x * (power_of_two_from(dim) ** 0.5 - dim**0.5)


MISTAKES: dict[str, Mistake] = {"paper-d6": root_of_power_of_two}
