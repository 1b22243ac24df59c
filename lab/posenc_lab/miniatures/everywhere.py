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
    """Return the specification's call that a right implementation implements."""
    return next(scheme.calls[steps.call] for scheme in schemes() if steps.call in scheme.calls)


def whole(steps: type[Mistake]) -> object:
    """Return the right implementation that mistakes derive from, claiming every combination."""
    claimed = tuple(call_of(steps).combinations)
    made: type[Mistake] = type(steps.__name__, (steps,), {"claimed": claimed}, listed=False)
    return declared(made)()


def answering(steps: type[Mistake], answer: Callable[..., Any]) -> object:
    """Return a right implementation with ``answer`` replaced, claiming its first combination."""
    claimed = (next(iter(call_of(steps).combinations)),)
    attributes = {"claimed": claimed, "answer": answer}
    made: type[Mistake] = type(steps.__name__, (steps,), attributes, listed=False)
    return declared(made)()


def arrays(given: Given, kinds: str) -> dict[str, Array]:
    """Return the arrays whose dtype kind is in ``kinds``."""
    found = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
    return {name: each for name, each in found.items() if each.dtype.kind in kinds}


def whole_base(given: Given) -> Given:
    """Truncate the base to an integer."""
    names = {"base", "max_period", "scale_base"} & given.keys()
    return {name: int(given[name]) for name in names}


def whole_parameters(given: Given) -> Given:
    """Truncate numbers from 1 on, except bases, to integers, as a signature with int does."""
    numbers = {name: each for name, each in given.items() if isinstance(each, float)}
    return {name: int(each) for name, each in numbers.items() if each >= 1 and "base" not in name}


def with_whole(subject: Subject, name: str) -> Callable[..., Any]:
    """Return a method that truncates the argument ``name``; only a proportion may become 0."""
    order = tuple(subject.call.arguments)

    def cut(value: Any) -> Any:
        small = name != "proportion" and isinstance(value, float) and abs(value) < 1
        return value if value is None or small else int(value)

    def method(*positional: Any, **keywords: Any) -> Any:
        given = {**dict(zip(order, positional, strict=True)), **keywords}
        if name in given:
            given[name] = cut(given[name])
        first = [given.pop(each) for each in order]
        return subject.method(*first, **given)

    return method


def with_positions(subject: Subject, change: Callable[[Array], Array]) -> Callable[..., Any]:
    """Return a method that changes the positions before the call."""
    place = list(subject.call.arguments).index("positions")

    def method(*positional: Any, **keywords: Any) -> Any:
        given = list(positional)
        given[place] = change(given[place])
        return subject.method(*given, **keywords)

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
    return {name: np.clip(each, -448, 448) for name, each in arrays(given, "f").items()}


def flushed(given: Given) -> Given:
    """Flush inputs below 1e-3 to 0."""
    return {
        name: np.where(np.abs(each) < 1e-3, np.zeros_like(each), each)
        for name, each in arrays(given, "f").items()
    }


def capped_base(given: Given) -> Given:
    """Cap the base at a million; released models go up to ten million."""
    return {"base": min(given["base"], 1e6)}


def doubled_and_halved(given: Given) -> Given:
    """Double and halve integers in their own dtype, which may overflow."""
    return {name: (each + each) // 2 for name, each in arrays(given, "iu").items()}


def first_channels(given: Given) -> Given:
    """Zero the channels beyond 128, as a kernel with one block of 128 threads does."""
    return {
        name: np.where(np.arange(each.shape[-1]) < 128, each, np.zeros_like(each))
        for name, each in arrays(given, "f").items()
        if each.ndim
    }


def first_of(name: str, axis: int) -> Callable[[Given], Given]:
    """Return a change that zeroes an axis beyond 128: one block of 128 threads."""

    def change(given: Given) -> Given:
        array = given[name]
        seen = np.arange(array.shape[axis]) < 128
        return {name: np.where(seen.reshape(-1, *[1] * (-axis - 1)), array, np.zeros_like(array))}

    return change


def square_transposed(given: Given) -> Given:
    """Transpose square matrices."""
    return {
        name: each.swapaxes(-1, -2)
        for name, each in arrays(given, "f").items()
        if each.ndim > 1 and each.shape[-1] == each.shape[-2]
    }


def batches_transposed(given: Given) -> Given:
    """Swap batch and heads if their sizes are equal."""
    return {
        name: each.swapaxes(-3, -4)
        for name, each in arrays(given, "f").items()
        if each.ndim > 3 and each.shape[-3] == each.shape[-4]
    }


def with_inputs(steps: type[Mistake], change: Callable[[Given], Given]) -> object:
    """Return a right implementation that changes its arguments before the call."""
    names = tuple(call_of(steps).arguments)

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        given = dict(zip(names, positional, strict=True))
        other = change({**given, **keywords})
        given = {name: other.get(name, value) for name, value in given.items()}
        return steps.answer(self, *given.values(), **{**keywords, **other_than(given, other)})

    return answering(steps, answer)


def other_than(given: Given, changed: Given) -> Given:
    """Return the changed arguments that are passed by keyword."""
    return {name: value for name, value in changed.items() if name not in given}


def first_numbers(given: Given) -> Given:
    """Zero the elements beyond 65,535: a grid of that many blocks, one per input element."""
    return {
        name: np.where(np.arange(each.size).reshape(each.shape) < 65535, each, np.zeros_like(each))
        for name, each in arrays(given, "f").items()
    }


def with_one_buffer(steps: type[Mistake]) -> object:
    """Return an implementation that reuses one output buffer per shape and dtype."""
    buffers: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.asarray(steps.answer(self, *positional, **keywords))
        out = buffers.setdefault((found.shape, found.dtype.str), found.copy())
        out[...] = found
        return out

    return answering(steps, answer)


def with_first_and_last(steps: type[Mistake]) -> object:
    """Return an implementation that caches positions by shape, first and last position."""
    names = tuple(call_of(steps).arguments)
    place = names.index("positions")
    kept: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        given = list(positional)
        where = np.asarray(given[place])
        if where.size:
            key = (where.shape, where[..., 0].tobytes(), where[..., -1].tobytes())
            given[place] = kept.setdefault(key, where.copy())
        return steps.answer(self, *given, **keywords)

    return answering(steps, answer)


def with_few_blocks(steps: type[Mistake]) -> object:
    """Return results that stay 0 beyond 65,535 elements: a grid of one block per element."""

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.array(steps.answer(self, *positional, **keywords), order="C")
        found.reshape(-1)[65535:] = 0
        return found

    return answering(steps, answer)


def with_first_dtype(steps: type[Mistake]) -> object:
    """Cache results with an axis beyond 256 in the dtype of the first caller."""
    kept: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.asarray(steps.answer(self, *positional, **keywords))
        if max(found.shape, default=0) <= 256:
            return found
        values = [np.asarray(each) for each in (*positional, *keywords.values())]
        key = tuple((each.shape, each.astype(np.float32).tobytes()) for each in values)
        return kept.setdefault(key, found).astype(found.dtype)

    return answering(steps, answer)


def with_first_queries(steps: type[Mistake]) -> object:
    """Return the first rows of the longest cached result: right only for the most queries."""
    kept: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.asarray(steps.answer(self, *positional, **keywords))
        *_, q_len, k_len = found.shape
        if k_len <= 256:
            return found
        key = (*found.shape[:-2], k_len)
        if kept.setdefault(key, found).shape[-2] < q_len:
            kept[key] = found
        return kept[key][..., :q_len, :].copy()

    return answering(steps, answer)
