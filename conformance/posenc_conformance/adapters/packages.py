"""Modules of a package whose own code cannot run, for instance without an optional dependency."""

import importlib.util
import sys
from types import ModuleType


def bare_package(name: str) -> ModuleType:
    """Put a package in place without running its ``__init__``, so that its modules import.

    Code that takes names from the package itself still fails.

    Raises ModuleNotFoundError if there is no such package.
    """
    parent, _, last = name.rpartition(".")
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"no package {name!r} is installed", name=name)
    module = ModuleType(name)
    module.__path__ = list(spec.submodule_search_locations)
    module.__spec__ = spec
    sys.modules[name] = module
    if parent:
        setattr(sys.modules[parent], last, module)
    return module
