"""Functions in float32, rounded to the nearest number: what a page prints then holds everywhere.

NumPy's own differ from one kind of processor to another, by up to a few units in the last place.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


def rounded(function: Callable[..., Any], *values: npt.ArrayLike) -> Any:
    """What a function gives for values in float32, computed in float64 and rounded once."""
    return np.float32(function(*(np.asarray(np.float32(each), np.float64) for each in values)))
