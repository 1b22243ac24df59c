"""The oracle: every value from its definition in mpmath at 50 digits.

One module per scheme, each with ``VALUES[call](arguments, conventions)`` returning a function from
the index of an element to its value, ``None`` where a mask hides it. Nothing here may import
``posenc``, NumPy or the rest of the kit: what certifies must not repeat what it certifies.
"""

from collections.abc import Callable, Mapping
from typing import Any

DIGITS = 50

Element = Callable[[tuple[int, ...]], Any]
"""Gives an mpf, or None."""
Values = Callable[[Mapping[str, Any], Mapping[str, Any]], Element]
