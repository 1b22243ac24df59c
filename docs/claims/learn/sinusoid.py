import math
import re
from pathlib import Path
from typing import Any

import numpy as np

import posenc

PAGE = Path(__file__).parents[2] / "learn" / "sinusoid.md"


def _shown() -> dict[str, Any]:
    """Run the two functions that the page shows, and return them by name."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    namespace: dict[str, Any] = {}
    exec(compile(blocks[0] + blocks[1], str(PAGE), "exec"), namespace)
    return namespace


def same_rows() -> None:
    """Both functions of the page against posenc's, for 4 and for 512 channels."""
    shown = _shown()
    for name in ("with_a_loop", "vectorised"):
        for d in (4, 512):
            assert np.abs(shown[name](70, d) - posenc.sinusoidal(np.arange(70), d)).max() < 1e-13


def by_hand() -> tuple[str, str]:
    """The logarithm of 10,000 and its half, which e takes to one hundredth."""
    logarithm = math.log(10000)
    assert math.isclose(math.exp(-logarithm / 2), 0.01)
    return f"is {logarithm:.2f}", f"it is {logarithm / 2:.3f}"


def neighbours() -> str:
    """The dot product of each position and the next, for 2,000 positions."""
    rows = posenc.sinusoidal(np.arange(2000), 4)
    products = (rows[1:] * rows[:-1]).sum(axis=1)
    assert np.ptp(products) < 1e-12
    return f"{products[0]:.2f}"


def slowest_hand() -> str:
    """The first frequency over the last, which grows with d and stays below 10,000."""
    quotients = []
    for d in (4, 64, 512, 4096):
        (pair,) = posenc.sinusoidal([1], d).reshape(1, -1, 2)
        angles = np.arctan2(pair[:, 0], pair[:, 1])
        quotients.append(angles[0] / angles[-1])
    assert quotients == sorted(quotients)
    assert quotients[-1] < 10000
    return f"{quotients[2]:,.0f} times with 512 channels"
