"""One question to an implementation, and the true answer to it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import (
    DTYPES,
    UNDERFLOW,
    UNIT_ROUNDOFF,
    Array,
    Flags,
    Floats,
    lattice,
    narrowed,
)
from posenc_conformance.judge.kinds import KINDS
from posenc_conformance.judge.knowledge import KIT, knowledge_of, missing, reference_of
from posenc_conformance.judge.truths import TRUTHS, told
from posenc_conformance.scheme_file.model import (
    Call,
    Golden,
    Point,
    Published,
    RawArguments,
    Scheme,
)


@dataclass(frozen=True)
class ErrorTerms:
    """Of each element: the local scale s, and ``|theta| * (1 + |ln w|)`` of its angle.

    Both broadcast to the result.
    """

    scale: Floats
    angle: Floats


def exact_terms(case: "Case") -> ErrorTerms:
    """Nothing is rounded, so nothing is granted."""
    return ErrorTerms(np.zeros(()), np.zeros(()))


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
    like: "Case | None" = None
    """A case of equal arguments, whose truth is computed once for both."""
    grain: float = 0.0
    """What printing may have added to the error of each value that is compared with the truth."""

    @cached_property
    def truth(self) -> Array:
        """The exact result in float64; not finite where a mask or a golden hides it."""
        if self.printed is not None:
            return self.printed
        if self.like is not None:
            return self.like.truth
        reference = reference_of(self.scheme, self.call)
        keywords: dict[str, Any] = dict(self.conventions_passed)
        if self.call.dtype == "keyword":
            keywords["dtype"] = np.float64
        given = dict(self.arguments)
        if changed := self.changed_argument:
            given[changed] = given[changed].copy()
        key = (reference, self._told, tuple(keywords.items()))
        (truth,) = TRUTHS.of(key, lambda: (reference(**given, **keywords),))
        return truth

    @cached_property
    def terms(self) -> ErrorTerms:
        """Scale and angle of each element, for the error model."""

        def found() -> tuple[Array, Array]:
            terms: ErrorTerms = knowledge_of(self.scheme).ERROR_TERMS[self.call.name](self)
            return terms.scale, terms.angle

        chosen = tuple(self.conventions.items())
        key = (self.scheme, self.call.name, chosen, self._told, self.dtype)
        # A scale that is made of the truth is as full of gaps as what a golden prints.
        return ErrorTerms(*TRUTHS.of((*key, told({"printed": self.printed})), found))

    @cached_property
    def _told(self) -> Hashable:
        return told(self.arguments)

    @cached_property
    def bound(self) -> Floats:
        """Largest error that an honest implementation makes, element by element."""
        return self.bounds()

    def bounds(self, *, angles: bool = True) -> Floats:
        """``s * (A * v + B * u * |theta| * (1 + |ln w|))``, or without what angles lose.

        v is the unit roundoff of the result's dtype, u that of the angles, float32 unless the
        result is float64. Printing adds the case's grain, underflow its own.
        """
        accuracy, terms = self.scheme.accuracy, self.terms
        v = UNIT_ROUNDOFF[self.dtype]
        u = UNIT_ROUNDOFF["float64" if self.dtype == "float64" else "float32"]
        allowed = terms.scale * accuracy.rounding * v + self.grain
        if self.dtype in UNDERFLOW:
            allowed = allowed + (terms.scale > 0) * accuracy.rounding * UNDERFLOW[self.dtype]
        if angles:
            allowed = allowed + terms.scale * accuracy.angle * u * terms.angle
        return allowed if allowed.shape == self.shape else np.broadcast_to(allowed, self.shape)

    @cached_property
    def judged(self) -> Flags:
        """Elements that a wrong result could fail: they are shown, and the bound is below s."""
        return np.asarray(self.shown & ((self.bound < self.terms.scale) | (self.bound == 0)))

    @cached_property
    def shown(self) -> Array:
        """Which elements count: not those that a mask or a golden hides. Broadcasts to the result.

        Where nothing can be hidden, the truth need not be computed to know.
        """
        if self.printed is None and not KINDS[self.call.kind].hides:
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
        inputs = {}
        for name, value in self.arguments.items():
            if has_dtype_of_result(self.call, value):
                value = value.astype(DTYPES[self.dtype])
            inputs[name] = value.copy() if isinstance(value, np.ndarray) else value
        return inputs

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape that the result must have."""
        own = getattr(knowledge_of(self.scheme), "SHAPES", {})
        shape = own.get(self.call.name) or KINDS[self.call.kind].shape
        if shape is None:
            raise missing(self.scheme, KIT, f"the kit has no SHAPES[{self.call.name!r}]")
        return tuple(shape(self))

    @property
    def changed_argument(self) -> str:
        """The argument that the call writes into; empty if it gives back an array."""
        return KINDS[self.call.kind].changes

    @property
    def largest_position(self) -> int:
        """Largest magnitude of a position or distance in the arguments."""
        places = getattr(knowledge_of(self.scheme), "PLACES", {}).get(self.call.name)
        if places is not None:
            return int(np.max(places(self), initial=0))
        if "k_len" in self.call.parameters:
            return max(int(self.parameter("k_len")) - 1, 0)
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

    def sharing_truth_of(self, other: "Case") -> "Case":
        """The same case, with the truth of another if that asks for equal values in any dtype."""
        same = self is not other and self.arguments.keys() == other.arguments.keys()
        if same and all(
            np.array_equal(value, other.arguments[name]) for name, value in self.arguments.items()
        ):
            return replace(self, like=other)
        return self

    def changed(self, **arguments: Any) -> "Case":
        """The same case with other arguments."""
        changed = rounded(self.call, {**self.arguments, **arguments}, self.dtype)
        return self.anew(arguments=changed)

    def under(self, **conventions: str | int) -> "Case":
        """The same case under other conventions."""
        return self.anew(conventions={**self.conventions, **conventions})

    def anew(self, **fields: Any) -> "Case":
        """The same case with other fields, and so with a truth of its own."""
        return replace(self, **fields, printed=None, like=None)


def described(scheme: Scheme, item: Golden | Published, dtype: str) -> Case:
    """The call that a golden or a published value of the spec describes."""
    call = scheme.calls[item.call]
    conventions = dict(call.combinations[item.combination].conventions)
    if isinstance(item, Golden):
        conventions |= item.options
    return Case(scheme, call, conventions, materialise(item.arguments), dtype)


def rounded(call: Call, arguments: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The arguments, with the arrays that have the dtype of the result rounded to it."""
    return {
        name: narrowed(value, dtype) if has_dtype_of_result(call, value) else value
        for name, value in arguments.items()
    }


def has_dtype_of_result(call: Call, value: Any) -> bool:
    """Whether an argument is one of the floating arrays whose dtype the result has."""
    return call.dtype == "inputs" and isinstance(value, np.ndarray) and value.dtype.kind == "f"


def materialise(raw: RawArguments) -> dict[str, Any]:
    """Arguments of a scheme file as arrays and numbers."""
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
