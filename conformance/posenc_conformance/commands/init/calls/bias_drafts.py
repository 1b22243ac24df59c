"""Drafts of calls that make a bias of attention: ALiBi's, and T5's from its table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import ZEROS, Draft
from posenc_conformance.commands.init.making import Maker, Target, callables, called, maker
from posenc_conformance.commands.init.roles import CallText, Roles
from posenc_conformance.commands.init.table_drafts import MOST_IN_SQUARES, Group, draft_of
from posenc_conformance.scheme_file.scheme import Call

FORMS_OF_BIAS: Mapping[str, int | None] = {
    "bias.reshape(heads, q_len, k_len)": None,
    "bias.reshape(heads, k_len, k_len)[:, k_len - q_len :]": MOST_IN_SQUARES,
    "np.broadcast_to(bias.reshape(heads, 1, k_len), (heads, q_len, k_len))": None,
    "np.moveaxis(bias.reshape(k_len, k_len, heads), -1, 0)[:, k_len - q_len :]": MOST_IN_SQUARES,
}
"""Conversions of a returned bias, each with the largest position that is cheap."""
ONES = {
    "torch": "torch.ones((1, k_len), dtype=torch.int64)",
    "jax": "jnp.ones((1, k_len), dtype=int)",
    "numpy": "np.ones((1, k_len), dtype=int)",
}
"""A mask of one sequence without padding."""
SAMPLE = np.zeros((32, 3), np.float32)
"""A table with which objects are made that hold one of the same shape."""
FROM_ZERO = "not judged: fewer queries than keys; the adapter asks for all, and takes the last"
FLOAT32 = {"torch": "torch.float32", "jax": "jnp.float32", "numpy": "np.float32"}
LENGTHS = frozenset({"k_len", "mask", "scores"})
"""The roles that tell a call the number of keys."""


def groups(call: Call, found: Sequence[Found]) -> Iterator[Group]:
    """Yield drafts of a call of the spec for each candidate."""
    drafts = _biases if call.name == "alibi_bias" else _learned_biases
    for candidate in found:
        yield (candidate,), drafts(call, candidate)


def _biases(call: Call, found: Found) -> Iterator[Draft]:
    sizes = {"heads": "heads", "q_len": "q_len", "k_len": "k_len"}
    made = maker(found, sizes) if found.is_class else None
    if found.is_class and made is None:
        return
    for target in callables(found):
        for offered in _offers(found, sizes):
            texts = [text for text in _texts(target, offered) if _is_enough(text, made)]
            for text in texts:
                lines = [*([made.line] if made else []), f"bias = to_numpy({text.text}).copy()"]
                yield from _formed(call, found, made, lines, (), text.left)
            if texts:
                break


def _texts(target: Target, offered: Mapping[str, str]) -> Iterator[CallText]:
    """Yield calls that are given the first query's position, if they take it, and others.

    An offset that keeps its default would say that queries begin with the keys.
    """
    text = called(target, {**offered, "offset": "k_len - q_len"})
    if text is not None and "offset" in text.used:
        yield text
    text = called(target, offered)
    if text is not None:
        yield text


def _is_enough(text: CallText, made: Maker | None) -> bool:
    """Return whether a call, or what it is called on, is given the numbers of heads and keys."""
    every = text.used | (made.used if made else frozenset())
    return bool({"heads", "scores"} & every and LENGTHS & every)


def _offers(found: Found, sizes: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Yield what calls may take: lengths, a mask without padding, or scores, which are 0."""
    framework = found.framework
    more = {"mask": ONES[framework], "dtype": FLOAT32[framework]}
    yield sizes
    yield {**sizes, **more}
    for shape in ("1, heads, q_len, k_len", "heads, q_len, k_len"):
        yield {"scores": ZEROS[framework].format(shape), **sizes}


def _formed(
    call: Call,
    found: Found,
    made: Maker | None,
    lines: Sequence[str],
    keywords: tuple[str, ...],
    left: tuple[str, ...],
) -> Iterator[Draft]:
    """Yield drafts that convert ``bias`` from each of the forms in which it may be returned."""
    for after, limit in FORMS_OF_BIAS.items():
        of_form = [*lines, f"return {after}"]
        yield replace(draft_of(call, found, made, of_form, keywords, left), limit=limit)


def _learned_biases(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of functions that take T5's bias table, and of classes that hold it.

    The table has rows for buckets or for heads.
    """
    sizes = {
        "bidirectional": 'direction == "bidirectional"',
        "causal": 'direction == "causal"',
        "num_buckets": "len(table)",
        "max_distance": "max_distance",
        "heads": "table.shape[1]",
        "q_len": "q_len",
        "k_len": "k_len",
    }
    tensors = {"torch": "to_torch(table)", "jax": "jnp.asarray(table)"}
    table = tensors.get(found.framework, "table")
    if found.is_class:
        yield from _of_own_tables(call, found, sizes, table)
        return
    for form in (table, f"{table}.T"):
        for text in _texts(next(callables(found)), {"bias_table": form, **sizes}):
            if not {"bias_table", "k_len"} <= text.used:
                continue
            lines = ["heads = table.shape[1]", f"bias = to_numpy({text.text})"]
            yield from _formed(call, found, None, lines, _told(text.used), text.left)


def _told(used: Roles) -> tuple[str, ...]:
    """Return the keywords of a method whose calls are given these roles."""
    direction = ("direction",) * bool(used & {"bidirectional", "causal"})
    return (*direction, *("max_distance",) * ("max_distance" in used))


def _of_own_tables(
    call: Call, found: Found, sizes: Mapping[str, str], table: str
) -> Iterator[Draft]:
    """Yield drafts of objects whose table is set before they are called."""
    made = maker(found, sizes)
    if made is None or "heads" not in made.used:
        return
    for text, notes in _calls_of_sizes(found, sizes):
        used = text.used | made.used
        for place, turned in _tables(call, found, made, _told(used)):
            lines = [
                "heads = table.shape[1]",
                made.line,
                f"module.{place} = {table}{turned}",
                f"bias = to_numpy({text.text}).copy()",
            ]
            for draft in _formed(call, found, made, lines, _told(used), text.left):
                yield replace(draft, notes=notes)


def _calls_of_sizes(
    found: Found, sizes: Mapping[str, str]
) -> Iterator[tuple[CallText, tuple[str, ...]]]:
    """Yield calls of an object with the numbers of queries and keys, each with notes.

    T5's own method counts queries from 0: its users ask for as many as there are keys, and take the
    last.
    """
    every = [(target, text) for target in callables(found) for text in _texts(target, sizes)]
    for target, text in every:
        if "k_len" not in text.used:
            continue
        yield text, ()
        if (
            "offset" not in text.used
            and "q_len" in text.used
            and target.text.endswith(".compute_bias")
        ):
            yield replace(text, text=re.sub(r"\bq_len\b(?!=)", "k_len", text.text)), (FROM_ZERO,)


def _tables(
    call: Call, found: Found, made: Maker, keywords: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the places of arrays in an object that may be T5's table, and how to turn it."""
    raw = draft_of(call, found, made, [made.line, "return module"], keywords)
    told = {"direction": "bidirectional", "max_distance": 128}
    sample = {"table": SAMPLE, "q_len": 1, "k_len": 1}
    module = raw.value({**sample, **{name: told[name] for name in keywords}})
    for name, value in {**_own(module, "_modules"), **_own(module, "")}.items():
        weight = _own(value, "_parameters").get("weight")
        place, array = (f"{name}.weight.data", weight) if weight is not None else (name, value)
        shape = tuple(getattr(array, "shape", ()))
        if shape == SAMPLE.shape or shape == SAMPLE.T.shape:
            place = f"{name}.data" if name in _own(module, "_parameters") else place
            yield place, "" if shape == SAMPLE.shape else ".T"


def _own(value: Any, group: str) -> Mapping[str, Any]:
    """Return the attributes of an object, or those that a module of PyTorch keeps in a group."""
    names = getattr(value, "__dict__", {})
    if group:
        return names.get(group) or {}
    return {**names, **(names.get("_parameters") or {})}
