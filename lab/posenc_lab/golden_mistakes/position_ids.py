"""Mistakes with position ids that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def left_counted(case: Case) -> Array:
    """Padding before the first token counted."""
    mask = case.arguments["attention_mask"]
    leading = (mask.cumsum(axis=1) == 0).sum(axis=1, keepdims=True)
    return right(case) + leading * mask


def right_running(case: Case) -> Array:
    """Padding after the last token given that token's number."""
    mask = case.arguments["attention_mask"]
    trailing = mask[:, ::-1].cumsum(axis=1)[:, ::-1] == 0
    return np.where(trailing, mask.sum(axis=1, keepdims=True) - 1, right(case))


MISTAKES: dict[str, Mistake] = {
    "zero-left": left_counted,
    "zero-right": right_running,
}
