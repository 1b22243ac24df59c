"""Right and wrong implementations as people write them, possibly stateful, in any framework.

A set is a package next to this module that registers its implementations when it is imported. It
may need a framework, so it is imported only on demand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

SETS = ("people", "kernels", "reports")
"""Packages next to this module."""

RIGHT = "right"
FORMULA = "formula"
OTHER = ("state", "memory", "shapes", "exceptions", "gradients")
"""Faults other than a wrong formula; their diagnosis need not name a mistake."""

Code = TypeVar("Code", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """Code with a claim, and the words of a right diagnosis."""

    set: str
    name: str
    adapter: Callable[[], object]
    """A function that makes the adapter to judge."""
    meaning: str
    fault: str
    """RIGHT, FORMULA or one of OTHER."""
    words: tuple[str, ...]
    """Patterns, one of which a right diagnosis matches; decided before the kit judged the code."""


IMPLEMENTATIONS: list[Implementation] = []


def right(adapter: type, **parts: object) -> Callable[[Code], Code]:
    """Register right code; see :func:`wrong`."""
    return _putting(adapter, RIGHT, (), parts)


def wrong(adapter: type, fault: str, *words: str, **parts: object) -> Callable[[Code], Code]:
    """Register wrong code.

    Parameters
    ----------
    adapter : type
        A class with claims, which has the code as its attribute ``code``.
    fault : str
        FORMULA, or one of OTHER.
    *words : str
        Regular expressions, one of which a right diagnosis matches, ignoring case.
    **parts
        Further attributes of the adapter.
    """
    if fault not in (FORMULA, *OTHER):
        raise ValueError(f"{fault} is no fault; one of {', '.join((FORMULA, *OTHER))}")
    if fault == FORMULA and not words:
        raise ValueError("where the formula is at fault, say what a right diagnosis may say")
    return _putting(adapter, fault, words, parts)


def load(name: str) -> list[Implementation]:
    """Import a set, and return its implementations in the order of its files."""
    import_module(f"{__package__}.{name}")
    return [candidate for candidate in IMPLEMENTATIONS if candidate.set == name]


def _putting(
    adapter: type, fault: str, words: tuple[str, ...], parts: dict[str, object]
) -> Callable[[Code], Code]:
    def put(code: Code) -> Code:
        inside = code if isinstance(code, type) else staticmethod(code)
        made = type(adapter.__name__, (adapter,), {**parts, "code": inside})
        _, _, place = str(code.__module__).partition(f"{__package__}.")
        folder, _, file = place.partition(".")
        name = f"{file}.{code.__name__}"
        if any((other.set, other.name) == (folder, name) for other in IMPLEMENTATIONS):
            name += f"-{adapter.__name__}"
        meaning = str(code.__doc__).partition("\n")[0]
        IMPLEMENTATIONS.append(Implementation(folder, name, made, meaning, fault, words))
        return code

    return put
