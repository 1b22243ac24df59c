"""Mistakes with embedding and sinusoid side by side that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def single_pair_lowest(case: Case) -> Array:
    """1/base for a single pair."""
    out = right(case)
    if case.arguments["encoding_dim"] == 2:
        angle = case.arguments["positions"] / case.arguments["base"]
        out[..., -2:] = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return out


MISTAKES: dict[str, Mistake] = {"content-first-single-pair": single_pair_lowest}
