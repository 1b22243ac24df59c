"""Mistakes with xPos that no wrong miniature makes."""

import numpy as np

from posenc_conformance.families.rotary import written_channels
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.xpos import scale
from posenc_lab.golden_mistakes.common import Mistake, right


def scale_at_least_half(case: Case) -> Array:
    """A scale that is kept from getting small."""
    out, true = right(case), scale(case)
    for channel in written_channels(case):
        out[..., channel] *= np.maximum(true, 0.5) / true
    return out


MISTAKES: dict[str, Mistake] = {"uncentred-query-700": scale_at_least_half}
