"""The subject of a judgement: one method of an adapter under one combination of conventions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from posenc_conformance.errors import describe_exception, is_refusal, own_traceback
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array
from posenc_conformance.judge.call_kinds import ENGINE
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Engine, Scope
from posenc_conformance.judge.form import as_array, require_form
from posenc_conformance.judge.history import History
from posenc_conformance.judge.in_memory import Held, Spread, broadcast_result
from posenc_conformance.judge.invocation import round_arguments
from posenc_conformance.judge.knowledge import CallKnowledge, KnownScheme
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour, Refusal
from posenc_conformance.judge.process_state import find_changes_by, preventing_exit
from posenc_conformance.judge.verdict import TOO_LARGE, NotClaimed, TookTooLong
from posenc_conformance.scheme_file.scheme import Arguments, Call, Combination, Value

MEMORY_OF_A_CALL = 2**29
"""Bytes that inputs and result of a call may take in float64: the default of
``--posenc-largest``."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A method of an adapter, judged under one combination."""

    scheme: KnownScheme
    call: Call
    combination: Combination
    scopes: tuple[Scope, ...]
    method: Callable[..., Any]
    keywords: frozenset[str] | None
    """Keywords that the method takes; None if it takes any."""
    siblings: Mapping[str, tuple[Scope, ...]] = field(default_factory=dict, kw_only=True)
    """Scopes that the same method claims under other combinations, by combination name."""
    memory_of_a_call: int = field(default=MEMORY_OF_A_CALL, kw_only=True)
    """Bytes that inputs and result may take in float64."""
    history: History = field(default_factory=History, repr=False, kw_only=True)
    """Calls so far and findings from them; shared by all subjects made from this one."""
    engine: Engine | None = field(default=None, kw_only=True)
    """How to call an engine for a model; None for the scheme's own call."""

    @property
    def knowledge(self) -> CallKnowledge:
        """The kit's knowledge of the call."""
        return self.scheme.knowledge[self.call.name]

    @property
    def label(self) -> str:
        """The subject's name in node ids and on the scorecard."""
        return self.engine.group if self.engine else self.combination.name

    @property
    def name(self) -> str:
        """Name of the adapter's method."""
        return self.engine.call if self.engine else self.call.name

    @property
    def home(self) -> str:
        """Id of the scheme or model whose file defines the call."""
        return self.engine.model if self.engine else self.scheme.id

    @property
    def positional(self) -> tuple[str, ...]:
        """The arguments that are passed by position."""
        return ENGINE[self.engine.call] if self.engine else tuple(self.call.arguments)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The claimed dtypes, widest range first: float64, float32, bfloat16, float16."""
        claimed = {dtype for scope in self.scopes for dtype in scope.dtypes}
        return tuple(name for name in UNIT_ROUNDOFF if name in claimed)

    def without(self, dtypes: Collection[str]) -> "Subject":
        """Return the subject without ``dtypes``, and without scopes that claim no other dtype."""
        if not dtypes:
            return self
        left = [tuple(name for name in scope.dtypes if name not in dtypes) for scope in self.scopes]
        scopes = zip(self.scopes, left, strict=True)
        return replace(
            self, scopes=tuple(replace(scope, dtypes=few) for scope, few in scopes if few)
        )

    def claimed(self, case: Case) -> bool:
        """Return whether any claim covers the case."""
        return any(scope.covers(case) for scope in self.scopes)

    def covers(self, case: Case) -> bool:
        """Return whether any claim covers the case, and it is not too large to run."""
        return self.claimed(case) and not self._too_large(case)

    def note_size(self, case: Case) -> None:
        """Note in the history if a case is claimed, but too large to run."""
        self.history.too_large |= self.claimed(case) and self._too_large(case)

    def runnable(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases that this subject covers; note whether others are too large."""
        for case in cases:
            if self.covers(case):
                yield case
            else:
                self.note_size(case)

    def _too_large(self, case: Case) -> bool:
        """Return whether inputs and result take more memory than allowed."""
        arrays = [value.size for value in case.arguments.values() if isinstance(value, np.ndarray)]
        return 8 * (sum(arrays) + prod(case.shape)) > self.memory_of_a_call

    def require_claimed(self, case: Case) -> None:
        """Raise NotClaimed for a case that no claim covers, or that is too large to run."""
        if not self.covers(case):
            self.note_size(case)
            too_large = self._too_large(case)
            raise NotClaimed(TOO_LARGE if too_large else "no call that it makes is claimed")

    def offers(self, options: Mapping[str, Value]) -> tuple[Scope, ...]:
        """Return the claims that include these values of optional conventions."""
        return tuple(
            scope
            for scope in self.scopes
            if all(value in scope.options.get(name, ()) for name, value in options.items())
        )

    def case(
        self,
        arguments: Arguments,
        dtype: str,
        options: Mapping[str, Value] | None = None,
    ) -> Case:
        """Make a case under this subject's conventions, its inputs rounded to ``dtype``."""
        conventions = {**self.combination.conventions, **(options or {})}
        rounded = round_arguments(self.call, arguments, dtype)
        return Case(self.scheme, self.call, conventions, rounded, dtype)

    def run(self, case: Case) -> Array:
        """Call the method and return its result, in the result's own dtype.

        The history records the call. Raises Misbehaviour if the call raises, or its result has the
        wrong shape or dtype, or is not finite.
        """
        self.history.note_call(case)
        output = self.invoke(case, case.inputs)
        self.require_form(case, output)
        return output

    def require_form(self, case: Case, output: Array) -> None:
        """Raise Misbehaviour unless a result has the expected shape and dtype and is finite."""
        masked = any(scope.masked and scope.covers(case) for scope in self.scopes)
        require_form(self.name, case, output, masked=masked)

    @property
    def is_python(self) -> bool:
        """Whether the method gets the arrays themselves; programs in other languages get copies."""
        return bool(getattr(self.method, "is_python", True))

    def hold(self, case: Case, inputs: Arguments) -> Held:
        """Call the method, and return its result in the implementation's own memory.

        The values are those of :meth:`invoke`.
        """
        hold = getattr(self.method, "hold", None)
        if hold is None or case.changed_argument:
            held = Held(self.returned(case, inputs))
        else:
            held = self._called(hold, case, inputs)
        return Spread(held, case.shape) if self.repeats(case) else held

    def changes(self, case: Case) -> list[str]:
        """Name the process-wide state that a call changes: see :mod:`process_state`."""
        find = getattr(self.method, "changes", None)
        if find is not None:
            names: list[str] = self._called(find, case, case.inputs)
            return names
        return find_changes_by(lambda: self.invoke(case, case.inputs))

    def invoke(self, case: Case, inputs: Arguments) -> Array:
        """Call the method with these inputs and return any array that it returns.

        If the call writes into an input, the result is that input. A program in another language
        writes into a copy, and returns it.

        An optional convention that the case leaves open is passed with a claimed value, so that a
        method may require it. A bias that leaves out axes along which it repeats is broadcast to
        its full shape.
        """
        return self.added(case, self.returned(case, inputs))

    def added(self, case: Case, result: Array) -> Array:
        """Broadcast a result to its full shape if a claim allows it to leave out axes."""
        return broadcast_result(result, case.shape) if self.repeats(case) else result

    def repeats(self, case: Case) -> bool:
        """Return whether a claim allows the result to leave out axes along which it repeats."""
        return any(scope.broadcast and scope.covers(case) for scope in self.scopes)

    def returned(self, case: Case, inputs: Arguments) -> Array:
        """Call the method and return its result as an array, of any shape and dtype.

        Raises Misbehaviour if the call raises, or its result cannot be converted to an array.
        """
        result = self._called(self.method, case, inputs)
        if case.changed_argument and self.is_python:
            result = inputs[case.changed_argument]
        return as_array(self.name, result)

    def _called(self, method: Callable[..., Any], case: Case, inputs: Arguments) -> Any:
        positional, keywords = self.arguments(case, inputs)
        name = self.name
        try:
            with preventing_exit():
                return method(*positional, **keywords)
        except (KeyboardInterrupt, Misbehaviour, TookTooLong):  # the last two from another process
            raise
        except BaseException as error:
            kind = Refusal if is_refusal(error) else Escape
            raise kind(
                f"{name}() raised {describe_exception(error)}\n{own_traceback(error)}"
            ) from error

    def arguments(self, case: Case, inputs: Arguments) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and keyword arguments for the method."""
        positional = [inputs[name] for name in self.positional]
        if self.engine:
            named = deepcopy(dict(self.engine.keywords))
        else:
            named = {name: value for name, value in inputs.items() if name not in self.positional}
            named |= {**self._claimed_options, **case.conventions_passed}
        if self.call.dtype == "keyword":
            named["dtype"] = case.dtype
        if self.keywords is not None:
            named = {name: value for name, value in named.items() if name in self.keywords}
        return positional, named

    @cached_property
    def _claimed_options(self) -> dict[str, Value]:
        axes = self.scheme.conventions
        options = (item for scope in self.scopes for item in scope.options.items())
        return {name: values[0] for name, values in options if axes[name].passed}
