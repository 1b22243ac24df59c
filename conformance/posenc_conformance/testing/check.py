"""Judge one result in an existing test, or compute the expected result."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from typing import Any
from warnings import warn

import numpy as np

from posenc_conformance.adapters.axes import two_of
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import DTYPES, Array, dtype_name, to_numpy
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.form import as_array, require_form
from posenc_conformance.judge.in_memory import broadcast_result
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.warnings_off import without_warnings
from posenc_conformance.scheme_file.scheme import Arguments
from posenc_conformance.testing import show as showing
from posenc_conformance.testing.axes import describe_order
from posenc_conformance.testing.explanation import BEYOND, Judged
from posenc_conformance.testing.frames import show_caller
from posenc_conformance.testing.question import Question, shown
from posenc_conformance.testing.signatures import Misuse

OF_TEST = 3
"""Frames from ``check`` to the test that calls it, that of ``show_caller`` among them."""
ONE_OF_BOTH = "rope"
"""The call of which ``rope_query_key`` is the one that takes queries and keys."""


OF_NO_NAME = ("no known deviation", "pattern ", BEYOND)
"""How lines about a result begin that no known mistake explains."""


@dataclass(frozen=True)
class Agreement:
    """The errors of a result that :func:`check` found right."""

    worst: float
    """Largest ratio of an error to its bound: at most 1."""
    error: float
    """The absolute error of the value with that ratio."""
    bound: float
    """The error bound of that value."""
    index: tuple[int, ...]
    """Index of that value in its sequence, in the specification's order of axes."""
    sequence: int
    """Number of that sequence in the batch; 0 if there is no batch."""
    compared: int
    """The number of values that were compared with the truth."""

    def _repr_html_(self) -> str:
        if not self.compared:
            return "<p>nothing was compared: the call has no values</p>"
        largest = f"the largest error is {self.worst:.3g} of its bound, at index {self.index}"
        return f"<p>right: {self.compared} values compared; {largest}</p>"


@show_caller
def check(
    result: Any,
    call: str,
    /,
    *,
    shape: str | None = None,
    broadcast: bool = False,
    **arguments: Any,
) -> Agreement:
    """Raise AssertionError, naming the mistake, unless a result is right.

    The allowed error follows from dtype and arguments; there is no tolerance to set.

    Parameters
    ----------
    result : array or tensor
        The result of an implementation: a NumPy or JAX array, a PyTorch tensor on any device, or
        anything else that NumPy or DLPack converts. A call of queries and keys may also be given
        both results, as a tuple, a list, or a mapping or dataclass whose names begin with q and k.
    call : str
        The name of a call in the specification, such as ``"rope"``; ``posenc schemes`` lists them.
    shape : str, optional
        The axis order of arrays with one row per token, one letter per axis: ``s`` for the
        sequence, ``d`` for the channels, any others for batch and heads, as in ``"bshd"``. If left
        out, sequence and channels are the last two axes.
    broadcast : bool
        Whether the result may leave out axes along which it repeats, or have them with length 1.
    **arguments
        The call's arguments, parameters and conventions, under their names in the specification.
        A convention that is left out has its default; ``combination="whisper"`` sets all of them.
        Arrays may come from any framework. If one has an axis more than in the specification, such
        as positions of shape ``[batch, n]``, its first axis is the batch.

    Returns
    -------
    Agreement
        The largest error relative to its bound, and its index. If the call has no values, as for no
        rows, a warning says so.

    Raises
    ------
    AssertionError
        If the result is wrong.
    Misuse
        If the result cannot be judged: an unknown call, a missing argument, a shape that does not
        fit, or arguments for which a right result cannot be told from a wrong one.
    """
    question, output = _asked(result, call, shape, broadcast, arguments)
    with without_warnings():
        try:
            agreement = _compared(question, output, broadcast=bool(broadcast))
        except AssertionError as wrong:
            order = describe_order(
                question, output, lambda order: Question.of(call, order, arguments), _passes
            )
            shared = _shared(question, result, arguments)
            is_of_form = str(wrong).startswith(f"{question.signature.call.name}() returned")
            several = _of_several(question, result) if is_of_form else ""
            if not (order or shared or several):
                raise
            text = _with_order(order, str(wrong)) if order else str(wrong)
            raise AssertionError("\n".join(filter(None, (several, shared, text)))) from None
    if not agreement.compared:
        warn(f"{question.signature.call.name}: {question.nothing}", stacklevel=OF_TEST)
    return agreement


def _shared(question: Question, result: Any, arguments: Mapping[str, Any]) -> str:
    """Say which argument lies in the memory of the result; empty if none does.

    Code that writes in place has changed the argument from which the right result is computed.
    """
    for name in question.dtypes:
        with suppress(Exception):  # memory of which NumPy cannot tell
            if np.shares_memory(to_numpy(result), to_numpy(arguments[name])):
                return (
                    f"the result lies in the memory of {name}: if the code writes into it, pass "
                    f"{name}=… as a copy from before the call"
                )
    return ""


def _with_order(order: str, text: str) -> str:
    """Put words about axes before a text, or behind it if it names a mistake: both may be why.

    What else a result without a name looks like is left out: its axes explain that.
    """
    first, _, rest = text.partition("\n")
    if "; residual " in first:
        return f"{text}\nor         {order}"
    lines = [line for line in rest.split("\n") if not line.startswith(OF_NO_NAME)]
    return "\n".join([order, *([] if first.startswith(OF_NO_NAME) else [first]), *lines])


def _passes(question: Question, output: Array) -> bool:
    """Return whether a result answers a question; False for one that does not fit it."""
    try:
        judged = _judged(question, output, broadcast=False)
    except (AssertionError, UserError):
        return False
    return all(part.comparison.passes and part.comparison.judged for part in judged)


@show_caller
def show(
    result: Any,
    call: str,
    /,
    *,
    shape: str | None = None,
    broadcast: bool = False,
    **arguments: Any,
) -> showing.Shown:
    """Draw a result without judging it: its errors, frequencies, rows, or values.

    Parameters
    ----------
    result, call, shape, broadcast, **arguments
        The same as for :func:`check`.

    Returns
    -------
    Shown
        Pictures, which a notebook shows; of a batch, those of the sequence with the largest error.

    Raises
    ------
    AssertionError
        If the result has another shape or dtype than it must have, or a value is not finite.
    Misuse
        As for :func:`check`.
    """
    question, output = _asked(result, call, shape, broadcast, arguments)
    with without_warnings():
        return showing.shown(_judged(question, output, broadcast=bool(broadcast)))


def _asked(
    result: Any, call: str, shape: str | None, broadcast: bool, arguments: dict[str, Any]
) -> tuple[Question, Array]:
    """Return the question and the result as an array."""
    if isinstance(result, str) and not isinstance(call, str):
        raise Misuse(
            "the result and the name of the call are swapped", f"write check(result, {result!r}, …)"
        )
    question = Question.of(call, shape, arguments)
    if not isinstance(broadcast, bool | np.bool_):
        raise question.signature.misuse("broadcast is True or False")
    try:
        return question, _as_one(question, result)
    except Misbehaviour as problem:
        raise AssertionError(_of_several(question, result) or str(problem)) from None


def _as_one(question: Question, result: Any) -> Array:
    """Return a result as an array; the results of queries and keys are joined.

    Raises Misbehaviour if it cannot be made an array.
    """
    name, returns = question.signature.call.name, question.signature.call.returns
    if not question.signature.has_both or not _are_several(result):
        return as_array(name, result)
    _require_two(question, result)
    queries, keys = (as_array(name, each) for each in two_of(result))
    if queries.dtype == keys.dtype:
        with suppress(ValueError):  # other axes have other lengths
            return np.concatenate([queries, keys], question.first_axis(queries))
    first, second = (f"{dtype_name(each)} of shape {each.shape}" for each in (queries, keys))
    raise Misbehaviour(f"{name}() returned {first} and {second}; expected both to fit {returns}")


def _are_several(result: Any) -> bool:
    """Return whether a result holds several values of which any is an array."""
    if is_dataclass(result) and not isinstance(result, type):
        result = vars(result)
    values = result.values() if isinstance(result, Mapping) else result
    is_group = isinstance(result, Mapping | tuple | list)
    return is_group and len(values) > 1 and any(hasattr(each, "shape") for each in values)


def _require_two(question: Question, result: Any) -> None:
    """Raise Misuse for a list or tuple with more arrays than the two that would be judged."""
    is_listed = isinstance(result, tuple | list)
    more = [each for each in result[2:] if hasattr(each, "shape")] if is_listed else []
    if more:
        name = question.signature.call.name
        raise question.signature.misuse(
            f"the result is a pair, that of the queries and that of the keys, and this "
            f"{type(result).__name__} has {len(more) + 2} arrays",
            f"check those two alone: check(result[:2], {name!r}, …)",
        )


def _of_several(question: Question, result: Any) -> str:
    """Say what to write for a result of several arrays where a call returns one; else nothing.

    Arrays of one shape may be the parts of that one.
    """
    call = question.signature.call
    if question.signature.has_both or not _are_several(result):
        return ""
    kind = in_line(type(result).__name__)
    each = f"check(x, {call.name!r}, …) with one array x of that {kind}"
    both = "; to check rotated queries and keys at once: check((q, k), 'rope_query_key', …)"
    return (
        f"check takes one array for {call.name}(), and the result is a {kind} of several\n"
        f"write       {each}{both if call.name == ONE_OF_BOTH else ', then with another'}"
    )


def _judged(question: Question, output: Array, *, broadcast: bool) -> list[Judged]:
    """Compare each sequence of a result with the truth."""
    dtype = question.dtype_of(output)
    question.require_held(dtype)
    return [
        _judge(case, part, question.assumed)
        for case, part in _parts(question, question.ordered(output), dtype, broadcast)
    ]


def _compared(question: Question, output: Array, *, broadcast: bool) -> Agreement:
    """Return the errors of ``output``; raise AssertionError if it is wrong."""
    judged = _judged(question, output, broadcast=broadcast)
    compared = sum(each.comparison.judged for each in judged)
    if output.size and not compared:
        raise question.signature.misuse(
            "nothing of this result can tell right from wrong: in "
            f"{question.dtype_of(output)}, rounding may cost as much as the values themselves",
            "check smaller positions, or a longer dtype",
        )
    if question.is_all_zero:
        raise question.signature.misuse(
            "all inputs are 0, and so is the result, whatever the code does", "check other inputs"
        )
    if not output.size:
        return Agreement(0.0, 0.0, 0.0, (), 0, 0)
    number = showing.worst(judged)
    if not judged[number].comparison.passes:
        raise showing.failure(judged, number)
    most = judged[number].comparison
    error = abs(most.got - most.expected)
    return Agreement(most.worst, error, most.bound, most.index, number, compared)


@show_caller
def expected(
    call: str, /, *, shape: str | None = None, dtype: str | None = None, **arguments: Any
) -> Array:
    """Compute the expected result of a call: the exact values, rounded once.

    Parameters
    ----------
    call, shape, **arguments
        The same as for :func:`check`.
    dtype : str, optional
        float64, float32, bfloat16 or float16; float64 if left out. Integers and booleans keep
        their type.

    Returns
    -------
    array
        The result, with the axis order of ``shape`` and the batch of the arguments.

    Raises
    ------
    Misuse
        As for :func:`check`, and for an unknown ``dtype`` or an empty batch.
    """
    question = Question.of(call, shape, arguments)
    exact = question.signature.call.dtype
    if dtype is not None and not (isinstance(dtype, str) and dtype in (*DTYPES, exact)):
        raise question.signature.misuse(
            f"dtype={shown(dtype)} is not known", f"dtype is one of {', '.join(DTYPES)}, as text"
        )
    results = [np.asarray(case.truth) for case in question.cases("float64")]
    if not results:
        raise question.signature.misuse("a batch of no sequences has no values")
    result = np.stack(results) if question.batch is not None else results[0]
    if exact == "integer":
        return question.given_order(result).astype(np.int64)
    if exact == "boolean":
        return question.given_order(result).astype(np.bool_)
    with without_warnings():  # values beyond the dtype's range are infinite
        return question.given_order(result).astype(DTYPES[dtype or "float64"])


def _parts(
    question: Question, output: Array, dtype: str, broadcast: bool
) -> Iterator[tuple[Case, Array]]:
    """Yield the case of each sequence with its slice of the result."""
    cases = list(question.cases(dtype, None if broadcast else output))
    if question.batch is not None:
        if output.ndim == 0 or len(output) != len(cases):
            raise AssertionError(
                f"{question.signature.call.name}() returned shape {output.shape} for a batch of "
                f"{len(cases)}"
            )
        yield from zip(cases, output, strict=True)
        return
    (case,) = cases
    if broadcast:
        yield case, broadcast_result(output, case.shape)
        return
    more = output.ndim - len(case.shape)
    is_like = question.signature.call.returns.startswith("like ")  # with all axes of the argument
    has_values = bool(output.size) or not np.prod(case.shape)
    if more > 0 and has_values and not is_like and output.shape[more:] == case.shape:
        # a batch of one case
        yield from ((case, result) for result in output.reshape(-1, *case.shape))
    else:
        yield case, output


def _judge(case: Case, output: Array, assumed: Arguments) -> Judged:
    """Compare a result with the truth.

    Raises AssertionError if its shape or dtype is wrong, or a value is not finite.
    """
    try:
        require_form(case.call.name, case, output, masked=False)
    except Misbehaviour as problem:
        raise AssertionError(f"{problem}\n{call_line(case)}") from None
    exact = output.astype(np.float64, copy=False)
    return Judged(case, exact, compare(case, exact), assumed)
