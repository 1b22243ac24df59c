"""rope in tiles of rows, directly in memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc_lab.field.kernels.bench import (
    ALIASED,
    CHANNELS,
    HEAD,
    PAIRS,
    RANDOM,
    ROW,
    SIZES,
    STANDS,
    STRIDES,
    ZEROS,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.machine import (
    Places,
    Pointer,
    by_heads,
    dense,
    from_the_storage,
    grid,
    launch,
    pairs,
    passed,
    pointer,
    restrided,
    sinks,
    tile,
    turned,
    wide,
)
from posenc_lab.field.pieces import Answer, Array, bf16, omega

NARROW = ("float32", "bfloat16", "float16")
RACE = np.random.default_rng(7)
"""Random winner of a race between threads, unpredictable and not reset by a new instance."""


def strided(fault: str = "", guard: bool = True, block: int = 32) -> Answer:
    """Return a rotation that reads rows by their strides and writes a new array."""

    def read(x: Array) -> Pointer:
        _, rows, width = x.shape
        source = from_the_storage(x) if fault == "pointer_of_the_storage" else pointer(x, guard)
        if fault == "row_stride_is_the_width":
            return restrided(source, 1, width)
        if fault == "head_stride_is_all_rows":
            return restrided(source, 0, rows * source.strides[1])
        if fault == "channel_stride_is_one":
            return restrided(pointer(x), 2, 1)
        if fault == "as_if_dense":
            return Pointer(source.memory, source.start, dense(x.shape))
        return source

    def rope(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if x.size:
            heads = by_heads(x)
            source, target = read(heads), pointer(by_heads(out))
            if fault == "output_by_strides_of_the_input":
                target = Pointer(target.memory, 0, source.strides)
            launch(source, target, heads.shape, lambda _, row: positions[row], base, layout, block)
        return out

    return rope


def tiled(fault: str = "", block: int = 32, backwards: bool = False) -> Answer:
    """Return a rotation on a grid of heads and blocks of rows with masked edges."""

    def numbers(rows: int) -> int:
        whole = rows // block
        if fault == "last_tile_not_launched":
            return max(whole, 1)
        if fault == "one_row_behind_the_tiles_left_out":
            return max(-(-(rows - 1) // block), 1)
        if fault == "first_tile_alone":
            return 1
        return -(-rows // block)

    def programs(heads: int, rows: int) -> Iterator[tuple[int, int]]:
        tiles = numbers(rows)
        for head, number in grid(heads, tiles):
            if fault == "axes_of_the_grid_exchanged":
                if number < heads and head < tiles:
                    yield number, head
            elif fault == "grid_ends_at_64" and head >= 64:
                continue
            elif backwards or fault == "unmasked_tile_runs_over_the_next_head":
                yield heads - 1 - head, tiles - 1 - number
            else:
                yield head, number

    def where(head: int, row: Array, positions: Array) -> Array:
        if fault == "positions_of_the_first_row_of_the_tile":
            return positions[row // block * block]
        if fault == "row_of_the_tile_for_the_row":
            return positions[row % block]
        if fault == "program_for_the_row":
            return positions[(row // block) % len(positions)] * np.ones(len(row))
        if fault == "head_for_the_row":
            return positions[np.full(len(row), head % len(positions))]
        if fault == "head_for_the_position":
            return np.full(len(row), head)
        if fault == "head_added_to_the_position":
            return np.asarray(positions[row] + head)
        return positions[row % len(positions)]

    def rope(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        every = by_heads(x)
        heads, rows, width = every.shape
        source, target = pointer(every), pointer(by_heads(out))
        channels, frequencies = pairs(width, layout), omega(width, base)
        if fault == "threads_for_32_pairs" and width > 64:
            channels, frequencies = (channels[0][:32], channels[1][:32]), frequencies[:32]
        for head, number in programs(heads, rows):
            row = np.arange(number * block, (number + 1) * block)
            if fault != "unmasked_tile_runs_over_the_next_head" or head == heads - 1:
                row = row[row < rows]
            row_positions = where(head, row, positions)
            tile(source, target, head, row, row_positions, channels, frequencies)
        return out

    return rope


def switching(fault: str = "", rows_at: int = 512, token_heads_at: int = 4096) -> Answer:
    """Return a rotation that processes many rows in chunks."""

    def rope(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        every = by_heads(x)
        heads, rows, _ = every.shape
        source, target = pointer(every), pointer(by_heads(out))

        def where(head: int, row: Array) -> Array:
            if fault == "chunks_start_at_the_first_position" and rows > rows_at:
                return positions[row % rows_at]
            if fault == "chunk_behind_the_edge_one_late" and rows > rows_at:
                return positions[np.where(row < rows_at, row, row - 1)]
            if fault == "exactly_at_the_switch_neither" and rows == rows_at:
                return np.zeros(len(row))
            if fault == "many_heads_with_positions_of_the_next_row":
                moved = np.minimum(row + 1, rows - 1)
                return positions[moved if heads * rows > token_heads_at else row]
            if fault == "offsets_of_elements_in_16_bits":
                place = (head * rows + row) * x.shape[-1]
                return np.where(place < 2**15, positions[row], 0)
            return positions[row]

        def of_chunk(start: int) -> Places:
            return lambda head, row: where(head, row + start)

        for start in range(0, rows, rows_at):
            shape = heads, min(rows - start, rows_at), x.shape[-1]
            chunk, to = source.part(0, start), target.part(0, start)
            launch(chunk, to, shape, of_chunk(start), base, layout)
        return out

    return rope


def partial(fault: str = "", block: int = 32) -> Answer:
    """Return a rotation of a part of each head's channels; the others are copied."""

    def rope(
        x: Array,
        positions: Array,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
        **_: Any,
    ) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        every = by_heads(x)
        heads, rows, width = every.shape
        size = width if rotary_dim is None else rotary_dim
        source, target = pointer(every), pointer(by_heads(out))
        channels, others = pairs(size, layout), np.arange(size, width)
        frequencies = omega(size, base)
        if fault == "partner_half_a_head_away" and layout == "half":
            channels = channels[0], channels[0] + width // 2
        if fault == "frequencies_of_the_whole_head":
            frequencies = omega(width, base)[: size // 2]
        for head, number in grid(heads, -(-rows // block)):
            row = np.arange(number * block, min((number + 1) * block, rows))
            if (
                fault == "rest_left_out"
                or (fault == "rest_left_out_in_views" and not x.flags.c_contiguous)
                or (fault == "rest_left_out_from_128_rows_on" and rows >= 128)
            ):
                pass
            elif fault == "rest_of_the_first_head":
                at = source.of(0, row[:, None]) + others * source.strides[-1]
                target.store(target.of(head, row[:, None]) + others, source.load(at))
            elif fault == "rest_of_the_row_before":
                at = source.of(head, np.maximum(row - 1, 0)[:, None]) + others * source.strides[-1]
                target.store(target.of(head, row[:, None]) + others, source.load(at))
            else:
                passed(source, target, head, row, others)
            if fault == "rest_of_many_heads_turned" and heads * rows >= 1024 and len(others):
                target.store(
                    target.of(head, row[:, None]) + others, np.zeros((len(row), len(others)))
                )
            tile(source, target, head, row, positions[row], channels, frequencies)
        return out

    return rope


def narrow(fault: str = "") -> Answer:
    """Return a rotation whose faults round its input, angles or tables."""

    def rope(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        first, second = pairs(x.shape[-1], layout)
        a, b = x[..., first].astype(wide(x.dtype)), x[..., second].astype(wide(x.dtype))
        angle = np.multiply.outer(positions.astype(np.float64), omega(x.shape[-1], base))
        if fault == "angles_in_half_precision":
            angle = angle.astype(np.float16).astype(np.float64)
        if fault == "x_cast_to_bfloat16":
            a, b = bf16(a).astype(a.dtype), bf16(b).astype(b.dtype)
        if fault == "products_in_half_precision":
            a, b = (side.astype(np.float16).astype(side.dtype) for side in (a, b))
        if fault == "turns_counted_off_in_float32":
            turn = np.float32(6.2831855)
            whole = np.floor(angle.astype(np.float32) / turn)
            angle = (angle.astype(np.float32) - whole * np.float32(6.2832)).astype(np.float64)
        if fault == "sines_of_a_table_of_256":
            angle = np.round(angle / (2 * np.pi) * 256) * (2 * np.pi) / 256
        new_a, new_b = turned(a, b, angle)
        if fault == "tables_in_bfloat16":
            cos, sin = bf16(np.cos(angle)).astype(a.dtype), bf16(np.sin(angle)).astype(a.dtype)
            new_a, new_b = a * cos - b * sin, b * cos + a * sin
        out = sinks(x)
        out[..., first], out[..., second] = new_a, new_b
        return out

    return rope


def buffered(fault: str = "") -> Answer:
    """Return a rotation whose faults reuse buffers between calls, or overwrite memory."""
    buffers: dict[Any, Array] = {}

    def rope(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = np.zeros(x.shape, x.dtype)
        if fault == "results_share_one_buffer":
            out = buffers.setdefault((x.shape, x.dtype), out)
        if fault == "two_results_share_two_buffers":
            turn = int(buffers.setdefault("turn", np.zeros(1, int))[0])
            buffers["turn"][0] = 1 - turn
            out = buffers.setdefault((x.shape, x.dtype, turn), out)
        if x.size:
            every = by_heads(x)
            source, target = pointer(every), pointer(by_heads(out))
            launch(source, target, every.shape, lambda _, row: positions[row], base, layout)
        if fault == "stores_in_no_order" and out.size and RACE.random() < 0.3:
            rows = by_heads(out)
            rows[:, RACE.integers(rows.shape[1])] = by_heads(x)[:, 0]
        if fault == "x_is_turned_too" and x.flags.writeable:
            x[...] = out
        return out

    return rope


ROWS = (
    Family(
        "rope",
        "half",
        strided,
        (
            Style("strides_of_the_view", "Strides as they are; a copy where channels have gaps."),
            Style("three_strides", "Strides of channels too.", {"guard": False}, "interleaved"),
            Style("blocks_of_seven", "Blocks of seven rows.", {"block": 7}, "", {"dtype": NARROW}),
            Style("a_row_each", "Blocks of one row.", {"block": 1}, "", {"dtype": "float64"}),
        ),
        (
            Fault(
                "row_stride_is_the_width",
                "A row begins where the one before it ends.",
                words=STRIDES,
                thread="vllm-project/vllm#17091",
            ),
            Fault(
                "head_stride_is_all_rows",
                "A head begins where the rows of the one before it end.",
                words=STRIDES,
                thread="ROCm/aiter#5292",
            ),
            Fault(
                "channel_stride_is_one",
                "Channels follow each other, whatever the view says.",
                words=STRIDES,
            ),
            Fault(
                "pointer_of_the_storage",
                "Read from the beginning of the storage, not of the view.",
                words=(*STRIDES, "begins elsewhere", "storage"),
            ),
            Fault(
                "as_if_dense",
                "No stride is read.",
                words=STRIDES,
                thread="ggml-org/llama.cpp#14580",
            ),
            Fault(
                "output_by_strides_of_the_input",
                "The new array is written by the strides of the view.",
                words=STRIDES,
                thread="pytorch/FBGEMM#4796",
            ),
        ),
    ),
    Family(
        "rope",
        "half",
        tiled,
        (
            Style("masked_tiles", "The last tile masked."),
            Style("from_the_last_head_on", "Programs in reverse.", {"backwards": True}),
            Style("tiles_of_64", "Tiles of 64 rows.", {"block": 64}, "interleaved"),
            Style(
                "interleaved_to_half",
                "Pairs read as neighbours by the same tiles.",
                {"block": 16},
                "interleaved",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault(
                "last_tile_not_launched",
                "As many tiles as are whole.",
                words=(*SIZES, *ZEROS),
            ),
            Fault(
                "one_row_behind_the_tiles_left_out",
                "Tiles for one row less: 33 rows have one tile.",
                words=(*SIZES, *ZEROS),
            ),
            Fault(
                "first_tile_alone",
                "One tile for each head.",
                words=("row 32", "position 32", "and later only", *ZEROS),
            ),
            Fault(
                "axes_of_the_grid_exchanged",
                "Heads are launched along the axis that is read as tiles.",
                words=(
                    *ZEROS,
                    HEAD,
                    "and later only",
                ),
            ),
            Fault(
                "grid_ends_at_64",
                "Heads from 64 on are not launched.",
                words=("head 64", "heads from 64", "64 and later", *ZEROS),
                thread="vllm-project/vllm#51049",
                limits={"switches": {"heads": 64}},
            ),
            Fault(
                "unmasked_tile_runs_over_the_next_head",
                "The last tile writes over the first rows of the next head.",
                words=(
                    HEAD,
                    "and earlier only",
                    "first rows",
                    *STANDS,
                ),
            ),
            Fault(
                "threads_for_32_pairs",
                "Pairs from the 33rd on have no thread.",
                words=(
                    "pair 32",
                    "channel 32",
                    CHANNELS,
                    *ZEROS,
                ),
            ),
            Fault(
                "positions_of_the_first_row_of_the_tile",
                "All rows of a tile at the position of its first.",
                words=STANDS,
                thread="jundot/omlx#2363",
            ),
            Fault(
                "row_of_the_tile_for_the_row",
                "The row within the tile looks up the position.",
                words=STANDS,
            ),
            Fault(
                "program_for_the_row",
                "The number of the tile looks up the position.",
                words=STANDS,
            ),
            Fault(
                "head_for_the_row",
                "Head h at the position of row h.",
                words=(*STANDS, "each head"),
            ),
            Fault(
                "head_for_the_position",
                "Every row of head h at position h.",
                words=(*STANDS, "each head"),
                thread="facebookresearch/xformers#841",
            ),
            Fault(
                "head_added_to_the_position",
                "Head h is h positions on.",
                words=(*STANDS, "each head"),
            ),
        ),
    ),
    Family(
        "rope",
        "half",
        switching,
        (
            Style("chunks_of_512", "Long calls by chunks.", {}, "", {"switches": {"rows": 512}}),
            Style("chunks_of_100", "Chunks that do not fit.", {"rows_at": 100}, "interleaved"),
        ),
        (
            Fault(
                "chunks_start_at_the_first_position",
                "Each chunk of 512 rows at the positions of the first.",
                words=("position 512", "row 512", "512 and later", *STANDS),
                thread="Blaizzy/mlx-vlm#1741",
            ),
            Fault(
                "chunk_behind_the_edge_one_late",
                "The second chunk begins with the last position of the first.",
                words=("row 512", "512 and later", *STANDS),
            ),
            Fault(
                "exactly_at_the_switch_neither",
                "Exactly 512 rows are turned by 0.",
                words=(*STANDS, "512", "unrotated", "not turned", "nothing is rotated"),
                names=("unrotated",),
                limits={"switches": {"rows": 512}},
            ),
            Fault(
                "many_heads_with_positions_of_the_next_row",
                "Beyond 4096 rows of all heads a row is at the position of the next one.",
                words=(*STANDS, "4096", "4097", "token"),
                names=("positions-shifted",),
                thread="vllm-project/vllm-ascend#16699",
                limits={"switches": {"token_heads": 4096}},
            ),
            Fault(
                "offsets_of_elements_in_16_bits",
                "Rows behind element 32,768 are turned by 0.",
                words=(*STANDS, "and later only", "elements", "overflow", "unrotated"),
                names=("unrotated",),
                thread="fla-org/flash-linear-attention#1080",
            ),
        ),
    ),
    Family(
        "rope",
        "half",
        partial,
        (
            Style("rest_copied", "The rest copied by tiles.", {}, "", {"rotation": "partial"}),
            Style(
                "rest_copied_interleaved",
                "The rest copied, neighbours turned.",
                {"block": 8},
                "interleaved",
                {"rotation": "partial", "dtype": NARROW},
            ),
            Style(
                "never_a_whole_head",
                "Part of a head at every call.",
                {},
                "",
                {"rotation": "partial", "when": lambda rotary_dim: rotary_dim is not None},
            ),
        ),
        tuple(
            Fault(name, meaning, names, words, thread, {"rotation": "partial"})
            for name, meaning, names, words, thread in (
                (
                    "rest_left_out",
                    "The rest of a head is not copied.",
                    (),
                    ZEROS,
                    "huggingface/kernels-community#1143",
                ),
                (
                    "rest_left_out_in_views",
                    "The rest is not copied for views.",
                    (),
                    (*ZEROS, *STRIDES),
                    "",
                ),
                (
                    "rest_left_out_from_128_rows_on",
                    "The rest is not copied for 128 rows or more.",
                    (),
                    (*ZEROS, "128", "rows (that|of|from)"),
                    "",
                ),
                (
                    "rest_of_the_first_head",
                    "The rest of the first head is copied to all.",
                    (),
                    (
                        HEAD,
                        CHANNELS,
                    ),
                    "vllm-project/vllm#51049",
                ),
                (
                    "rest_of_the_row_before",
                    "The rest of the row before is copied.",
                    (),
                    (
                        ROW,
                        CHANNELS,
                        "values of the one before it",
                    ),
                    "",
                ),
                (
                    "partner_half_a_head_away",
                    "The partner is half a head away.",
                    (),
                    (CHANNELS, PAIRS),
                    "labscommunity/cascadia#69",
                ),
                (
                    "frequencies_of_the_whole_head",
                    "Exponents over the whole head.",
                    ("head-dim-frequencies",),
                    ("frequenc", "exponent"),
                    "pie-project/pie#602",
                ),
                (
                    "rest_of_many_heads_turned",
                    "The rest is zeroed from 1,024 rows of heads on.",
                    (),
                    (*ZEROS, CHANNELS),
                    "",
                ),
            )
        ),
    ),
    Family(
        "rope",
        "half",
        narrow,
        (
            Style(
                "float32_inside",
                "float32 inside, float64 for float64.",
                {},
                "",
                {"dtype": ("float64", *NARROW)},
            ),
            Style(
                "float32_inside_neighbours",
                "The same of neighbours.",
                {},
                "interleaved",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault(
                "angles_in_half_precision",
                "Angles in float16.",
                ("low-precision-angles",),
                ("float16", "precision"),
                "NVIDIA/Megatron-LM#744",
            ),
            Fault(
                "x_cast_to_bfloat16",
                "x is rounded to bfloat16 before it is turned.",
                (),
                ("bfloat16", "rounded"),
                "nkalyanv99/UNI-D2#6",
            ),
            Fault(
                "products_in_half_precision",
                "x is rounded to float16.",
                (),
                ("float16", "rounded"),
                "",
            ),
            Fault(
                "turns_counted_off_in_float32",
                "Whole turns are taken off, with 2π = 6.2832.",
                ("low-precision-angles",),
                ("precision", "angle", "2π", "turn"),
                "",
            ),
            Fault(
                "sines_of_a_table_of_256",
                "Sines of 256 places of the circle.",
                ("low-precision-angles",),
                ("precision", "angle", "rounded"),
                "",
            ),
            Fault(
                "tables_in_bfloat16",
                "Cosines and sines in bfloat16.",
                (),
                ("bfloat16", "rounded"),
                "KellerJordan/modded-nanogpt#39",
            ),
        ),
    ),
    Family(
        "rope",
        "half",
        buffered,
        (
            Style("new_array_each_call", "A new array for each result."),
            Style("new_array_each_call_neighbours", "The same of neighbours.", {}, "interleaved"),
        ),
        (
            Fault(
                "results_share_one_buffer",
                "All results of a shape lie in one buffer.",
                (),
                ALIASED,
                "",
            ),
            Fault("two_results_share_two_buffers", "Two buffers take turns.", (), ALIASED, ""),
            Fault(
                "stores_in_no_order",
                "Now and then a row is not what was computed.",
                (),
                RANDOM,
                "vllm-project/vllm#46685",
            ),
            Fault(
                "x_is_turned_too",
                "x holds the result as well.",
                (),
                ("changed", "modified", "written"),
                "unslothai/unsloth#5001",
            ),
        ),
    ),
)
