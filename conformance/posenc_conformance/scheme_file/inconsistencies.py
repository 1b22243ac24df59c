"""Checks of a scheme file that a JSON Schema cannot express."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from posenc_conformance.scheme_file.scheme import Deviation, Point, Scheme

Problem = tuple[Sequence[str | int], str]


def inconsistencies(scheme: Scheme) -> Iterator[Problem]:
    """Yield the field and the problem for each dangling name, repeated id and the like."""
    if scheme.path.stem != scheme.id:
        yield ("id",), f"is {scheme.id!r}, but the file is called {scheme.path.name!r}"
    for name, axis in scheme.conventions.items():
        if axis.default is not None and axis.default not in axis.values:
            yield ("conventions", name, "default"), f"{axis.default!r} is not among its values"
    for name, call in scheme.calls.items():
        for combination in call.combinations.values():
            where = ("calls", name, "combinations", combination.name, "conventions")
            yield from _bad_point(scheme, where, combination.conventions)
        for option in call.options:
            if option not in scheme.conventions or not scheme.conventions[option].optional:
                yield ("calls", name, "options"), f"{option!r} is not an optional convention"
    lists: dict[str, Sequence[Any]] = {
        "goldens": scheme.goldens,
        "published": scheme.published,
        "invariants": scheme.invariants,
        "bad_inputs": scheme.bad_inputs,
        "deviations": scheme.deviations,
    }
    for key, items in lists.items():
        seen: set[str] = set()
        for index, item in enumerate(items):
            if item.id in seen:
                yield (key, index, "id"), f"{item.id!r} is used twice"
            seen.add(item.id)
            yield from _dangling(scheme, (key, index), item)
    yield from _unproved(scheme)


def _unproved(scheme: Scheme) -> Iterator[Problem]:
    """Yield problems of desiderata whose invariant or witness names something unknown."""
    for wish in scheme.desiderata:
        where = ("desiderata", wish.name)
        if wish.invariant is not None and wish.invariant not in {i.id for i in scheme.invariants}:
            yield (*where, "invariant"), f"{wish.invariant!r} is not among the invariants"
        if wish.witness is not None:
            yield from _dangling(scheme, (*where, "witness"), wish.witness)


def _dangling(scheme: Scheme, where: tuple[str | int, ...], item: Any) -> Iterator[Problem]:
    if isinstance(item, Deviation):
        for name in item.calls:
            if name not in scheme.calls:
                yield (*where, "calls"), f"{name!r} is not among the calls"
        return
    call = scheme.calls.get(item.call)
    if call is None:
        yield (*where, "call"), f"{item.call!r} is not among the calls"
        return
    names = ", ".join(call.combinations)
    if hasattr(item, "combination") and item.combination not in call.combinations:
        yield (*where, "combination"), f"{item.combination!r} is not one of {names}"
    for name in getattr(item, "combinations", ()):
        if name not in call.combinations:
            yield (*where, "combinations"), f"{name!r} is not one of {names}"
    if hasattr(item, "source") and item.source not in scheme.sources:
        yield (*where, "source"), f"{item.source!r} is not among the sources"
    yield from _bad_point(scheme, (*where, "options"), getattr(item, "options", {}))
    for name in getattr(item, "options", {}):
        if name not in call.options:
            yield (*where, "options"), f"{item.call} has no option {name!r}"
    arguments = getattr(item, "arguments", {})
    for name in chain.from_iterable(arguments) if isinstance(arguments, tuple) else arguments:
        if name not in call.arguments and name not in call.parameters:
            yield (*where, "arguments", name), f"{item.call} has no such argument"


def _bad_point(scheme: Scheme, where: tuple[str | int, ...], point: Point) -> Iterator[Problem]:
    for name, value in point.items():
        axis = scheme.conventions.get(name)
        if axis is None:
            yield where, f"{name!r} is not among the conventions"
        elif value not in axis.values:
            yield (*where, name), f"{value!r} is not one of {', '.join(map(repr, axis.values))}"
