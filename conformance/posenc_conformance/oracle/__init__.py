"""The oracle: every value from its definition in mpmath at 50 digits.

One module per scheme, in the package of its family. Each has ``VALUES[call](arguments,
conventions)``, which returns a function from the index of an element to its value, ``None`` where a
mask hides it. Nothing here may import ``posenc``, NumPy or the rest of the kit: the oracle must
share no code with what it checks.
"""

from collections.abc import Callable, Mapping
from typing import Any

DIGITS = 50

Element = Callable[[tuple[int, ...]], Any]
"""A function from the index of an element to its value: an mpf, or None where a mask hides it."""
Arguments = Mapping[str, Any]
"""Arguments of a call, by their names."""
Conventions = Mapping[str, Any]
"""The value of each convention, by its name."""
Values = Callable[[Arguments, Conventions], Element]
