"""Behaviour: what goldens miss, because it shows only between calls or in unusual arrays."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.checks.smoke import first_answer, smallest_case
from posenc_conformance.diagnose.explain import compared
from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.asking import asked, call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Misbehaviour, Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong


@dataclass
class Bench:
    """An implementation under test, and how often a check has asked it something."""

    subject: Subject
    asked: int = 0

    def run(self, case: Case) -> Array:
        """The result for a case."""
        self.asked += 1
        return asked(self.subject, case)

    def invoke(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """The result for inputs of an unusual form."""
        self.asked += 1
        return asked(self.subject, case, inputs)

    def right(self, case: Case, what: str, inputs: Mapping[str, Any] | None = None) -> None:
        """Demand the true result for a case, given in inputs of an unusual form, if it is claimed.

        Raises Blocked if the plain call is wrong already: then this would say nothing new.
        """
        _demand_plainly_right(self.subject, case.dtype)
        if not self.subject.covers(case, {}):
            return
        output = self.run(case) if inputs is None else self.invoke(case, inputs)
        if output.shape != case.shape:
            raise Misbehaviour(f"{what}: returned shape {output.shape}; expected {case.shape}")
        compared(case, output.astype(np.float64), what)


Behaviour = Callable[[Bench, Case], None]


def checks(subject: Subject) -> Iterator[Check]:
    """Those that make sense for the arguments of the smallest call.

    What shows in unusual arrays is looked for in the most precise and in the narrowest dtype
    claimed; what shows between calls, at other positions or sizes in the most precise one.
    """
    smallest = smallest_case(subject, subject.dtypes[0])
    for name, behaviour in applicable(smallest).items():

        def run(options: Options, name: str = name, behaviour: Behaviour = behaviour) -> Outcome:
            bench = Bench(subject)
            first, *_, last = (*subject.dtypes, subject.dtypes[-1])
            for dtype in dict.fromkeys((first, last)) if name in _IN_TWO_DTYPES else (first,):
                try:
                    behaviour(bench, smallest_case(subject, dtype))
                except Misbehaviour as problem:
                    raise Wrong(f"behaviour {name}: {problem}") from None
            if not bench.asked:
                raise NotClaimed("nothing of what it asks is claimed")
            return Outcome()

        yield Check("behaviour", f"{name}[{variant(subject)}]", subject, None, run)


def _demand_plainly_right(subject: Subject, dtype: str) -> None:
    if not plainly_right(subject, dtype):
        raise Blocked("the plain call is wrong already")


@cache
def plainly_right(subject: Subject, dtype: str) -> bool:
    """Whether the smallest call, in plain arrays, gives the truth. Asked once per process."""
    case = smallest_case(subject, dtype)
    return compare(case, subject.run(case), case.terms).right


def _same(case: Case, first: Array, second: Array, what: str) -> None:
    if not np.array_equal(first, second, equal_nan=True):
        count = f"{np.count_nonzero(first != second)} of {first.size} values differ"
        raise Wrong(f"{what}: {count}\n{call_line(case)}")


def _arrays(inputs: Mapping[str, Any]) -> dict[str, Array]:
    return {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}


def inputs_untouched(bench: Bench, case: Case) -> None:
    """The arrays given are as they were."""
    inputs, before = case.inputs, _arrays(case.inputs)
    bench.invoke(case, inputs)
    for name, array in before.items():
        _same(case, array, inputs[name], f"the call changed its input {name}")


def read_only_inputs(bench: Bench, case: Case) -> None:
    """Arrays that must not be written are accepted."""
    inputs = case.inputs
    for array in _arrays(inputs).values():
        array.flags.writeable = False
    bench.right(case, "with read-only inputs", inputs)


def strided_inputs(bench: Bench, case: Case) -> None:
    """Arrays that are views into larger ones, every second element along each axis."""
    inputs = case.inputs
    for name, array in _arrays(inputs).items():
        wide = np.zeros([2 * n for n in array.shape], dtype=array.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
        view[...] = array
        inputs[name] = view
    bench.right(case, "with strided inputs", inputs)


def column_major_inputs(bench: Bench, case: Case) -> None:
    """Matrices in another memory order."""
    inputs = {
        name: np.asfortranarray(value) if isinstance(value, np.ndarray) else value
        for name, value in case.inputs.items()
    }
    bench.right(case, "with inputs in column-major order", inputs)


def int32_inputs(bench: Bench, case: Case) -> None:
    """Positions, distances and ids of another integer type."""
    inputs = {
        name: value.astype(np.int32) if _is_integer(value) else value
        for name, value in case.inputs.items()
    }
    bench.right(case, "with int32 for int64", inputs)


def second_call(bench: Bench, case: Case) -> None:
    """Asked again, the answer is the same, bit by bit, as the very first one."""
    first = first_answer(bench.subject, case.dtype)
    assert not isinstance(first, str)  # then smoke would have failed, and blocked this
    for _ in range(2):
        _same(case, first, bench.run(case), "the same call again gave another result")


def no_alias(bench: Bench, case: Case) -> None:
    """Writing into a result changes neither the inputs nor later results."""
    at_zero = []
    if "positions" in case.arguments:
        rows = case.arguments["positions"].shape[-1]
        at_zero = [_at(case, np.zeros(rows, dtype=np.int64))]
    for each in [case, *at_zero]:
        inputs = each.inputs
        first = bench.invoke(each, inputs)
        kept = first.copy()
        # As the call left them: that it changed them is said elsewhere.
        before = {name: array.copy() for name, array in _arrays(inputs).items()}
        if not first.flags.writeable:
            continue
        first[...] = 0
        try:
            for name, array in before.items():
                what = f"writing into the result changed the input {name}"
                _same(each, array, inputs[name], what)
            _same(each, kept, bench.run(each), "writing into a result changed the next one")
        finally:
            first[...] = kept  # so that a table that is handed out does not spoil other checks


def results_last(bench: Bench, case: Case) -> None:
    """A result stays as it is while others are computed."""
    _demand(bench, case, "results-last")


def no_leak(bench: Bench, case: Case) -> None:
    """Calls with other lengths, parameters and dtypes in between change nothing."""
    _demand(bench, case, "no-leak")


def after_others(bench: Bench, case: Case) -> None:
    """Other lengths, parameters and dtypes are right although another call came first."""
    _demand(bench, case, "after-others")


def _demand(bench: Bench, case: Case, name: str) -> None:
    turns = taken_in_turn(bench.subject, case.dtype)
    bench.asked += turns.asked
    if name in turns.problems:
        raise turns.problems[name]


@dataclass(frozen=True)
class Turns:
    """What the smallest call and others, made in turn, had to do with each other."""

    asked: int
    problems: Mapping[str, Exception]
    """The first problem that each check has with it."""


@cache
def taken_in_turn(subject: Subject, dtype: str) -> Turns:
    """Make the smallest call before, between and after others. Done once, for three checks."""
    case = smallest_case(subject, dtype)
    problems: dict[str, Exception] = {}
    first = subject.run(case)
    kept, others = first.copy(), list(_others(subject, case))
    for other in others:
        with _noting(problems, "results-last", "no-leak", "after-others"):
            output = asked(subject, other, other.inputs)
            with _noting(problems, "results-last"):
                _same(other, kept, first, "computing another result changed an earlier one")
            if "after-others" not in problems:  # what it looks like is asked once
                with _noting(problems, "after-others"):
                    _demand_plainly_right(subject, other.dtype)
                    subject.demand_form(other, output)
                    compared(other, output.astype(np.float64), "after a call with other arguments")
            with _noting(problems, "no-leak"):
                again = asked(subject, case)
                _same(other, kept, again, "another call in between changed the result")
    return Turns(len(others), problems)


@contextmanager
def _noting(problems: dict[str, Exception], *names: str) -> Iterator[None]:
    try:
        yield
    except (Wrong, Misbehaviour, Blocked) as problem:
        for name in names:
            problems.setdefault(name, problem)


def _others(subject: Subject, case: Case) -> Iterator[Case]:
    """Cases that differ in one thing: a parameter, the positions, a size or the dtype."""
    given = case.arguments
    changes: list[dict[str, Any]] = []
    if "base" in given:
        changes += [{"base": 500000.0}, {"base": 10000.0}]
    if "positions" in given:
        longer = _at(case, np.arange(4 * given["positions"].shape[-1]))
        changes += [dict(longer.arguments), {"positions": given["positions"] + 7}]
    for name, values in (("heads", (4, 8)), ("k_len", (17,)), ("max_distance", (64,))):
        changes += [{name: value} for value in values if name in given]
    sizes = knowledge_of(case.scheme).SIZES[case.call.name](case)
    changes += islice(sizes, 2)
    for change in changes:
        if any(_is_new(value, given.get(name)) for name, value in change.items()):
            yield from _covered(subject, case.changed(**change))
    for dtype in subject.dtypes:
        if dtype != case.dtype:
            yield from _covered(subject, subject.case(given, dtype))


def _is_new(value: Any, given: Any) -> bool:
    return given is None or not np.array_equal(value, given)


def _covered(subject: Subject, case: Case) -> Iterator[Case]:
    if subject.covers(case, {}):
        yield case


def sizes(bench: Bench, case: Case) -> None:
    """Sizes at which implementations branch."""
    for change in knowledge_of(case.scheme).SIZES[case.call.name](case):
        other = case.changed(**change)
        shown = ", ".join(
            f"{name} of shape {value.shape}" if isinstance(value, np.ndarray) else f"{name} {value}"
            for name, value in change.items()
        )
        bench.right(other, f"with {shown}")


def zeros(bench: Bench, case: Case) -> None:
    """An x of zeros."""
    bench.right(case.changed(x=0 * case.arguments["x"]), "with x of zeros")


def _at(case: Case, positions: Array) -> Case:
    """The case at other positions, with as many rows; where there are axes, others on each."""
    arguments: dict[str, Any] = {"positions": positions}
    axes = case.arguments["positions"].shape[:-1]
    if axes:
        arguments["positions"] = np.stack([np.roll(positions, axis) for axis in range(*axes)])
    if "x" in case.arguments:
        x = case.arguments["x"]
        arguments["x"] = fine((*x.shape[:-2], len(positions), x.shape[-1]))
    return case.changed(**arguments)


def unsorted_positions(bench: Bench, case: Case) -> None:
    """Positions in any order."""
    order = np.array([5, 0, 3, 1, 4, 2])
    bench.right(_at(case, order), "with unsorted positions")


def repeated_positions(bench: Bench, case: Case) -> None:
    """The same position in several rows."""
    bench.right(_at(case, np.array([3, 3, 0, 3, 0])), "with repeated positions")


def offset_positions(bench: Bench, case: Case) -> None:
    """Positions that start late, as in decoding with a cache."""
    for start in (1, 37, 1000):
        bench.right(_at(case, start + np.arange(4)), f"with positions from {start} on")


def single_position(bench: Bench, case: Case) -> None:
    """One row, as in decoding step by step."""
    for position in (0, 11):
        bench.right(_at(case, np.array([position])), f"with the single position {position}")


def no_positions(bench: Bench, case: Case) -> None:
    """No rows give no rows."""
    bench.right(_at(case, np.array([], dtype=np.int64)), "with no positions")


def batch_axes(bench: Bench, case: Case) -> None:
    """No, one, two and three leading axes, many heads; every element as it would be alone."""
    for leading in ((), (1,), (2, 33), (5, 3), (2, 1, 3)):
        arrays = {
            name: fine((*leading, *case.arguments[name].shape[-2:]), start)
            for start, name in enumerate(_batched(case))
        }
        bench.right(case.changed(**arrays), f"with leading axes {leading}")


def _batched(case: Case) -> tuple[str, ...]:
    """Names of the arrays that take any leading axes."""
    usual = ("x",) if "x" in case.arguments else ()
    own = getattr(knowledge_of(case.scheme), "BATCHED", {})
    return tuple(own.get(case.call.name, usual))


def single_query(bench: Bench, case: Case) -> None:
    """One query at the end of the keys, as in decoding, and one query with one key."""
    for k_len in (6, 1):
        bench.right(case.changed(q_len=1, k_len=k_len), f"with one query and {k_len} keys")


def any_shape(bench: Bench, case: Case) -> None:
    """Distances in a matrix, a scalar's shape or none at all."""
    relative = case.arguments["relative_position"]
    for distances in (relative[:400].reshape(20, 20), relative[:1], relative[:0]):
        changed = case.changed(relative_position=distances)
        bench.right(changed, f"with distances of shape {distances.shape}")


def applicable(case: Case) -> dict[str, Behaviour]:
    """The behaviours that the arguments of a case allow to ask for, by name."""
    given = case.arguments
    arrays = _arrays(given).values()
    groups = [
        (_CALLS, True),
        (_ARRAYS, arrays),
        (_MATRICES, any(array.ndim > 1 for array in arrays)),
        (_INTEGERS, any(map(_is_integer, arrays))),
        (_POSITIONS, "positions" in given),
        (_X, "x" in given),
        (_BATCH, _batched(case)),
        (_QUERIES, {"q_len", "k_len"} <= set(given)),
        (_DISTANCES, "relative_position" in given),
    ]
    return {name: check for group, wanted in groups if wanted for name, check in group.items()}


def _is_integer(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


_CALLS: dict[str, Behaviour] = {
    "second-call": second_call,
    "no-alias": no_alias,
    "results-last": results_last,
    "sizes": sizes,
    "no-leak": no_leak,
    "after-others": after_others,
}
_ARRAYS: dict[str, Behaviour] = {
    "inputs-untouched": inputs_untouched,
    "read-only-inputs": read_only_inputs,
    "strided-inputs": strided_inputs,
}
_MATRICES: dict[str, Behaviour] = {"column-major-inputs": column_major_inputs}
_INTEGERS: dict[str, Behaviour] = {"int32-inputs": int32_inputs}
_POSITIONS: dict[str, Behaviour] = {
    "unsorted-positions": unsorted_positions,
    "repeated-positions": repeated_positions,
    "offset-positions": offset_positions,
    "single-position": single_position,
    "no-positions": no_positions,
}
_X: dict[str, Behaviour] = {"zeros": zeros}
_BATCH: dict[str, Behaviour] = {"batch-axes": batch_axes}
_QUERIES: dict[str, Behaviour] = {"single-query": single_query}
_DISTANCES: dict[str, Behaviour] = {"any-shape": any_shape}
_IN_TWO_DTYPES = ("second-call", "no-alias", *_ARRAYS, *_MATRICES, *_INTEGERS)
