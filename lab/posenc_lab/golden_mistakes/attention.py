"""Mistakes with attention that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.attention import logits_of, seen, softmax
from posenc_lab.golden_mistakes.common import Mistake, right


def masked_at_start_unless_single(case: Case) -> Array:
    """A mask in the upper left corner, but none for a single query."""
    if case.arguments["q"].shape[-2] == 1:
        return right(case)
    return np.asarray(softmax(logits_of(case), seen(case, 0)) @ case.arguments["v"])


MISTAKES: dict[str, Mistake] = {"causal-2-of-5": masked_at_start_unless_single}
