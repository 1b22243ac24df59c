"""What people write, right or wrong: implementations that may keep state, in any framework.

A set of them is a package beside this module that puts them on the bench when it is imported. It
may need a framework, so only who asks for a set imports it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

SETS = ("people", "kernels")
"""Packages beside this module."""

RIGHT = "right"
FORMULA = "formula"
OTHER = ("state", "memory", "shapes", "exceptions", "gradients")
"""Faults besides that of a formula, which no name of a mistake has to explain."""

Code = TypeVar("Code", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """Code with a claim, and what a right diagnosis of it may say."""

    set: str
    name: str
    adapter: Callable[[], object]
    """Makes what the kit judges."""
    meaning: str
    fault: str
    """RIGHT, FORMULA or one of OTHER."""
    words: tuple[str, ...]
    """Patterns, one of which a right diagnosis matches; decided before the kit was asked."""


IMPLEMENTATIONS: list[Implementation] = []


def right(adapter: type, **parts: object) -> Callable[[Code], Code]:
    """Put right code on the bench; see :func:`wrong`."""
    return _putting(adapter, RIGHT, (), parts)


def wrong(adapter: type, fault: str, *words: str, **parts: object) -> Callable[[Code], Code]:
    """Put wrong code on the bench.

    Parameters
    ----------
    adapter : type
        A class with claims, which finds the code in its attribute ``code``.
    fault : str
        FORMULA, or one of OTHER.
    *words : str
        Regular expressions, one of which a right diagnosis matches, whatever its case.
    **parts
        Further attributes for the adapter.
    """
    if fault not in (FORMULA, *OTHER):
        raise ValueError(f"{fault} is no fault; one of {', '.join((FORMULA, *OTHER))}")
    if fault == FORMULA and not words:
        raise ValueError("where the formula is at fault, say what a right diagnosis may say")
    return _putting(adapter, fault, words, parts)


def load(name: str) -> list[Implementation]:
    """Import a set, and return its implementations in the order of its files."""
    import_module(f"{__package__}.{name}")
    return [each for each in IMPLEMENTATIONS if each.set == name]


def _putting(
    adapter: type, fault: str, words: tuple[str, ...], parts: dict[str, object]
) -> Callable[[Code], Code]:
    def put(code: Code) -> Code:
        inside = code if isinstance(code, type) else staticmethod(code)
        made = type(adapter.__name__, (adapter,), {**parts, "code": inside})
        _, _, place = str(code.__module__).partition(f"{__package__}.")
        folder, _, file = place.partition(".")
        name = f"{file}.{code.__name__}"
        if any(each.name == name for each in IMPLEMENTATIONS):
            name += f"-{adapter.__name__}"
        meaning = str(code.__doc__).partition("\n")[0]
        IMPLEMENTATIONS.append(Implementation(folder, name, made, meaning, fault, words))
        return code

    return put
