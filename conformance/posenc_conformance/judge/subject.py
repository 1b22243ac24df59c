"""What is judged: one method of an adapter under one combination of conventions."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from math import prod
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from posenc_conformance.errors import UserError, refuses, told, traced, where
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, dtype_name, to_numpy
from posenc_conformance.judge.case import Case, rounded
from posenc_conformance.judge.kinds import ENGINE
from posenc_conformance.judge.process import changes_by, staying
from posenc_conformance.judge.verdict import TOO_LARGE, NotClaimed
from posenc_conformance.scheme_file.model import Call, Combination, Scheme, Value

P = ParamSpec("P")
T = TypeVar("T")

MEMORY_OF_A_CALL = 2**29
LEFT_OUT = ("left out",)
ASKED = 64
SMALL = 2**10
HIDDEN = -10_000.0
"""What BERT adds to hide a key, the weakest mask that is in use."""
EXACT = {"integer": "iu", "boolean": "b"}
"""Kinds of dtypes that are compared without any bound."""


class Misbehaviour(Exception):
    """A call that gave no array to judge: it raised, or returned something of another form."""


class Refusal(Misbehaviour):
    """A call that raised an ordinary exception, as one on bad input should."""


class Escape(Misbehaviour):
    """A call that tried to leave the check: by sys.exit, pytest.skip and the like."""


class Breakdown(Escape):
    """A call that took its process with it, or too much time or memory."""


class Held:
    """A result in the memory where the implementation has it."""

    def __init__(self, result: Array) -> None:
        self.result = result
        """As the call gave it; an array that may change with it."""

    def now(self) -> Array:
        """What it is now."""
        return self.result

    def write(self, values: Array | float) -> bool:
        """Write into it, as a caller may who has got it; False if it cannot be written.

        What this does to the inputs of the call is seen in them.
        """
        if self.result.flags.writeable:
            self.result[...] = values
        return bool(self.result.flags.writeable)


class Spread(Held):
    """A result that repeats along axes, as it is where it is added."""

    def __init__(self, held: Held, shape: tuple[int, ...]) -> None:
        super().__init__(spread(held.result, shape))
        self._held, self._shape, self._first = held, shape, held.result.copy()

    def now(self) -> Array:
        """What it is now."""
        return spread(self._held.now(), self._shape)

    def write(self, values: Array | float) -> bool:
        """Write a number into it, or what it was at first."""
        return self._held.write(self._first if isinstance(values, np.ndarray) else values)


def spread(result: Array, shape: tuple[int, ...]) -> Array:
    """A result that is shorter by axes along which it repeats; as it is if it does not fit."""
    more = result.ndim - len(shape)
    if more > 0 and result.shape[:more] == (1,) * more:
        result = result.reshape(result.shape[more:])
    with suppress(ValueError):
        return np.broadcast_to(result, shape)
    return result


@dataclass(frozen=True)
class Scope:
    """What one claim covers under one combination."""

    options: Mapping[str, tuple[Value, ...]]
    parameters: Mapping[str, tuple[Any, ...]]
    dtypes: tuple[str, ...]
    max_position: int
    when: "Condition | None" = None
    masked: bool = False
    """Whether the result has its mask in it."""
    broadcast: bool = False
    """Whether the result may leave out that it repeats along an axis."""

    def covers(self, case: Case) -> bool:
        """Whether the claim says that this case works."""
        chosen = case.conventions
        return (
            case.dtype in self.dtypes
            and case.largest_position <= self.max_position
            and all(
                chosen[name] in self.options.get(name, ())
                for name in case.call.options
                if name in chosen
            )
            and all(case.parameter(name) in (None, *some) for name, some in self.parameters.items())
            and (self.when is None or self.when.holds(case))
        )


@dataclass(frozen=True)
class Condition:
    """A claim's own words for what works, as a function of some arguments of a call."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def holds(self, case: Case) -> bool:
        """Whether the function says that the case works.

        Raises UserError if it raises.
        """
        try:
            return bool(self.function(**{name: _value(case, name) for name in self.names}))
        except Exception as error:
            raise UserError(
                f"the condition {where(self.function)} of a claim raised {told(error)}",
                "it is given the arguments that it names; one that is not used is None",
            ) from error


def _value(case: Case, name: str) -> Any:
    if name == "dtype":
        return case.dtype
    if name in case.arguments:
        return case.arguments[name]
    return case.parameter(name) if name in case.call.parameters else case.conventions.get(name)


@dataclass(frozen=True)
class Engine:
    """How an engine is asked what a scheme's call is in a model: by the model's configuration."""

    model: str
    """Its id, or the name of the file that holds its configuration."""
    group: str
    """Of the model's layers."""
    call: str
    """One of ``kinds.ENGINE``."""
    keywords: Mapping[str, Any]
    """The configuration, and the layer."""


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
    siblings: Mapping[str, tuple[Scope, ...]] = field(default_factory=dict, kw_only=True)
    """What the same method claims under other combinations, by their names."""
    memory_of_a_call: int = field(default=MEMORY_OF_A_CALL, kw_only=True)
    """Bytes that inputs and result may take in float64."""
    memory: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False, kw_only=True)
    """What has been found out about it: see :func:`remembered`."""
    asked: list[Case] = field(default_factory=list, repr=False, kw_only=True)
    """Small calls that were made of it: the first ones and the last ones."""
    engine: Engine | None = field(default=None, kw_only=True)
    """If it is asked for a model, not for the scheme's own call."""

    @property
    def label(self) -> str:
        """As node ids and scorecard show it."""
        return self.engine.group if self.engine else self.combination.name

    @property
    def name(self) -> str:
        """Of the method."""
        return self.engine.call if self.engine else self.call.name

    @property
    def home(self) -> str:
        """Id of the scheme or model whose file asks for it."""
        return self.engine.model if self.engine else self.scheme.id

    @property
    def positional(self) -> tuple[str, ...]:
        """The arguments that are passed by position."""
        return ENGINE[self.engine.call] if self.engine else tuple(self.call.arguments)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Claimed dtypes, most precise first."""
        claimed = {dtype for scope in self.scopes for dtype in scope.dtypes}
        return tuple(name for name in UNIT_ROUNDOFF if name in claimed)

    def without(self, dtypes: Collection[str]) -> "Subject":
        """The same with fewer dtypes."""
        if not dtypes:
            return self
        kept = [tuple(each for each in scope.dtypes if each not in dtypes) for scope in self.scopes]
        scopes = zip(self.scopes, kept, strict=True)
        return replace(
            self, scopes=tuple(replace(scope, dtypes=few) for scope, few in scopes if few)
        )

    def claimed(self, case: Case) -> bool:
        """Whether any claim covers the case."""
        return any(scope.covers(case) for scope in self.scopes)

    def covers(self, case: Case) -> bool:
        """Whether any claim covers the case, and it is not too large to be asked.

        That a claimed one is too large is noted: see :meth:`left_out`.
        """
        large, claimed = self._too_large(case), self.claimed(case)
        if large and claimed:
            self.memory[LEFT_OUT] = True
        return claimed and not large

    def left_out(self) -> bool:
        """Whether a claimed call was too large to be asked since this was last asked."""
        return bool(self.memory.pop(LEFT_OUT, False))

    def _too_large(self, case: Case) -> bool:
        """Whether inputs and result take more memory than a call may."""
        arrays = [each.size for each in case.arguments.values() if isinstance(each, np.ndarray)]
        return 8 * (sum(arrays) + prod(case.shape)) > self.memory_of_a_call

    def demand_claimed(self, case: Case) -> None:
        """Raise NotClaimed for a case that no claim covers, or that is too large to be asked."""
        if not self.covers(case):
            too_large = self._too_large(case)
            raise NotClaimed(TOO_LARGE if too_large else "nothing of what it asks is claimed")

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
        self._note(case)
        output = self.invoke(case, case.inputs)
        self.demand_form(case, output)
        return output

    def demand_form(self, case: Case, output: Array) -> None:
        """Raise Misbehaviour unless a result has the shape and dtype asked for and is finite."""
        if output.shape != case.shape:
            raise Misbehaviour(
                f"{self.name}() returned shape {output.shape}; "
                f"expected {case.shape}: {self.call.returns}"
            )
        name = dtype_name(output)
        if case.dtype in EXACT:
            if output.dtype.kind not in EXACT[case.dtype]:
                raise Misbehaviour(f"{self.name}() returned {name}; expected {case.dtype}s")
        elif name != case.dtype:
            raise Misbehaviour(f"{self.name}() returned {name}; expected {case.dtype}")
        finite = np.isfinite(output.astype(np.float64, copy=False))
        if not finite.all() and (bad := case.shown & ~finite).any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise Misbehaviour(
                f"{self.name}() returned {output[index]} at index {index}, and "
                f"{int(bad.sum())} of {bad.size} values that are not finite; "
                f"expected {case.truth[index]:.9g} there"
            )
        if case.printed is None and any(each.masked and each.covers(case) for each in self.scopes):
            self._demand_mask(case, output.astype(np.float64))

    def _demand_mask(self, case: Case, output: Array) -> None:
        """Raise Misbehaviour if an element that the mask hides could be seen."""
        low = HIDDEN * (1 - UNIT_ROUNDOFF[case.dtype])
        seen = ~case.shown & ~(output <= low)
        if seen.any():
            index = tuple(int(i) for i in np.argwhere(seen)[0])
            raise Misbehaviour(
                f"{self.call.name}() returned {output[index]:.9g} at index {index}, which the mask "
                f"hides; {int(seen.sum())} of {int((~case.shown).sum())} hidden values are above "
                f"{HIDDEN:.0f} or NaN; expected -inf or a value that gets no weight"
            )

    def _note(self, case: Case) -> None:
        """Remember a call, of whose arguments a later one may show something."""
        if prod(case.shape) <= SMALL:
            self.asked.append(replace(case))  # without what was computed for it
            if len(self.asked) > ASKED:
                del self.asked[ASKED // 4]

    def forget(self) -> None:
        """Drop what was found out about it, and the calls that it was asked."""
        self.memory.clear()
        self.asked.clear()

    @property
    def is_python(self) -> bool:
        """Whether it is given arrays of NumPy, not a program the copies that were sent to it."""
        return bool(getattr(self.method, "is_python", True))

    def held(self, case: Case, inputs: Mapping[str, Any]) -> Held:
        """The result of a call as :meth:`invoke` gives it, where the implementation has it."""
        hold = getattr(self.method, "held", None)
        if hold is None or case.changed_argument:
            held = Held(self.returned(case, inputs))
        else:
            held = self._called(hold, case, inputs)
        return Spread(held, case.shape) if self.repeats(case) else held

    def changes(self, case: Case) -> list[str]:
        """What a call changes that belongs to the whole process: see :mod:`process`."""
        find = getattr(self.method, "changes", None)
        if find is not None:
            found: list[str] = self._called(find, case, case.inputs)
            return found
        return changes_by(lambda: self.invoke(case, case.inputs))

    def invoke(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """Call the method with these inputs and give back whatever array it returns.

        Of a call that writes into an input, it is that input; a program in another language has a
        copy of it, and returns what it has made of that.

        An optional convention that the case leaves open is passed with a claimed value, so that a
        method may require it. A bias that repeats is given as it is where it is added.
        """
        return self.added(case, self.returned(case, inputs))

    def added(self, case: Case, result: Array) -> Array:
        """A result as it is where it is added."""
        return spread(result, case.shape) if self.repeats(case) else result

    def repeats(self, case: Case) -> bool:
        """Whether a claim says that axes along which the result repeats may be left out."""
        return any(each.broadcast and each.covers(case) for each in self.scopes)

    def returned(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """The array that the method returns."""
        name = self.name
        result = self._called(self.method, case, inputs)
        if case.changed_argument and self.is_python:
            result = inputs[case.changed_argument]
        if result is None:
            raise Misbehaviour(f"{name}() returned None: is a return missing?")
        try:
            with staying():
                return to_numpy(result)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Misbehaviour(
                f"{name}() returned a {type(result).__name__}, of which no array can be made: "
                f"{told(error)}"
            ) from error

    def _called(self, method: Callable[..., Any], case: Case, inputs: Mapping[str, Any]) -> Any:
        positional, keywords = self.arguments(case, inputs)
        name = self.name
        try:
            with staying():
                return method(*positional, **keywords)
        except (KeyboardInterrupt, Misbehaviour):  # the latter is told of another process
            raise
        except BaseException as error:
            kind = Refusal if refuses(error) else Escape
            raise kind(f"{name}() raised {told(error)}\n{traced(error)}") from error

    def arguments(self, case: Case, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments with which the method is called."""
        positional = [inputs[name] for name in self.positional]
        if self.engine:
            given = deepcopy(dict(self.engine.keywords))
        else:
            given = {name: value for name, value in inputs.items() if name not in self.positional}
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


def remembered(
    find: Callable[Concatenate[Subject, P], T],
) -> Callable[Concatenate[Subject, P], T]:
    """The same function, which finds something out about a subject once, as long as it is there."""

    def recall(subject: Subject, /, *rest: P.args, **named: P.kwargs) -> T:
        key = (find, *rest, *named.items())
        if key not in subject.memory:
            subject.memory[key] = find(subject, *rest, **named)
        found: T = subject.memory[key]
        return found

    update_wrapper(recall, find)
    return recall
