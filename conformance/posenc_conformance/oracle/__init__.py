"""The oracle: every value from its definition in mpmath at 50 digits.

One module per scheme, each with ``VALUES[call](arguments, conventions)`` returning a function from
the index of an element to its value, ``None`` where a mask hides it. Nothing here may import
``posenc``, NumPy or the rest of the kit: what certifies must not repeat what it certifies.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

DIGITS = 50

Element = Callable[[tuple[int, ...]], Any]
"""Gives an mpf, or None."""
Values = Callable[[Mapping[str, Any], Mapping[str, Any]], Element]


class NoValues(LookupError):
    """The oracle has no values of a call."""


def element(
    module_name: str, call: str, arguments: Mapping[str, Any], conventions: Mapping[str, Any]
) -> Element:
    """The function that gives any element of a call's result.

    Raises NoValues if the oracle does not have the call.
    """
    name = f"{__name__}.{module_name}"
    try:
        values: Values = import_module(name).VALUES[call]
    except (ModuleNotFoundError, AttributeError, KeyError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name != name:
            raise
        raise NoValues(f"the oracle has no values of {module_name}.{call}()") from None
    return values(arguments, conventions)
