"""The rows of queries and keys: whether the converted file has the order that its code needs."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.compare.checkpoints import GGUF, MLX, Checkpoint
from posenc_conformance.commands.compare.differences import (
    Others,
    incomplete,
    moved,
    not_finite,
    of_another_layer,
    of_another_vector,
    of_other_size,
    other_offset,
    other_values,
    repeated,
    transposed,
    wrong_order,
)
from posenc_conformance.commands.compare.findings import Finding, merged
from posenc_conformance.commands.compare.pairs import SAID, Pair, are_finite, column
from posenc_conformance.commands.compare.projections import (
    QUERY,
    VALUE,
    Heads,
    Layer,
    groups_of,
    layers_of,
    packed_in,
)
from posenc_conformance.commands.compare.row_order import (
    AS_WAS,
    NEIGHBOURS,
    Fit,
    expected_order,
    fit,
    order_of_heads,
    orders,
    whole,
)
from posenc_conformance.commands.compare.stored import UNRELATED
from posenc_conformance.commands.progress import Tell, silent
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.meaning import Group

WITH_ONE: Mapping[str, tuple[str, ...]] = {
    "gemma3_text": (GGUF,),
    "qwen3_5_moe_text": (GGUF, MLX),
    "qwen3_5_text": (GGUF, MLX),
    "qwen3_next": (GGUF, MLX),
}
"""Types whose norms multiply by 1 + w, with the forms that store 1 + w in place of w."""


def compare_weights(
    original: Checkpoint, converted: Checkpoint, progress: Tell = silent
) -> list[Finding]:
    """Compare queries, keys and values of all layers that both files have.

    Raises UserError for tensors that cannot be read.
    """
    before, after = layers_of(original), layers_of(converted)
    packed = packed_in(original), packed_in(converted)
    if not (before or packed[0]) or not (after or packed[1]):
        return []
    groups = [groups_of(checkpoint) for checkpoint in (original, converted)]
    findings: list[Finding] = []
    others = Others(before)
    numbers = sorted(before.keys() | after.keys())
    for count, number in enumerate(numbers, 1):
        progress(f"comparing layer {count:,} of {len(numbers):,}")
        if all(number in side for side in groups):
            unread = {role for side in packed for role in side.get(number, {})}
            sides = [_without(side.get(number, {}), unread) for side in (before, after)]
            order = _needed(*(side[number] for side in groups))
            findings += _of_layer(number, sides[0], sides[1], order, (original, converted), others)
    return merged(findings)


def _without(layer: Layer, unread: Collection[str]) -> Layer:
    return {role: heads for role, heads in layer.items() if role not in unread}


def _needed(before: Group, after: Group) -> str | None:
    """Return the order that the rows of a layer need; None if any order of both is right."""
    if not before.turns or not after.turns:
        return None
    layouts = [str(group.conventions.get("layout", "half")) for group in (before, after)]
    return expected_order(layouts[0], layouts[1])


def _of_layer(
    number: int,
    before: Layer,
    after: Layer,
    order: str | None,
    sides: tuple[Checkpoint, Checkpoint],
    others: Others,
) -> Iterator[Finding]:
    if order is None:
        before, order = _free(before, after)
    for role in sorted({*before, *after}, key=_place):
        needed = AS_WAS if role.startswith(VALUE) else order
        if role not in before or role not in after:
            yield from _one_sided(number, role, before.get(role), after.get(role))
            continue
        pair = Pair(role, number, before[role], after[role], needed)
        if before[role].stored.lacks or after[role].stored.lacks:
            yield incomplete(pair)
        elif "norm" in role:
            yield _norm(pair, _offset(sides[1]) - _offset(sides[0]), before, others)
        else:
            yield _judged(pair, before, others)


def _place(role: str) -> tuple[bool, str]:
    """Return a key that sorts queries, keys and values by weight, bias and norm, values last."""
    return role.startswith(VALUE), role


def _free(before: Layer, after: Layer) -> tuple[Layer, str]:
    """Return the layer with whole heads as if they were rotated, and the order of its queries.

    Nothing is rotated, so that any order is right if queries and keys have the same.
    """
    made = {
        role: replace(heads, rotated=heads.size, offset=0) if heads.size % 2 == 0 else heads
        for role, heads in before.items()
    }
    if (
        QUERY not in before
        or QUERY not in after
        or len(before[QUERY].rows) != len(after[QUERY].rows)
    ):
        return made, AS_WAS
    pair = Pair(QUERY, 0, made[QUERY], after[QUERY], AS_WAS)
    heads = pair.original
    names = order_of_heads(heads.read(), pair.converted.read(), heads, pair.bound)
    return made, names[0] if names[0] is not None and len({*names}) == 1 else AS_WAS


def _one_sided(
    number: int, role: str, before: Heads | None, after: Heads | None
) -> Iterator[Finding]:
    """Yield a finding for a projection that one file lacks, unless it is a bias of zeros."""
    heads = before or after
    assert heads is not None
    if "bias" in role and not np.any(heads.read()):
        return
    side, id = ("converted", "missing") if after is None else ("original", "added")
    what = f"missing in the {side} file"
    yield Finding(id, "rows", (role,), what, (number,))


def _offset(checkpoint: Checkpoint) -> float:
    """Return what a file adds to the weights of norms."""
    return float(checkpoint.form in WITH_ONE.get(checkpoint.config.type, ()))


def _norm(pair: Pair, added: float, layer: Layer, others: Others) -> Finding:
    """Judge the weights of a norm of queries or keys: their order, and what is added to them."""
    sides = pair.original, pair.converted
    if len(sides[0].rows) != len(sides[1].rows):
        return of_other_size(pair)
    right, got = (column(heads) for heads in sides)
    if not are_finite(right, got):
        return not_finite(pair, right, got)
    measured = fit(right[pair.order] + added, got)
    if measured.within(pair.bound):
        return _right(pair, measured, right + added, got)
    for other in (0.0, 1.0, -1.0, 2.0):
        if other != added and fit(right[pair.order] + other, got).within(pair.bound):
            return other_offset(pair, added, other)
    return (
        of_another_vector(pair, got, layer, added)
        or wrong_order(pair, right + added, got)
        or of_another_layer(pair, got, others, added)
        or other_values(pair, right + added, got)
    )


def _judged(pair: Pair, layer: Layer, others: Others) -> Finding:
    """Judge the rows, or the bias, of a projection."""
    right, got = pair.original.read(), pair.converted.read()
    if not are_finite(right, got):
        return not_finite(pair, right, got)
    if right.shape != got.shape:
        return (
            of_another_vector(pair, got, layer)
            or repeated(pair, right, got)
            or transposed(pair, right, got)
            or of_other_size(pair)
        )
    measured = fit(right[pair.order], got)
    if measured.within(pair.bound):
        return _right(pair, measured, right, got)
    if got.shape[1] > 1 and measured.within(UNRELATED):  # no row is another one
        return other_values(pair, right, got)
    return (
        of_another_vector(pair, got, layer)
        or wrong_order(pair, right, got)
        or moved(pair, right, got, layer)
        or of_another_layer(pair, got, others)
        or transposed(pair, right, got)
        or other_values(pair, right, got)
    )


def _right(pair: Pair, measured: Fit, right: Floats, got: Floats) -> Finding:
    """Say that the order is right, or that rows are too alike to tell."""
    known = orders(pair.original.size, pair.original.offset, pair.original.rotated)
    tempting = NEIGHBOURS if pair.needed == AS_WAS else AS_WAS
    count = len(right) // pair.original.size
    if tempting in known and fit(right[whole(known[tempting], count)], got).within(pair.bound):
        return pair.finding("", "too alike for their order to matter", measured)
    if pair.role.startswith(VALUE):
        return pair.finding("", SAID[AS_WAS], measured)
    return pair.finding("", f"{SAID.get(pair.needed, pair.needed)}, as the code needs", measured)
