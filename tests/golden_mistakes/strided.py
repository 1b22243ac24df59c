"""The mistake that each golden of the strided pattern alone catches."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake
from tests.golden_mistakes.masks import at_least, queries_from_zero, size_a_power_of_two


def other_local(case: Case) -> Array:
    """The local part with one key more, or one less."""
    others = {"local": "local-inclusive", "local-inclusive": "local"}
    return case.under(part=others[str(case.conventions["part"])]).truth


MISTAKES: dict[str, Mistake] = {
    "union-3": size_a_power_of_two("stride"),
    "union-4-decoding": queries_from_zero,
    "union-1": at_least("stride", 2),
    "local-3": other_local,
    "local-inclusive-3": other_local,
    "column-3": size_a_power_of_two("stride"),
    "column-4-decoding": queries_from_zero,
}
