"""Mistakes with chunked attention that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def unmasked_if_short(case: Case) -> Array:
    """No mask for texts shorter than a chunk."""
    short = case.arguments["k_len"] < case.arguments["chunk_size"]
    return np.ones(case.shape, dtype=bool) if short else right(case)


MISTAKES: dict[str, Mistake] = {"chunk-8-of-4-keys": unmasked_if_short}
