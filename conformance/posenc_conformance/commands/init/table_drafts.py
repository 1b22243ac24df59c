"""Drafts of calls that make a table or a bias: sinusoids, timesteps, grids, ALiBi, T5's buckets."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.draft import (
    EXACT_LENGTH,
    FIRST_RESULT,
    IMPORTS,
    LENGTH,
    ZEROS,
    Draft,
    default_of,
    imported,
)
from posenc_conformance.commands.init.making import (
    Maker,
    Target,
    callables,
    called,
    has_own_length,
    maker,
)
from posenc_conformance.commands.init.roles import ROLES, CallText, has
from posenc_conformance.judge.arrays import to_numpy
from posenc_conformance.scheme_file.scheme import Call

ROWS, TABLE_ROWS, DIM = 9, 64, 32
BASES = frozenset(ROLES["base"].split())
MOST_IN_SQUARES = 2047
"""Largest position of a call that makes a square query-key matrix."""
FORMS_OF_MASK: Mapping[str, int | None] = {
    "mask.reshape(q_len, k_len)": None,
    "mask.reshape(k_len, k_len)[k_len - q_len :]": MOST_IN_SQUARES,
}
"""Conversions of a returned mask, each with the largest position that is cheap."""
SQUARES = "it makes square grids, of which the adapter takes the rows and columns asked for"
MASKS = (
    "causal_mask",
    "sliding_window",
    "dilated_window",
    "chunked_mask",
    "strided_mask",
    "bigbird_mask",
    "fixed_mask",
)
MASKED = {"q_len": 4, "k_len": 12, "window": 2, "dilation": 2, "chunk_size": 2, "stride": 2}
MASKED |= {"block_size": 2, "summary": 1}
"""Arguments with which it is seen whether a mask has a row for each query."""
ZERO_ALLOWS = "the mask is 0 or False where attention is allowed, so the adapter inverts it"
ORDERS = {"bsd": "1, {}, dim", "sbd": "{}, 1, dim"}
"""The axes of a batch of one sequence, by their letters."""
SEQUENCES_FIRST = "x is given as [length, 1, dim], since no call with [1, length, dim] fits"
Group = tuple[tuple[Found, ...], Iterator[Draft]]


def groups(call: Call, found: Sequence[Found]) -> Iterator[Group]:
    """Yield drafts of a call of the spec for each candidate."""
    for candidate in found:
        yield (candidate,), DRAFTS[call.name](call, candidate)


def _encodings(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts with a base and without.

    A parameter that a library calls a base may be another number.
    """
    name = "max_period" if call.name == "timestep" else "base"
    common = {"dim": "dim", "dropout": "0.0", "batch": "1"}
    yield from _encodings_with(call, found, {**common, "base": name})
    if has(found.parameters, "base"):
        yield from _encodings_with(call, found, common)


def _encodings_with(call: Call, found: Found, common: Mapping[str, str]) -> Iterator[Draft]:
    """Yield drafts of calls that make an encoding in one of several ways.

    They return rows for positions, a table of all rows, or an encoding added to a sequence of
    zeros.
    """
    base = common.get("base", "")
    at = {"torch": "to_torch(positions)", "jax": "jnp.asarray(positions)"}.get(
        found.framework, "positions"
    )
    zeros = ZEROS[found.framework]
    made = maker(found, {**common, "length": "length"}) if found.is_class else None
    if found.is_class and made is None:
        return
    takes_place = False
    for target in callables(found):
        text = called(target, {"x": "added", "offset": "first", **common})
        if text is not None and {"x", "offset"} <= text.used:
            # A whole table is not tried: in it, a call that ignores the offset would look right.
            takes_place = True
            yield from _stretches(call, found, made, text, base, target.axes)
            continue
        placed = False
        for offered in (
            {"x": zeros.format("1, length, dim"), "positions": at},
            {"x": zeros.format("1, len(positions), dim"), "positions": f"{at}[None]"},
            {"positions": at},
            *({"positions": f"{at}.float()"},) * (found.framework == "torch"),
            {"positions": f"{at}[None]"},
            {"length": "length"},
            {"positions": "length"},  # a number of positions may have their name
            *({"x": zeros.format(axes)} for axes in _orders("length", target.axes)),
        ):
            if placed and not {"x", "positions"} <= {*offered}:
                break  # without positions, a call that ignores them would look right
            text = called(target, {**offered, **common})
            if text is not None and {*offered} <= text.used:
                for draft in _rows(call, found, made, text, base, at):
                    placed = {"x", "positions"} <= text.used
                    # A stored table would hide that rows in the axes that are said stand still.
                    still = target.axes in ORDERS and "x" in text.used and _is_still(draft)
                    takes_place = takes_place or placed or still
                    swapped = "(length, 1, dim" in text.text and not target.axes
                    yield replace(draft, notes=(*draft.notes, *(SEQUENCES_FIRST,) * swapped))
    if made is not None and not takes_place:  # the object may store a table
        for name in _stored(call, found, made, base):
            table = CallText(f"module.{name}", frozenset())
            yield from _rows(call, found, made, table, base, at)


def _orders(length: str, said: str) -> list[str]:
    """Return the axes of a batch of one sequence: those that a call's texts name, or all."""
    orders = [ORDERS[said]] if said in ORDERS else ORDERS.values()
    return [order.format(length) for order in orders]


def _is_still(draft: Draft) -> bool:
    """Return whether an encoding added to zeros is the same at all places."""
    value = draft.value(_sample(draft.keywords))
    return value is not None and not np.ptp(to_numpy(value), axis=0).any()


def _stored(call: Call, found: Found, made: Maker, base: str) -> list[str]:
    """Return the names under which an object stores arrays that may be tables."""
    length = [LENGTH] if "length" in made.used else []
    keywords = (base,) if "base" in made.used else ()
    raw = draft_of(call, found, made, [*length, made.line, "return module"], keywords)
    own = getattr(raw.value(_sample(keywords)), "__dict__", {})  # none if it cannot be made
    buffers, weights = own.get("_buffers") or {}, own.get("_parameters") or {}
    return [
        name
        for name, value in {**own, **buffers, **weights}.items()
        if name.isidentifier() and DIM in tuple(getattr(value, "shape", ()))
    ]


def _sample(keywords: Sequence[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"positions": np.arange(3, 3 + ROWS), "dim": DIM}
    return {**arguments, **dict.fromkeys(keywords, 10000.0)}


def _stretches(
    call: Call, found: Found, made: Maker | None, text: CallText, base: str, said: str
) -> Iterator[Draft]:
    """Yield drafts of calls that add an encoding to rows, given the position of the first one."""
    every = text.used | (made.used if made else frozenset())
    zeros = ZEROS[found.framework]
    for size in (*_orders("len(rows)", said), *("len(rows), dim",) * (said not in ORDERS)):
        turned = text.text.replace("added", zeros.format(size))
        lines = [
            *([LENGTH] if "length" in every else []),
            *([made.line] if made else []),
            "def encode(rows, first):",
            f"    return {turned}.reshape(-1, dim)",
            f"return in_stretches(encode, {zeros.format('len(positions), dim')}, positions)",
        ]
        yield draft_of(call, found, made, lines, (base,) if "base" in every else (), text.left)


def _rows(
    call: Call,
    found: Found,
    made: Maker | None,
    text: CallText,
    base: str,
    at: str,
) -> Iterator[Draft]:
    every = text.used | (made.used if made else frozenset())
    by_positions = "positions" in text.used  # a whole table would hide that they are ignored
    needed = EXACT_LENGTH if has_own_length(found) else LENGTH
    lines = [needed] if "length" in text.text or (made and "length" in made.used) else []
    lines += [made.line] if made else []
    keywords = (base,) if "base" in every else ()
    raw = draft_of(call, found, made, [*lines, f"return {text.text}"], keywords, text.left)
    value = raw.value(_sample(keywords))
    pick = "[0]" if isinstance(value, (tuple, list)) and value else ""
    if pick and len(value) > 1:
        raw = replace(raw, notes=(FIRST_RESULT,))
    shape = tuple(getattr(value[0] if pick else value, "shape", ()))
    own = [size for size in shape if size != 1]
    flat = "" if list(shape) == own else ".reshape(-1, dim)"
    if own == [ROWS, DIM]:
        yield raw.giving(*lines, f"return {text.text}{pick}{flat}")
    elif len(own) == 2 and own[1] == DIM and own[0] >= TABLE_ROWS and not by_positions:
        yield raw.giving(*lines, f"return {text.text}{pick}{flat}[{at}]")


def draft_of(
    call: Call,
    found: Found,
    made: Maker | None,
    lines: Sequence[str],
    keywords: tuple[str, ...],
    left: tuple[str, ...] = (),
) -> Draft:
    """Return a draft of some lines, with the imports that they need."""
    imports = {imported(found), *(made.imports if made else ()), *IMPORTS[found.framework]}
    return Draft(
        call,
        found.path,
        tuple(sorted(imports)),
        tuple(lines),
        (found,),
        made.setup if made else (),
        keywords,
        found.framework,
        default_base=default_of(found, BASES),
        left=(*left, *(made.left if made else ())),
    )


def _grids(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of calls that take both sizes of a grid, or the size of a square one."""
    sizes = {"height": "height", "width": "width", "grid": "(height, width)"}
    offered = {**sizes, "dim": "dim", "base": "base"}
    by_sizes = has(found.parameters, "height", "width") or has(found.parameters, "grid")
    if found.is_class or not (by_sizes and has(found.parameters, "dim")):
        return
    target = next(callables(found))
    square = {**offered, "grid": "size"}
    for shape, notes in ((offered, ()), (square, (SQUARES,))):
        text = called(target, shape)
        if text is None or (notes and "grid" not in text.used):
            continue
        keywords = ("base",) if "base" in text.used else ()
        for after in (".reshape(-1, dim)", ".reshape(dim, -1).T"):
            lines = [f"return {text.text}{after}"]
            if notes:
                lines = ["size = max(height, width)", f"rows = to_numpy({text.text}){after}"]
                lines.append(
                    "return rows.reshape(size, size, dim)[:height, :width].reshape(-1, dim)"
                )
            draft = draft_of(call, found, None, lines, keywords, text.left)
            yield replace(draft, notes=notes)


def _rows_of_window(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of functions that take both sizes of a window, or a pair of them."""
    if found.is_class:
        return
    pair = "(height, width)"
    for offered in ({"height": "height", "width": "width"}, {"window": pair}, {"grid": pair}):
        text = called(next(callables(found)), offered)
        if text is not None and {*offered} <= text.used:
            lines = [
                f"rows = to_numpy({text.text})",
                "tokens = math.isqrt(rows.size)",
                "return rows.reshape(tokens, tokens)",
            ]
            draft = draft_of(call, found, None, lines, (), text.left)
            yield replace(draft, imports=(*draft.imports, "import math"))


def _slopes(call: Call, found: Found) -> Iterator[Draft]:
    made = maker(found, {"heads": "heads"}) if found.is_class else None
    if made is not None:
        for name in ("slopes", "alibi_slopes", "m"):
            copy = f"return to_numpy(module.{name}).reshape(heads).copy()"
            yield draft_of(call, found, made, [made.line, copy], ())
    if not found.is_class and (text := _of_heads(found)):
        for after in ("", ".reshape(heads)"):
            lines = [f"return {text.text}{after}"]
            yield draft_of(call, found, None, lines, (), text.left)


def _of_heads(found: Found) -> CallText | None:
    """Return a call with a number of heads; the only required parameter may have any name."""
    required = [each for each in found.parameters if each.default is each.empty]
    text = called(next(callables(found)), {"heads": "heads"})
    if text is None and len(required) == 1:
        return CallText(f"{found.path}(heads)", frozenset({"heads"}))
    return text


def _masks(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of masks that are true, 1 or 0 where attention is allowed."""
    offered = {name: name for name in call.arguments}
    if found.is_class:
        return
    own = {name: name for name in call.arguments if name != "q_len"}
    after = {**own, "k_len": "q_len", "offset": "k_len - q_len"}
    for given, needed in ((after, {*after}), (offered, {*own})):
        text = called(next(callables(found)), given)
        if text is None or not needed <= text.used:
            continue
        drafts = list(_forms_of_mask(call, found, text))
        yield from drafts
        sample = {name: MASKED[name] for name in call.arguments}
        if given is after and drafts[0].value(sample) is not None:
            return  # without its offset, a call that ignores it would look right


def _forms_of_mask(call: Call, found: Found, text: CallText) -> Iterator[Draft]:
    lines = [f"mask = to_numpy({text.text})"]
    for shape, limit in FORMS_OF_MASK.items():
        for test, notes in (("!= 0", ()), ("== 0", (ZERO_ALLOWS,))):
            draft = draft_of(call, found, None, [*lines, f"return {shape} {test}"], (), text.left)
            yield replace(draft, limit=limit, notes=notes)


def _buckets(call: Call, found: Found) -> Iterator[Draft]:
    if found.is_class:
        return
    tensors = {"torch": "to_torch(relative_position)", "jax": "jnp.asarray(relative_position)"}
    offered = {
        "relative": tensors.get(found.framework, "relative_position"),
        "bidirectional": 'direction == "bidirectional"',
        "causal": 'direction == "causal"',
        "num_buckets": "num_buckets",
        "max_distance": "max_distance",
    }
    text = called(Target(found.path, _by_distance(found)), offered)
    if text is not None and "relative" in text.used:
        keywords = ["direction"] if text.used & {"bidirectional", "causal"} else []
        keywords += [name for name in ("num_buckets", "max_distance") if name in text.used]
        yield draft_of(call, found, None, [f"return {text.text}"], tuple(keywords), text.left)


def _ids(call: Call, found: Found) -> Iterator[Draft]:
    """Yield drafts of functions of tokens, among which there is padding."""
    if found.is_class:
        return
    tokens, more = "input_ids", {"offset": "past_length"}
    if call.name == "fairseq_position_ids":
        tokens, more = "padding_index + attention_mask", {}
    wrap = {"torch": "to_torch({})", "jax": "jnp.asarray({})"}.get(found.framework, "{}")
    needed = {"input_ids": wrap.format(tokens), "padding_index": "padding_index", **more}
    text = called(next(callables(found)), needed)
    if text is not None and {*needed} <= text.used:
        yield draft_of(call, found, None, [f"return {text.text}"], (), text.left)


def _by_distance(found: Found) -> tuple[inspect.Parameter, ...]:
    """Return the parameters; the only required one, which may have any name, is the distance."""
    given = found.parameters
    required = [each for each in given if each.default is each.empty]
    if (
        has(given, "relative")
        or len(required) != 1
        or required[0].kind is inspect.Parameter.KEYWORD_ONLY
    ):
        return given
    distance = required[0].replace(name="relative_position", kind=inspect.Parameter.POSITIONAL_ONLY)
    return tuple(distance if each is required[0] else each for each in given)


DRAFTS = {
    "sinusoidal": _encodings,
    "timestep": _encodings,
    "sincos_2d": _grids,
    "relative_table_2d_rows": _rows_of_window,
    "alibi_slopes": _slopes,
    "t5_bucket": _buckets,
    **dict.fromkeys(MASKS, _masks),
    "token_position_ids": _ids,
    "fairseq_position_ids": _ids,
}
