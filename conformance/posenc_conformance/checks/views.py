"""Views into larger arrays: gaps between rows, and their order in memory, must not matter.

Models pass slices of a fused projection, arrays with tokens before heads in memory, and gradients
that the backward pass of a sum has expanded.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations

import numpy as np

from posenc_conformance.checks.bench import Bench, is_right
from posenc_conformance.checks.variations import small_and_large, with_leading
from posenc_conformance.diagnose.diagnosis import Diagnosis, diagnose
from posenc_conformance.judge.arrays import Array, Floats, around, fine, last_of
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.misbehaviour import Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Wrong
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

BATCH = (2, 3)
"""Numbers of sequences and heads in a call with both."""
View = Callable[[Array], Array]
"""Returns an array of the same values, in other memory."""
Inputs = Callable[[Case], ArgumentDict]
"""Makes the inputs of a call."""
IN_MEMORY = (
    "the result depends on how its inputs lie in memory: the same values, dense in memory, are "
    "answered rightly"
)


def strided_inputs(bench: Bench, case: Case) -> None:
    """Check that views of every second element along each axis are read correctly.

    No model passes every second channel, so that an exception, which is hard to overlook, is
    accepted.
    """
    with suppress(Refusal):
        _assert_read(bench, case, "with strided inputs", _seen(_every_second))


def column_major_inputs(bench: Bench, case: Case) -> None:
    """Check that matrices in column-major order are read correctly."""
    _assert_read(bench, case, "with inputs in column-major order", _seen(np.asfortranarray))


def cut_inputs(bench: Bench, case: Case) -> None:
    """Check that columns of a wider array, like q, k and v of a projection, are read correctly.

    The channels of a row are contiguous then, with other numbers between rows.
    """
    for call in _small_and_large(bench.subject, case):
        _assert_read(bench, call, "with columns cut from a wider array", _seen(_columns))


def transposed_inputs(bench: Bench, case: Case) -> None:
    """Check that rows may come before heads in memory: [n, heads, d] viewed as [heads, n, d].

    Also with several sequences: [batch, n, heads, d] viewed as [batch, heads, n, d].
    """
    for call in (*_small_and_large(bench.subject, case), *_batches(bench.subject, case)):
        _assert_read(bench, call, "with rows before heads in memory", _seen(_rows_first))


def _batches(subject: Subject, case: Case) -> list[Case]:
    """Return a call with a batch of heads, if it accepts one and is right with plain arrays."""
    arrays = with_leading(case, BATCH)
    many = case.with_arguments(**arrays)
    return [many] if arrays and many.has_result and is_right(subject, many) else []


def expanded_inputs(bench: Bench, case: Case) -> None:
    """Check that arrays that repeat along axes, by a stride of 0, are read correctly.

    Keys that several heads share, and gradients with respect to a sum's terms, are such arrays.
    """
    names = _expandable(case)
    for words, values in (("their first axis", _first_of), ("all axes", _one_of)):
        arrays = {name: values(case.arguments[name]) for name in names}
        other = case.with_arguments(**arrays)
        if other.has_result:
            view = _all_expanded if values is _one_of else _first_expanded
            with suppress(*([Refusal] if values is _one_of else [])):  # these include channels
                _assert_read(
                    bench, other, f"with inputs expanded along {words}", _seen(view, names)
                )


def can_be_cut(case: Case) -> bool:
    """Return whether an array of a case has rows that may have gaps between them."""
    return any(array.ndim > 1 for array in _arrays(case.arguments).values())


def can_be_transposed(case: Case) -> bool:
    """Return whether an array of a case has an axis before its rows."""
    return any(array.ndim > 2 for array in _arrays(case.arguments).values())


def can_be_expanded(case: Case) -> bool:
    """Return whether an array of a case may repeat along an axis."""
    return bool(_expandable(case))


def _expandable(case: Case) -> list[str]:
    """Name the arrays of floats with several axes that the call does not write into."""
    return [
        name
        for name, array in _arrays(case.arguments).items()
        if array.dtype.kind == "f" and array.ndim > 1 and array.size
        if name != case.changed_argument
    ]


def _small_and_large(subject: Subject, case: Case) -> list[Case]:
    """Return a call, and a large one if that is right with plain arrays: kernels depend on size."""
    calls = small_and_large(subject, case)
    return [call for call in calls if call is case or is_right(subject, call)]


def _assert_read(
    bench: Bench, case: Case, what: str, seen: Inputs, inputs: ArgumentDict | None = None
) -> None:
    """Check that a call reads views of its arrays like the arrays themselves.

    ``inputs`` are the result of ``seen`` for the call, if the caller looks at them afterwards. If
    the plain arrays are read correctly, the mistake is in the access to memory, not in the formula.
    """

    def explain(asked: Case, output: Floats) -> Diagnosis:
        if _is_unchanged(asked, output) or not is_right(bench.subject, asked):
            return diagnose(asked, output)
        return Diagnosis((), otherwise=_read_otherwise(asked, seen(asked), output) or IN_MEMORY)

    bench.assert_correct(case, what, seen(case) if inputs is None else inputs, explain)


def _seen(view: View, names: Collection[str] | None = None) -> Inputs:
    """Make a function that turns inputs of a call into views: those in ``names``, or all arrays."""

    def inputs(case: Case) -> ArgumentDict:
        arguments: ArgumentDict = dict(case.inputs)
        chosen = _arrays(arguments) if names is None else names
        return arguments | {name: view(arguments[name]) for name in chosen}

    return inputs


def _is_unchanged(case: Case, output: Floats) -> bool:
    """Return whether a call that should write into an argument left it unchanged."""
    name = case.changed_argument
    return bool(name) and np.array_equal(output, case.inputs[name].astype(np.float64))


def _read_otherwise(case: Case, inputs: Arguments, output: Floats) -> str:
    """Name an array that is read as if it were dense, or with another array's strides.

    Empty if that explains no result. Reads beyond the memory of a view are not tried.
    """
    arrays = _arrays(inputs)
    for name, array in arrays.items():
        for words, values in (*_denser(array), *_as_others(name, arrays)):
            other = case.with_arguments(**{name: values.astype(case.arguments[name].dtype)})
            if other.has_result and other.shape == output.shape and agrees(other, output):
                return f"{name} is read {words}"
    return ""


def _denser(array: Array) -> Iterator[tuple[str, Array]]:
    """Yield the values of a view if some of its strides are mistaken for those of a dense array.

    The mistake about all strides comes first.
    """
    dense = np.empty(array.shape, dtype=array.dtype).strides
    other = [axis for axis in range(-array.ndim, 0) if array.strides[axis] != dense[axis]]
    last = last_of(array.shape, array.strides)
    for count in range(len(other), 0, -1):
        for axes in combinations(other, count):
            strides = [
                (dense if axis in axes else array.strides)[axis] for axis in range(-array.ndim, 0)
            ]
            if last_of(array.shape, strides) <= last:
                between = _apart(() if len(axes) == len(other) else axes)
                yield f"as if nothing lay between its {between}", _with_strides(array, strides)


def _as_others(name: str, arrays: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """Yield the values of a view read by the strides of another array, within its memory."""
    array = arrays[name]
    last = last_of(array.shape, array.strides)
    for other, strides in ((key, array.strides) for key, array in arrays.items()):
        usual = len(strides) == array.ndim and strides != array.strides
        if (
            usual
            and arrays[other].itemsize == array.itemsize
            and last_of(array.shape, strides) <= last
        ):
            yield f"by the strides of {other}", _with_strides(array, strides)


def _with_strides(array: Array, strides: Sequence[int]) -> Array:
    return np.lib.stride_tricks.as_strided(array, array.shape, strides).copy()


def _apart(axes: tuple[int, ...]) -> str:
    """Name the parts of an array along some axes, or along all of them."""
    names = [AXES[axis] for axis in axes if axis in AXES]
    if not axes or len(names) < len(axes):
        return "elements, in row-major order"
    return f"{' and '.join(names)}: their stride is not read"


AXES = {-2: "rows", -3: "heads", -4: "sequences"}
"""The parts of an array along each axis, counted from the last."""


def _every_second(array: Array) -> Array:
    wide = np.zeros([2 * n for n in array.shape], dtype=array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def _columns(array: Array) -> Array:
    """Copy a matrix into the middle third of a wider array; copy other arrays densely."""
    if array.ndim < 2:
        return array.copy()
    width = array.shape[-1]
    wide = fine((*array.shape[:-1], 3 * width)).astype(array.dtype)
    view = wide[..., width : 2 * width]
    view[...] = array
    return view


def _middle(array: Array) -> Array:
    """Copy a matrix into the middle columns of a larger one, with a row before and after it."""
    *leading, rows, dim = array.shape
    view = fine((*leading, rows + 2, 3 * dim)).astype(array.dtype)[..., 1:-1, dim : 2 * dim]
    view[...] = array
    return view


def _rows_first(array: Array) -> Array:
    """Exchange the axes of rows and heads, in memory only."""
    if array.ndim < 3:
        return array.copy()
    return np.ascontiguousarray(array.swapaxes(-2, -3)).swapaxes(-2, -3)


def _first_of(array: Array) -> Array:
    return np.broadcast_to(array[:1], array.shape)


def _one_of(array: Array) -> Array:
    return np.full_like(array, array.flat[0])


def _first_expanded(array: Array) -> Array:
    """Return the same values with a stride of 0 along the first axis."""
    return np.lib.stride_tricks.as_strided(array[:1].copy(), array.shape, (0, *array.strides[1:]))


def _all_expanded(array: Array) -> Array:
    """Return the same values with a stride of 0 along all axes."""
    return np.lib.stride_tricks.as_strided(
        array.reshape(-1)[:1].copy(), array.shape, [0] * array.ndim
    )


def neighbours_untouched(bench: Bench, case: Case) -> None:
    """Check that an argument changed in place may be a part of a larger tensor, such as some heads.

    The rest of the tensor must stay unchanged.
    """
    name = case.changed_argument
    seen = _seen(_middle, [name])
    inputs = seen(case)
    before = around(inputs[name])
    _assert_read(bench, case, "with x in the middle of a larger array", seen, inputs)
    if around(inputs[name]) != before:
        raise Wrong(f"the call wrote outside of its input {name}\n{call_line(case)}")


def _arrays(inputs: Arguments) -> dict[str, Array]:
    return {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
