"""One question to an implementation, and the true answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import posenc
from posenc_conformance.arrays import DTYPES, Array, lattice, narrowed
from posenc_conformance.spec import Call, Golden, Point, Published, RawArguments, Scheme


@dataclass(frozen=True)
class Case:
    """Arguments, conventions and dtype of one call.

    ``arguments`` hold the inputs exactly, arrays of floats as float64, of values that the dtype
    holds.
    """

    scheme: Scheme
    call: Call
    conventions: Point
    arguments: Mapping[str, Any]
    dtype: str
    printed: Array | None = None
    """The truth as a golden prints it, nan where it says nothing."""

    @cached_property
    def truth(self) -> Array:
        """The exact result in float64; not finite where a mask or a golden hides it."""
        if self.printed is not None:
            return self.printed
        reference = getattr(posenc, self.call.name)
        keywords: dict[str, Any] = dict(self.conventions_passed)
        if self.call.dtype == "keyword":
            keywords["dtype"] = np.float64
        return np.asarray(reference(**self.arguments, **keywords))

    @cached_property
    def shown(self) -> Array:
        """Which elements count: not those that a mask or a golden hides. Broadcasts to the result.

        Only a bias has a mask; others need not compute the truth to know.
        """
        if self.printed is None and self.call.kind != "bias":
            return np.asarray(True)
        return np.isfinite(self.truth)

    @property
    def conventions_passed(self) -> Point:
        """The conventions that the call takes by keyword."""
        axes = self.scheme.conventions
        return {name: value for name, value in self.conventions.items() if axes[name].passed}

    @property
    def inputs(self) -> dict[str, Any]:
        """A copy of the arguments in the dtype of the case, for the implementation to use."""
        inputs = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self.arguments.items()
        }
        if self.call.dtype in inputs:  # the dtype of the result is that of this array
            inputs[self.call.dtype] = inputs[self.call.dtype].astype(DTYPES[self.dtype])
        return inputs

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape that the result must have."""
        given = self.arguments
        match self.call.kind:
            case "encode":
                return (len(given["positions"]), given["dim"])
            case "rotary":
                return tuple(given["x"].shape)
            case "bucket":
                return tuple(given["relative_position"].shape)
            case "slopes":
                return (given["heads"],)
            case _:
                heads = self.parameter("heads")
                return (heads, given["q_len"], given["k_len"])

    @property
    def largest_position(self) -> int:
        """Largest magnitude of a position or distance in the arguments."""
        if "k_len" in self.arguments:
            return max(int(self.arguments["k_len"]) - 1, 0)
        for name in ("positions", "relative_position"):
            if name in self.arguments and self.arguments[name].size:
                return int(np.ceil(np.max(np.abs(self.arguments[name]))))
        return 0

    def parameter(self, name: str) -> Any:
        """Value of a parameter, given or the length of an array's axis; None if it is not used."""
        parameter = self.call.parameters[name]
        if parameter.of is not None:
            return self.arguments[parameter.of].shape[parameter.axis]
        return self.arguments.get(name)

    def changed(self, **arguments: Any) -> "Case":
        """The same case with other arguments."""
        changed = rounded(self.call, {**self.arguments, **arguments}, self.dtype)
        return replace(self, arguments=changed, printed=None)

    def under(self, **conventions: str | int) -> "Case":
        """The same case under other conventions."""
        return replace(self, conventions={**self.conventions, **conventions}, printed=None)


def described(scheme: Scheme, item: Golden | Published, dtype: str) -> Case:
    """The call that a golden or a published value of the spec describes."""
    call = scheme.calls[item.call]
    conventions = dict(call.combinations[item.combination].conventions)
    if isinstance(item, Golden):
        conventions |= item.options
    return Case(scheme, call, conventions, materialise(item.arguments), dtype)


def rounded(call: Call, arguments: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The arguments, with the array that has the dtype of the result rounded to it."""
    found = dict(arguments)
    if call.dtype in found:
        found[call.dtype] = narrowed(found[call.dtype], dtype)
    return found


def materialise(raw: RawArguments) -> dict[str, Any]:
    """Arguments of a scheme file as arrays and numbers."""
    return {name: _value(value) for name, value in raw.items()}


def _value(raw: Any) -> Any:
    if isinstance(raw, list):
        return np.array(raw, dtype=np.int64 if all(isinstance(v, int) for v in raw) else np.float64)
    if isinstance(raw, Mapping):
        if "lattice" in raw:
            return lattice(tuple(raw["lattice"]))
        return np.arange(*raw["range"], dtype=np.int64)
    return raw
