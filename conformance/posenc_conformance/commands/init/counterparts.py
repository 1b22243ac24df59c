"""Pairs of calls of which one rotates queries and the other keys, such as rotate_q and rotate_k."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import Draft, imported
from posenc_conformance.commands.init.making import vars_of

SWAPPED = {"q": "k", "query": "key", "queries": "keys"}
SWAPPED |= {keys: queries for queries, keys in SWAPPED.items()}


def with_counterpart(draft: Draft, found: Sequence[Found]) -> tuple[Draft, Found | None] | None:
    """Return a draft of ``rope`` with the lines of a method that rotates keys by another call.

    The other call has the same name with key instead of query, or the reverse. It is returned with
    the draft if it is a function. Returns None if there is none.
    """
    for name, other, function in _pairs(draft, found):
        own = tuple(draft.body)
        counterpart = tuple(re.sub(rf"\b{name}\(", f"{other}(", line) for line in own)
        queries, keys = (own, counterpart) if _is_of_queries(name) else (counterpart, own)
        lines = (
            "def turn_queries(x):",
            *(f"    {line}" for line in queries),
            "def turn_keys(x):",
            *(f"    {line}" for line in keys),
            'return of_both(lambda q, k: (turn_queries(q), turn_keys(k)), q, k, shape="hsd")',
        )
        if function is None:
            return replace(draft, both=lines), None
        imports = tuple(sorted({*draft.imports, imported(function)}))
        parts, what = (*draft.parts, function), f"{draft.what}, with {other}"
        return replace(draft, both=lines, imports=imports, parts=parts, what=what), function
    return None


def _pairs(draft: Draft, found: Sequence[Found]) -> Iterator[tuple[str, str, Found | None]]:
    """Yield names of calls in a draft, each with its counterpart; a function's with its part."""
    body = "\n".join(draft.body)
    for part in draft.parts:
        names = vars_of(part.value) if part.is_class else {part.path: part}
        functions = {
            each.path: each for each in found if each.module == part.module and not each.is_class
        }
        for name in names:
            other = _swapped(name)
            text = f"module.{name}(" if part.is_class else f"{name}("
            if other == name or text not in body:
                continue
            if part.is_class and callable(names.get(other)):
                yield name, other, None
            elif not part.is_class and other in functions:
                yield name, other, functions[other]


def _swapped(name: str) -> str:
    return "_".join(SWAPPED.get(word, word) for word in name.split("_"))


def _is_of_queries(name: str) -> bool:
    return bool({"q", "query", "queries"} & {*name.split("_")})
