"""Mistakes with BigBird's pattern that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def nothing_if_short(case: Case) -> Array:
    """Texts shorter than a block have no block at all."""
    short = case.arguments["k_len"] < case.arguments["block_size"]
    return np.zeros(case.shape, dtype=bool) if short else right(case)


MISTAKES: dict[str, Mistake] = {"block-4-of-3-keys": nothing_if_short}
