"""Mistakes with the multimodal rotary embedding that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def segment_by_segment(case: Case) -> list[Array]:
    """Ids of each segment."""
    frames, height, width = case.arguments["segments"].T
    area = height * width // case.arguments["merge_size"] ** 2
    tokens = np.where(height > 0, frames * area, frames)
    return np.split(right(case), np.cumsum(tokens)[:-1], axis=1)


def time_from_zero_after_text(case: Case) -> Array:
    """Times of images that follow text from 0 on."""
    parts = segment_by_segment(case)
    text = case.arguments["segments"][:, 1] == 0
    for index in np.flatnonzero(text[:-1] & ~text[1:]) + 1:
        parts[index][0] -= parts[index][0, 0]
    return np.concatenate(parts, axis=1)


MISTAKES: dict[str, Mistake] = {"text-image-text": time_from_zero_after_text}
