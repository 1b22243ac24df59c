"""The mistake that each golden of causal masks alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right
from tests.golden_mistakes.masks import all_visible, is_square


def aligned(alignment: str, single: bool) -> Mistake:
    """The other alignment; for a single query too, or not."""

    def mistake(case: Case) -> Array:
        if case.arguments["q_len"] == 1 and not single:
            return right(case)
        return case.under(alignment=alignment).truth

    return mistake


def positions_in_bytes(case: Case) -> Array:
    """Positions of queries held in 8 bits."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return np.arange(k_len) <= (np.arange(k_len - q_len, k_len) % 256)[:, None]


MISTAKES: dict[str, Mistake] = {
    "end-5": all_visible(is_square),
    "end-2-of-5": aligned("start", single=False),
    "end-1-of-300": positions_in_bytes,
    "start-4": all_visible(is_square),
    "start-2-of-5": aligned("end", single=True),
}
