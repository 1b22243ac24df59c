"""Drafts of ``rope``: a call that rotates x, or one that makes tables and one that applies them."""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posenc_conformance.commands.init import query_key_drafts as query_key
from posenc_conformance.commands.init.calls.forms import (
    LAYOUT,
    LAYOUTS,
    SEQUENCE_FORMS,
    ZEROS_LIKE_X,
    of_axes,
    plain,
)
from posenc_conformance.commands.init.calls.scaled import (
    BETWEEN_LONG_ONES,
    keywords_of,
    offered_to,
    rank_of,
    scaled_by,
    shortened,
    whole,
)
from posenc_conformance.commands.init.calls.sources import Source, table_texts, whole_sequences
from posenc_conformance.commands.init.calls.states import continued
from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import (
    ARRAY,
    EXACT_LENGTH,
    FIRST_RESULT,
    HEAD_DIM,
    IMPORTS,
    IN_RUNS,
    LENGTH,
    ONE_SEQUENCE,
    POSITIONS,
    Draft,
    default_of,
    imported,
)
from posenc_conformance.commands.init.making import Target, callables, called, has_own_length, maker
from posenc_conformance.commands.init.orders import exchange
from posenc_conformance.commands.init.probes import SAMPLE, sample
from posenc_conformance.commands.init.roles import NAMES, CallText, has, takes_width
from posenc_conformance.judge.arrays import to_numpy
from posenc_conformance.scheme_file.scheme import Call

HEADS, ROWS, DIM = SAMPLE["x"].shape
TABLE_ROWS = 64
"""The length that LENGTH gives for these positions."""
ONE_BATCH = "reshape(1, math.prod(x.shape[:-2]), *x.shape[-2:])"
BATCHES = "reshape(math.prod(x.shape[:-3]), *(1, *x.shape)[-3:])"
"""The same for [b, h, n, d], for calls that take several sequences at once."""
FORMS = ("", "[None]", "[:, None]", "[None, None]", "[None, :, None]", "[:, None, None]")
"""Indices that add the axes that a table may need."""
MOST_IN_SEQUENCES = 4095
ONE_RESULT = "not judged: keys, since the call does not return them beside the queries"
COPIED = "it writes over x, so the adapter gives it a copy"
NO_CALL = CallText("", frozenset())
SHARE = f"np.nextafter({HEAD_DIM} / x.shape[-1], 1)"
"""The part of a head that is rotated; its product with the size is not below a whole number."""
FLOAT32 = {"torch": "torch.float32", "jax": "jnp.float32", "numpy": "np.float32"}


Group = tuple[tuple[Found, ...], Iterator[Draft]]


def scaled_groups(call: Call, found: Sequence[Found]) -> Iterator[Group]:
    """Yield drafts of a call of a scaled scheme with the candidates that have its parameters."""
    scaled = [each for each in found if scaled_by(call, each) and rank_of(call.name, each) < 2]
    appliers = [each for each in found if each not in scaled and not each.is_class]
    for parts, drafts in groups(call, [*scaled, *filter(_applies, appliers)]) if scaled else ():
        if parts[0] in scaled:
            yield parts, whole(drafts)


def groups(call: Call, found: Sequence[Found]) -> Iterator[Group]:
    """Yield drafts that call each candidate, or each pair of candidates, that may rotate."""
    for candidate in found:
        yield (candidate,), continued(direct(call, candidate))
    appliers = [candidate for candidate in found if not candidate.is_class and _applies(candidate)]
    for apply in appliers:
        sources = [
            (candidate, source)
            for candidate in found
            if candidate is not apply and _near(candidate, apply)
            for source in _sources(call, candidate)
        ]
        for candidate, source in sources:
            yield (candidate, apply), pairs(call, source, apply)
        yield (apply,), _with_own_tables(call, apply)


def _applies(found: Found) -> bool:
    tables = has(found.parameters, "table") or has(found.parameters, "cos", "sin")
    return tables and has(found.parameters, "x")


def _near(first: Found, second: Found) -> bool:
    return first.module == second.module or first.package == second.package


def direct(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of calls that take x and return it rotated."""
    made = _make(call, found)
    if found.is_class and made is None:
        return
    for target in callables(found):
        if has(target.parameters, "x") or has(target.parameters, "other"):
            yield from _direct(call, found, made, target)


def of_both(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of calls that take queries and keys and return both rotated."""
    made = _make(call, found)
    if found.is_class and made is None:
        return
    for target in callables(found):
        if query_key.takes_both(target):
            yield from _of_both(call, found, made, target)


def _make(call: Call, found: Found) -> Any:
    if not found.is_class:
        return None
    sizes = _sizes(found.parameters)
    offered = {**offered_to(call), **sizes, "base": "base", "length": "length"}
    offered |= {"dropout": "0.0", **LAYOUT, "dtype": FLOAT32[found.framework]}
    return maker(found, offered, {"dim"} if len(sizes) > 1 else ())


def _sizes(parameters: Sequence[inspect.Parameter]) -> Mapping[str, str]:
    """Return expressions for the size of a head, and for the part of it that is rotated."""
    if takes_width(parameters):
        return {"rotary": HEAD_DIM, "share": SHARE, "dim": "x.shape[-1]"}
    return {"dim": HEAD_DIM}


def _direct(call: Call, found: Found, made: Any, target: Target) -> Iterator[Draft]:
    if query_key.takes_both(target):
        yield from _of_both(call, found, made, target)
    placed, common = False, {**plain(call), **_sizes(target.parameters)}
    for before, after in of_axes(LAYOUTS, target.axes):
        for at in (POSITIONS[found.framework], f"{POSITIONS[found.framework]}[None]"):
            text = called(target, {"x": "heads", "positions": at, **common})
            if text is None or "positions" not in text.used:
                break
            lines = [f"heads = {ARRAY[found.framework]}{before}", *([made.line] if made else [])]
            for draft in _finished(call, (found,), found, made, lines, text, after, None):
                placed = True
                yield draft
    text = called(target, {"x": "heads", "offset": "first", **common})
    if text is not None and "offset" in text.used:
        # Whole sequences are not tried: in them, a call that ignores the offset would look right.
        yield from _stretches(call, found, made, text, target.axes)
    elif text is not None and not placed:  # in them, positions that are ignored would look right
        yield from _sequences(call, found, made, text, target.axes)


def _of_both(call: Call, found: Found, made: Any, target: Target) -> Iterator[Draft]:
    """Yield drafts of calls that take queries and keys, with positions, an offset or neither."""
    own, framework = (found,), found.framework
    common = {**plain(call), **_sizes(target.parameters)}
    line = [made.line] if made else []
    at, placed = POSITIONS[framework], False
    for form in (at, f"{at}[None]"):
        text = query_key.text_of(target, {"positions": form, "key_positions": form, **common})
        if text is None or "positions" not in text.used:
            break
        start = _draft(call, own, found, made, line, text)
        shapes = query_key.shapes_for(made.used if made else text.used, target.axes)
        for draft in query_key.drafts(start, text, query_key.at_once(framework), shapes):
            placed = True
            yield draft
    text = query_key.text_of(target, {"offset": "first", **common})
    if text is None or (placed and "offset" not in text.used):
        return
    if "offset" in text.used:
        # Whole sequences are not tried: in them, a call that ignores the offset would look right.
        start = _draft(call, own, found, made, line, text)
        way = query_key.in_parts(framework, "in_stretches", "rows, first")
        for draft in query_key.drafts(start, text, way, query_key.of_sequences(target)):
            yield replace(draft, notes=(*draft.notes, IN_RUNS))
        return
    start = _draft(call, own, found, made, line, text, limit=MOST_IN_SEQUENCES)
    way = query_key.in_parts(framework, "in_sequence", "rows")
    yield from query_key.drafts(start, text, way, query_key.of_sequences(target))
    if framework == "jax":  # a call usually takes one sequence, to be mapped
        length = ", span(positions, power_of_two=True)"
        way = query_key.in_parts(framework, "in_sequence", "rows", length)
        yield from query_key.drafts(replace(start, limit=511), text, way, ("sd",))


def _stretches(call: Call, found: Found, made: Any, text: CallText, said: str) -> Iterator[Draft]:
    """Yield drafts of calls that take the position of their first row, as with a cache."""
    for x, turned, notes in _turned_rows(found, text.text, said):
        lines = [
            *([made.line] if made else []),
            "def turn(rows, first):",
            f"    return {turned}",
            f"return in_stretches(turn, {x}, positions)",
        ]
        draft = _noted(_draft(call, (found,), found, made, lines, text), *notes)
        yield from _changing(replace(draft, notes=(*draft.notes, IN_RUNS)))


def _turned_rows(found: Found, text: str, said: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield x for the framework, text that rotates consecutive rows, and notes, in each form."""
    x = "to_torch(x)" if found.framework == "torch" else "x"
    heads = "jnp.asarray(heads)" if found.framework == "jax" else "heads"
    for form, swapped in of_axes(SEQUENCE_FORMS, said):
        if found.framework != "jax":
            copy = f"written_over(lambda heads: {text}, heads{swapped}){swapped}"
            yield x, f'by_heads(lambda heads: {copy}, rows, form="{form}")', (COPIED,)
        for pick in ("", "[0]"):
            turned = text.replace("heads", f"{heads}{swapped}") + pick + swapped
            notes = (FIRST_RESULT,) if pick else ()
            yield x, f'by_heads(lambda heads: {turned}, rows, form="{form}")', notes


def _sequences(call: Call, found: Found, made: Any, text: CallText, said: str) -> Iterator[Draft]:
    """Yield drafts of calls without positions: x is a sequence from position 0 on."""
    for x, turned, notes in _turned_rows(found, text.text, said):
        call_line = f"return in_sequence(lambda rows: {turned}, {x}, positions)"
        lines = [*([made.line] if made else []), call_line]
        draft = _draft(call, (found,), found, made, lines, text, limit=MOST_IN_SEQUENCES)
        yield from _changing(_noted(draft, *notes))
    if found.framework == "jax":  # a call usually takes one sequence, to be mapped
        turned = f"np.stack([{text.text.replace('heads', 'jnp.asarray(row)')} for row in heads])"
        turn = f'lambda rows: by_heads(lambda heads: {turned}, rows, form="hnd")'
        length = "span(positions, power_of_two=True)"
        lines = [
            *([made.line] if made else []),
            f"return in_sequence({turn}, x, positions, {length})",
        ]
        yield _draft(call, (found,), found, made, lines, text, limit=511)


def _finished(
    call: Call,
    parts: tuple[Found, ...],
    found: Found,
    made: Any,
    lines: Sequence[str],
    text: CallText,
    after: str,
    source: Source | None,
) -> Iterator[Draft]:
    """Yield the draft that returns the result of a call, or the first of several results."""
    raw = _draft(call, parts, found, made, [*lines, f"return {text.text}"], text, source)
    value = raw.value(sample(raw.keywords))
    pick = ""
    if value is None and "written_over" not in text.text:
        copy = replace(text, text=f"written_over(lambda heads: {text.text}, heads)")
        yield from _finished(call, parts, found, made, lines, copy, after, source)
        return
    if isinstance(value, (tuple, list)) and value:
        raw = _noted(raw, *[FIRST_RESULT] * (len(value) > 1))
        value, pick = value[0], "[0]"
    if value is not None and math.prod(getattr(value, "shape", ())) == HEADS * ROWS * DIM:
        short = f"return {text.text}{pick}{after}"
        end: tuple[str, ...] = (short,)
        if len(short) > 88:
            end = f"turned = {text.text}{pick}", f"return turned{after}"
        draft = _of_batches(raw.giving(*raw.body[:-1], *end))
        copied = (COPIED,) * ("written_over" in text.text)
        yield from _changing(replace(draft, notes=(*copied, *draft.notes)))


def _changing(draft: Draft) -> Iterator[Draft]:
    """Yield a draft, unless its call should write over x and does not."""
    if any("written_over(" in line for line in draft.body):
        value = draft.value(sample(draft.keywords))
        if value is None or np.array_equal(to_numpy(value), SAMPLE["x"]):
            return
    yield draft


def _of_batches(draft: Draft) -> Draft:
    """Return a draft that hands on a batch of sequences as it is, if the call takes several."""
    body = [line.replace(ONE_BATCH, BATCHES) for line in draft.body]
    if tuple(body) == draft.body:
        return draft
    batched = draft.giving(*body)
    if any(f"{POSITIONS[draft.framework]}[None]" in line for line in body):
        return replace(draft, notes=(*draft.notes, ONE_SEQUENCE))  # they belong to one sequence
    two = SAMPLE["x"].reshape(2, 1, ROWS, DIM)
    value = batched.value({**sample(draft.keywords), "x": two})
    if tuple(getattr(value, "shape", ())) == two.shape:
        return batched
    return replace(draft, notes=(*draft.notes, ONE_SEQUENCE))


def _noted(draft: Draft, *notes: str) -> Draft:
    """Add notes on the results of a call, unless there is one on its keys."""
    return replace(draft, notes=draft.notes or notes)


def _draft(
    call: Call,
    parts: tuple[Found, ...],
    found: Found,
    made: Any,
    lines: Sequence[str],
    call_of_x: CallText,
    source: Source | None = None,
    limit: int | None = None,
) -> Draft:
    calls = [each for each in (call_of_x, made, source) if each]
    every = frozenset().union(*(each.used for each in calls))
    text = "\n".join((*lines, call_of_x.text))
    imports = {imported(each) for each in parts} | set(made.imports if made else ())
    imports |= set(source.imports if source else ()) | set(IMPORTS[found.framework])
    imports |= {"import math"} if "math." in text else set()
    needed = [_length_of(parts)] if "length" in every and "length" in text else []
    needed = [] if "length" in call.parameters else needed
    defaults = [default_of(each, BASE_NAMES) for each in parts]
    return Draft(
        call,
        ", then ".join(each.path for each in parts),
        tuple(sorted(imports)),
        (*needed, *lines),
        parts,
        setup=(*(made.setup if made else ()), *(source.setup if source else ())),
        keywords=(
            *("base",) * ("base" in every),
            *("layout",) * bool({*LAYOUT} & every),
            *keywords_of(call, every),
        ),
        framework=found.framework,
        limit=limit,
        default_base=next((each for each in defaults if each), None),
        left=tuple(dict.fromkeys(name for each in calls for name in each.left)),
        notes=(
            *(source.notes if source else ()),
            *((ONE_RESULT,) if {"x", "other"} <= call_of_x.used else ()),
        ),
    )


def _length_of(parts: Sequence[Found]) -> str:
    """Return the line for the length that a call needs: exact if a table has one of its own."""
    return EXACT_LENGTH if any(map(has_own_length, parts)) else LENGTH


BASE_NAMES = frozenset(name for name, roles in NAMES.items() if "base" in roles)


def _sources(call: Call, found: Found) -> Iterator[Source]:
    """Yield calls that return tables of angles, or of their sines and cosines."""
    made = _make(call, found)
    if found.is_class and made is None:
        return
    at, array = POSITIONS[found.framework], ARRAY[found.framework]
    sequence = ZEROS_LIKE_X[found.framework]
    for target in callables(found):
        for offered in (
            {"x": array, "positions": at},
            {"x": array, "positions": f"{at}[None]"},
            {"positions": at},
            {"length": "length"},
            {"length": "length", "x": sequence},
            *whole_sequences(call, at, array),
        ):
            common = {"dim": HEAD_DIM, "base": "base", "dropout": "0.0", **offered_to(call)}
            text = called(target, {**offered, **common})
            if text is None or not text.used & {"positions", "length", "x"}:
                continue
            used = text.used | (made.used if made else frozenset())
            every = "length" in "".join(offered.values())
            if every:
                used |= {"length"}
            first = shortened(call, text.text)
            lines = [*([made.line] if made else []), *first, f"given = {text.text}"]
            imports = {imported(found), *(made.imports if made else ())}
            source = Source(
                (found,),
                tuple(imports),
                made.setup if made else (),
                tuple(lines),
                used,
                0,
                left=(*text.left, *(made.left if made else ())),
                notes=(BETWEEN_LONG_ONES,) if first else (),
            )
            by_positions = "positions" in text.used and not every
            looked_at = _looked_at(call, found, source, by_positions=by_positions)
            if looked_at is not None:
                yield looked_at


def _looked_at(call: Call, found: Found, source: Source, by_positions: bool) -> Source | None:
    """Complete the source with the number of tables and the axis of rows in its result.

    Returns None if the result has no axis of the expected number of rows.
    """
    lines = [*source.lines, "return given"]
    raw = _draft(call, source.parts, found, None, lines, NO_CALL, source)
    value = raw.value(sample(raw.keywords))
    tables = value if isinstance(value, (tuple, list)) else (value,)
    shapes = [tuple(getattr(table, "shape", ())) for table in tables]
    rows = ROWS if by_positions else TABLE_ROWS
    if shapes and not by_positions and rows not in shapes[0] and has_own_length(found):
        rows = max(shapes[0], default=0)
    if not shapes or rows not in shapes[0] or rows < ROWS:
        return None
    axis = shapes[0].index(rows)
    index = "" if by_positions else f"[{':, ' * axis}{POSITIONS[found.framework]}]"
    count = len(shapes) if isinstance(value, (tuple, list)) else 0
    return replace(source, tables=count, index=index)


def pairs(call: Call, source: Source, apply: Found) -> Iterator[Draft]:
    """Yield drafts in which one function makes tables and another applies them.

    A function that takes positions, too, may select the rows itself.
    """
    entire = (
        [replace(source, index="")] if source.index and has(apply.parameters, "positions") else []
    )
    for each in (*entire, source):
        for form in FORMS:
            for names, tables in table_texts(each, form, apply):
                yield from _applied(call, each, apply, names, tables)


def _applied(
    call: Call, source: Source, apply: Found, names: Sequence[str], tables: Mapping[str, str]
) -> Iterator[Draft]:
    target = next(callables(apply))
    parts = (*source.parts, apply)
    exchanged = exchange(names, source.parts, apply)
    source = replace(source, notes=(*source.notes, *exchanged))
    for extra in ({}, {"positions": POSITIONS[apply.framework]}):
        needed = {*tables, *extra}
        text = query_key.text_of(target, {**tables, **extra})
        if text is not None and needed <= text.used:
            lines = [*source.lines, *names]
            start = _draft(call, parts, apply, None, lines, text, source)
            shapes = query_key.shapes_for(frozenset(), target.axes)
            way = query_key.at_once(apply.framework)
            for draft in query_key.drafts(start, text, way, shapes):
                yield replace(draft, notes=(*exchanged, *draft.notes))
        text = called(target, {"x": "heads", "other": "heads", **tables, **extra})
        if text is None or not needed <= text.used:
            continue
        for before, after in of_axes(LAYOUTS, target.axes):
            heads = f"heads = {ARRAY[apply.framework]}{before}"
            lines = [heads, *source.lines, *names]
            yield from _finished(call, parts, apply, None, lines, text, after, source)


def _with_own_tables(call: Call, apply: Found) -> Iterator[Draft]:
    """Yield drafts with tables as users make them, for a library that only applies them."""
    wrap = {"torch": "to_torch({})", "jax": "jnp.asarray({})", "numpy": "{}"}[apply.framework]
    angles = f"angles = np.outer(positions, base ** (-np.arange(0, {HEAD_DIM}, 2) / {HEAD_DIM}))"
    for spread in ("", "np.concatenate([angles, angles], -1)", "np.repeat(angles, 2, -1)"):
        lines = [angles, *([f"angles = {spread}"] if spread else [])]
        cos, sin = (wrap.format(f'np.{wave}(angles).astype("float32")') for wave in ("cos", "sin"))
        complex_ = wrap.format('np.exp(1j * angles).astype("complex64")')
        plain = wrap.format('angles.astype("float32")')
        if has(apply.parameters, "cos", "sin"):
            values = [(f"given = {cos}, {sin}", 2)]
        else:
            values = [(f"given = {complex_}", 0), (f"given = {plain}", 0)]
        for line, count in values:
            source = Source((), (), (), (*lines, line), frozenset({"base"}), count)
            yield from pairs(call, source, apply)
