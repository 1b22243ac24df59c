"""Tables of cosines and sines: as arguments, cached, growing, recorded."""

from typing import Any

import numpy as np

from posenc_lab.field.kernels.bench import (
    CHANNELS,
    COLUMN,
    HEAD,
    PAIRS,
    ROW,
    STANDS,
    STATE,
    STRIDES,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.machine import by_heads, grid, pairs, pointer, restrided, sinks
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer, Array, bf16, halves, omega, outer


def growing(fault: str = "", step: int = 256) -> Answer:
    """Return a rotation by a table of angles that grows for later positions."""
    cache: dict[Any, Array] = {}
    last: dict[str, Any] = {}

    def table(longest: int, width: int, base: float) -> Array:
        key: Any = (width, base)
        if fault == "key_without_the_base":
            key = width
        if fault == "made_once_for_all_lengths" and key in cache:
            return cache[key]
        if fault == "length_noted_and_table_not_made_anew" and key in cache:
            return cache[key]
        length = -(-(longest + 1) // step) * step
        if len(cache.get(key, ())) < length:
            old = cache.get(key)
            start = 0 if old is None else len(old)
            first = 0 if fault == "what_is_added_starts_at_zero" else start
            more = outer(np.arange(first, first + length - start), omega(width, base))
            cache[key] = more if old is None else np.concatenate([old, more])
        return cache[key]

    def rope(x: Array, positions: Array, *, base: float, **_: Any) -> Array:
        if fault == "table_of_512_clamped":
            positions = np.minimum(positions, 511)
        if fault == "table_of_4096_wrapped":
            positions = positions % 4096
        longest = int(positions.max(initial=0))
        if fault == "as_long_as_the_rows":
            longest = max(x.shape[-2] - 1, 0)
        if fault == "positions_recorded_for_a_shape":
            positions = last.setdefault(str(x.shape), positions.copy())
            longest = int(positions.max(initial=0))
        if fault == "single_rows_recorded" and x.shape[-2] == 1:
            positions = last.setdefault("row", positions.copy())
            longest = int(positions.max(initial=0))
        angles = table(longest, x.shape[-1], base)
        rows = angles[np.minimum(positions, len(angles) - 1)]
        if fault == "table_in_dtype_of_the_first_x":
            kind = last.setdefault("dtype", x.dtype)
            waves = np.cos(rows).astype(kind).astype(np.float64)
            others = np.sin(rows).astype(kind).astype(np.float64)
            half = x.shape[-1] // 2
            a, b = x[..., :half].astype(np.float64), x[..., half:].astype(np.float64)
            both = np.concatenate([a * waves - b * others, b * waves + a * others], axis=-1)
            return both.astype(x.dtype)
        return halves(x, rows)

    return rope


def applied(fault: str = "", block: int = 16) -> Answer:
    """Return a rotation by tables as arguments, with a row for each row of x, in tiles."""

    def rope_apply(x: Array, cos: Array, sin: Array, *, layout: str, table: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size or not cos.size:
            out[...] = x
            return out
        every = by_heads(x)
        heads, rows, width = every.shape
        size = cos.shape[1] * (1 if table == "doubled" else 2)
        first, second = pairs(size, layout)
        source, target = pointer(every), pointer(by_heads(out))
        cosines, sines = pointer(cos, True), pointer(sin, True)
        if fault == "tables_as_if_dense":
            cosines, sines = (restrided(memory, 0, cos.shape[1]) for memory in (cosines, sines))
        if fault == "sines_by_strides_of_cosines":
            sines = type(sines)(sines.memory, sines.start, (cos.shape[1] * 2, 1))
        columns = np.arange(size // 2)
        if table == "doubled":
            columns = first
        if fault == "every_second_column":
            columns = np.minimum(2 * np.arange(size // 2), cos.shape[1] - 1)
        others = np.arange(size, width)
        for head, number in grid(heads, -(-rows // block)):
            if fault == "first_leading_index_alone" and head:
                break
            row = np.arange(number * block, min((number + 1) * block, rows))
            at = row
            if fault == "row_of_the_head":
                at = np.full(len(row), head % rows)
            if fault == "row_of_the_tile":
                at = row % block
            if fault == "row_of_all_heads":
                at = (head * rows + row) // heads
            if fault == "next_row":
                at = np.minimum(row + 1, rows - 1)
            c = cosines.load(cosines.of(at[:, None]) + columns)
            s = sines.load(sines.of(at[:, None]) + columns)
            place, to = source.of(head, row[:, None]), target.of(head, row[:, None])
            gap = source.strides[-1]
            a, b = source.load(place + first * gap), source.load(place + second * gap)
            if fault == "sine_subtracted_twice":
                s = -s
            target.store(to + first, a * c - b * s)
            target.store(to + second, b * c + a * s)
            if fault != "rest_left_out":
                target.store(to + others, source.load(place + others * gap))
        return out

    return rope_apply


def looked_up(fault: str = "") -> Answer:
    """Return a rotation by rows of a cache with cosines and sines side by side."""
    recorded: dict[Any, Array] = {}

    def rope_apply_cache(x: Array, rows: Array, cache: Array, *, layout: str, **_: Any) -> Array:
        out = np.array(x, order="C")
        if not x.size or not cache.size:
            return out
        length, size = cache.shape
        memory = pointer(cache, True)
        at = rows.astype(np.int64)
        if fault == "rows_not_read":
            at = np.arange(len(rows))
        if fault == "rows_of_the_first_call":
            at = recorded.setdefault(x.shape, at.copy())
        if fault == "rows_wrap_at_a_power_of_two":
            at = at & ((1 << max(length - 1, 1).bit_length() - 1) - 1)
        if fault == "one_row_on":
            at = np.minimum(at + 1, length - 1)
        if fault == "rows_of_64_bits_read_as_32":
            at = np.ascontiguousarray(at).view(np.int32)[: len(at)].astype(np.int64)
        if fault == "cache_as_if_dense":
            memory = restrided(memory, 0, size)
        half = size // 2
        sines_at = x.shape[-1] // 2 if fault == "sines_behind_half_a_head" else half
        where = memory.of(at[:, None])
        c, s = memory.load(where + np.arange(half)), memory.load(where + sines_at + np.arange(half))
        if fault == "sines_first":
            c, s = s, c
        if fault == "cache_in_bfloat16":
            c, s = bf16(c).astype(c.dtype), bf16(s).astype(s.dtype)
        first, second = pairs(size, layout)
        a, b = x[..., first].astype(c.dtype), x[..., second].astype(c.dtype)
        out[..., first], out[..., second] = a * c - b * s, b * c + a * s
        return out

    return rope_apply_cache


TABLES = (
    Family(
        "rope",
        "half",
        growing,
        (
            Style("table_grows_by_256", "Rows are added behind those that there are."),
            Style(
                "table_grows_by_one",
                "Exactly as long as is needed.",
                {"step": 1},
                "",
                {"dtype": NARROW, "max_position": 20_000},
            ),
        ),
        (
            *tuple(
                Fault(name, meaning, names, words, thread, {"max_position": 20000})
                for name, meaning, names, words, thread in (
                    (
                        "key_without_the_base",
                        "A table for each width, of the first base.",
                        (),
                        (*STATE, "base"),
                        "",
                    ),
                    (
                        "made_once_for_all_lengths",
                        "Never made longer; the last row for the rest.",
                        (),
                        (*STATE, *STANDS, "taken for"),
                        "",
                    ),
                    (
                        "what_is_added_starts_at_zero",
                        "Rows that are added start at 0 again.",
                        (),
                        (*STATE, *STANDS),
                        "",
                    ),
                    (
                        "table_of_512_clamped",
                        "512 rows; the last one for all beyond.",
                        (),
                        (*STANDS, "taken for", "position 512", "511"),
                        "neuralmagic/sparseml#1826",
                    ),
                    (
                        "table_of_4096_wrapped",
                        "4,096 rows, begun anew beyond.",
                        (),
                        (*STANDS, "position 4096", "4,096"),
                        "",
                    ),
                    (
                        "as_long_as_the_rows",
                        "As long as x has rows; the last one beyond.",
                        (),
                        (*STANDS, "taken for"),
                        "",
                    ),
                    (
                        "positions_recorded_for_a_shape",
                        "Positions of the first call of a shape.",
                        (),
                        (*STATE, *STANDS),
                        "tenstorrent/tt-metal#49889",
                    ),
                    (
                        "single_rows_recorded",
                        "A single row is where the first single row was.",
                        (),
                        (*STATE, *STANDS),
                        "",
                    ),
                )
            ),
            Fault(
                "table_in_dtype_of_the_first_x",
                "Waves in the dtype of the first call.",
                (),
                (*STATE, "bfloat16", "float16", "dtype"),
                "",
                {"max_position": 20000, "dtype": NARROW},
            ),
        ),
    ),
    Family(
        "rope_apply",
        "half",
        applied,
        (
            Style("tiles_of_16", "A row of tables for each row.", {}, "", {"rotation": "partial"}),
            Style("tiles_of_16_neighbours", "Neighbours.", {}, "interleaved", {"dtype": NARROW}),
            Style("doubled_tables", "Tables twice as wide.", {"block": 4}, "half-doubled"),
            Style("doubled_neighbours", "Tables twice as wide.", {}, "interleaved-doubled"),
        ),
        (
            Fault(
                "tables_as_if_dense",
                "Rows of tables follow each other.",
                (),
                STRIDES,
                "NVIDIA/cudnn-frontend#438",
            ),
            Fault(
                "sines_by_strides_of_cosines",
                "Sines are read with twice the step.",
                (),
                (*STRIDES, "step", "sine"),
                "",
            ),
            Fault(
                "every_second_column",
                "Columns 0, 2, 4, … of narrow tables.",
                (),
                (COLUMN, "step", PAIRS),
                "",
            ),
            Fault(
                "first_leading_index_alone",
                "Only the first head is turned.",
                (),
                (
                    HEAD,
                    "leading",
                    "and later only",
                    "got 0",
                ),
                "paiml/aprender#2079",
            ),
            Fault(
                "row_of_the_head",
                "Head h by row h of the tables.",
                ("wrong-row",),
                (*STANDS, ROW),
                "facebookresearch/xformers#841",
            ),
            Fault(
                "row_of_the_tile",
                "The row within the tile.",
                ("wrong-row",),
                (*STANDS, "row 16", "16 and later"),
                "",
            ),
            Fault(
                "row_of_all_heads",
                "Rows of all heads counted through.",
                ("wrong-row",),
                (*STANDS, ROW),
                "",
            ),
            Fault(
                "next_row",
                "The next row of the tables.",
                ("wrong-row",),
                (*STANDS, ROW),
                "",
            ),
            Fault(
                "sine_subtracted_twice",
                "The sine with the other sign.",
                ("sine-sign-flipped",),
                (),
                "",
            ),
            Fault(
                "rest_left_out",
                "Channels beyond the tables are not copied.",
                (),
                ("got 0", "zero", CHANNELS),
                "",
                {"rotation": "partial"},
            ),
        ),
    ),
    Family(
        "rope_apply_cache",
        "cache-half",
        looked_up,
        (
            Style(
                "rows_of_the_cache", "Each row looks up its own.", {}, "", {"rotation": "partial"}
            ),
            Style(
                "rows_of_the_cache_neighbours",
                "Neighbours.",
                {},
                "cache-interleaved",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault(
                "rows_not_read",
                "Rows 0, 1, 2, … of the cache.",
                ("wrong-row",),
                (*STANDS, "(not read|ignored)", ROW),
                "NVIDIA/Megatron-LM#453",
            ),
            Fault(
                "rows_of_the_first_call",
                "Rows of the first call of a shape.",
                (),
                (*STATE, *STANDS),
                "huggingface/candle#3728",
            ),
            Fault(
                "rows_wrap_at_a_power_of_two",
                "Rows begin anew at a power of two.",
                (),
                (*STANDS, ROW),
                "",
            ),
            Fault(
                "one_row_on",
                "The next row.",
                ("wrong-row",),
                (*STANDS, ROW),
                "",
            ),
            Fault(
                "rows_of_64_bits_read_as_32",
                "Row numbers of 64 bits are read as 32.",
                (),
                (*STANDS, ROW),
                "flashinfer-ai/flashinfer#1129",
            ),
            Fault("cache_as_if_dense", "Rows of the cache follow each other.", (), STRIDES, ""),
            Fault(
                "sines_behind_half_a_head",
                "Sines are looked for behind half a head.",
                (),
                ("sine", "half a head", HEAD),
                "",
                {"rotation": "partial"},
            ),
            Fault("sines_first", "Sines before cosines.", (), ("sine", "exchanged", "swapped"), ""),
            Fault(
                "cache_in_bfloat16",
                "The cache is rounded to bfloat16.",
                ("tables-narrowed",),
                ("bfloat16", "rounded"),
                "",
            ),
        ),
    ),
)
