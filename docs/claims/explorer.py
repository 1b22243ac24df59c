import re
from pathlib import Path
from typing import Any

import numpy as np

import posenc

MODULES = Path(__file__).parents[1] / "assets" / "explorer"


def positions_searched() -> str:
    """The module that searches counts positions up to the printed one."""
    text = (MODULES / "searches.js").read_text(encoding="utf-8")
    found = re.search(r"^const POSITIONS = ([\d_]+);$", text, re.M)
    assert found is not None
    return f"{int(found[1]) - 1:,}"


def rows_of_two_conventions() -> str:
    """Rows p of fairseq's table are rows p + 2 of tensor2tensor's, bit by bit."""
    rules: dict[str, Any] = {"layout": "sin-cos", "denominator": "d/2-1"}
    fairseq = posenc.sinusoidal(range(100), 64, first_position=2, **rules)
    assert np.array_equal(fairseq, posenc.sinusoidal(range(2, 102), 64, **rules))
    return "two positions on"
