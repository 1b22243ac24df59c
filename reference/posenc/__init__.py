"""Positional encodings, computed as exactly as float64 allows.

Every public function of every module in :mod:`posenc.schemes` is available here, so a new
scheme is a new file in that folder and nothing else. Type checkers read their names in the
stub beside this file, which ``make records`` writes.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import NoReturn

from posenc import schemes

__version__ = "0.1.0"
__all__ = ["__version__"]

for _module_info in iter_modules(schemes.__path__):
    _module = import_module(f"{schemes.__name__}.{_module_info.name}")
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
        __all__ += [_name]


def __getattr__(name: str) -> NoReturn:
    # Only reached for names that no scheme defines.
    raise AttributeError(f"posenc has no {name!r}; it has {', '.join(sorted(__all__))}")
