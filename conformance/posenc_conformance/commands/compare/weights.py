"""The rows of queries and keys: whether the converted file has the order that its code needs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.commands.compare.checkpoints import GGUF, MLX, Checkpoint
from posenc_conformance.commands.compare.findings import Finding, merged
from posenc_conformance.commands.compare.projections import (
    KEY,
    QUERY,
    VALUE,
    Heads,
    Layer,
    layers_of,
    packed_in,
)
from posenc_conformance.commands.compare.row_order import (
    AS_WAS,
    BACK_TWICE,
    EXCHANGED,
    HALVES,
    NEIGHBOURS,
    REVERSED,
    TWICE,
    Fit,
    expected_order,
    fit,
    fits,
    order_of_heads,
    orders,
    other_head_counts,
    partners,
    whole,
)
from posenc_conformance.commands.compare.stored import UNRELATED
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.meaning import Group, written

WITH_ONE: Mapping[str, tuple[str, ...]] = {
    "gemma3_text": (GGUF,),
    "qwen3_5_moe_text": (GGUF, MLX),
    "qwen3_5_text": (GGUF, MLX),
    "qwen3_next": (GGUF, MLX),
}
"""Types whose norms multiply by 1 + w, with the forms that store 1 + w in place of w."""
SAID = {
    AS_WAS: "in the order that they had",
    NEIGHBOURS: "permuted, halves to neighbours",
    HALVES: "permuted, neighbours to halves",
    TWICE: "permuted twice, halves to neighbours",
    BACK_TWICE: "permuted twice, neighbours to halves",
    EXCHANGED: "with the two halves of each head exchanged",
    REVERSED: "with the channels of each head reversed",
}
"""Orders of rows, for people."""
ROUNDED = 1e-6
"""Numbers that are closer than this differ by the last bits of float32."""


@dataclass(frozen=True)
class Pair:
    """The same projection of the same layer in both files."""

    role: str
    number: int
    original: Heads
    converted: Heads
    needed: str
    """The order of rows that the converted file's code needs."""

    @property
    def bound(self) -> float:
        """The largest residual that rounding explains."""
        both = self.original.stored.bound + self.converted.stored.bound
        return min(UNRELATED, both + ROUNDED)

    @property
    def kind(self) -> str:
        """How the numbers of the coarser file are stored."""
        both = (self.original.stored, self.converted.stored)
        return max(both, key=lambda stored: stored.bound).kind

    @property
    def order(self) -> Ints:
        """The right row for each row of the converted file."""
        heads = self.original
        known = orders(heads.size, heads.offset, heads.rotated)
        return whole(known.get(self.needed, known[AS_WAS]), len(heads.rows) // heads.size)

    def finding(self, id: str, text: str, measured: Fit | None = None) -> Finding:
        """Make a finding about this projection."""
        residual = measured.residual if measured else None
        bound = self.bound if measured else None
        kinds = (self.kind,) if measured else ()
        return Finding(id, "rows", (self.role,), text, (self.number,), residual, bound, kinds)


def compare_weights(original: Checkpoint, converted: Checkpoint) -> list[Finding]:
    """Compare queries, keys and values of all layers that both files have.

    Raises UserError for tensors that cannot be read.
    """
    before, after = layers_of(original), layers_of(converted)
    packed = packed_in(original), packed_in(converted)
    if not (before or packed[0]) or not (after or packed[1]):
        return []
    groups = [_groups(checkpoint) for checkpoint in (original, converted)]
    findings: list[Finding] = []
    for number in sorted(before.keys() | after.keys()):
        if all(number in side for side in groups):
            unread = {role for side in packed for role in side.get(number, {})}
            sides = [_without(side.get(number, {}), unread) for side in (before, after)]
            order = _needed(*(side[number] for side in groups))
            findings += _of_layer(number, sides[0], sides[1], order, (original, converted), before)
    return merged(findings)


def _without(layer: Layer, unread: Collection[str]) -> Layer:
    return {role: heads for role, heads in layer.items() if role not in unread}


def _groups(checkpoint: Checkpoint) -> dict[int, Group]:
    return {number: group for group in checkpoint.meaning.groups for number in group.layers}


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
    others: Mapping[int, Layer],
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
            yield _incomplete(pair)
        elif "norm" in role:
            yield _norm(pair, _offset(sides[1]) - _offset(sides[0]), before, others)
        else:
            yield _judged(pair, before, others)


def _incomplete(pair: Pair) -> Finding:
    """Name the tensors without which quantised numbers cannot be told."""
    sides = (("original", pair.original.stored), ("converted", pair.converted.stored))
    lost = [f"{stored.lacks} in the {side} file" for side, stored in sides if stored.lacks]
    return pair.finding("groups-incomplete", f"quantised in groups, without {' and '.join(lost)}")


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


def _norm(pair: Pair, added: float, layer: Layer, others: Mapping[int, Layer]) -> Finding:
    """Judge the weights of a norm of queries or keys: their order, and what is added to them."""
    sides = pair.original, pair.converted
    if len(sides[0].rows) != len(sides[1].rows):
        return _of_other_size(pair)
    right, got = (_column(heads) for heads in sides)
    if not _are_finite(right, got):
        return _not_finite(pair, right, got)
    measured = fit(right[pair.order] + added, got)
    if measured.within(pair.bound):
        return _right(pair, measured, right + added, got)
    for other in (0.0, 1.0, -1.0, 2.0):
        if other != added and fit(right[pair.order] + other, got).within(pair.bound):
            return _other_offset(pair, added, other)
    return (
        _of_another_vector(pair, got, layer, added)
        or _wrong_order(pair, right + added, got)
        or _of_another_layer(pair, got, others, added)
        or _other_values(pair, right + added, got)
    )


def _column(heads: Heads) -> Floats:
    """Read all numbers of a vector, also of one that is stored by heads."""
    return np.ravel(heads.stored.read())[:, None]


def _other_offset(pair: Pair, added: float, other: float) -> Finding:
    id = "norm-offset-added" if other > added else "norm-offset-missing"
    return pair.finding(id, f"{other:+g} is added to the weights; the code needs {added:+g}")


def _judged(pair: Pair, layer: Layer, others: Mapping[int, Layer]) -> Finding:
    """Judge the rows, or the bias, of a projection."""
    if len(pair.original.rows) != len(pair.converted.rows):
        return _of_other_size(pair)
    right, got = pair.original.read(), pair.converted.read()
    if not _are_finite(right, got):
        return _not_finite(pair, right, got)
    if right.shape != got.shape:
        return _of_another_vector(pair, got, layer) or _of_other_size(pair)
    measured = fit(right[pair.order], got)
    if measured.within(pair.bound):
        return _right(pair, measured, right, got)
    if got.shape[1] > 1 and measured.within(UNRELATED):  # no row is another one
        return _other_values(pair, right, got)
    return (
        _of_another_vector(pair, got, layer)
        or _wrong_order(pair, right, got)
        or _moved(pair, right, got, layer)
        or _of_another_layer(pair, got, others)
        or _other_values(pair, right, got)
    )


def _are_finite(*parts: Floats) -> bool:
    return all(bool(np.all(np.isfinite(part))) for part in parts)


def _not_finite(pair: Pair, right: Floats, got: Floats) -> Finding:
    """Say where numbers are that are none."""
    sides = (("original", right), ("converted", got))
    places = [
        f"row {int(rows[0]):,} of the {side} file has {part[rows[0]][_strange(part[rows[0]])][0]}"
        for side, part in sides
        if len(rows := np.flatnonzero(np.any(_strange(part), axis=1)))
    ]
    return pair.finding("not-finite", " and ".join(places))


def _strange(part: Floats) -> Floats:
    return ~np.isfinite(part)


def _of_other_size(pair: Pair) -> Finding:
    sizes = [
        f"{len(heads.rows):,} × {heads.stored.columns:,}"
        for heads in (pair.original, pair.converted)
    ]
    return pair.finding("other-size", f"{sizes[1]} numbers, where the original has {sizes[0]}")


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


# What is wrong.


def _wrong_order(pair: Pair, right: Floats, got: Floats) -> Finding | None:
    """Name the order of rows, if every head has a known one."""
    heads = pair.original
    names = order_of_heads(right, got, heads, pair.bound)
    count = len(names)
    if all(name is not None for name in names):
        (usual, most), *_ = Counter(names).most_common(1)
        if most == count:
            return _named(pair, str(usual))
        parts = [
            f"heads {written([head for head, other in enumerate(names) if other == name])} "
            f"{SAID.get(str(name), name)}"
            for name in dict.fromkeys(names)
        ]
        return pair.finding("heads-differ", "; ".join(parts) + f"; {_needs(pair)}")
    for name, other, order in other_head_counts(len(right), count):
        if fits(right, got, order, pair.bound):
            text = f"{SAID[name]}, as if there were {other} heads, and there are {count}"
            return pair.finding("permuted-by-another-head-count", text)
    return None


def _needs(pair: Pair) -> str:
    return f"the code needs them {SAID.get(pair.needed, pair.needed)}"


def _named(pair: Pair, name: str) -> Finding:
    """Make the finding for an order that all heads have."""
    if name == AS_WAS:
        id = "not-permuted"
    elif name in (TWICE, BACK_TWICE):
        id = "permuted-twice"
    elif name not in (NEIGHBOURS, HALVES):
        id = "permuted-otherwise" if name in SAID else "permuted-in-whole-heads"
    else:
        id = "permuted-needlessly" if pair.needed == AS_WAS else "permuted-backwards"
    return pair.finding(id, f"{SAID.get(name, name)}; {_needs(pair)}")


def _moved(pair: Pair, right: Floats, got: Floats, layer: Layer) -> Finding | None:
    """Say which rows of the layer the rows are, if each is one of them."""
    if right.shape[1] == 1:
        return None
    kinds = [role for role in (QUERY, KEY, VALUE) if role in layer]
    rows = {role: layer[role].read() for role in kinds}
    rows = {role: part for role, part in rows.items() if part.shape[1] == got.shape[1]}
    found = partners(np.concatenate([*rows.values()]), got, pair.bound)
    if found is None:
        return None
    begin, places = 0, dict[str, Ints]()
    for role, part in rows.items():
        places[role] = found[(found >= begin) & (found < begin + len(part))] - begin
        begin += len(part)
    used = [role for role, numbers in places.items() if len(numbers)]
    if used != [pair.role]:
        text = f"made of rows of the original's {' and '.join(used)}"
        return pair.finding("rows-of-another-projection", text)
    return _within(pair, places[pair.role])


def _within(pair: Pair, found: Ints) -> Finding:
    """Name an order of rows within a projection: whole heads that moved, or any other."""
    size = pair.original.size
    heads = found.reshape(-1, size)
    known = orders(size, pair.original.offset, pair.original.rotated)
    inner = heads - size * (heads[:, :1] // size)
    for name, order in known.items():
        if np.array_equal(inner, np.broadcast_to(order, inner.shape)):
            places = ", ".join(map(str, (heads[:, 0] // size)[:8]))
            more = " …" if len(heads) > 8 else ""
            text = f"the heads are the original's {places}{more}, {SAID.get(name, name)}"
            return pair.finding("heads-moved", text)
    number = int(np.argmax(found != pair.order))
    text = f"another order: row {number:,} is the original's {found[number]:,}"
    return pair.finding("rows-moved", f"{text}, and should be its {pair.order[number]:,}")


def _of_another_vector(pair: Pair, got: Floats, layer: Layer, added: float = 0.0) -> Finding | None:
    """Say that a norm or a bias is another one of its layer, or that it is the weight."""
    own = pair.role.removesuffix(" bias")
    for role, heads in layer.items():
        confused = role.removesuffix(" bias") == own
        same = "norm" in role if "norm" in pair.role else "bias" in pair.role and "bias" in role
        if role == pair.role or not (same or confused) or len(heads.rows) != len(got):
            continue
        right = _column(heads) if "norm" in role else heads.read()
        if right.shape != got.shape or not _are_finite(right):
            continue
        if fit(right[pair.order] + added, got).within(pair.bound):
            if confused:
                return pair.finding("weight-and-bias-confused", f"the original's {role}")
            id = "of-another-norm" if "norm" in role else "rows-of-another-projection"
            return pair.finding(id, f"the original's {role}")
    return None


def _of_another_layer(
    pair: Pair, got: Floats, others: Mapping[int, Layer], added: float = 0.0
) -> Finding | None:
    """Say that the rows are those of a layer beside this one."""
    numbers = [*others]
    place = numbers.index(pair.number)
    for number in (numbers[place - 1], numbers[(place + 1) % len(numbers)]):
        heads = others[number].get(pair.role)
        if number == pair.number or heads is None or len(heads.rows) != len(pair.original.rows):
            continue
        right = _column(heads) if "norm" in pair.role else heads.read()
        if right.shape == got.shape and fit(right[pair.order] + added, got).within(pair.bound):
            return pair.finding("of-another-layer", "the rows of the original's layer beside it")
    return None


def _other_values(pair: Pair, right: Floats, got: Floats) -> Finding:
    """Describe numbers that no order explains: multiplied, changed or unrelated."""
    expected = right[pair.order]
    measured = fit(expected, got)
    square = float(np.sum(expected * expected))
    factor = float(np.sum(expected * got)) / square if square else 0.0
    if fit(expected * factor, got).within(pair.bound):
        return pair.finding("multiplied", f"multiplied by {factor:.6g}", measured)
    rows = np.flatnonzero(measured.rows > pair.bound)
    empty = np.flatnonzero(~np.any(got, axis=1))
    if np.array_equal(rows, empty):
        return pair.finding("zeros", f"{len(rows):,} of {len(right):,} rows have nothing but 0")
    if measured.residual < UNRELATED:
        many = f"{len(rows):,} of {len(right):,}"
        text = f"in the right order, but {many} rows have other numbers than rounding explains"
        return pair.finding("values-differ", text, measured)
    text = "not the original's numbers in any known order"
    return pair.finding("unrelated", text, measured)
