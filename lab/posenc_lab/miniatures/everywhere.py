"""Mistakes that any call can have, derived from its right implementation.

Each is right for the usual inputs and wrong for rare ones: large values, wide or equal axes,
fractional bases, small integers.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.scheme import Call
from posenc_lab.judging import schemes
from posenc_lab.miniatures.base import Array, Mistake, declared

Given = Mapping[str, Any]


def call_of(steps: type[Mistake]) -> Call:
    """Return the specified call that the right implementation ``steps`` implements."""
    return next(scheme.calls[steps.call] for scheme in schemes() if steps.call in scheme.calls)


def whole(steps: type[Mistake]) -> object:
    """Return an adapter of the right implementation ``steps`` that claims every combination."""
    claimed = tuple(call_of(steps).combinations)
    made: type[Mistake] = type(steps.__name__, (steps,), {"claimed": claimed}, listed=False)
    return declared(made)()


def answering(steps: type[Mistake], answer: Callable[..., Any]) -> object:
    """Return ``steps`` with ``answer`` replaced, claiming only the call's first combination."""
    claimed = (next(iter(call_of(steps).combinations)),)
    attributes = {"claimed": claimed, "answer": answer}
    made: type[Mistake] = type(steps.__name__, (steps,), attributes, listed=False)
    return declared(made)()


def arrays(given: Given, kinds: str) -> dict[str, Array]:
    """Return the array arguments whose dtype kind is in ``kinds``."""
    values = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in values.items() if value.dtype.kind in kinds}


def whole_base(given: Given) -> Given:
    """Truncate every base to an integer."""
    names = {"base", "max_period", "scale_base"} & given.keys()
    return {name: int(given[name]) for name in names}


def whole_parameters(given: Given) -> Given:
    """Truncate floats from 1 on, except bases, to integers, as an int parameter does."""
    floats = {name: value for name, value in given.items() if isinstance(value, float)}
    return {name: int(value) for name, value in floats.items() if value >= 1 and "base" not in name}


def with_whole(subject: Subject, name: str) -> Callable[..., Any]:
    """Return a method that truncates argument ``name``; only ``proportion`` may become 0."""
    order = tuple(subject.call.arguments)

    def cut(value: Any) -> Any:
        small = name != "proportion" and isinstance(value, float) and abs(value) < 1
        return value if value is None or small else int(value)

    def method(*positional: Any, **keywords: Any) -> Any:
        arguments = {**dict(zip(order, positional, strict=True)), **keywords}
        if name in arguments:
            arguments[name] = cut(arguments[name])
        first = [arguments.pop(place) for place in order]
        return subject.method(*first, **arguments)

    return method


def with_positions(subject: Subject, change: Callable[[Array], Array]) -> Callable[..., Any]:
    """Return a method that applies ``change`` to the positions before the call."""
    place = list(subject.call.arguments).index("positions")

    def method(*positional: Any, **keywords: Any) -> Any:
        arguments = list(positional)
        arguments[place] = change(arguments[place])
        return subject.method(*arguments, **keywords)

    return method


def counted_rows(given: Given) -> Given:
    """Replace more than 256 positions by positions counted from 0."""
    positions = given["positions"]
    count = positions.shape[-1]
    if count <= 256:
        return {}
    counted = np.broadcast_to(np.arange(count, dtype=positions.dtype), positions.shape)
    return {"positions": counted.copy()}


def clipped(given: Given) -> Given:
    """Clip inputs to the range of an 8-bit float."""
    return {name: np.clip(array, -448, 448) for name, array in arrays(given, "f").items()}


def flushed(given: Given) -> Given:
    """Flush inputs of magnitude below 1e-3 to 0."""
    return {
        name: np.where(np.abs(array) < 1e-3, np.zeros_like(array), array)
        for name, array in arrays(given, "f").items()
    }


def capped_base(given: Given) -> Given:
    """Cap the base at a million; released models go up to ten million."""
    return {"base": min(given["base"], 1e6)}


def doubled_and_halved(given: Given) -> Given:
    """Double and halve integers in their own dtype, which may overflow."""
    return {name: (array + array) // 2 for name, array in arrays(given, "iu").items()}


def first_channels(given: Given) -> Given:
    """Zero the channels beyond 128, as a kernel with one block of 128 threads does."""
    return {
        name: np.where(np.arange(array.shape[-1]) < 128, array, np.zeros_like(array))
        for name, array in arrays(given, "f").items()
        if array.ndim
    }


def first_of(name: str, axis: int) -> Callable[[Given], Given]:
    """Return a change that zeroes ``axis`` from index 128 on: one block of 128 threads."""

    def change(given: Given) -> Given:
        array = given[name]
        seen = np.arange(array.shape[axis]) < 128
        return {name: np.where(seen.reshape(-1, *[1] * (-axis - 1)), array, np.zeros_like(array))}

    return change


def square_transposed(given: Given) -> Given:
    """Transpose square matrices."""
    return {
        name: array.swapaxes(-1, -2)
        for name, array in arrays(given, "f").items()
        if array.ndim > 1 and array.shape[-1] == array.shape[-2]
    }


def batches_transposed(given: Given) -> Given:
    """Swap batch and heads if their sizes are equal."""
    return {
        name: array.swapaxes(-3, -4)
        for name, array in arrays(given, "f").items()
        if array.ndim > 3 and array.shape[-3] == array.shape[-4]
    }


def with_inputs(steps: type[Mistake], change: Callable[[Given], Given]) -> object:
    """Return ``steps`` with ``change`` applied to its arguments before the call."""
    names = tuple(call_of(steps).arguments)

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        leading = dict(zip(names, positional, strict=True))
        other = change({**leading, **keywords})
        leading = {name: other.get(name, value) for name, value in leading.items()}
        return steps.answer(self, *leading.values(), **{**keywords, **other_than(leading, other)})

    return answering(steps, answer)


def other_than(given: Given, changed: Given) -> Given:
    """Return the changed arguments that are passed by keyword."""
    return {name: value for name, value in changed.items() if name not in given}


def first_numbers(given: Given) -> Given:
    """Zero the elements beyond 65,535: a grid of that many blocks, one per input element."""
    return {
        name: np.where(np.arange(x.size).reshape(x.shape) < 65535, x, np.zeros_like(x))
        for name, x in arrays(given, "f").items()
    }


def with_one_buffer(steps: type[Mistake]) -> object:
    """Return an implementation that reuses one output buffer per shape and dtype."""
    buffers: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        result = np.asarray(steps.answer(self, *positional, **keywords))
        out = buffers.setdefault((result.shape, result.dtype.str), result.copy())
        out[...] = result
        return out

    return answering(steps, answer)


def with_first_and_last(steps: type[Mistake]) -> object:
    """Return an implementation that caches positions by shape, first and last position."""
    names = tuple(call_of(steps).arguments)
    place = names.index("positions")
    cache: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        arguments = list(positional)
        where = np.asarray(arguments[place])
        if where.size:
            key = (where.shape, where[..., 0].tobytes(), where[..., -1].tobytes())
            arguments[place] = cache.setdefault(key, where.copy())
        return steps.answer(self, *arguments, **keywords)

    return answering(steps, answer)


def with_few_blocks(steps: type[Mistake]) -> object:
    """Return an implementation whose results stay 0 from element 65,535 on: too few blocks."""

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        result = np.array(steps.answer(self, *positional, **keywords), order="C")
        result.reshape(-1)[65535:] = 0
        return result

    return answering(steps, answer)


def with_first_dtype(steps: type[Mistake]) -> object:
    """Return an implementation that caches long results in the dtype of the first caller."""
    cache: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        result = np.asarray(steps.answer(self, *positional, **keywords))
        if max(result.shape, default=0) <= 256:
            return result
        values = [np.asarray(value) for value in (*positional, *keywords.values())]
        key = tuple((value.shape, value.astype(np.float32).tobytes()) for value in values)
        return cache.setdefault(key, result).astype(result.dtype)

    return answering(steps, answer)


def with_first_queries(steps: type[Mistake]) -> object:
    """Return an implementation that answers fewer queries with a cached result's first rows."""
    cache: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        result = np.asarray(steps.answer(self, *positional, **keywords))
        *_, q_len, k_len = result.shape
        if k_len <= 256:
            return result
        key = (*result.shape[:-2], k_len)
        if cache.setdefault(key, result).shape[-2] < q_len:
            cache[key] = result
        return cache[key][..., :q_len, :].copy()

    return answering(steps, answer)
