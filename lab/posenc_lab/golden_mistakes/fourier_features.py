"""Mistakes with Fourier features that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake


def turns_at_most_8(case: Case) -> Array:
    """Longer projections cut off."""
    turns = np.clip(case.arguments["x"] @ case.arguments["b"].T, -8, 8)
    parts = [np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)]
    if case.conventions["waves"] == "sin-cos":
        parts.reverse()
    return np.concatenate(parts, axis=-1)


MISTAKES: dict[str, Mistake] = {
    "gaussian-paper-10-turns": turns_at_most_8,
    "gaussian-code-10-turns": turns_at_most_8,
}
