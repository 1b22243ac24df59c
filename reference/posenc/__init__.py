"""Positional encodings, computed as exactly as float64 allows.

Every public function of every module in :mod:`posenc.schemes` is available here: to add a scheme,
add one file to the folder of its family. Type checkers read the names from the stub next to this
file, which ``make records`` writes. All modules are imported on the first access to one of these
functions.
"""

from importlib import import_module
from pkgutil import iter_modules, walk_packages
from typing import Any

__version__ = "0.1.0"

# Shared helpers first: schemes import them with ``from posenc import``.
for _found in iter_modules(__path__, f"{__name__}."):
    import_module(_found.name)


def __getattr__(name: str) -> Any:
    # Called only for names that this module does not have, or not yet.
    here = globals()
    if "__all__" not in here:
        _collect()
        if name in here:
            return here[name]
    raise AttributeError(f"posenc has no {name!r}; it has {', '.join(sorted(here['__all__']))}")


def __dir__() -> list[str]:
    _collect()
    return [*globals()]


def _collect() -> None:
    """Put the functions of all schemes into this module."""
    here = globals()
    names = here["__all__"] = ["__version__"]
    for info in walk_packages(here["schemes"].__path__, f"{__name__}.schemes."):
        if info.ispkg:
            continue
        module = import_module(info.name)
        here |= {name: getattr(module, name) for name in module.__all__}
        names += module.__all__
