"""What the kit knows of each scheme: one module per scheme, named as its file in the spec.

A module offers, for each call of its scheme,

``ERROR_TERMS[call](case)``
    scale and angle of each element, for the error model;
``ARGUMENTS[call](trial)``
    arguments of a small, valid call, chosen by the trial;
``SWEEPS[call](parameters, largest)``
    arguments that reach from position 0 to the largest one, or None;
``SIZES[call](case)``
    changes of a case's arguments that take it through every size that code treats apart;

one function per invariant in ``INVARIANTS[call]`` and one per deviation in ``DEVIATIONS[call]``,
each named as in the spec. Where a call is not as its kind usually is, also

``SHAPES[call](case)``
    shape of the result;
``IDENTIFY[call](array)``
    arguments of calls that would give an array of this shape, each with the part of the array that
    they give, for ``posenc identify``;
``BATCHED[call]``
    names of the arrays that take any leading axes, all the same ones.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from posenc_conformance.errors import UserError
from posenc_conformance.spec import Scheme

if TYPE_CHECKING:
    from posenc_conformance.cases import Case
    from posenc_conformance.tolerance import ErrorTerms


def module(scheme: Scheme) -> Any:
    """The module of a scheme.

    Raises UserError if the kit has none, as for a scheme file of somebody's own.
    """
    name = f"{__name__}.{scheme.module_name}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(
            f"{scheme.path}: the kit has no module for the scheme {scheme.id!r}",
            "see 'Add a scheme' in CONTRIBUTING.md",
        ) from None


def error_terms(case: "Case") -> "ErrorTerms":
    """Scale and angle of each element of a case's result."""
    return case.terms
