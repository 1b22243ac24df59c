"""Wrong implementations: the kit must reject each one, and name the mistake if it is specified.

Each call has a right implementation split into steps; each subclass gets one step wrong.
``named`` is the deviation that the kit must name first; None if the spec has no such mistake.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]

KINDS: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
WRONG: list[type["Mistake"]] = []
STEPS: list[type["Mistake"]] = []
"""The right implementations; each mistake overrides one step of one of them."""


def narrow(values: Any, kind: str) -> Array:
    """Return ``values`` rounded to the dtype ``kind``, as float64."""
    return np.asarray(values, dtype=np.float64).astype(KINDS[kind]).astype(np.float64)


class Mistake:
    """An adapter with one method and the claims that its class declares."""

    named: ClassVar[str | None] = None
    call: ClassVar[str]
    claimed: ClassVar[tuple[str, ...]]
    dtype: ClassVar[str | tuple[str, ...]] = "float32"
    limits: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, steps: bool = False, listed: bool = True) -> None:
        if listed and steps:
            STEPS.append(cls)
        elif listed:
            WRONG.append(declared(cls))

    def answer(self, *arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError


def declared(adapter: type[Mistake]) -> type[Mistake]:
    """Add the method that the kit calls, with its claims, to ``adapter``, and return the class."""

    def method(self: Mistake, *arguments: Any, **keywords: Any) -> Any:
        return self.answer(*arguments, **keywords)

    claim = claims(*adapter.claimed, dtype=adapter.dtype, **adapter.limits)
    setattr(adapter, adapter.call, claim(method))
    return adapter


def made(base: type, name: str, why: str, /, **attributes: Any) -> None:
    """Register a subclass of ``base`` with one more mistake; ``why`` becomes its docstring."""
    type(name, (base,), {"__doc__": why, "__module__": base.__module__, **attributes})
