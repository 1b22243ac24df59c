"""An invocation of an implementation: a call with its conventions, arguments and dtype."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from posenc_conformance.judge.arrays import DTYPES, lattice, round_to
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.knowledge import CallKnowledge, KnownScheme
from posenc_conformance.scheme_file.scheme import Arguments, Call, Point, RawArguments


@dataclass(frozen=True)
class Invocation:
    """A call of a scheme with conventions, arguments and a dtype.

    ``arguments`` are the exact inputs. Arrays of floats are float64 arrays of values that
    ``dtype`` can represent.
    """

    scheme: KnownScheme
    call: Call
    conventions: Point
    arguments: Arguments
    dtype: str

    @property
    def knowledge(self) -> CallKnowledge:
        """The kit's knowledge of the call."""
        return self.scheme.knowledge[self.call.name]

    @property
    def conventions_passed(self) -> Point:
        """The conventions that the call takes by keyword."""
        axes = self.scheme.conventions
        return {name: value for name, value in self.conventions.items() if axes[name].passed}

    @property
    def inputs(self) -> dict[str, Any]:
        """A copy of the arguments in the dtype of the case, for the implementation."""
        inputs = {}
        for name, value in self.arguments.items():
            if has_dtype_of_result(self.call, value):
                value = value.astype(DTYPES[self.dtype])
            inputs[name] = value.copy() if isinstance(value, np.ndarray) else value
        return inputs

    @property
    def changed_argument(self) -> str:
        """The argument that the call writes into; empty if it returns an array."""
        return KINDS[self.call.kind].changes

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter: the argument, or the length of an array's axis.

        Returns None if the parameter is not used.
        """
        parameter = self.call.parameters[name]
        if parameter.of is not None:
            return self.arguments[parameter.of].shape[parameter.axis]
        return self.arguments.get(name)

    def with_arguments(self, **arguments: Any) -> Self:
        """Return the same invocation with other arguments, rounded to its dtype."""
        rounded = round_arguments(self.call, {**self.arguments, **arguments}, self.dtype)
        return self.with_fields(arguments=rounded)

    def with_conventions(self, **conventions: str | int) -> Self:
        """Return the same invocation under other conventions."""
        return self.with_fields(conventions={**self.conventions, **conventions})

    def with_fields(self, **fields: Any) -> Self:
        """Return the same invocation with other fields."""
        return replace(self, **fields)


def round_arguments(call: Call, arguments: Arguments, dtype: str) -> dict[str, Any]:
    """Round to ``dtype`` those arrays that have the dtype of the result."""
    return {
        name: round_to(value, dtype) if has_dtype_of_result(call, value) else value
        for name, value in arguments.items()
    }


def has_dtype_of_result(call: Call, value: Any) -> bool:
    """Return whether an argument is a floating array that has the result's dtype."""
    return call.dtype == "inputs" and isinstance(value, np.ndarray) and value.dtype.kind == "f"


def materialise(raw: RawArguments) -> dict[str, Any]:
    """Turn the arguments of a scheme file into arrays and numbers."""
    return {name: _value(value) for name, value in raw.items()}


def _value(raw: Any) -> Any:
    if isinstance(raw, list):
        array = np.array(raw)
        return array.astype(np.int64 if array.dtype.kind == "i" else np.float64)
    if isinstance(raw, Mapping):
        if "lattice" in raw:
            return lattice(tuple(raw["lattice"]), raw.get("start", 0))
        return np.arange(*raw["range"], dtype=np.int64)
    return raw
