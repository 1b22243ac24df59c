"""What the kit knows of a scheme: its module in ``schemes``, found by name."""

from importlib import import_module
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.scheme_file.model import Scheme

HOME = "posenc_conformance.schemes"


def knowledge_of(scheme: Scheme) -> Any:
    """The module of a scheme.

    Raises UserError if the kit has none, as for a scheme file of somebody's own.
    """
    name = f"{HOME}.{scheme.module_name}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(
            f"{scheme.path}: the kit has no module for the scheme {scheme.id!r}",
            "see 'Add a scheme' in CONTRIBUTING.md",
        ) from None
