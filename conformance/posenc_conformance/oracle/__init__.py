"""The oracle: every value from its definition in mpmath at 50 digits.

One module per scheme, each with ``VALUES[call](arguments, conventions)`` returning a function from
the index of an element to its value, ``None`` where a mask hides it. Nothing here may import
``posenc`` or share code with it: what certifies must not repeat what it certifies.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from posenc_conformance.errors import UserError

DIGITS = 50

Element = Callable[[tuple[int, ...]], Any]
"""Gives an mpf, or None."""
Values = Callable[[Mapping[str, Any], Mapping[str, Any]], Element]


def element(
    module_name: str, call: str, arguments: Mapping[str, Any], conventions: Mapping[str, Any]
) -> Element:
    """The function that gives any element of a call's result."""
    name = f"{__name__}.{module_name}"
    try:
        values: Values = import_module(name).VALUES[call]
    except (ModuleNotFoundError, AttributeError, KeyError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name != name:
            raise
        raise UserError(
            f"the oracle has no values of {module_name}.{call}()",
            f"write oracle/{module_name}.py in the kit, with VALUES: see 'Add a scheme' in "
            "CONTRIBUTING.md",
        ) from None
    return values(arguments, conventions)
