"""Drafts of calls that take queries and keys: the method of ``rope``, and the one for both."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.commands.init.draft import Draft
from posenc_conformance.commands.init.making import Target
from posenc_conformance.commands.init.probes import SAMPLE, sample
from posenc_conformance.commands.init.roles import (
    PASSED_IF_OPTIONAL,
    CallText,
    Roles,
    call_text,
    has,
)

SHAPES = ("bhsd", "bshd", "sbhd", "hsd", "shd")
"""Axes in which functions take queries and keys, the usual ones first."""
FLAT = ("s(hd)", "bs(hd)")
"""Axes of arrays in which all heads of a row are one axis, for code that knows a head's size."""
SEQUENCES = ("hsd", "bhsd", "bshd", "shd", "sbhd")
"""The same for calls without positions, which may not check their axes."""
PASSED = PASSED_IF_OPTIONAL | {"other"}
IN_PLACE = re.compile(r"_\(|in_?place")
"""Names of functions that write over what they are given."""
LONGEST = 88
"""Length of a line with a call; a longer one is written on several lines."""
SAME_PLACES = "not judged: positions of keys other than those of queries"
WRITTEN_OVER = "it writes over queries and keys, so the adapter gives it copies"


@dataclass(frozen=True)
class Way:
    """A way to come from the arrays of the kit to those of a call."""

    queries: tuple[str, ...]
    """Lines of the method ``rope``, with CALL where x is turned."""
    both: tuple[str, ...]
    """Lines of the method for both."""


def shapes_for(roles: Roles, said: str) -> tuple[str, ...]:
    """Return the axes to try, the likeliest first, for code that is given these roles.

    Those that its texts name are the only ones.
    """
    if said in SHAPES:
        return (said,)
    if {"rotary", "dim"} <= roles:
        return *FLAT, *SHAPES
    return *SHAPES, *(FLAT if roles & {"dim", "heads"} else ())


def of_sequences(target: Target) -> tuple[str, ...]:
    """Return the axes to try for a call without positions, which may not check them."""
    return (target.axes,) if target.axes in SEQUENCES else SEQUENCES


def takes_both(target: Target) -> bool:
    """Return whether a callable takes queries and keys, which stand at the same places."""
    return has(target.parameters, "x", "other") and "cached" not in target.text


def text_of(target: Target, offered: dict[str, str]) -> CallText | None:
    """Return the text of a call of q and k; None if it would not take both."""
    given = {"x": "q", **offered, "other": "k", "values": "k"}
    text = call_text(target.text, target.parameters, given, PASSED)
    return text if text is not None and {"x", "other"} <= text.used else None


ARRAYS = {"torch": "to_torch({})", "jax": "jnp.asarray({})", "numpy": "{}"}
ROWS = {"torch": "{}", "jax": "jnp.asarray({})", "numpy": "{}"}
"""The same for parts of an array that helpers hand on."""
WHOLE = {"torch": "to_torch({})", "jax": "{}", "numpy": "{}"}
"""The same for an array that helpers take apart."""


def at_once(framework: str) -> Way:
    """Return the way of a call that takes positions."""
    x, q, k = (ARRAYS[framework].format(name) for name in "xqk")
    return Way((f"return of_queries(CALL, {x}, FORM)",), (f"return of_both(CALL, {q}, {k}, FORM)",))


def in_parts(framework: str, helper: str, arguments: str, more: str = "") -> Way:
    """Return the way of a call that ``helper`` makes for parts of a sequence."""
    rows, both = WHOLE[framework].format("x"), WHOLE[framework].format("np.concatenate([q, k])")
    own, first, second = (
        ROWS[framework].format(part) for part in ("rows", "rows[: len(q)]", "rows[len(q) :]")
    )
    head = f"def turn({arguments}):"
    return Way(
        (
            head,
            f"    return of_queries(CALL, {own}, FORM)",
            f"return {helper}(turn, {rows}, positions{more})",
        ),
        (
            head,
            f"    return of_both(CALL, {first}, {second}, FORM)",
            f"return {helper}(turn, {both}, positions{more})",
        ),
    )


def drafts(
    draft: Draft, text: CallText, way: Way, shapes: Sequence[str] = SHAPES
) -> Iterator[Draft]:
    """Yield the draft of ``rope`` in each shape in which the call runs, with the lines for both.

    The body of ``draft`` has the lines before the call.
    """
    same_places = (SAME_PLACES,) if "key_positions" in text.used else ()
    for shape in shapes:
        for in_place in (False, True):
            form = f'shape="{shape}"' + ", in_place=True" * in_place
            full = replace(
                draft,
                body=(*draft.body, *_filled(way.queries, text.text, form)),
                both=(*map(_of_q, draft.body), *_filled(way.both, text.text, form)),
                notes=(*(WRITTEN_OVER,) * in_place, *same_places),
            )
            value = full.value(sample(full.keywords))
            if tuple(getattr(value, "shape", ())) != SAMPLE["x"].shape:
                continue
            if in_place and not IN_PLACE.search(text.text) and np.array_equal(value, SAMPLE["x"]):
                continue  # it returns something else than queries and keys
            yield full
            break


def _filled(lines: Sequence[str], call: str, form: str) -> Iterator[str]:
    """Yield lines with the call and the form; a long call becomes a function of its own."""
    for line in lines:
        short = line.replace("CALL", f"lambda q, k: {call}").replace("FORM", form)
        if "CALL" not in line or len(short) <= LONGEST:
            yield short
            continue
        indent = line[: len(line) - len(line.lstrip())]
        yield f"{indent}def turned(q, k):"
        yield f"{indent}    return {call}"
        yield line.replace("CALL", "turned").replace("FORM", form)


def _of_q(line: str) -> str:
    """Return a line about x as one about q; parameters called x keep their name."""
    return re.sub(r"(?<![.\w])x\b(?!=)", "q", line)
