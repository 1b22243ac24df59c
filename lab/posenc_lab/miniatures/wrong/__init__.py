"""Wrong implementations, by family and scheme: the kit must reject every one.

It must also name the mistake if the specification lists it.
"""

from importlib import import_module
from pkgutil import walk_packages

for _name in sorted(
    (module.name for module in walk_packages(__path__, f"{__name__}.")),
    key=lambda name: name.rpartition(".")[2],
):
    import_module(_name)
