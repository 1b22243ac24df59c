"""Describe the differences between kept and current vectors, case by case."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from posenc_conformance.commands.export.vectors import Element, Tensor, Vector, Vectors

SHOWN = 3
"""Most differences in a case's elements that are listed."""


def differences(kept: Vectors, now: Vectors) -> Iterator[str]:
    """Yield each difference in words; nothing if both have the same content."""
    if (kept.scheme, kept.dtype) != (now.scheme, now.dtype):
        yield f"holds {kept.name} in place of {now.name}"
        return
    if kept.note != now.note:
        yield "its note has changed"
    for key in sorted({*kept.about, *now.about}):
        if kept.about.get(key) != now.about.get(key):
            yield f"what it says under {key!r} has changed"
    before, after = ({case.id: case for case in each.cases} for each in (kept, now))
    yield from (f"case {id} is no longer exported" for id in before if id not in after)
    yield from (f"case {id} is new" for id in after if id not in before)
    for id in after:
        if id in before:
            yield from (f"case {id}: {each}" for each in _of_case(before[id], after[id]))
    if list(before) != list(after) and set(before) == set(after):
        yield "its cases stand in another order"


def _of_case(kept: Vector, now: Vector) -> Iterator[str]:
    for field in fields(Vector):
        before, after = getattr(kept, field.name), getattr(now, field.name)
        if before == after:
            continue
        if field.name == "elements":
            yield from _of_elements(kept.elements, now.elements)
        elif field.name == "arguments":
            for name in dict.fromkeys([*before, *after]):
                old, new = before.get(name), after.get(name)
                if old != new:
                    yield f"argument {name} is {_render(old)}, now {_render(new)}"
        else:
            yield f"{field.name} is {_render(before)}, now {_render(after)}"


def _of_elements(kept: tuple[Element, ...], now: tuple[Element, ...]) -> Iterator[str]:
    before, after = ({element[0]: element[1:] for element in elements} for elements in (kept, now))
    lines = []
    for index in sorted({*before, *after}):
        if index not in after:
            lines.append(f"element {index} is no longer judged")
        elif index not in before:
            lines.append(f"element {index} is new")
        else:
            lines += [
                f"{word} at {index} was {old!r}, is now {new!r}"
                for word, old, new in zip(
                    ("expected", "allowed"), before[index], after[index], strict=True
                )
                if old != new
            ]
    yield from lines[:SHOWN]
    if lines[SHOWN:]:
        yield f"and {len(lines) - SHOWN} more differences of elements"
    if not lines:
        yield "its elements stand in another order"


def _render(value: Any) -> str:
    if isinstance(value, Tensor):
        shown = ", ".join(map(repr, value.values[:SHOWN]))
        return f"{value.dtype} {list(value.shape)} [{shown}{', …' if value.values[SHOWN:] else ''}]"
    if value is None:
        return "missing"
    return ", ".join(map(str, value)) or "empty" if isinstance(value, tuple) else repr(value)
