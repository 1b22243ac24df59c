"""Mistakes with the timestep embedding that no wrong miniature makes."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, positions_altered, right


def single_pair_lowest(case: Case) -> Array:
    """The last frequency of the progression for a single pair."""
    period = case.arguments["max_period"]
    alter = positions_altered(lambda p: p / period)
    return alter(case) if case.arguments["dim"] == 2 else right(case)


MISTAKES: dict[str, Mistake] = {"adm-d2": single_pair_lowest}
