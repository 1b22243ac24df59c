"""Wrong implementations: rotary embedding with the signatures of kernels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import round_to
from posenc_lab.miniatures.base import Array, Mistake, made


class Kernel(Mistake, steps=True):
    """Each sequence of a batch rotated at its positions, in steps."""

    call = "rope_batched"
    claimed = ("batched-half",)

    def answer(self, x: Array, positions: Array, **rest: Any) -> Any:
        if positions.shape != (len(x), x.shape[2]):
            raise ValueError((x.shape, positions.shape))
        return self.of_sequences(x, self.positions(positions), **rest)

    def of_sequences(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        pairs = zip(x, positions, strict=True)
        out = [self.turned(sequence, places, base, layout) for sequence, places in pairs]
        return self.written(np.asarray(out, x.dtype).reshape(x.shape), x)

    def positions(self, positions: Array) -> Array:
        return positions

    def written(self, out: Array, x: Array) -> Array:
        return out

    def turned(self, x: Array, positions: Array, base: float, layout: str) -> Array:
        """Rotate heads [..., n, head_dim] at positions [n]."""
        return self.in_blocks(self.rotated(x, positions, base, layout), x)

    def rotated(self, x: Array, positions: Array, base: float, layout: str) -> Array:
        wide, half = x.astype(np.float64), x.shape[-1] // 2
        first, second = self.members(half, layout)
        angles = self.table(positions, half, base, layout)
        a, b = wide[..., first], wide[..., second]
        wide[..., first] = a * np.cos(angles[:, first]) - b * np.sin(angles[:, first])
        wide[..., second] = a * np.sin(angles[:, second]) + b * np.cos(angles[:, second])
        return wide.astype(x.dtype)

    def angles(self, positions: Array, half: int, base: float) -> Array:
        return np.asarray(positions[:, None] * base ** -(np.arange(half) / half))

    def table(self, positions: Array, half: int, base: float, layout: str) -> Array:
        """Return an angle for each channel."""
        return np.asarray(self.spread(self.angles(positions, half, base), layout))

    def spread(self, angles: Array, layout: str) -> Array:
        out = np.empty((len(angles), 2 * angles.shape[1]))
        for channels in self.members(angles.shape[1], layout):
            out[:, channels] = angles
        return out

    def members(self, half: int, layout: str) -> tuple[Array, Array]:
        pairs = np.arange(half)
        return (pairs, pairs + half) if layout == "half" else (2 * pairs, 2 * pairs + 1)

    def in_blocks(self, out: Array, x: Array) -> Array:
        return out


class KernelOffsets(Kernel, steps=True):
    """Each sequence of a batch rotated from its offset on, in steps."""

    call = "rope_offsets"
    claimed = ("offsets-half",)

    def answer(self, x: Array, offsets: Array, **rest: Any) -> Any:
        if len(offsets) != len(x):
            raise ValueError((x.shape, offsets.shape))
        positions = self.offsets(offsets)[:, None] + np.arange(x.shape[2])
        return self.of_sequences(x, positions, **rest)

    def offsets(self, offsets: Array) -> Array:
        return offsets


class KernelPacked(Kernel, steps=True):
    """Each of several packed sequences rotated from its offset on, in steps."""

    call = "rope_packed"
    claimed = ("packed-half",)

    def answer(
        self, x: Array, cu_seqlens: Array, offsets: Array, *, base: float, layout: str
    ) -> Any:
        if cu_seqlens[-1] != x.shape[1]:
            raise ValueError((x.shape, cu_seqlens))
        rows = np.arange(x.shape[1])
        edges, starts = self.edges(cu_seqlens), self.offsets(offsets)
        return self.turned(x, self.places(rows, edges, starts), base, layout)

    def edges(self, edges: Array) -> Array:
        return edges

    def offsets(self, offsets: Array) -> Array:
        return offsets

    def places(self, rows: Array, edges: Array, offsets: Array) -> Array:
        sequence = np.searchsorted(edges, rows, side="right") - 1
        return np.asarray(rows - edges[sequence] + offsets[sequence])


class KernelQueryKey(Kernel, steps=True):
    """Queries and keys rotated with rows token by token: the token follows from the row's index."""

    call = "rope_query_key"
    claimed = ("query-key-half",)

    def answer(self, q: Array, k: Array, positions: Array, *, base: float, layout: str) -> Any:
        if q.shape[1:] != k.shape[1:]:
            raise ValueError((q.shape, k.shape))
        new_q, new_k = (
            self.in_blocks(self.by_tokens(x, heads, positions, base, layout), x)
            for x, heads in zip((q, k), self.heads(len(q), len(k)), strict=True)
        )
        return np.concatenate(self.joined(new_q, new_k, q, k, layout))

    def heads(self, of_q: int, of_k: int) -> tuple[int, int]:
        return of_q, of_k

    def by_tokens(self, x: Array, heads: int, positions: Array, base: float, layout: str) -> Array:
        heads_of_x, n, dim = x.shape
        rows = x.swapaxes(0, 1).reshape(heads_of_x * n, dim)
        token = np.minimum(np.arange(len(rows)) // heads, n - 1)
        out = self.rotated(rows, positions[token], base, layout)
        return out.reshape(n, heads_of_x, dim).swapaxes(0, 1)

    def joined(
        self, new_q: Array, new_k: Array, q: Array, k: Array, layout: str
    ) -> tuple[Array, Array]:
        return new_q, new_k


class KernelInPlace(Kernel, steps=True):
    """Pairs rotated in the memory of x, in steps."""

    call = "rope_in_place"
    claimed = ("in-place-half",)

    def answer(self, x: Array, positions: Array, *, base: float, layout: str) -> Any:
        if len(positions) != x.shape[-2]:
            raise ValueError((x.shape, positions.shape))
        half = x.shape[-1] // 2
        first, second = self.members(half, layout)
        angles = self.table(positions, half, base, layout)
        before, memory = x.astype(np.float64), self.memory(x)
        self.pairs_written(memory, before, first, second, np.cos(angles), np.sin(angles))
        memory[...] = self.in_blocks(memory, before.astype(x.dtype))
        return self.done(memory, x)

    def memory(self, x: Array) -> Array:
        return x

    def pairs_written(
        self, x: Array, before: Array, first: Array, second: Array, cos: Array, sin: Array
    ) -> None:
        a, b = before[..., first], before[..., second]
        x[..., first] = (a * cos[:, first] - b * sin[:, first]).astype(x.dtype)
        x[..., second] = (a * sin[:, second] + b * cos[:, second]).astype(x.dtype)

    def done(self, memory: Array, x: Array) -> Any:
        return None


class KernelQkv(Kernel, steps=True):
    """Queries and keys rotated in the result of a fused QKV projection, in steps."""

    call = "rope_qkv"
    claimed = ("qkv-half",)

    def answer(
        self,
        qkv: Array,
        positions: Array,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
        packing: str = "blocks",
    ) -> Any:
        every = heads + 2 * key_heads
        if qkv.shape[1] % every or len(positions) != len(qkv):
            raise ValueError((qkv.shape, heads, key_heads))
        width = qkv.shape[1] // every
        out = np.array(qkv, order="C")
        for first, count in self.parts(heads, key_heads, packing):
            source = self.seen(self.source(out, qkv), first * width, count * width)
            by_head = source.reshape(len(qkv), count, width).swapaxes(0, 1)
            turned = self.turned(by_head, positions, base, layout).swapaxes(0, 1)
            target = self.target(out, first * width, count * width)
            target[...] = turned.reshape(len(qkv), count * width)
        return out

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        """Return the first head and the number of heads of each part to rotate."""
        if packing == "blocks":
            return [(0, heads), (heads, key_heads)]
        group = heads // key_heads
        return [(number * (group + 2), group + 1) for number in range(key_heads)]

    def source(self, out: Array, qkv: Array) -> Array:
        return out

    def seen(self, whole: Array, start: int, width: int) -> Array:
        return whole[:, start : start + width]

    def target(self, whole: Array, start: int, width: int) -> Array:
        return whole[:, start : start + width]


def flat(self: Any, whole: Array, start: int, width: int) -> Array:
    """Return a view of a part's channels as if its rows were contiguous."""
    rows = np.ascontiguousarray(whole) if not whole.flags.c_contiguous else whole
    return rows.reshape(-1)[start : start + len(whole) * width].reshape(len(whole), width)


def behind(size: int, written: bool = True) -> Mapping[str, Any]:
    """Return an ``in_blocks`` step that leaves out the rows after the last full block."""

    def in_blocks(self: Any, out: Array, x: Array) -> Array:
        full = np.arange(x.shape[-2]) < x.shape[-2] // size * size
        return np.where(full[:, None], out, x if written else 0 * x).astype(x.dtype)

    return {"in_blocks": in_blocks}


def _from_first_of(self: KernelPacked, rows: Array, edges: Array, offsets: Array) -> Array:
    """Assign each row to the first sequence with the same start."""
    begins, numbers = np.unique(edges[:-1], return_index=True)
    sequence = numbers[np.searchsorted(begins, rows, side="right") - 1]
    return np.asarray(rows - edges[sequence] + offsets[sequence])


def _up_to_an_empty_one(self: KernelPacked, rows: Array, edges: Array, offsets: Array) -> Array:
    """Set the positions of rows after an empty sequence to 0."""
    right = KernelPacked.places(self, rows, edges, offsets)
    empty = np.flatnonzero(np.diff(edges) == 0)
    return np.where(rows < edges[empty[0]], right, 0) if len(empty) else right


for _name, _places in (
    ("of the first that begins there", _from_first_of),
    ("up to an empty one", _up_to_an_empty_one),
):
    made(
        KernelPacked,
        f"KernelPacked {_name}",
        "Sequences without rows, taken wrongly.",
        places=_places,
    )


def _spread(self: Any, angles: Array, layout: str) -> Array:
    return np.tile(angles, 2) if layout == "half" else np.repeat(angles, 2, axis=1)


def _spread_otherwise(self: Any, angles: Array, layout: str) -> Array:
    return np.repeat(angles, 2, axis=1) if layout == "half" else np.tile(angles, 2)


def _backwards(self: Any, positions: Array, half: int, base: float) -> Array:
    return -Kernel.angles(self, positions, half, base)


def _narrow_positions(self: Any, positions: Array, half: int, base: float) -> Array:
    return Kernel.angles(self, round_to(positions.astype(float), "bfloat16"), half, base)


def _narrow(self: Any, positions: Array, half: int, base: float) -> Array:
    return round_to(Kernel.angles(self, positions, half, base), "bfloat16")


def _at(positions: Array, base: float, exponents: Array) -> Array:
    return np.asarray(positions[:, None] * base**-exponents)


def _in_degrees(self: Any, positions: Array, half: int, base: float) -> Array:
    return np.deg2rad(Kernel.angles(self, positions, half, base))


def _into_degrees(self: Any, positions: Array, half: int, base: float) -> Array:
    return np.rad2deg(Kernel.angles(self, positions, half, base))


def _halved(self: Any, positions: Array, half: int, base: float) -> Array:
    return _at(positions, base, np.arange(half) / (2 * half))


def _doubled(self: Any, positions: Array, half: int, base: float) -> Array:
    return _at(positions, base, 2 * np.arange(half) / half)


def _to_the_end(self: Any, positions: Array, half: int, base: float) -> Array:
    return _at(positions, base, np.linspace(0, 1, half))


def _of_llama(self: Any, positions: Array, half: int, base: float) -> Array:
    return Kernel.angles(self, positions, half, 500_000.0)


def _twice_the_base(self: Any, positions: Array, half: int, base: float) -> Array:
    return Kernel.angles(self, positions, half, 2 * base)


def _one_late(self: Any, positions: Array, half: int, base: float) -> Array:
    return Kernel.angles(self, positions + 1, half, base)


def _two_early(self: Any, positions: Array, half: int, base: float) -> Array:
    return Kernel.angles(self, positions - 2, half, base)


def _iterated(self: Any, positions: Array, half: int, base: float) -> Array:
    ratios = np.full(half, np.float32(base ** (-1 / half)), np.float32)
    ratios[0] = 1
    return np.asarray(positions[:, None] * np.multiply.accumulate(ratios).astype(np.float64))


def _other(self: Any, half: int, layout: str) -> tuple[Array, Array]:
    return Kernel.members(self, half, "half" if layout == "interleaved" else "interleaved")


for _base, _short in (
    (Kernel, "batched"),
    (KernelOffsets, "offsets"),
    (KernelPacked, "packed"),
    (KernelQueryKey, "query-key"),
    (KernelInPlace, "in-place"),
    (KernelQkv, "qkv"),
):
    for _layout in ("half", "interleaved"):
        made(
            _base,
            f"{_base.__name__} {_layout} pairs of the other layout",
            "Pairs of the other layout.",
            named="layout-swapped",
            claimed=(f"{_short}-{_layout}",),
            members=_other,
        )
    for _size, _written, _layout in ((4, True, "half"), (16, False, "interleaved")):
        made(
            _base,
            f"{_base.__name__} in blocks of {_size}",
            "The rows behind the last full block left out.",
            named="last-block-skipped",
            claimed=(f"{_short}-{_layout}",),
            **behind(_size, _written),
        )
        made(
            _base,
            f"{_base.__name__} {_layout} table of the other layout",
            "Angles repeated as the other layout has them.",
            named="tables-mixed",
            claimed=(f"{_short}-{_layout}",),
            spread=_spread_otherwise,
        )
        made(
            _base,
            f"{_base.__name__} {_layout} pairs of the other layout alone",
            "Pairs of the other layout, and angles repeated as claimed.",
            named="tables-mixed",
            claimed=(f"{_short}-{_layout}",),
            members=_other,
            spread=_spread,
        )
    for _angles, _name, _why in (
        (_backwards, "sign-flipped", "Everything turned the other way."),
        (_narrow, "low-precision-angles", "Angles held in bfloat16."),
        (_narrow_positions, "low-precision-angles", "Positions held in bfloat16."),
        (_in_degrees, "degrees", "Angles taken for degrees."),
        (_into_degrees, "degrees", "Angles turned into degrees."),
        (_halved, "exponent-halved", "Exponents t/d."),
        (_doubled, "exponent-doubled", "Exponents 4t/d."),
        (_to_the_end, "exponent-to-the-end", "Exponents t/(d/2-1)."),
        (_of_llama, "wrong-base", "The base of another model."),
        (_twice_the_base, "wrong-base", "Twice the base."),
        (_one_late, "positions-shifted", "Positions counted from 1."),
        (_two_early, "positions-shifted", "Positions two too early."),
        (_iterated, "iterated-frequencies", "Each frequency made of the one before, in float32."),
    ):
        made(_base, f"{_base.__name__}{_angles.__name__}", _why, named=_name, angles=_angles)
    made(
        _base,
        f"{_base.__name__} in blocks of 64",
        "The rows behind the last full block left out, where there is one.",
        named="last-block-skipped",
        in_blocks=lambda self, out, x: (
            behind(64)["in_blocks"](self, out, x) if x.shape[-2] > 64 else out
        ),
    )


def _as_it_came(self: Any, positions: Array, half: int, base: float) -> Array:
    return 0 * Kernel.angles(self, positions, half, base)


for _base in (Kernel, KernelOffsets, KernelPacked, KernelQueryKey, KernelQkv):
    made(
        _base,
        f"{_base.__name__}{_as_it_came.__name__}",
        "Nothing is rotated.",
        named="unrotated",
        angles=_as_it_came,
    )


class KernelSharesPositions(Kernel):
    """The first sequence's positions are used for all, as from a shared cache_position."""

    named = "first-sequence-for-all"

    def positions(self, positions: Array) -> Array:
        return 0 * positions + positions[:1]


class KernelFirstOnly(Kernel):
    """With one row per sequence, only the first is written, as by a grid without a batch axis."""

    named = "first-sequence-only"
    claimed = ("batched-interleaved",)

    def written(self, out: Array, x: Array) -> Array:
        if x.shape[2] == 1:
            out[1:] = 0
        return out


class KernelOffsetsFirstOnly(KernelOffsets):
    """Sequences after the first are not rotated."""

    named = "first-sequence-only"

    def written(self, out: Array, x: Array) -> Array:
        return np.concatenate([out[:1], x[1:]])


class KernelSharesOffset(KernelOffsets):
    """The first offset is used for the whole batch."""

    named = "first-sequence-for-all"

    def offsets(self, offsets: Array) -> Array:
        return 0 * offsets + offsets[0]


class KernelForgetsOffsets(KernelOffsets):
    """Every sequence starts at position 0."""

    named = "offsets-ignored"
    claimed = ("offsets-interleaved",)

    def offsets(self, offsets: Array) -> Array:
        return 0 * offsets


class KernelOffsetsAddedAcross(KernelOffsets):
    """Each sequence gets the previous one's offset, as from an index that starts at -1."""

    def offsets(self, offsets: Array) -> Array:
        return np.roll(offsets, 1)


class KernelPackedSharesOffset(KernelPacked):
    """The first offset is used for all sequences."""

    named = "first-sequence-for-all"

    def offsets(self, offsets: Array) -> Array:
        return 0 * offsets + offsets[:1].sum()


class KernelPackedForgetsOffsets(KernelPacked):
    """Every sequence starts at position 0, ignoring its offset."""

    named = "offsets-ignored"
    claimed = ("packed-interleaved",)

    def offsets(self, offsets: Array) -> Array:
        return 0 * offsets


class KernelPackedCountsOn(KernelPacked):
    """All rows are numbered as one sequence, ignoring the edges."""

    named = "boundaries-ignored"

    def places(self, rows: Array, edges: Array, offsets: Array) -> Array:
        return rows


class KernelPackedCountsOnFromOffset(KernelPacked):
    """All rows are numbered as one sequence from the first offset on."""

    named = "boundaries-ignored"
    claimed = ("packed-interleaved",)

    def places(self, rows: Array, edges: Array, offsets: Array) -> Array:
        return np.asarray(rows + offsets[0])


class KernelPackedWholeCountsOn(KernelPacked):
    """Without offsets, all rows are numbered as one sequence."""

    named = "boundaries-ignored"

    def places(self, rows: Array, edges: Array, offsets: Array) -> Array:
        return super().places(rows, edges, offsets) if offsets.any() else rows


class KernelPackedLate(KernelPacked):
    """Sequences begin one row late."""

    named = "boundaries-shifted"

    def edges(self, edges: Array) -> Array:
        return np.array([0, *np.minimum(edges[1:-1] + 1, edges[-1]), edges[-1]])


class KernelPackedEarly(KernelPacked):
    """Sequences begin one row early."""

    named = "boundaries-shifted"
    claimed = ("packed-interleaved",)

    def edges(self, edges: Array) -> Array:
        return np.array([0, *np.maximum(edges[1:-1] - 1, 0), edges[-1]])


class KernelPackedCountsFirstRowOn(KernelPacked):
    """The first row of each sequence gets the position after the previous sequence's last one."""

    named = "boundaries-shifted"

    def places(self, rows: Array, edges: Array, offsets: Array) -> Array:
        where = super().places(rows, edges, offsets)
        first = np.isin(rows, edges[1:-1])
        where[first] = where[np.flatnonzero(first) - 1] + 1
        return where


class KernelPackedLengthsForEdges(KernelPacked):
    """The sorted lengths of sequences are used as their edges."""

    def edges(self, edges: Array) -> Array:
        return np.concatenate([[0], np.sort(np.diff(edges))])


class KernelKeysAsQueries(KernelQueryKey):
    """The token of a key's row is found with the number of query heads."""

    named = "head-counts-mixed"

    def heads(self, of_q: int, of_k: int) -> tuple[int, int]:
        return of_q, of_q


class KernelQueriesAsKeys(KernelQueryKey):
    """The token of a query's row is found with the number of key heads."""

    named = "head-counts-mixed"
    claimed = ("query-key-interleaved",)

    def heads(self, of_q: int, of_k: int) -> tuple[int, int]:
        return of_k, of_k


class KernelFewQueries(KernelQueryKey):
    """Only as many query heads are rotated as there are key heads."""

    named = "head-counts-mixed"

    def joined(
        self, new_q: Array, new_k: Array, q: Array, k: Array, layout: str
    ) -> tuple[Array, Array]:
        return np.concatenate([new_q[: len(k)], q[len(k) :]]), new_k


class KernelCrossed(KernelQueryKey):
    """The query's second members come from the key, the key's first ones from the query."""

    named = "query-key-crossed"

    def joined(
        self, new_q: Array, new_k: Array, q: Array, k: Array, layout: str
    ) -> tuple[Array, Array]:
        first, second = self.members(q.shape[-1] // 2, layout)
        mixed_q, mixed_k = new_q.copy(), new_k.copy()
        mixed_q[..., second] = new_k[np.arange(len(q)) % len(k)][..., second]
        mixed_k[..., first] = new_q[np.arange(len(k)) % len(q)][..., first]
        return mixed_q, mixed_k


class KernelCrossedByGroup(KernelQueryKey):
    """A query's second members come from its group's key, a key's first ones from a query."""

    named = "query-key-crossed"
    claimed = ("query-key-interleaved",)

    def joined(
        self, new_q: Array, new_k: Array, q: Array, k: Array, layout: str
    ) -> tuple[Array, Array]:
        first, second = self.members(q.shape[-1] // 2, layout)
        mixed_q, mixed_k = new_q.copy(), new_k.copy()
        mixed_q[..., second] = new_k[np.arange(len(q)) * len(k) // len(q)][..., second]
        mixed_k[..., first] = new_q[np.arange(len(k)) * len(q) // len(k)][..., first]
        return mixed_q, mixed_k


class KernelKeysLeft(KernelQueryKey):
    """Keys are not rotated."""

    named = "keys-unrotated"

    def joined(
        self, new_q: Array, new_k: Array, q: Array, k: Array, layout: str
    ) -> tuple[Array, Array]:
        return new_q, k


class KernelKeysBackwards(KernelQueryKey):
    """Keys are turned the other way."""

    named = "sign-flipped"

    def answer(self, q: Array, k: Array, positions: Array, *, base: float, layout: str) -> Any:
        right = super().answer(q, k, positions, base=base, layout=layout)
        back = super().answer(q, k, -positions, base=base, layout=layout)
        return np.concatenate([right[: len(q)], back[len(q) :]])


class KernelOfCopy(KernelInPlace):
    """A copy is changed instead of x."""

    named = "copy-changed"

    def memory(self, x: Array) -> Array:
        return x.copy()


class KernelOfContiguousCopy(KernelInPlace):
    """If x is not contiguous, a copy is changed instead."""

    named = "copy-changed"

    def memory(self, x: Array) -> Array:
        return np.ascontiguousarray(x)


class KernelOfReturnedCopy(KernelInPlace):
    """A copy is changed and returned."""

    named = "copy-changed"
    claimed = ("in-place-interleaved",)

    def memory(self, x: Array) -> Array:
        return x.copy()

    def done(self, memory: Array, x: Array) -> Any:
        return memory


class KernelOverwritesFirst(KernelInPlace):
    """The second member is computed from the overwritten first one."""

    named = "pair-overwritten"

    def pairs_written(
        self, x: Array, before: Array, first: Array, second: Array, cos: Array, sin: Array
    ) -> None:
        x[..., first] = (
            before[..., first] * cos[:, first] - before[..., second] * sin[:, first]
        ).astype(x.dtype)
        x[..., second] = (
            x[..., first] * sin[:, second] + before[..., second] * cos[:, second]
        ).astype(x.dtype)


class KernelOverwritesSecond(KernelInPlace):
    """The first member is computed from the overwritten second one."""

    named = "pair-overwritten"
    claimed = ("in-place-interleaved",)

    def pairs_written(
        self, x: Array, before: Array, first: Array, second: Array, cos: Array, sin: Array
    ) -> None:
        x[..., second] = (
            before[..., first] * sin[:, second] + before[..., second] * cos[:, second]
        ).astype(x.dtype)
        x[..., first] = (
            before[..., first] * cos[:, first] - x[..., second] * sin[:, first]
        ).astype(x.dtype)


class KernelWritesBeside(KernelInPlace):
    """The channel after those of x is overwritten, if x is part of a wider array."""

    def done(self, memory: Array, x: Array) -> Any:
        whole = x.base
        if isinstance(whole, np.ndarray) and whole.ndim == x.ndim and x.shape[-1] > 1:
            start = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
            channel = start // x.itemsize % whole.shape[-1] + x.shape[-1]
            if channel < whole.shape[-1] and x.strides[-1] == x.itemsize:
                whole[..., channel] = 0
        return x


class KernelQkvKeysLeft(KernelQkv):
    """Keys are not rotated."""

    named = "keys-unrotated"

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return [(0, heads)]


class KernelQkvValues(KernelQkv):
    """Values are rotated as well."""

    named = "values-rotated"

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return [(0, heads + 2 * key_heads)]


class KernelQkvEqualHeads(KernelQkv):
    """As many key heads as query heads are rotated, so that values are too."""

    named = "head-counts-mixed"
    claimed = ("qkv-interleaved",)

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return [(0, min(2 * heads, heads + 2 * key_heads))]


class KernelQkvFewQueries(KernelQkv):
    """Query heads are taken to be as few as key heads, and the next ones to be keys."""

    named = "head-counts-mixed"

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return [(0, 2 * key_heads)]


class KernelQkvReadsFlat(KernelQkv):
    """Rows are read as if contiguous, but written where they belong."""

    named = "strides-ignored"
    seen = flat

    def source(self, out: Array, qkv: Array) -> Array:
        return qkv


class KernelQkvFlat(KernelQkv):
    """Rows are read and written as if contiguous."""

    named = "strides-ignored"
    claimed = ("qkv-interleaved",)
    seen = flat
    target = flat


class KernelQkvByGroup(KernelQkv):
    """Heads are read by group although they are packed in blocks."""

    named = "packing-swapped"

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return super().parts(heads, key_heads, "by-group")


class KernelQkvInBlocks(KernelQkv):
    """Heads are read in blocks although they are packed by group."""

    named = "packing-swapped"
    claimed = ("qkv-interleaved-by-group",)

    def parts(self, heads: int, key_heads: int, packing: str) -> list[tuple[int, int]]:
        return super().parts(heads, key_heads, "blocks")
