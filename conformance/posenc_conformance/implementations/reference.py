"""The reference implementation, judged like any other. It claims everything in the spec."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from posenc_conformance import claims
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import DTYPES
from posenc_conformance.registry import load_readable, load_scheme, reference_of
from posenc_conformance.scheme_file.scheme import Call, Scheme


class FromReference:
    """The base of every adapter of the reference, whatever schemes it has."""

    requires = ("numpy",)


def reference_for(schemes: Sequence[Scheme]) -> type[FromReference]:
    """Make an adapter of every call of some schemes that has a reference."""
    methods = {
        call.name: _claiming_everything(scheme, call, function)
        for scheme in schemes
        for call in scheme.calls.values()
        if (function := _function(scheme, call)) is not None
    }
    return type("Reference", (FromReference,), {"__doc__": __doc__, **methods})


def reference_in(files: Sequence[str]) -> type:
    """Make an adapter of the calls in some scheme files.

    It is for a process that is told of the files by name.
    """
    return reference_for([load_scheme(Path(file)) for file in files])


def _function(scheme: Scheme, call: Call) -> Callable[..., Any] | None:
    """Find the reference's function; None for a scheme that is not finished."""
    try:
        return reference_of(scheme, call)
    except UserError:
        return None


def _claiming_everything(
    scheme: Scheme, call: Call, reference: Callable[..., Any]
) -> Callable[..., Any]:
    options: dict[str, Any] = {name: list(scheme.conventions[name].values) for name in call.options}

    @claims(*call.combinations, dtype=list(DTYPES), max_position=2**53, **options)
    def method(self: object, *arguments: Any, **keywords: Any) -> object:
        return reference(*arguments, **keywords)

    return method


def __getattr__(name: str) -> type[FromReference]:
    """Make ``Reference``, the adapter of all schemes that can be read, once it is asked for."""
    if name != "Reference":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _of_all()


@cache
def _of_all() -> type[FromReference]:
    return reference_for(load_readable())
