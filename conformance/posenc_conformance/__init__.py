"""The conformance kit: judge an implementation of positional encodings with ``pytest --impl=…``.

An adapter needs :func:`claims` from here, and perhaps :func:`to_torch` and :func:`to_numpy`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posenc import __version__
    from posenc_conformance.adapters.claims import claims
    from posenc_conformance.judge.arrays import to_numpy, to_torch

__all__ = ["__version__", "claims", "to_numpy", "to_torch"]


if not TYPE_CHECKING:  # a type checker would take any name for one that is here

    def __getattr__(name: str) -> Any:
        # NumPy is imported only when it is needed: the plugin must cost nothing unless it is used.
        if name == "__version__":
            from posenc import __version__

            return __version__
        if name == "claims":
            from posenc_conformance.adapters.claims import claims

            return claims
        if name in ("to_numpy", "to_torch"):
            from posenc_conformance.judge import arrays

            return getattr(arrays, name)
        raise AttributeError(f"module 'posenc_conformance' has no attribute {name!r}")
