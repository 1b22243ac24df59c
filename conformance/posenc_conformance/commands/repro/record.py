"""Record the calls that a check makes, with the memory layout of their arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array, placed
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject


@dataclass(frozen=True)
class Given:
    """A copy of an array argument, as it was before a call."""

    values: Array
    """A copy in row-major order."""
    form: str
    """The memory layout: plain, read-only, strided or column-major."""
    strides: tuple[int, ...] = ()
    """Strides in elements, which a strided array needs."""

    def made(self) -> Array:
        """Make a new array with the same values and form."""
        if self.form == "column-major":
            return np.asfortranarray(self.values)
        if self.form == "strided":
            return placed(self.values, self.strides)
        array = self.values.copy()
        array.flags.writeable = self.form != "read-only"
        return array


@dataclass
class Made:
    """A call that was made, and its result."""

    case: Case
    arguments: Mapping[str, Any]
    """Arguments by name, arrays as ``Given``; those that are passed by position come first."""
    positional: tuple[str, ...]
    result: Array | None = None
    """The returned array itself, which later calls may change."""
    got: Array | None = None
    """A copy of the result, broadcast to its full shape if it leaves out axes."""
    problem: str = ""
    """The reason why there is no such array, or the fault in its form."""


@dataclass(frozen=True, eq=False)
class Recorded(Subject):
    """A subject that records its calls in order."""

    calls: list[Made] = field(default_factory=list)

    @classmethod
    def of(cls, subject: Subject) -> "Recorded":
        """Make a recording copy of a subject, without any call yet."""
        return cls(**{item.name: getattr(subject, item.name) for item in fields(subject)})

    def returned(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """Call the method, and record the call and its result."""
        positional, keywords = self.arguments(case, inputs)
        arguments = dict(zip(self.positional, positional, strict=True)) | keywords
        passed = {name: keep_argument(value) for name, value in arguments.items()}
        made = Made(case, passed, self.positional)
        self.calls.append(made)
        try:
            made.result = super().returned(case, inputs)
        except Misbehaviour as problem:
            made.problem = str(problem)
            raise
        made.got = self.added(case, made.result).copy()
        return made.result

    def require_form(self, case: Case, output: Array) -> None:
        """Raise Misbehaviour for a wrong form, and record the fault."""
        try:
            super().require_form(case, output)
        except Misbehaviour as problem:
            next(made for made in reversed(self.calls) if made.case is case).problem = str(problem)
            raise


def keep_argument(value: Any) -> Any:
    """Return a copy of an argument from which it can be made again."""
    if not isinstance(value, np.ndarray):
        return value
    strides = tuple(step // value.itemsize for step in value.strides)
    return Given(np.array(value, order="C"), _form(value), strides)


def _form(array: Array) -> str:
    if not array.flags.writeable:
        return "read-only"
    if array.flags.c_contiguous:
        return "plain"
    return "column-major" if array.flags.f_contiguous else "strided"
