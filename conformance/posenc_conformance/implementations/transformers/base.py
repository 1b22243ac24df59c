"""What the parts of the adapter for transformers share."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Code(dict[str, Any]):
    """Modules of modelling code by the name of their model, imported when first asked for."""

    def __missing__(self, model: str) -> Any:
        self[model] = import_module(f"transformers.models.{model}.modeling_{model}")
        return self[model]


class Transformers:
    """The library, imported."""

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        self.transformers = transformers
        self.code = Code()
