"""Right implementations in many styles and precisions, one module per scheme: all must pass."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
