"""Queries and keys in one call, rotation in place, and a fused projection."""

import math
from typing import Any

import numpy as np

from posenc_lab.field.kernels.bench import (
    HEAD,
    KEYS,
    LAST,
    RANDOM,
    STANDS,
    STRIDES,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.machine import (
    Pointer,
    dense,
    launch,
    pairs,
    pointer,
    restrided,
    turned,
    wide,
)
from posenc_lab.field.kernels.rows import NARROW, RACE
from posenc_lab.field.pieces import Answer, Array, omega


def query_key(fault: str = "", ranks: int = 1, copied: bool = True) -> Answer:
    """Return a rotation of queries and keys in one launch, with fewer key heads."""

    def head_of_key(head: int, heads: int, key_heads: int) -> int | None:
        """Return the key head that a query head's program rotates; each must be rotated once."""
        group = heads // key_heads
        if fault == "heads_of_queries_for_those_of_keys":
            return head % key_heads
        if fault == "keys_turned_once_for_each_head_of_the_group":
            return head // group
        if fault == "keys_of_one_head_left_out" and key_heads == 1:
            return None
        if fault == "first_heads_of_keys_of_each_group":
            return (
                head // group
                if head % group == 0 and head // group < max(key_heads // 2, 1)
                else None
            )
        return head if head < key_heads else None

    def rope_query_key(
        q: Array, k: Array, positions: Array, *, base: float, layout: str, **_: Any
    ) -> Array:
        heads, key_heads, rows, width = len(q), len(k), q.shape[1], q.shape[2]
        out = np.zeros((heads + key_heads, rows, width), q.dtype)
        if not out.size:
            return out
        out[heads:] = k
        queries, keys = pointer(q, True), pointer(k, True)
        if fault == "keys_by_strides_of_queries":
            keys = Pointer(keys.memory, keys.start, queries.strides)
        to_queries, to_keys = pointer(out[:heads]), pointer(out[heads:])
        share = -(-heads // ranks)
        seen: set[int] = set()

        def turn(source: Pointer, target: Pointer, head: int, to: int, of_keys: bool) -> None:
            def where(_: int, row: Array) -> Array:
                if fault == "keys_at_the_row" and of_keys:
                    return row
                if fault == "keys_one_behind" and of_keys:
                    return np.asarray(positions[row] + 1)
                if fault == "rank_for_the_head" and ranks > 1:
                    return np.asarray(positions[row] + head // share)
                return positions[row]

            launch(
                Pointer(source.memory, source.of(head), source.strides),
                Pointer(target.memory, target.of(to), target.strides),
                (1, rows, width),
                where,
                base,
                layout,
            )

        for head in range(heads):
            turn(queries, to_queries, head, head, False)
            key = head_of_key(head, heads, key_heads)
            if key is None:
                continue
            again = key in seen
            seen.add(key)
            source = to_keys if again else keys
            turn(source, to_keys, key, key, True)
        if fault == "second_halves_crossed" and heads == key_heads:
            half = width // 2
            out[:heads, :, half:], out[heads:, :, half:] = (
                out[heads:, :, half:].copy(),
                out[:heads, :, half:].copy(),
            )
        if fault == "queries_scaled_as_well":
            out[:heads] = (out[:heads].astype(wide(q.dtype)) / math.sqrt(width)).astype(q.dtype)
        if fault == "keys_behind_the_first_row_left_out":
            out[heads:, 1:] = k[:, 1:]
        return out

    return rope_query_key


def in_place(fault: str = "", block: int = 16) -> Answer:
    """Return a rotation of x in place, by its strides."""

    def write(x: Array, positions: Array, base: float, layout: str) -> None:
        rows, width = x.shape[-2:]
        first, second = pairs(width, layout)
        frequencies = omega(width, base)
        for index in np.ndindex(x.shape[:-2]):
            part = pointer_of(x[index])
            for start in range(0, rows, block):
                row = np.arange(start, min(start + block, rows))
                at = part.of(row[:, None])
                one_at, other_at = at + first * part.strides[-1], at + second * part.strides[-1]
                a, b = part.load(one_at), part.load(other_at)
                angle = np.asarray(positions[row], np.float64)[:, None] * frequencies
                new_a, new_b = turned(a, b, angle)
                part.store(one_at, new_a)
                if fault == "second_made_of_the_new_first":
                    _, new_b = turned(part.load(one_at), b, angle)
                if fault == "threads_of_a_pair_race" and RACE.random() < 0.2:
                    _, new_b = turned(part.load(one_at), b, angle)
                part.store(other_at, new_b)

    def pointer_of(x: Array) -> Pointer:
        memory = pointer(x)
        if fault == "rows_as_if_dense":
            return restrided(memory, 0, x.shape[1])
        if fault == "all_as_if_dense":
            return Pointer(memory.memory, memory.start, dense(x.shape))
        return memory

    def rope_in_place(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> None:
        if not x.size:
            return
        if any(step < 0 for step in x.strides):
            copy = np.ascontiguousarray(x)
            write(copy, positions, base, layout)
            x[...] = copy
        elif fault == "reshaped_first":
            flat = x.reshape(-1, *x.shape[-2:])
            write(flat, positions, base, layout)
        elif fault == "copied_where_it_is_no_block" and not x.flags.c_contiguous:
            write(np.ascontiguousarray(x), positions, base, layout)
        elif fault == "first_leading_index_alone" and x.ndim > 2:
            write(x[0], positions, base, layout)
        elif fault == "last_block_skipped":
            whole = max(x.shape[-2] // block * block, 1)
            write(x[..., :whole, :], positions[:whole], base, layout)
        elif fault == "turned_again_where_rows_repeat":
            write(x, positions, base, layout)
            if len(np.unique(positions)) < len(positions):
                write(x, positions, base, layout)
        elif fault == "a_row_behind_the_end_is_turned_too":
            write(x, positions, base, layout)
            behind(x)
        else:
            write(x, positions, base, layout)

    def behind(x: Array) -> None:
        """Overwrite the element directly after x in its storage, if there is one."""
        whole = x
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        if whole is x or whole.dtype != x.dtype or not whole.flags.c_contiguous:
            return
        start = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        last = sum((n - 1) * step for n, step in zip(x.shape, x.strides, strict=True))
        place = (start + last) // x.itemsize + 1
        whole.reshape(-1)[place : place + 1] = 1

    return rope_in_place


def projection(fault: str = "", block: int = 32) -> Answer:
    """Return a rotation of a fused projection's queries and keys, into a new array."""

    def rope_qkv(
        qkv: Array,
        positions: Array,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
        **_: Any,
    ) -> Array:
        out = np.array(qkv, order="C")
        if not out.size:
            return out
        every = heads + 2 * key_heads
        rows, width = len(qkv), qkv.shape[1] // every
        source = pointer(qkv, True)
        step = qkv.shape[1] if fault == "row_stride_is_the_width" else source.strides[0]
        count = heads + key_heads
        if fault == "values_turned":
            count = every
        if fault == "keys_left_out":
            count = heads
        if fault == "as_many_keys_as_queries":
            count = min(2 * heads, every)
        if fault == "one_key_head":
            count = heads + 1
        by_head = Pointer(source.memory, 0, (width, step, 1))
        target = Pointer(out.reshape(-1), 0, (width, qkv.shape[1], 1))

        def where(head: int, row: Array) -> Array:
            if fault == "token_and_head_for_the_row":
                return positions[(row * every + head) // every % rows] + (head >= heads)
            if fault == "row_among_all_heads":
                return positions[np.minimum(row * count // every, rows - 1)]
            return positions[row]

        if fault == "by_group":
            group = heads // key_heads
            for number in range(every):
                if number % (group + 2) <= group:
                    turn(by_head, target, number, rows, width, where, base, layout)
            return out
        if fault == "keys_begin_behind_one_head":
            for number in (*range(heads), *range(heads + 1, heads + 1 + key_heads)):
                turn(by_head, target, number, rows, width, where, base, layout)
            return out
        launch(by_head, target, (count, rows, width), where, base, layout, block)
        return out

    def turn(
        source: Pointer,
        target: Pointer,
        head: int,
        rows: int,
        width: int,
        where: Any,
        base: float,
        layout: str,
    ) -> None:
        launch(
            Pointer(source.memory, source.of(head), source.strides),
            Pointer(target.memory, target.of(head), target.strides),
            (1, rows, width),
            lambda _, row: where(head, row),
            base,
            layout,
        )

    return rope_qkv


HEADS = (
    Family(
        "rope_query_key",
        "query-key-half",
        query_key,
        (
            Style("keys_by_the_first_programs", "The first programs turn the keys too."),
            Style("keys_by_neighbours", "Neighbours.", {}, "query-key-interleaved"),
            Style("two_ranks", "Two ranks share the heads.", {"ranks": 2}, "", {"dtype": NARROW}),
        ),
        (
            Fault(
                "keys_by_strides_of_queries",
                "Keys are read by the strides of queries.",
                (),
                STRIDES,
                "hpcaitech/ColossalAI#6444",
            ),
            Fault(
                "heads_of_queries_for_those_of_keys",
                "Head h turns key head h mod key_heads.",
                ("head-counts-mixed",),
                (*STANDS, "twice", "times what", "again"),
                "",
            ),
            Fault(
                "keys_turned_once_for_each_head_of_the_group",
                "A key is turned by each query head of its group.",
                ("head-counts-mixed",),
                (*STANDS, "twice", "times what", "again"),
                "",
            ),
            Fault(
                "keys_of_one_head_left_out",
                "A single key head is not turned.",
                ("keys-unrotated",),
                ("keys? ", *STANDS, "unrotated", "not turned"),
                "",
            ),
            Fault(
                "first_heads_of_keys_of_each_group",
                "Half of the key heads are turned.",
                ("keys-unrotated", "head-counts-mixed"),
                (*STANDS, HEAD, "unrotated", "not turned"),
                "tile-ai/TileOPs#1234",
            ),
            Fault(
                "keys_at_the_row",
                "Keys are counted from 0.",
                (),
                (*STANDS, "(not read|ignored)", "row numbers"),
                "",
            ),
            Fault(
                "keys_one_behind",
                "Keys are one position on.",
                (),
                STANDS,
                "fla-org/flash-linear-attention#766",
            ),
            Fault(
                "rank_for_the_head",
                "Heads of the second rank are one position on.",
                (),
                (*STANDS, HEAD),
                "",
                {},
                {"ranks": 2},
            ),
            Fault(
                "second_halves_crossed",
                "Second halves of queries and keys are exchanged.",
                ("query-key-crossed",),
                ("exchanged", "crossed"),
                "hpcaitech/ColossalAI#6428",
            ),
            Fault(
                "queries_scaled_as_well",
                "Queries are divided by sqrt(d) too.",
                (),
                ("times what", "scale", "factor", "longer", "shorter"),
                "",
            ),
            Fault(
                "keys_behind_the_first_row_left_out",
                "Of keys only the first row is turned.",
                ("keys-unrotated",),
                (*STANDS, "and later only", "unrotated", "not turned"),
                "",
            ),
        ),
    ),
    Family(
        "rope_in_place",
        "in-place-half",
        in_place,
        (
            Style("by_strides", "Written by its strides."),
            Style("by_strides_neighbours", "Neighbours.", {"block": 3}, "in-place-interleaved"),
            Style("by_blocks_of_64", "Larger blocks.", {"block": 64}, "", {"dtype": NARROW}),
        ),
        (
            Fault(
                "second_made_of_the_new_first",
                "The first is written before the second is read.",
                ("pair-overwritten",),
                ("overwritten", "written"),
                "",
            ),
            Fault(
                "threads_of_a_pair_race",
                "Now and then the second is made of the new first.",
                (),
                RANDOM,
                "flagos-ai/FlagGems#5142",
            ),
            Fault(
                "rows_as_if_dense",
                "Rows follow each other.",
                (),
                (*STRIDES, "around", "outside of x"),
                "",
            ),
            Fault(
                "all_as_if_dense",
                "No stride is read.",
                (),
                (*STRIDES, "around", "outside of x"),
                "",
            ),
            Fault(
                "reshaped_first",
                "A reshape may copy, and the copy is written.",
                ("copy-changed",),
                ("copy", "unchanged", *STRIDES),
                "unslothai/unsloth#5001",
            ),
            Fault(
                "copied_where_it_is_no_block",
                "Views are copied, and the copy is written.",
                ("copy-changed",),
                ("copy", "unchanged", *STRIDES),
                "",
            ),
            Fault(
                "first_leading_index_alone",
                "Only the first head or batch is turned.",
                (),
                (
                    HEAD,
                    "leading",
                    "first .* alone",
                    "unrotated",
                ),
                "",
            ),
            Fault(
                "last_block_skipped",
                "Whole blocks alone.",
                ("last-block-skipped",),
                (LAST, "and later only"),
                "",
            ),
            Fault(
                "turned_again_where_rows_repeat",
                "Turned twice where a position is repeated.",
                (),
                (*STANDS, "twice", "repeat", "doubled"),
                "",
            ),
            Fault(
                "a_row_behind_the_end_is_turned_too",
                "One element behind x is written.",
                (),
                ("around", "outside", "neighbour", "beyond"),
                "sgl-project/sgl-kernel-xpu#202",
            ),
        ),
    ),
    Family(
        "rope_qkv",
        "qkv-half",
        projection,
        (
            Style("heads_of_one_row", "All heads of a row by one step."),
            Style(
                "heads_of_one_row_neighbours",
                "Neighbours.",
                {"block": 9},
                "qkv-interleaved",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault(
                "row_stride_is_the_width",
                "A row begins where the one before it ends.",
                (),
                STRIDES,
                "",
            ),
            Fault("values_turned", "Values are turned too.", ("values-rotated",), (), ""),
            Fault(
                "keys_left_out",
                "Keys are not turned.",
                ("keys-unrotated",),
                (KEYS,),
                "",
            ),
            Fault(
                "as_many_keys_as_queries",
                "As many key heads as query heads.",
                ("head-counts-mixed", "values-rotated"),
                ("values", HEAD),
                "hpcaitech/ColossalAI#6444",
            ),
            Fault(
                "one_key_head",
                "One key head is turned.",
                ("head-counts-mixed",),
                (HEAD, KEYS),
                "",
            ),
            Fault("token_and_head_for_the_row", "Keys are one position on.", (), STANDS, ""),
            Fault("row_among_all_heads", "Positions are those of fewer heads.", (), STANDS, ""),
            Fault(
                "by_group",
                "Packed by group: queries, key and value of each.",
                ("head-counts-mixed",),
                ("group", HEAD, "packed"),
                "",
            ),
            Fault(
                "keys_begin_behind_one_head",
                "Keys are looked for one head further on.",
                ("head-counts-mixed", "strides-ignored"),
                (HEAD, "values"),
                "",
            ),
        ),
    ),
)
