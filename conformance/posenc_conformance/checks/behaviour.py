"""Behaviour: mistakes that goldens miss, because several calls or unusual arrays cause them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.checks.bench import Bench, optional_cases
from posenc_conformance.checks.call_sizes import reshaped
from posenc_conformance.checks.interleaving import require_same, require_same_again, take_in_turn
from posenc_conformance.checks.smoke import first_answer, opening_answer, smallest_case
from posenc_conformance.checks.variations import (
    COUNTS,
    at,
    at_switches,
    batched_arrays,
    many_and_equal,
    many_batches,
    of_one_sequence,
    sizes_of,
    small_and_large,
    steps_of_one_row,
    with_leading,
)
from posenc_conformance.checks.views import (
    can_be_cut,
    can_be_expanded,
    can_be_transposed,
    column_major_inputs,
    cut_inputs,
    expanded_inputs,
    neighbours_untouched,
    strided_inputs,
    transposed_inputs,
)
from posenc_conformance.diagnose.diagnosis import Diagnosis
from posenc_conformance.diagnose.state import describe_repeats
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.misbehaviour import Misbehaviour, Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import NotClaimed, Outcome, Silent, Wrong
from posenc_conformance.scheme_file.scheme import Arguments

Behaviour = Callable[[Bench, Case], None]
LARGE: Mapping[str, float] = {"float16": 2.0**5}
"""Factor for large values, by dtype, where 2^17 would overflow: float16 ends at 65,504."""
SQUARED = 2.0**9
"""Factor for float16 values that an implementation normalises: their squares are beyond 65,504, or
below 2^-14, from which on float16 has fewer digits. Queries of released models are as large."""


def checks(subject: Subject) -> Iterator[Check]:
    """Yield a check for each behaviour that applies to the arguments of the smallest call.

    Repeated calls, writing into results and unusual arrays are checked in the first and in the last
    claimed dtype, which has the narrowest range; large and small values in the first and in
    float16; changed inputs in all dtypes; everything else in the first. Claimed options, such as
    partial rotation, are checked as well, except in repeated and interleaved calls.
    """
    smallest = smallest_case(subject, subject.dtypes[0])
    for name, behaviour in applicable(smallest).items():
        if name in _OF_PYTHON and not subject.is_python:
            continue
        if not subject.offers(_ONLY_WITH.get(name, {})):
            continue

        def run(
            subject: Subject, options: Options, name: str = name, behaviour: Behaviour = behaviour
        ) -> Outcome:
            bench = Bench(subject)
            first, *_, last = (*subject.dtypes, subject.dtypes[-1])
            two = dict.fromkeys((first, last)) if name in _IN_TWO_DTYPES else (first,)
            if name in _FLOATS and "float16" in subject.dtypes and _normalised(subject):
                two = dict.fromkeys((first, "float16"))
            for dtype in subject.dtypes if name in _IN_ALL_DTYPES else two:
                optional = () if name in _OF_ONE_CALL else optional_cases(subject, dtype)
                try:
                    for case in (smallest_case(subject, dtype), *optional):
                        behaviour(bench, case)
                except Misbehaviour as problem:
                    text = f"behaviour {name}: {problem}"
                    raise (Silent if name in _SELDOM_NEEDED else Wrong)(text) from None
            if not bench.calls:
                raise NotClaimed("no call that it makes is claimed")
            return Outcome()

        yield Check("behaviour", f"{name}[{variant(subject)}]", subject, None, run)


def _arrays(inputs: Arguments) -> dict[str, Array]:
    return {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}


def inputs_untouched(bench: Bench, case: Case) -> None:
    """Check that a call leaves its input arrays unchanged, even large ones, and a single one."""
    single = bench.subject.runnable(of_one_sequence(case))
    for call in [*small_and_large(bench.subject, case), *single]:
        inputs, before = call.inputs, _arrays(call.inputs)
        with suppress(NotClaimed):
            bench.invoke(call, inputs)
        for name, array in before.items():
            if name != call.changed_argument:
                require_same(call, array, inputs[name], f"the call changed its input {name}")


def process_untouched(bench: Bench, case: Case) -> None:
    """Check that a call leaves the state of the process unchanged, even a large call."""
    for call in small_and_large(bench.subject, case):
        with suppress(NotClaimed):
            if changed := bench.changes(call):
                raise Wrong(f"the call changed {' and '.join(changed)}\n{call_line(call)}")


def read_only_inputs(bench: Bench, case: Case) -> None:
    """Check that read-only arrays are accepted."""
    inputs = case.inputs
    for name, array in _arrays(inputs).items():
        array.flags.writeable = name == case.changed_argument
    bench.assert_correct(case, "with read-only inputs", inputs)


def int32_inputs(bench: Bench, case: Case) -> None:
    """Check that positions, distances and ids may have another integer type."""
    inputs = {
        name: value.astype(np.int32) if _is_integer(value) else value
        for name, value in case.inputs.items()
    }
    bench.assert_correct(case, "with int32 for int64", inputs)


def small_integers(bench: Bench, case: Case) -> None:
    """Check integer types in which sums and differences of positions, distances or ids overflow.

    An implementation should refuse such a type or answer correctly. Hardly any caller passes one,
    so that wrong answers are reported as bad input that was not refused.
    """
    for kind in ("int8", "uint8", "int16", "uint16", "uint32", "uint64"):
        other = next((at_end for at_end in _up_to(case, np.iinfo(kind)) if at_end.has_result), case)
        inputs = other.inputs
        whole = {name: value for name, value in inputs.items() if _is_integer(value)}
        if all(np.array_equal(value.astype(kind), value) for value in whole.values()):
            narrow = {name: value.astype(kind) for name, value in whole.items()}
            try:
                bench.assert_correct(other, f"with {kind} for int64", {**inputs, **narrow})
            except Refusal:
                continue
            except Wrong as wrong:
                words = f"small-integers: {kind} for int64 gets a wrong answer, not an exception"
                raise Silent(f"{words}:\n{wrong.text}", case=wrong.case) from None


def _up_to(case: Case, type: "np.iinfo[Any]") -> Iterator[Case]:
    """Yield the case with positions or distances at both ends of an integer type's range.

    The upper end is at most 65,535.
    """
    last = min(int(type.max), 2**16 - 1)
    ends = np.array([last, 0, last // 2 + 1, last - 1])
    if "positions" in case.arguments:
        yield at(case, ends)
    if "relative_position" in case.arguments:
        yield case.with_arguments(relative_position=np.append(ends, -last if type.min else last))


def large_values(bench: Bench, case: Case) -> None:
    """Check that large values are not clipped, in one array after the other.

    The values are 2^17 times as large, or less where the dtype or plain code would overflow.
    """
    limits = case.knowledge.largest_values
    for name, array in _with_floats(case).items():
        many = _factor(bench, case, name)
        if name in limits:
            many = min(many, limits[name] / np.abs(array).max())
        _assert_scaled(bench, case, name, many)


def small_values(bench: Bench, case: Case) -> None:
    """Check that small values are neither flushed to 0 nor offset, in one array after the other.

    The values are 2^-17 times as large, or larger where the dtype would underflow.
    """
    for name in _with_floats(case):
        _assert_scaled(bench, case, name, 1 / _factor(bench, case, name))


def _factor(bench: Bench, case: Case, name: str) -> float:
    """Return the factor for large values of an array; 1 if the first dtype's values tell as much.

    In float16, numbers that are squared overflow long before the result does.
    """
    if case.dtype == "float16" and name in _normalised(bench.subject):
        return SQUARED
    return LARGE.get(case.dtype, 2.0**17) if case.dtype == bench.subject.dtypes[0] else 1.0


@once_per_subject
def _normalised(subject: Subject) -> tuple[str, ...]:
    """Name the arrays whose scale hardly affects the result, as that of a norm's input does."""
    case = smallest_case(subject, "float16")
    return tuple(name for name in _with_floats(case) if _is_normalised(case, name))


def _is_normalised(case: Case, name: str) -> bool:
    other = case.with_arguments(**{name: SQUARED * case.arguments[name]})
    if not (case.has_result and other.has_result):
        return False
    both = case.truth[case.shown], other.truth[case.shown]
    return bool(np.ptp(both, axis=0).max(initial=0) < np.abs(both[0]).max(initial=0) / 16)


def _with_floats(case: Case) -> dict[str, Array]:
    """Return the arrays of floats that are not all 0."""
    arrays = _arrays(case.arguments)
    return {name: data for name, data in arrays.items() if data.dtype.kind == "f" and data.any()}


def _assert_scaled(bench: Bench, case: Case, name: str, many: float) -> None:
    """Scale one array by ``many`` and check again, unless fewer results are finite."""
    if many == 1:
        return
    squared = many in (SQUARED, 1 / SQUARED)
    other = case.with_arguments(**{name: many * case.arguments[name]})
    if other.has_result and np.array_equal(np.isfinite(other.truth), np.isfinite(case.truth)):
        what = f"with {name} {many:.6g} times as large"
        bench.assert_correct(other, what, explain=_say_overflow if squared else None)


def _say_overflow(case: Case, output: Floats) -> Diagnosis:
    words = "wrong only for numbers whose squares are too large or too small for float16"
    return Diagnosis((), otherwise=words)


def second_call(bench: Bench, case: Case) -> None:
    """Check that repeated calls return the very first result, bit for bit."""
    first = first_answer(bench.subject, case.dtype)
    assert not isinstance(first, str)  # else smoke would have failed, and blocked this
    for _ in range(2):
        _same_again(bench, case, first)
    opening = opening_answer(bench.subject, case.dtype)
    if opening is not None:
        other = bench.subject.history.openings[case.dtype]
        _same_again(bench, other, opening)


def _same_again(bench: Bench, case: Case, before: Array) -> None:
    """Raise Wrong unless a call repeats its earlier result."""
    again = bench.run(case)
    if not np.array_equal(before, again, equal_nan=True):
        message = describe_repeats(bench.subject, case) or "the same call again gave another result"
        require_same_again(bench.subject, case, before, again, message)


BUFFERS = 4
"""Number of result buffers that an implementation may use in turn."""


def no_alias(bench: Bench, case: Case) -> None:
    """Check that writing into a result changes neither inputs nor later results.

    Nor may later calls write into the result. Positions that are all 0 are tried as well.
    """
    at_zero = []
    if "positions" in case.arguments:
        rows = case.arguments["positions"].shape[-1]
        at_zero = [at(case, np.zeros(rows, dtype=np.int64))]
    for call in bench.subject.runnable([case, *at_zero]):
        inputs = call.inputs
        try:
            first = bench.hold(call, inputs)
        except NotClaimed:
            continue
        original = first.result.copy()
        # Copied after the call: other checks report inputs that the call itself changed.
        before = {name: array.copy() for name, array in _arrays(inputs).items()}
        if not first.write(0):
            continue
        try:
            for name, array in before.items():
                if name != call.changed_argument:
                    message = f"writing into the result changed the input {name}"
                    require_same(call, array, inputs[name], message)
            message = "writing into a result changed the next one"
            require_same_again(bench.subject, call, original, bench.run(call), message)
            for _ in range(BUFFERS):
                if first.now().any():
                    raise Wrong(f"a later call wrote into an earlier result\n{call_line(call)}")
                bench.run(call)
        finally:
            first.write(original)  # so that a shared table does not spoil other checks


def results_last(bench: Bench, case: Case) -> None:
    """Check that a result stays unchanged while others are computed."""
    _require(bench, case, "results-last")


def no_leak(bench: Bench, case: Case) -> None:
    """Check that a result is the same after calls with other lengths, parameters and dtypes."""
    _require(bench, case, "no-leak")


def after_others(bench: Bench, case: Case) -> None:
    """Check that calls with other lengths, parameters and dtypes are right after a first call."""
    _require(bench, case, "after-others")


def _require(bench: Bench, case: Case, name: str) -> None:
    turns = take_in_turn(bench.subject, case.dtype)
    bench.calls += turns.calls
    if name in turns.problems:
        raise turns.problems[name]


def sizes(bench: Bench, case: Case) -> None:
    """Check that results are right at sizes at which implementations branch."""
    # One at a time, while the truth that helped to choose a large one is still cached.
    subject = bench.subject
    usual = chain(sizes_of(case), many_and_equal(case), reshaped(subject, case))
    for change in chain(usual, at_switches(subject, case)):
        other = case.with_arguments(**change)
        if not other.has_result:  # e.g. with fewer channels than must rotate
            continue
        shown = ", ".join(
            f"{name} of shape {value.shape}" if isinstance(value, np.ndarray) else f"{name} {value}"
            for name, value in change.items()
        )
        bench.assert_correct(other, f"with {shown}")


def zeros(bench: Bench, case: Case) -> None:
    """Check that the result is right for an x of zeros."""
    bench.assert_correct(case.with_arguments(x=0 * case.arguments["x"]), "with x of zeros")


def unsorted_positions(bench: Bench, case: Case) -> None:
    """Check that positions may be in any order."""
    order = np.array([5, 0, 3, 1, 4, 2])
    bench.assert_correct(at(case, order), "with unsorted positions")


def repeated_positions(bench: Bench, case: Case) -> None:
    """Check that several rows may have the same position."""
    bench.assert_correct(at(case, np.array([3, 3, 0, 3, 0])), "with repeated positions")


def offset_positions(bench: Bench, case: Case) -> None:
    """Check positions that start beyond 0, as in decoding with a KV cache."""
    for start in (1, 37, 1000):
        bench.assert_correct(at(case, start + np.arange(4)), f"with positions from {start} on")


def single_position(bench: Bench, case: Case) -> None:
    """Check a single row, as in step-by-step decoding; the first position is repeated."""
    for position in (0, 11, 12, 0):
        bench.assert_correct(at(case, np.array([position])), f"with the single position {position}")


def single_row(bench: Bench, case: Case) -> None:
    """Check one row per sequence, at one position after another, as in decoding.

    All calls have the same shape, as in a captured CUDA graph: offsets and lengths must be read in
    each call.
    """
    for change in steps_of_one_row(case):
        name = COUNTS & change.keys()
        shown = ", ".join(f"{key} {np.asarray(change[key]).tolist()}" for key in sorted(name))
        bench.assert_correct(case.with_arguments(**change), f"with one row and {shown}")


def negative_positions(bench: Bench, case: Case) -> None:
    """Check positions on both sides of 0, near and far.

    The far ones reach the usual initial size of tables.
    """
    other = case.with_conventions(domain="negative")
    for positions in ([-1, 0, -3, 2, -2, 1], [-100, -255, 3, -1], [-5000, 7, -4096, -1]):
        bench.assert_correct(at(other, np.array(positions)), f"with positions {positions}")


def no_positions(bench: Bench, case: Case) -> None:
    """Check that empty positions give an empty result."""
    bench.assert_correct(at(case, np.array([], dtype=np.int64)), "with no positions")


def batch_axes(bench: Bench, case: Case) -> None:
    """Check calls with no, one, two or three leading axes, and with many heads.

    Also with as many heads as rows or channels. No element may depend on the other elements.
    """
    last = {length for name in batched_arrays(case) for length in case.arguments[name].shape[-2:]}
    equal = ((n, n) for n in sorted(last) if 1 < n < 33)
    few = (with_leading(case, axes) for axes in ((), (1,), (2, 33), (5, 3), (2, 1, 3), *equal))
    for change in (*few, *many_batches(case)):
        shape = change[batched_arrays(case)[0]].shape
        bench.assert_correct(case.with_arguments(**change), f"with leading axes {shape[:-2]}")


def single_query(bench: Bench, case: Case) -> None:
    """Check a single query at the position of the last key, as in decoding; also with one key."""
    for k_len in (6, 1):
        bench.assert_correct(
            case.with_arguments(q_len=1, k_len=k_len), f"with one query and {k_len} keys"
        )


def any_shape(bench: Bench, case: Case) -> None:
    """Check that distances may be a matrix, a single number, or empty."""
    relative = case.arguments["relative_position"]
    for distances in (relative[:400].reshape(20, 20), relative[:1], relative[:0]):
        changed = case.with_arguments(relative_position=distances)
        bench.assert_correct(changed, f"with distances of shape {distances.shape}")


def applicable(case: Case) -> dict[str, Behaviour]:
    """Return the behaviours that apply to the arguments of a case, by name."""
    arguments = case.arguments
    arrays = _arrays(arguments).values()
    groups = [
        (_CALLS, True),
        (_ARRAYS, arrays),
        (_MATRICES, can_be_cut(case)),
        (_HEADS, can_be_transposed(case)),
        (_EXPANDED, can_be_expanded(case)),
        (_INTEGERS, any(map(_is_integer, arrays))),
        (_FLOATS, any(array.dtype.kind == "f" for array in arrays)),
        (_POSITIONS, "positions" in arguments),
        (_ROW, any(steps_of_one_row(case))),
        (_NEGATIVE, "positions" in arguments and "domain" in case.call.options),
        (_X, "x" in arguments),
        (_IN_PLACE, case.changed_argument),
        (_BATCH, batched_arrays(case)),
        (_QUERIES, {"q_len", "k_len"} <= set(arguments)),
        (_DISTANCES, "relative_position" in arguments),
    ]
    return {name: check for group, applies in groups if applies for name, check in group.items()}


def _is_integer(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


_CALLS: dict[str, Behaviour] = {
    "second-call": second_call,
    "no-alias": no_alias,
    "results-last": results_last,
    "sizes": sizes,
    "no-leak": no_leak,
    "after-others": after_others,
    "process-untouched": process_untouched,
}
_ARRAYS: dict[str, Behaviour] = {
    "inputs-untouched": inputs_untouched,
    "read-only-inputs": read_only_inputs,
    "strided-inputs": strided_inputs,
}
_MATRICES: dict[str, Behaviour] = {
    "column-major-inputs": column_major_inputs,
    "cut-inputs": cut_inputs,
}
_HEADS: dict[str, Behaviour] = {"transposed-inputs": transposed_inputs}
_EXPANDED: dict[str, Behaviour] = {"expanded-inputs": expanded_inputs}
_INTEGERS: dict[str, Behaviour] = {
    "int32-inputs": int32_inputs,
    "small-integers": small_integers,
}
_FLOATS: dict[str, Behaviour] = {"large-values": large_values, "small-values": small_values}
_POSITIONS: dict[str, Behaviour] = {
    "unsorted-positions": unsorted_positions,
    "repeated-positions": repeated_positions,
    "offset-positions": offset_positions,
    "single-position": single_position,
    "no-positions": no_positions,
}
_ROW: dict[str, Behaviour] = {"single-row": single_row}
_NEGATIVE: dict[str, Behaviour] = {"negative-positions": negative_positions}
_X: dict[str, Behaviour] = {"zeros": zeros}
_IN_PLACE: dict[str, Behaviour] = {"neighbours-untouched": neighbours_untouched}
_BATCH: dict[str, Behaviour] = {"batch-axes": batch_axes}
_QUERIES: dict[str, Behaviour] = {"single-query": single_query}
_DISTANCES: dict[str, Behaviour] = {"any-shape": any_shape}
_ONLY_WITH: Mapping[str, Mapping[str, str]] = {"negative-positions": {"domain": "negative"}}
"""Optional conventions that a behaviour requires."""
_SELDOM_NEEDED = ("no-positions", "column-major-inputs")
"""Behaviours that callers seldom need: a refusal is reported, but is a failure only on request.
Many libraries refuse empty inputs, and view_as_complex channels that do not lie side by side. Wrong
numbers always fail."""
_IN_ALL_DTYPES = ("inputs-untouched",)
_OF_ONE_CALL = ("second-call", "results-last", "no-leak", "after-others")
"""Behaviours of the smallest call only, with other calls before, between or after it."""
_OF_MEMORY = (_ARRAYS, _MATRICES, _HEADS, _EXPANDED, _INTEGERS)
_OF_PYTHON = (
    *("no-alias", "results-last", "process-untouched"),
    *(name for group in (_IN_PLACE, *_OF_MEMORY) for name in group),
)
"""Behaviours that do not apply to programs in other languages, which receive contiguous copies of
the arrays, always of the same integer type."""
_IN_TWO_DTYPES = ("second-call", "no-alias", *chain.from_iterable(_OF_MEMORY))
