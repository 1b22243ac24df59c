"""Biases in tiles of queries and keys, on several ranks, and their gradients."""

from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import DTYPES
from posenc_lab.field.kernels.bench import (
    COLUMN,
    DISTANCES,
    HEAD,
    KEY,
    LAST,
    QUERIES,
    STANDS,
    STATE,
    STRIDES,
    ZEROS,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.machine import Pointer, dense, grid, pointer, restrided, wide
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer, Array, bf16, slopes, t5_buckets

HEADS = (HEAD, "slopes? of")


def slope_of(fault: str, heads: int, ranks: int) -> Array:
    """Return the slopes of all heads, of which each rank has its share."""
    every, share = slopes(heads), -(-heads // ranks)
    local = np.arange(heads) % share
    if fault == "ranks_count_heads_from_zero":
        return every[local]
    if fault == "ranks_have_slopes_of_few_heads":
        return slopes(share)[local]
    if fault == "head_by_key_head":
        return every[np.arange(heads) // 2]
    if fault == "heads_from_the_last":
        return every[::-1]
    return every


def linear(fault: str = "", block: int = 16, ranks: int = 1) -> Answer:
    """Return a kernel for ALiBi in tiles; queries are at the last positions of the keys."""
    shifts: dict[Any, Array] = {}

    def alibi_bias(heads: int, q_len: int, k_len: int, *, dtype: str, form: str, **_: Any) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        out = np.zeros((heads, q_len, k_len), DTYPES[dtype])
        every = slope_of(fault, heads, ranks)
        shift = k_len - q_len
        if fault == "queries_from_the_first_key":
            shift = 0
        if fault == "one_query_at_zero" and q_len == 1:
            shift = 0
        if fault == "cached_keys_counted_twice":
            shift = 2 * shift
        if fault == "shift_of_the_first_call":
            shift = int(shifts.setdefault(heads, np.array(shift)))
        for head, tq, tk in grid(heads, -(-q_len // block), -(-k_len // block)):
            rows = slice(tq * block, min((tq + 1) * block, q_len))
            columns = slice(tk * block, min((tk + 1) * block, k_len))
            query, key = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
            if fault == "keys_of_the_tile":
                key = key % block
            if fault == "queries_of_the_tile":
                query = query % block
            if fault == "corner_of_the_tile":
                key = key // block * block
            if (
                fault == "tiles_beside_the_diagonal_left_out"
                and tq * block + shift > (tk + 8) * block
            ):
                continue
            if (
                fault == "last_tile_of_keys_left_out"
                and columns.stop == k_len
                and k_len % block
                and tk
            ):
                continue
            far = key - (query[:, None] + shift)
            values = far if form == "causal" else -np.abs(far)
            if fault == "distance_in_bfloat16":
                values = bf16(values)
            if fault == "distance_in_eight_bits":
                values = np.maximum(values, -255)
            if fault == "masked_tile_keeps_distance" and form != "causal":
                values = np.minimum(far, 0)
            out[head, rows, columns] = every[head] * values
        return out

    return alibi_bias


def linear_gradient(fault: str = "", block: int = 16) -> Answer:
    """Return a kernel for the gradient with respect to slopes, summed over tiles."""
    sums: dict[Any, Array] = {}

    def alibi_bias_vjp(gradient: Array, *, form: str, **_: Any) -> Array:
        heads, q_len, k_len = gradient.shape
        kind = wide(gradient.dtype)
        total = np.zeros(heads, kind)
        if not gradient.size:
            return total.astype(gradient.dtype)
        source = pointer(gradient, fault != "expanded_as_if_dense")
        if fault == "rows_as_if_dense":
            source = restrided(source, 1, k_len)
        if fault == "heads_as_if_dense":
            source = restrided(source, 0, q_len * source.strides[1])
        if fault == "expanded_as_if_dense":
            source = Pointer(source.memory, source.start, dense(gradient.shape))
        shift = 0 if fault == "queries_from_the_first_key" else k_len - q_len
        for head, tq, tk in grid(heads, -(-q_len // block), -(-k_len // block)):
            query = np.arange(tq * block, min((tq + 1) * block, q_len))
            key = np.arange(tk * block, min((tk + 1) * block, k_len))
            far = np.minimum(key - (query[:, None] + shift), 0)
            if form != "causal":
                far = -np.abs(key - (query[:, None] + shift))
            if fault == "corner_of_the_tile":
                far = far * 0 + far[:1, :1]
            part = source.load(source.of(head, query[:, None], key)) * far.astype(kind)
            if fault == "tiles_overwrite_each_other":
                total[head] = part.sum()
            elif fault == "added_in_bfloat16":
                total[head] = bf16(bf16(total[head]) + bf16(part.sum()))
            elif fault == "tiles_of_one_row_alone" and tq:
                continue
            elif fault == "added_to_the_first_head":
                total[0] += part.sum()
            else:
                total[head] += part.sum()
        if fault == "sums_of_calls":
            total = sums["sum"] = (
                sums.get("sum", np.zeros(1)) + total
                if sums.get("sum", total).shape == total.shape
                else total
            )
        return total.astype(gradient.dtype)

    return alibi_bias_vjp


def bucketed(fault: str = "", block: int = 16, ranks: int = 1) -> Answer:
    """Return a kernel for T5's bias in tiles, which reads the table directly in memory."""
    tables: dict[Any, Any] = {}

    def t5_bias(
        table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int, **_: Any
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        count, heads = table.shape
        out = np.zeros((heads, q_len, k_len), table.dtype)
        memory = pointer(table)
        if fault == "table_as_if_dense":
            memory = Pointer(memory.memory, memory.start, dense(table.shape))
        if fault == "table_read_across":
            memory = Pointer(memory.memory, memory.start, (1, count))
        share = -(-heads // ranks)
        shift = k_len - q_len
        if fault == "queries_from_the_first_key":
            shift = 0
        if fault == "nothing_while_decoding" and shift:
            return out
        if fault == "one_query_at_zero" and q_len == 1:
            shift = 0
        if fault == "table_of_the_first_call":
            first = tables.setdefault(table.shape, table.copy())
            memory = pointer(first)
        both = direction == "bidirectional"
        for head, tq, tk in grid(heads, -(-q_len // block), -(-k_len // block)):
            query = np.arange(tq * block, min((tq + 1) * block, q_len))
            key = np.arange(tk * block, min((tk + 1) * block, k_len))
            if fault == "keys_of_the_tile":
                key = key % block
            far = key - (query[:, None] + shift)
            if fault == "corner_of_the_tile":
                far = far * 0 + far[:1, :1]
            bucket = t5_buckets(far, count, max_distance, both)
            if fault == "both_sides_alike" and both:
                bucket = t5_buckets(-np.abs(far), count, max_distance, both)
            column = head % share if fault == "ranks_have_the_first_columns" else head
            if fault == "column_of_the_next_head":
                column = (head + 1) % heads
            values = memory.load(memory.of(bucket, column))
            rows = slice(tq * block, tq * block + len(query))
            out[head, rows, tk * block : tk * block + len(key)] = values
        return out

    return t5_bias


def bucketed_gradient(fault: str = "", block: int = 16) -> Answer:
    """Return a kernel for the gradient with respect to the table, summed per bucket."""

    def t5_bias_vjp(
        gradient: Array, *, num_buckets: int, max_distance: int, direction: str, **_: Any
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        kind = wide(gradient.dtype)
        total = np.zeros((num_buckets, heads), kind)
        if not gradient.size:
            return total.astype(gradient.dtype)
        source = pointer(gradient, fault != "expanded_as_if_dense")
        if fault == "rows_as_if_dense":
            source = restrided(source, 1, k_len)
        if fault == "expanded_as_if_dense":
            source = Pointer(source.memory, source.start, dense(gradient.shape))
        shift = 0 if fault == "queries_from_the_first_key" else k_len - q_len
        both = direction == "bidirectional"
        for head, tq, tk in grid(heads, -(-q_len // block), -(-k_len // block)):
            query = np.arange(tq * block, min((tq + 1) * block, q_len))
            key = np.arange(tk * block, min((tk + 1) * block, k_len))
            far = key - (query[:, None] + shift)
            bucket = t5_buckets(far, num_buckets, max_distance, both)
            part = source.load(source.of(head, query[:, None], key))
            if fault == "stores_for_additions":
                total[bucket, head] = part
            elif fault == "lost_additions_within_a_tile":
                total[bucket, head] += part
            elif fault == "added_in_bfloat16":
                for at, value in zip(bucket.ravel(), part.ravel(), strict=True):
                    total[at, head] = bf16(total[at, head] + bf16(value))
            elif (fault == "last_tile_of_keys_left_out" and tk and len(key) < block) or (
                fault == "first_head_alone" and head
            ):
                continue
            else:
                np.add.at(total[:, head], bucket, part)
        if fault == "mean_of_each_bucket":
            total /= max(q_len * k_len, 1)
        return total.astype(gradient.dtype)

    return t5_bias_vjp


BIASES = (
    Family(
        "alibi_bias",
        "causal",
        linear,
        (
            Style("tiles_of_16", "Tiles of queries and keys."),
            Style("tiles_of_16_symmetric", "Both sides.", {"block": 32}, "symmetric"),
            Style(
                "two_ranks_share_heads",
                "Slopes of all heads, cut to a share.",
                {"ranks": 2},
                "",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault(
                "ranks_count_heads_from_zero",
                "Each rank has the first slopes.",
                (),
                HEADS,
                "flashinfer-ai/flashinfer#1606",
                {"heads": [4, 8, 16]},
                {"ranks": 2},
            ),
            Fault(
                "ranks_have_slopes_of_few_heads",
                "Slopes for as many heads as a rank has.",
                (),
                HEADS,
                "bigscience-workshop/Megatron-DeepSpeed#227",
                {"heads": [4, 8, 16]},
                {"ranks": 2},
            ),
            Fault("head_by_key_head", "Two heads have one slope.", (), HEADS, ""),
            Fault(
                "heads_from_the_last", "Slopes in reverse.", (), (*HEADS, "slopes in reverse"), ""
            ),
            Fault(
                "queries_from_the_first_key",
                "The first query at the first key.",
                ("queries-from-zero",),
                STANDS,
                "",
            ),
            Fault(
                "one_query_at_zero",
                "A single query at the first key.",
                ("queries-from-zero",),
                STANDS,
                "",
            ),
            Fault(
                "cached_keys_counted_twice",
                "Keys before the queries are counted twice.",
                (),
                (DISTANCES, "shift", QUERIES, *STANDS),
                "",
            ),
            Fault(
                "shift_of_the_first_call",
                "Queries are where those of the first call were.",
                (),
                STATE,
                "ml-explore/mlx#3071",
            ),
            Fault(
                "keys_of_the_tile",
                "The key within its tile.",
                (),
                ("key 16", "keys?.*16", "repeat", *STANDS),
                "",
            ),
            Fault(
                "queries_of_the_tile",
                "The query within its tile.",
                (),
                ("query 16", "\\b16 and later", *STANDS),
                "",
            ),
            Fault(
                "corner_of_the_tile",
                "Keys of a tile all as its first.",
                (),
                (KEY, *STANDS),
                "",
            ),
            Fault(
                "tiles_beside_the_diagonal_left_out",
                "Far tiles have no bias.",
                (),
                (*ZEROS, "far", "128"),
                "",
            ),
            Fault(
                "last_tile_of_keys_left_out",
                "A last tile that is no whole one has no bias.",
                (),
                (*ZEROS, "last key", KEY),
                "",
            ),
            Fault(
                "distance_in_bfloat16",
                "Distances rounded to bfloat16.",
                ("narrow-bias",),
                ("bfloat16", "rounded"),
                "",
            ),
            Fault(
                "distance_in_eight_bits",
                "Distances no larger than 255.",
                (),
                ("255", "256", DISTANCES, "and later"),
                "",
            ),
        ),
    ),
    Family(
        "alibi_bias_vjp",
        "causal",
        linear_gradient,
        (
            Style("summed_by_tiles", "Added by tiles."),
            Style(
                "summed_by_tiles_symmetric",
                "Both sides.",
                {"block": 7},
                "symmetric",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault("rows_as_if_dense", "A row begins behind the one before it.", (), STRIDES, ""),
            Fault("heads_as_if_dense", "A head begins behind the one before it.", (), STRIDES, ""),
            Fault(
                "expanded_as_if_dense",
                "Expanded gradients are read as if they were not.",
                (),
                (*STRIDES, "stride 0", "expanded", "broadcast"),
                "ROCm/apex#334",
            ),
            Fault(
                "queries_from_the_first_key",
                "The first query at the first key.",
                (),
                (*STANDS, QUERIES),
                "",
            ),
            Fault(
                "corner_of_the_tile",
                "All of a tile at the distance of its corner.",
                (),
                ("tile", DISTANCES, KEY),
                "",
            ),
            Fault(
                "tiles_overwrite_each_other",
                "Tiles are stored, not added.",
                (),
                ("overwr", "added", "part of", LAST),
                "",
            ),
            Fault("added_in_bfloat16", "Added in bfloat16.", (), ("bfloat16", "rounded"), ""),
            Fault(
                "tiles_of_one_row_alone",
                "Only the first tile of queries.",
                (),
                (QUERIES, "only the first", "rows (that|of|from)"),
                "",
            ),
            Fault(
                "added_to_the_first_head",
                "All heads are added to the first.",
                (),
                (HEAD,),
                "",
            ),
        ),
    ),
    Family(
        "t5_bias",
        "bidirectional",
        bucketed,
        (
            Style("tiles_of_16", "The table by its strides."),
            Style("tiles_of_16_causal", "One side.", {"block": 24}, "causal"),
            Style(
                "three_ranks_share_columns",
                "Columns of each rank.",
                {"ranks": 3},
                "",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault("table_as_if_dense", "Rows of the table follow each other.", (), STRIDES, ""),
            Fault(
                "table_read_across",
                "The table is read as [heads, buckets].",
                (),
                (*STRIDES, "transposed", "across", "column-major"),
                "",
            ),
            Fault(
                "ranks_have_the_first_columns",
                "Each rank has the first columns.",
                (),
                (
                    HEAD,
                    COLUMN,
                ),
                "",
                {"heads": [2, 4]},
                {"ranks": 2},
            ),
            Fault(
                "queries_from_the_first_key",
                "The first query at the first key.",
                ("bias-queries-from-zero",),
                STANDS,
                "",
            ),
            Fault(
                "nothing_while_decoding",
                "No bias where keys are cached.",
                (),
                ZEROS,
                "NVIDIA/TensorRT-LLM#13870",
            ),
            Fault(
                "one_query_at_zero",
                "A single query at the first key.",
                ("bias-queries-from-zero",),
                STANDS,
                "",
            ),
            Fault(
                "table_of_the_first_call", "The table of the first call.", (), (*STATE, *STANDS), ""
            ),
            Fault(
                "keys_of_the_tile",
                "The key within its tile.",
                (),
                ("key 16", "keys?.*16", "\\b16 and later", "repeat"),
                "",
            ),
            Fault(
                "corner_of_the_tile",
                "All of a tile as its corner.",
                (),
                (KEY, DISTANCES, "alike"),
                "",
            ),
            Fault(
                "both_sides_alike",
                "Keys behind the query as those before it.",
                (),
                ("direction", "sides?", "keys behind", "keys ahead", "keys after"),
                "",
            ),
            Fault(
                "column_of_the_next_head",
                "The next head's column.",
                (),
                (
                    HEAD,
                    COLUMN,
                ),
                "",
            ),
        ),
    ),
    Family(
        "t5_bias_vjp",
        "bidirectional",
        bucketed_gradient,
        (
            Style("added_by_tiles", "Added by tiles."),
            Style("added_by_tiles_causal", "One side.", {"block": 5}, "causal"),
        ),
        (
            Fault("rows_as_if_dense", "A row begins behind the one before it.", (), STRIDES, ""),
            Fault(
                "expanded_as_if_dense",
                "Expanded gradients are read as if they were not.",
                (),
                (*STRIDES, "stride 0", "expanded", "broadcast"),
                "ROCm/apex#334",
            ),
            Fault(
                "queries_from_the_first_key",
                "The first query at the first key.",
                (),
                (*STANDS, QUERIES),
                "",
            ),
            Fault("stores_for_additions", "Stored, not added.", ("gradient-overwritten",), (), ""),
            Fault(
                "lost_additions_within_a_tile",
                "Of one tile and bucket one addition is kept.",
                (),
                ("overwr", "added", "lost"),
                "",
            ),
            Fault("added_in_bfloat16", "Added in bfloat16.", (), ("bfloat16", "rounded"), ""),
            Fault(
                "last_tile_of_keys_left_out",
                "A last tile that is no whole one is left out.",
                (),
                (LAST, KEY, "left out"),
                "",
            ),
            Fault(
                "first_head_alone",
                "Only the first head has a gradient.",
                (),
                (HEAD, *ZEROS),
                "",
            ),
            Fault(
                "mean_of_each_bucket",
                "Divided by the number of pairs.",
                ("gradient-averaged",),
                ("mean", "averag"),
                "",
            ),
        ),
    ),
)
