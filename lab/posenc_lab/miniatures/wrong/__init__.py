"""Wrong implementations, one module per scheme: the kit must reject every one.

It must also name the mistake, where the spec knows it.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
