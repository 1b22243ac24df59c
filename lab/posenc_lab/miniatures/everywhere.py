"""Mistakes that any call can have, made of its right implementation.

Each is right in what is asked first, and wrong in something that is asked seldom: large values,
wide or equal axes, bases with a fraction, small integers.
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
    """The call of the specification that a right implementation is of."""
    return next(scheme.calls[steps.call] for scheme in schemes() if steps.call in scheme.calls)


def whole(steps: type[Mistake]) -> object:
    """What wrong ones change a step of, claiming every combination."""
    claimed = tuple(call_of(steps).combinations)
    made: type[Mistake] = type(steps.__name__, (steps,), {"claimed": claimed}, listed=False)
    return declared(made)()


def answering(steps: type[Mistake], answer: Callable[..., Any]) -> object:
    """A right implementation's claim of its first combination, with another answer."""
    claimed = (next(iter(call_of(steps).combinations)),)
    attributes = {"claimed": claimed, "answer": answer}
    made: type[Mistake] = type(steps.__name__, (steps,), attributes, listed=False)
    return declared(made)()


def arrays(given: Given, kinds: str) -> dict[str, Array]:
    """The arrays whose dtype is of one of these kinds."""
    found = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
    return {name: each for name, each in found.items() if each.dtype.kind in kinds}


def whole_base(given: Given) -> Given:
    """A base that is cut to a whole number."""
    names = {"base", "max_period", "scale_base"} & given.keys()
    return {name: int(given[name]) for name in names}


def whole_parameters(given: Given) -> Given:
    """Numbers above 1, but for a base, cut to whole ones, as where a signature says int."""
    numbers = {name: each for name, each in given.items() if isinstance(each, float)}
    return {name: int(each) for name, each in numbers.items() if each >= 1 and "base" not in name}


def with_whole(subject: Subject, name: str) -> Callable[..., Any]:
    """A method that cuts one number to a whole one, but for shares, which are 1 at most."""
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
    """A method that works with other positions than those given."""
    place = list(subject.call.arguments).index("positions")

    def method(*positional: Any, **keywords: Any) -> Any:
        given = list(positional)
        given[place] = change(given[place])
        return subject.method(*given, **keywords)

    return method


def counted_rows(given: Given) -> Given:
    """Positions of more than 256 rows that are counted from 0, whatever is given."""
    positions = given["positions"]
    count = positions.shape[-1]
    if count <= 256:
        return {}
    counted = np.broadcast_to(np.arange(count, dtype=positions.dtype), positions.shape)
    return {"positions": counted.copy()}


def clipped(given: Given) -> Given:
    """Inputs cut to what eight bits hold."""
    return {name: np.clip(each, -448, 448) for name, each in arrays(given, "f").items()}


def flushed(given: Given) -> Given:
    """Inputs below a thousandth taken for 0."""
    return {
        name: np.where(np.abs(each) < 1e-3, np.zeros_like(each), each)
        for name, each in arrays(given, "f").items()
    }


def capped_base(given: Given) -> Given:
    """A base of at most a million; released models have ten."""
    return {"base": min(given["base"], 1e6)}


def doubled_and_halved(given: Given) -> Given:
    """Whole numbers doubled in their own type."""
    return {name: (each + each) // 2 for name, each in arrays(given, "iu").items()}


def first_channels(given: Given) -> Given:
    """One block of 128 threads for the channels, the others as if they were 0."""
    return {
        name: np.where(np.arange(each.shape[-1]) < 128, each, np.zeros_like(each))
        for name, each in arrays(given, "f").items()
        if each.ndim
    }


def first_of(name: str, axis: int) -> Callable[[Given], Given]:
    """One block of 128 threads for an axis of an array, the others as if they were 0."""

    def change(given: Given) -> Given:
        array = given[name]
        seen = np.arange(array.shape[axis]) < 128
        return {name: np.where(seen.reshape(-1, *[1] * (-axis - 1)), array, np.zeros_like(array))}

    return change


def square_transposed(given: Given) -> Given:
    """A matrix that is square taken for its transpose."""
    return {
        name: each.swapaxes(-1, -2)
        for name, each in arrays(given, "f").items()
        if each.ndim > 1 and each.shape[-1] == each.shape[-2]
    }


def batches_transposed(given: Given) -> Given:
    """Batches and heads exchanged where there are as many."""
    return {
        name: each.swapaxes(-3, -4)
        for name, each in arrays(given, "f").items()
        if each.ndim > 3 and each.shape[-3] == each.shape[-4]
    }


def with_inputs(steps: type[Mistake], change: Callable[[Given], Given]) -> object:
    """A right implementation that works with other arguments than those given."""
    names = tuple(call_of(steps).arguments)

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        given = dict(zip(names, positional, strict=True))
        other = change({**given, **keywords})
        given = {name: other.get(name, value) for name, value in given.items()}
        return steps.answer(self, *given.values(), **{**keywords, **other_than(given, other)})

    return answering(steps, answer)


def other_than(given: Given, changed: Given) -> Given:
    """What was changed and is passed by keyword."""
    return {name: value for name, value in changed.items() if name not in given}


def first_numbers(given: Given) -> Given:
    """A grid of 65,535 blocks, one for each number of an input: those beyond are taken for 0."""
    return {
        name: np.where(np.arange(each.size).reshape(each.shape) < 65535, each, np.zeros_like(each))
        for name, each in arrays(given, "f").items()
    }


def with_one_buffer(steps: type[Mistake]) -> object:
    """Results of one shape that are handed out in one array."""
    buffers: dict[Any, Array] = {}

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.asarray(steps.answer(self, *positional, **keywords))
        out = buffers.setdefault((found.shape, found.dtype.str), found.copy())
        out[...] = found
        return out

    return answering(steps, answer)


def with_first_and_last(steps: type[Mistake]) -> object:
    """Positions that are kept by how many there are, the first and the last one."""
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
    """A grid of 65,535 blocks, one for each number: those beyond stay 0."""

    def answer(self: Mistake, *positional: Any, **keywords: Any) -> Any:
        found = np.array(steps.answer(self, *positional, **keywords), order="C")
        found.reshape(-1)[65535:] = 0
        return found

    return answering(steps, answer)


def with_first_dtype(steps: type[Mistake]) -> object:
    """Results of more than 256 rows, columns or heads that are kept in the first caller's dtype."""
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
    """The first rows of the most that were made so far: right for as many queries as those."""
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
