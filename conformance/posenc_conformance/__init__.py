"""The conformance kit: judge an implementation of positional encodings with ``pytest --impl=…``.

An adapter needs two names from here, :func:`claims` and :func:`to_torch`.
"""

from typing import TYPE_CHECKING, Any

from posenc_conformance.claims import claims

if TYPE_CHECKING:
    from posenc_conformance.arrays import to_torch

__version__ = "0.1.0"
__all__ = ["__version__", "claims", "to_torch"]


def __getattr__(name: str) -> Any:
    # NumPy is imported only when it is needed: the plugin must cost nothing when it is not used.
    if name == "to_torch":
        from posenc_conformance.arrays import to_torch

        return to_torch
    raise AttributeError(f"module 'posenc_conformance' has no attribute {name!r}")
