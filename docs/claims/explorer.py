from typing import Any

import numpy as np

import posenc


def rows_of_two_conventions() -> str:
    """Rows p of fairseq's table are rows p + 2 of tensor2tensor's, bit by bit."""
    rules: dict[str, Any] = {"layout": "sin-cos", "denominator": "d/2-1"}
    fairseq = posenc.sinusoidal(range(100), 64, first_position=2, **rules)
    assert np.array_equal(fairseq, posenc.sinusoidal(range(2, 102), 64, **rules))
    return "two positions on"
