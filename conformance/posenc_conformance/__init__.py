"""The conformance kit: judge an implementation of positional encodings with ``pytest --impl=…``.

An existing test needs :func:`check` from here, and perhaps :func:`expected`. An adapter needs
:func:`claims`, and perhaps :func:`to_torch` and :func:`to_numpy`; :func:`conformance` makes tests
from its claims.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posenc import __version__
    from posenc_conformance import adapters
    from posenc_conformance.adapters.claims import claims
    from posenc_conformance.judge.arrays import to_numpy, to_torch
    from posenc_conformance.testing.check import check, expected, show
    from posenc_conformance.testing.conformance import conformance
    from posenc_conformance.testing.signatures import Misuse

__all__ = [
    "Misuse",
    "__version__",
    "adapters",
    "check",
    "claims",
    "conformance",
    "expected",
    "show",
    "to_numpy",
    "to_torch",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name

    def __getattr__(name: str) -> Any:
        # Import NumPy only when needed: the plugin must cost nothing unless it is used.
        if name == "__version__":
            from posenc import __version__

            return __version__
        if name == "claims":
            from posenc_conformance.adapters.claims import claims

            return claims
        if name in ("to_numpy", "to_torch"):
            from posenc_conformance.judge import arrays

            return vars(arrays)[name]
        if name == "adapters":
            return import_module("posenc_conformance.adapters")
        if name == "Misuse":
            from posenc_conformance.testing.signatures import Misuse

            return Misuse
        if name == "conformance":
            from posenc_conformance.testing.conformance import conformance

            return conformance
        if name in ("check", "expected", "show"):
            from posenc_conformance.testing import check

            return vars(check)[name]
        raise AttributeError(f"module 'posenc_conformance' has no attribute {name!r}")
