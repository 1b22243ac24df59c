"""The stub of ``posenc``: for type checkers, the names that are collected at import.

``python -m tests.signatures`` writes it.
"""

from importlib import import_module
from pkgutil import walk_packages

import posenc
from posenc import schemes
from tests.building import CHECKOUT

STUB = CHECKOUT / "reference" / "posenc" / "__init__.pyi"


def stub() -> str:
    """Return the stub as it should be."""
    lines = ["# Written by `make records`: every name that a module of posenc.schemes offers.", ""]
    for module in walk_packages(schemes.__path__, f"{schemes.__name__}."):
        if module.ispkg:
            continue
        names = sorted(import_module(module.name).__all__)
        lines += [f"from {module.name} import (", *(f"    {name}," for name in names), ")"]
    lines += ["", "__version__: str", "__all__ = ["]
    lines += [*(f'    "{name}",' for name in sorted(posenc.__all__)), "]"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
