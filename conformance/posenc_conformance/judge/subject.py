"""What is judged: one method of an adapter under one combination of conventions."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.errors import told
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, dtype_name, to_numpy
from posenc_conformance.judge.case import Case, rounded
from posenc_conformance.scheme_file.model import Call, Combination, Scheme, Value

FRAMES = 8
"""So many lines of a traceback are shown."""
EXACT = {"integer": "iu", "boolean": "b"}
"""Kinds of dtypes that are compared without any bound."""


class Misbehaviour(Exception):
    """A call that gave no array to judge: it raised, or returned something of another form."""


class Refusal(Misbehaviour):
    """A call that raised an ordinary exception, as one on bad input should."""


class Escape(Misbehaviour):
    """A call that tried to leave the check: by sys.exit, pytest.skip and the like."""


@dataclass(frozen=True)
class Scope:
    """What one claim covers under one combination."""

    options: Mapping[str, tuple[Value, ...]]
    parameters: Mapping[str, tuple[Any, ...]]
    dtypes: tuple[str, ...]
    max_position: int

    def covers(self, case: Case, options: Mapping[str, Value]) -> bool:
        """Whether the claim says that this case works."""
        return (
            case.dtype in self.dtypes
            and case.largest_position <= self.max_position
            and all(value in self.options.get(name, ()) for name, value in options.items())
            and all(case.parameter(name) in (None, *some) for name, some in self.parameters.items())
        )


@dataclass(frozen=True, eq=False)
class Subject:
    """A method of an adapter, to be judged under one combination."""

    scheme: Scheme
    call: Call
    combination: Combination
    scopes: tuple[Scope, ...]
    method: Callable[..., Any]
    keywords: frozenset[str] | None
    """Keywords that the method takes; None if it takes any."""

    @property
    def label(self) -> str:
        """As node ids and scorecard show it."""
        return self.combination.name

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Claimed dtypes, most precise first."""
        claimed = {dtype for scope in self.scopes for dtype in scope.dtypes}
        return tuple(name for name in UNIT_ROUNDOFF if name in claimed)

    def covers(self, case: Case, options: Mapping[str, Value]) -> bool:
        """Whether any claim covers the case."""
        return any(scope.covers(case, options) for scope in self.scopes)

    def offers(self, options: Mapping[str, Value]) -> tuple[Scope, ...]:
        """The claims with these optional conventions."""
        return tuple(
            scope
            for scope in self.scopes
            if all(value in scope.options.get(name, ()) for name, value in options.items())
        )

    def case(
        self,
        arguments: Mapping[str, Any],
        dtype: str,
        options: Mapping[str, Value] | None = None,
    ) -> Case:
        """A case under this subject's conventions, its input rounded to the dtype."""
        conventions = {**self.combination.conventions, **(options or {})}
        given = rounded(self.call, arguments, dtype)
        return Case(self.scheme, self.call, conventions, given, dtype)

    def run(self, case: Case) -> Array:
        """The implementation's result, in the dtype that it has.

        Raises Misbehaviour if the call raises, or its result has another shape or dtype, or is not
        finite.
        """
        output = self.invoke(case, case.inputs)
        self.demand_form(case, output)
        return output

    def demand_form(self, case: Case, output: Array) -> None:
        """Raise Misbehaviour unless a result has the shape and dtype asked for and is finite."""
        if output.shape != case.shape:
            raise Misbehaviour(
                f"{self.call.name}() returned shape {output.shape}; "
                f"expected {case.shape}: {self.call.returns}"
            )
        name = dtype_name(output)
        if case.dtype in EXACT:
            if output.dtype.kind not in EXACT[case.dtype]:
                raise Misbehaviour(f"{self.call.name}() returned {name}; expected {case.dtype}s")
        elif name != case.dtype:
            raise Misbehaviour(f"{self.call.name}() returned {name}; expected {case.dtype}")
        finite = np.isfinite(output.astype(np.float64))
        if not finite.all() and (bad := case.shown & ~finite).any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise Misbehaviour(
                f"{self.call.name}() returned {output[index]} at index {index}, and "
                f"{int(bad.sum())} of {bad.size} values that are not finite; "
                f"expected {case.truth[index]:.9g} there"
            )

    def invoke(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """Call the method with these inputs and give back whatever array it returns.

        An optional convention that the case leaves open is passed with a claimed value, so that a
        method may require it.
        """
        positional, keywords = self.arguments(case, inputs)
        name = self.call.name
        try:
            result = self.method(*positional, **keywords)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise Refusal(f"{name}() raised {told(error)}\n{_frames(error)}") from error
        except BaseException as error:
            raise Escape(f"{name}() raised {told(error)}\n{_frames(error)}") from error
        if result is None:
            raise Misbehaviour(f"{name}() returned None: is a return missing?")
        try:
            return to_numpy(result)
        except Exception as error:
            raise Misbehaviour(
                f"{name}() returned a {type(result).__name__}, of which no array can be made: "
                f"{told(error)}"
            ) from error

    def arguments(self, case: Case, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments with which the method is called."""
        positional = [inputs[name] for name in self.call.arguments]
        given = {name: value for name, value in inputs.items() if name not in self.call.arguments}
        given |= {**self._claimed_options, **case.conventions_passed}
        if self.call.dtype == "keyword":
            given["dtype"] = case.dtype
        if self.keywords is not None:
            given = {name: value for name, value in given.items() if name in self.keywords}
        return positional, given

    @cached_property
    def _claimed_options(self) -> dict[str, Value]:
        axes = self.scheme.conventions
        options = (item for scope in self.scopes for item in scope.options.items())
        return {name: values[0] for name, values in options if axes[name].passed}


def _frames(error: BaseException) -> str:
    """The implementation's own part of a traceback: its last frames, should it be deep."""
    ours = str(Path(__file__).parents[1])
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [
        frame
        for frame in frames
        if not frame.filename.startswith(ours) or "implementations" in frame.filename
    ]
    lines = [
        f"  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in theirs[-FRAMES:]
    ]
    return "\n".join(lines) or "  (the exception comes from the call itself)"
