"""What is wrong with rows that are not those of the original, by name."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from posenc_conformance.commands.compare.findings import Finding
from posenc_conformance.commands.compare.pairs import SAID, Pair, are_finite, column
from posenc_conformance.commands.compare.projections import KEY, QUERY, VALUE, Heads, Layer
from posenc_conformance.commands.compare.row_order import (
    AS_WAS,
    BACK_TWICE,
    HALVES,
    NEIGHBOURS,
    TWICE,
    fit,
    fits,
    order_of_heads,
    orders,
    other_head_counts,
    partners,
)
from posenc_conformance.commands.compare.stored import COLUMNS, UNRELATED
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.meaning import written


@dataclass(frozen=True)
class Others:
    """The original's layers, among which the rows of another one are looked for."""

    layers: Mapping[int, Layer]
    first: dict[str, dict[int, Floats]] = field(default_factory=dict)
    """The first row of a projection in each layer that was read, by role."""

    def alike(self, role: str, heads: Heads, row: Floats) -> Iterator[int]:
        """Yield the layers that may have this first row, the likeliest first."""
        if role not in self.first:
            self.first[role] = {
                number: _rows(role, layer[role])[0]
                for number, layer in self.layers.items()
                if role in layer and len(layer[role].rows) == len(heads.rows)
            }
        known = self.first[role]
        lengths = {
            number: float(np.linalg.norm(other - row))
            for number, other in known.items()
            if other.shape == row.shape
        }
        yield from sorted(lengths, key=lambda number: lengths[number])[:2]


def _rows(role: str, heads: Heads) -> Floats:
    return column(heads) if "norm" in role else heads.read()


def incomplete(pair: Pair) -> Finding:
    """Name the tensors without which quantised numbers are not known."""
    sides = (("original", pair.original.stored), ("converted", pair.converted.stored))
    lost = [f"{stored.lacks} in the {side} file" for side, stored in sides if stored.lacks]
    return pair.finding("groups-incomplete", f"quantised in groups, without {' and '.join(lost)}")


def other_offset(pair: Pair, added: float, other: float) -> Finding:
    """Say what is added to the weights of a norm, in place of what the code needs."""
    id = "norm-offset-added" if other > added else "norm-offset-missing"
    return pair.finding(id, f"{other:+g} is added to the weights; the code needs {added:+g}")


def not_finite(pair: Pair, right: Floats, got: Floats) -> Finding:
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


def of_other_size(pair: Pair) -> Finding:
    """Say how many numbers there are, and should be."""
    sizes = [
        f"{len(heads.rows):,} × {heads.stored.columns:,}"
        for heads in (pair.original, pair.converted)
    ]
    return pair.finding("other-size", f"{sizes[1]} numbers, where the original has {sizes[0]}")


def wrong_order(pair: Pair, right: Floats, got: Floats) -> Finding | None:
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


def moved(pair: Pair, right: Floats, got: Floats, layer: Layer) -> Finding | None:
    """Say which rows of the layer the rows are, if each is one of them."""
    if right.shape[1] == 1:
        return _left_fused(pair, got, layer)
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
        return _made_of(pair, used)
    return _within(pair, places[pair.role])


def _made_of(pair: Pair, used: Sequence[str]) -> Finding:
    text = f"made of rows of the original's {' and '.join(used)}"
    return pair.finding("rows-of-another-projection", text)


def _left_fused(pair: Pair, got: Floats, layer: Layer) -> Finding | None:
    """Say that a fused bias stands as in the original's file; single numbers show no other order.

    Its numbers are those of the original's file at the places that the converted file's code reads.
    """
    before, after = pair.original, pair.converted
    if before.stored.shape != after.stored.shape or np.array_equal(before.rows, after.rows):
        return None
    if not fit(before.stored.read()[after.rows], got).within(pair.bound):
        return None
    return _made_of(
        pair,
        [
            role.removesuffix(" bias")
            for role, heads in layer.items()
            if heads.name == before.name and np.any(np.isin(heads.rows, after.rows))
        ],
    )


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


def of_another_vector(pair: Pair, got: Floats, layer: Layer, added: float = 0.0) -> Finding | None:
    """Say that a norm or a bias is another one of its layer, or that it is the weight."""
    own = pair.role.removesuffix(" bias")
    for role, heads in layer.items():
        confused = role.removesuffix(" bias") == own
        same = "norm" in role if "norm" in pair.role else "bias" in pair.role and "bias" in role
        if role == pair.role or not (same or confused) or len(heads.rows) != len(got):
            continue
        right = column(heads) if "norm" in role else heads.read()
        if right.shape != got.shape or not are_finite(right):
            continue
        if fit(right[pair.order] + added, got).within(pair.bound):
            if confused:
                return pair.finding("weight-and-bias-confused", f"the original's {role}")
            id = "of-another-norm" if "norm" in role else "rows-of-another-projection"
            return pair.finding(id, f"the original's {role}")
    return None


def of_another_layer(pair: Pair, got: Floats, others: Others, added: float = 0.0) -> Finding | None:
    """Say that the rows are those of another layer."""
    # The first row of both layouts is the first one of the original.
    for number in others.alike(pair.role, pair.original, got[0] - added):
        right = _rows(pair.role, others.layers[number][pair.role])
        if number == pair.number or right.shape != got.shape:
            continue
        if fit(right[pair.order] + added, got).within(pair.bound):
            step = number - pair.number
            where = f"{abs(step)} layer{'s' * (abs(step) > 1)} {'after' if step > 0 else 'before'}"
            return pair.finding("of-another-layer", f"the original's rows of {where} this one")
    return None


def other_values(pair: Pair, right: Floats, got: Floats) -> Finding:
    """Describe numbers that no order explains: multiplied, changed or unrelated."""
    expected = right[pair.order]
    measured = fit(expected, got)
    rows = np.flatnonzero(measured.rows > pair.bound)
    empty = np.flatnonzero(~np.any(got, axis=1))
    if len(empty) == len(got):
        return pair.finding("zeros", "nothing but 0")
    square = float(np.sum(expected * expected))
    factor = float(np.sum(expected * got)) / square if square else 0.0
    if fit(expected * factor, got).within(pair.bound):
        return pair.finding(
            "multiplied", f"multiplied by {apart(factor, 1, digits=6)[0]}", measured
        )
    if np.array_equal(rows, empty):
        if got.shape[1] == 1:
            text = f"{len(rows):,} of {len(right):,} numbers are 0, and the others are right"
            return pair.finding("values-differ", text)
        return pair.finding("zeros", f"{len(rows):,} of {len(right):,} rows have nothing but 0")
    several = _by_rows(expected, got)
    if got.shape[1] > 1 and fit(expected * several, got).within(pair.bound):
        ends = " to ".join(apart(several.min(), several.max()))
        text = f"each row is multiplied by its own number, {ends}"
        return pair.finding("rows-multiplied", text, measured)
    if measured.residual < UNRELATED:
        many = f"{len(rows):,} of {len(right):,}"
        text = f"in the right order, but {many} rows have other numbers than rounding explains"
        return pair.finding("values-differ", text, measured)
    text = "not the original's numbers in any known order"
    return pair.finding("unrelated", text, measured)


def _by_rows(expected: Floats, got: Floats) -> Floats:
    """Return the factor of each row that brings it closest to what is there: ``[rows, 1]``."""
    squares = np.sum(expected * expected, axis=1, keepdims=True)
    products = np.sum(expected * got, axis=1, keepdims=True)
    return np.asarray(products / np.where(squares > 0, squares, 1), dtype=np.float64)


def transposed(pair: Pair, right: Floats, got: Floats) -> Finding | None:
    """Say that a matrix has rows and columns exchanged; the columns that are read show it."""
    before, after = pair.original.stored, pair.converted.stored
    if (before.rows, before.columns) != (after.columns, after.rows) or got.shape[1] < 2:
        return None
    high, wide = min(COLUMNS, got.shape[0]), min(COLUMNS, len(right))
    for order in (pair.order, np.arange(len(right))):
        expected = right[order][:wide, :high].T
        part = got[:high, :wide]
        if expected.shape == part.shape and fit(expected, part).within(pair.bound):
            return pair.finding("transposed", "rows and columns are exchanged")
    return None


def repeated(pair: Pair, right: Floats, got: Floats) -> Finding | None:
    """Judge heads of keys and values that one file has more than once, for each query its own.

    They are right if queries go on to use the same ones: each head is followed by its copies.
    """
    few, many = sorted((len(got), len(right)))
    times, rest = divmod(many, max(few, 1))
    if rest or times < 2 or pair.role.startswith(QUERY) or right.shape[1:] != got.shape[1:]:
        return None
    whole_heads = pair.original.size, right.shape[1]
    before, after = (part.reshape(-1, *whole_heads) for part in (right[pair.order], got))
    more = "the converted" if len(after) > len(before) else "the original"
    for copy in (_beside, _around):
        sides = [copy(part, max(len(before), len(after)) // len(part)) for part in (before, after)]
        if not fit(*(part.reshape(-1, right.shape[1]) for part in sides)).within(pair.bound):
            continue
        if copy is _beside:
            return pair.finding("", f"each head is there {times} times in {more} file")
        text = f"all heads are there {times} times in {more} file"
        return pair.finding("heads-moved", f"{text}, and each must be followed by its copies")
    return None


def _beside(heads: Floats, times: int) -> Floats:
    return np.repeat(heads, times, axis=0)


def _around(heads: Floats, times: int) -> Floats:
    return np.concatenate([heads] * times)
