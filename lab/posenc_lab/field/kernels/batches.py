"""Batches: positions of each sequence, offsets, packed sequences."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from posenc_lab.field.kernels.bench import HEAD, STANDS, STATE, STRIDES, ZEROS, Family, Fault, Style
from posenc_lab.field.kernels.machine import Places, launch, pointer, restrided, sinks
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer, Array, bf16

FIRST = (*STANDS, "first sequence")


def of_share(where: Places, first: int, head: int, row: Array) -> Array:
    """Return the positions of rows of a head in a rank's share, which begins at head ``first``."""
    return where(head + first, row)


def from_row(known: Array, start: int, _: int, row: Array) -> Array:
    """Return the positions of rows counted from row ``start``."""
    return np.asarray(known[row + start])


def batched(fault: str = "", block: int = 32, sharded: int = 1) -> Answer:
    """Return a rotation by positions per sequence, on a grid of sequences, heads and tiles."""

    def given(positions: Array, shape: tuple[int, ...]) -> Array:
        batch, _, rows, _ = shape
        if fault == "positions_of_the_first_sequence":
            return np.broadcast_to(positions[0], positions.shape)
        if fault == "positions_not_read":
            return np.broadcast_to(np.arange(rows), positions.shape)
        if fault == "positions_read_across":
            return positions.ravel()[np.arange(batch)[:, None] + np.arange(rows) * batch]
        if fault == "counted_from_the_first_position":
            return positions[:, :1] + np.arange(rows)
        if fault == "positions_of_the_longest":
            return np.broadcast_to(positions[positions.max(axis=1).argmax()], positions.shape)
        if fault == "words_of_64_bits_read_as_32":
            halves = np.ascontiguousarray(positions, np.int64).view(np.int32).ravel()
            return halves[: positions.size].reshape(positions.shape)
        if fault == "positions_as_if_dense":
            memory = pointer(positions)
            every = np.arange(batch)[:, None] * rows + np.arange(rows)
            return memory.load(every).astype(np.int64)
        if fault == "rows_from_the_right":
            return positions[:, ::-1]
        if fault == "sequences_from_the_last":
            return positions[::-1]
        if fault == "positions_in_bytes":
            return positions & 255
        return positions

    def rope_batched(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        batch, heads, rows, width = x.shape
        places, source, target = given(positions, x.shape), pointer(x, True), pointer(out)
        if fault == "batch_stride_is_all_heads":
            source = restrided(source, 0, heads * source.strides[1])
        for number in range(batch):

            def where(head: int, row: Array, number: int = number) -> Array:
                if fault == "program_over_rows_for_the_sequence":
                    return places[(number * heads + head) % batch, row]
                if fault == "head_for_the_sequence":
                    return places[head % batch, row]
                if fault == "sequence_for_the_row":
                    return places[number, np.full(len(row), number % rows)]
                return places[number, row]

            if fault == "first_sequence_alone" and number:
                break
            if fault == "single_rows_of_the_first_sequence_alone" and number and rows == 1:
                break
            share = -(-heads // sharded)
            for first in range(0, heads, share):
                launch(
                    source.at(number).part(first),
                    target.at(number).part(first),
                    (min(share, heads - first), rows, width),
                    partial(of_share, where, first),
                    base,
                    layout,
                    block,
                )
        return out

    return rope_batched


def offset(fault: str = "", ranks: int = 1) -> Answer:
    """Return a rotation with an offset per sequence, the length of its KV cache."""
    recorded: dict[Any, Array] = {}
    last = [0]

    def counted(offsets: Array, rows: int, shape: tuple[int, ...]) -> Array:
        steps = np.arange(rows)
        offsets = np.asarray(offsets, np.int64)
        if fault == "offsets_left_out":
            offsets = offsets * 0
        if fault == "offset_of_the_first_sequence":
            offsets = np.full_like(offsets, offsets[0])
        if fault == "offset_of_the_longest_sequence":
            offsets = np.full_like(offsets, offsets.max())
        if fault == "cache_counted_too_early":
            offsets = offsets + rows
        if fault == "cache_counted_too_late":
            offsets = np.maximum(offsets - 1, 0)
        if fault == "one_too_many_while_decoding" and rows == 1:
            offsets = offsets + 1
        if fault == "prompt_counted_twice":
            offsets = offsets * 2
        if fault == "window_not_advanced":
            steps = steps * 0
        if fault == "ranks_in_turns_count_for_themselves":
            steps = steps // 2
        if fault == "restart_while_decoding" and rows == 1:
            offsets = offsets * 0
        if fault == "offset_for_the_first_row_alone":
            return np.where(steps == 0, offsets[:, None], steps)
        if fault == "place_in_the_ring":
            return (offsets[:, None] + steps) % 1024
        if fault == "rows_that_were_kept":
            return np.minimum(offsets, 512)[:, None] + steps
        if fault == "offset_recorded_at_the_first_call_of_a_shape":
            offsets = recorded.setdefault(shape, offsets.copy())
        if fault == "decoding_recorded" and rows == 1:
            offsets = recorded.setdefault(shape, offsets.copy())
        if fault == "offset_of_the_call_before":
            last[0], offsets = int(offsets[0]), offsets * 0 + last[0]
        if fault == "offsets_in_bfloat16":
            offsets = bf16(offsets).astype(np.int64)
        if fault == "offsets_modulo_65536":
            offsets = offsets.astype(np.uint16).astype(np.int64)
        if fault == "pages_of_16_rows":
            offsets = offsets // 16 * 16
        return offsets[:, None] + steps

    def rope_offsets(x: Array, offsets: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        batch, heads, rows, width = x.shape
        places, source, target = counted(offsets, rows, x.shape), pointer(x, True), pointer(out)
        if fault == "row_stride_is_the_width":
            source = restrided(source, 2, width)
        share = -(-rows // ranks)
        for number in range(batch):
            for first in range(0, rows, share):

                def where(head: int, row: Array, number: int = number, first: int = first) -> Array:
                    if fault == "every_rank_counts_from_the_offset":
                        return places[number, row]
                    return places[number, row + first]

                launch(
                    source.at(number).part(0, first),
                    target.at(number).part(0, first),
                    (heads, min(share, rows - first), width),
                    where,
                    base,
                    layout,
                )
        return out

    return rope_offsets


def packed(fault: str = "", search: bool = True) -> Answer:
    """Return a rotation of packed sequences, with the bounds of each."""

    def sequence_of(bounds: Array, rows: Array) -> Array:
        if fault == "first_row_belongs_to_the_sequence_before":
            return np.maximum(np.searchsorted(bounds[1:-1], rows, side="left"), 0)
        if fault == "empty_sequences_left_out_of_the_bounds":
            bounds = np.unique(bounds)
        if fault == "sequence_of_the_first_row_of_the_tile":
            rows = rows // 32 * 32
        if fault == "search_in_a_power_of_two":
            known = 1 << max(len(bounds) - 1, 1).bit_length() - 1
            bounds = bounds[: known + 1]
        if search:
            return np.searchsorted(bounds, rows, side="right") - 1
        return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))

    def where(bounds: Array, offsets: Array, rows: Array) -> Array:
        number = np.minimum(sequence_of(bounds, rows), len(offsets) - 1)
        start = bounds[np.minimum(number, len(bounds) - 1)]
        if fault == "counted_through":
            return offsets[number] + rows
        if fault == "offset_of_the_first_sequence":
            return offsets[0] + rows - start
        if fault == "lengths_for_bounds":
            return offsets[number] + np.abs(rows - np.diff(bounds)[number])
        if fault == "offsets_left_out":
            return rows - start
        if fault == "offset_of_the_next_sequence":
            return offsets[(number + 1) % len(offsets)] + rows - start
        if fault == "end_for_the_start":
            return offsets[number] + bounds[number + 1] - 1 - rows
        if fault == "every_sequence_begins_at_one":
            return offsets[number] + rows - start + (number > 0)
        if fault == "ids_across_two_ranks":
            half = len(rows) // 2
            return offsets[number] + np.where(rows < half, rows - start, rows - max(half, 0))
        return offsets[number] + rows - start

    def rope_packed(
        x: Array, cu_seqlens: Array, offsets: Array, *, base: float, layout: str, **_: Any
    ) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        bounds, offsets = cu_seqlens.astype(np.int64), offsets.astype(np.int64)
        heads, rows, width = x.shape
        known = where(bounds, offsets, np.arange(rows))
        source, target = pointer(x, True), pointer(out)
        if fault == "head_stride_is_all_rows":
            source = restrided(source, 0, rows * source.strides[1])
        if fault == "as_many_tiles_as_the_first_sequence_needs":
            first = max(int(bounds[1]), 1)
            for start, stop in pairwise(bounds):
                stop = min(int(stop), int(start) + -(-first // 32) * 32)
                shape = heads, max(int(stop - start), 0), width
                places = partial(from_row, known, int(start))
                part, to = source.part(0, int(start)), target.part(0, int(start))
                launch(part, to, shape, places, base, layout)
            return out
        if fault == "last_sequence_left_out":
            rows = int(bounds[-2])
        launch(source, target, (heads, rows, width), lambda _, row: known[row], base, layout)
        return out

    return rope_packed


BATCHES = (
    Family(
        "rope_batched",
        "batched-half",
        batched,
        (
            Style("by_sequence", "A grid of sequences, heads and tiles."),
            Style("by_sequence_neighbours", "Neighbours.", {"block": 5}, "batched-interleaved"),
            Style(
                "two_ranks_share_heads",
                "Heads shared by two ranks.",
                {"sharded": 2},
                "",
                {"dtype": NARROW},
            ),
            Style("three_ranks_share_heads", "By three ranks.", {"sharded": 3}, "", {}),
        ),
        (
            Fault(
                "positions_of_the_first_sequence",
                "All sequences at the first one's positions.",
                ("first-sequence-for-all",),
                FIRST,
                "unslothai/unsloth#3699",
            ),
            Fault(
                "positions_not_read",
                "Rows counted from 0, whatever positions are given.",
                (),
                (*STANDS, "(not read|ignored)", "row numbers"),
                "NVIDIA/Megatron-LM#453",
            ),
            Fault(
                "positions_read_across",
                "Positions [batch, n] read as [n, batch].",
                (),
                (*STANDS, "transposed"),
                "",
            ),
            Fault(
                "counted_from_the_first_position",
                "Counted on from each sequence's first.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "positions_of_the_longest",
                "All at the positions of the longest sequence.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "words_of_64_bits_read_as_32",
                "Positions of 64 bits are read as 32 bits.",
                (),
                STANDS,
                "flashinfer-ai/flashinfer#1129",
            ),
            Fault(
                "positions_as_if_dense",
                "Positions are read without their strides.",
                (),
                (*STANDS, *STRIDES),
                "",
            ),
            Fault(
                "rows_from_the_right",
                "Positions of a row from the right.",
                (),
                (*STANDS, "in reverse"),
                "",
            ),
            Fault(
                "sequences_from_the_last", "Positions of the sequences in reverse.", (), STANDS, ""
            ),
            Fault("positions_in_bytes", "The lowest eight bits of each position.", (), STANDS, ""),
            Fault(
                "batch_stride_is_all_heads",
                "A sequence begins behind the heads before it.",
                (),
                STRIDES,
                "",
            ),
            Fault(
                "program_over_rows_for_the_sequence",
                "Sequence (b heads + h) mod batch.",
                (),
                (*STANDS, HEAD),
                "",
            ),
            Fault(
                "head_for_the_sequence",
                "Head h at the positions of sequence h.",
                (),
                (*STANDS, HEAD),
                "",
            ),
            Fault(
                "sequence_for_the_row", "All rows of sequence b at its position b.", (), STANDS, ""
            ),
            Fault(
                "single_rows_of_the_first_sequence_alone",
                "Where each has one row, only the first sequence is written.",
                ("first-sequence-only",),
                (*ZEROS, "first sequence", "and later only"),
                "ml-explore/mlx#3949",
            ),
            Fault(
                "first_sequence_alone",
                "Only the first sequence is turned.",
                ("first-sequence-only",),
                (*ZEROS, "first sequence", "and later only"),
                "",
            ),
        ),
    ),
    Family(
        "rope_offsets",
        "offsets-half",
        offset,
        (
            Style("from_each_offset", "Counted from each offset."),
            Style("from_each_offset_neighbours", "Neighbours.", {}, "offsets-interleaved"),
            Style(
                "two_ranks_share_rows",
                "Rows shared by two ranks, each with its start.",
                {"ranks": 2},
            ),
            Style(
                "four_ranks_share_rows",
                "By four ranks, narrow dtypes.",
                {"ranks": 4},
                "",
                {"dtype": NARROW},
            ),
        ),
        (
            Fault("offsets_left_out", "Each sequence from 0.", ("offsets-ignored",), STANDS, ""),
            Fault(
                "offset_of_the_first_sequence",
                "All at the first offset.",
                ("first-sequence-for-all",),
                FIRST,
                "",
            ),
            Fault(
                "offset_of_the_longest_sequence",
                "All at the largest offset.",
                (),
                STANDS,
                "Comfy-Org/ComfyUI#15698",
            ),
            Fault(
                "cache_counted_too_early",
                "New rows are counted as cached before.",
                (),
                STANDS,
                "RobertCsordas/moeut#6",
            ),
            Fault(
                "cache_counted_too_late",
                "One row of the cache is not counted.",
                (),
                (*STANDS, "earlier than"),
                "",
            ),
            Fault(
                "one_too_many_while_decoding",
                "One too many, where one row comes.",
                (),
                (*STANDS, "later than"),
                "",
            ),
            Fault("prompt_counted_twice", "Twice the offset.", (), STANDS, "skyzh/tiny-llm#46"),
            Fault("window_not_advanced", "All rows at the offset.", (), STANDS, "jundot/omlx#2363"),
            Fault(
                "ranks_in_turns_count_for_themselves",
                "Two ranks have every second row, and count their own.",
                (),
                STANDS,
                "sgl-project/sglang#28463",
            ),
            Fault(
                "restart_while_decoding",
                "A single row is at 0.",
                ("offsets-ignored",),
                STANDS,
                "Blaizzy/mlx-vlm#1983",
            ),
            Fault(
                "offset_for_the_first_row_alone",
                "The first row at the offset, others at i.",
                (),
                STANDS,
                "",
            ),
            Fault("place_in_the_ring", "The place in a ring of 1,024 rows.", (), STANDS, ""),
            Fault(
                "rows_that_were_kept",
                "A cache that drops rows counts those that it has.",
                (),
                STANDS,
                "rajveer43/VeloxQuant-MLX#389",
            ),
            Fault(
                "offset_recorded_at_the_first_call_of_a_shape",
                "Offsets of the first call.",
                (),
                (*STATE, *STANDS),
                "huggingface/candle#3728",
            ),
            Fault(
                "decoding_recorded",
                "Single rows at the offsets of the first such call.",
                (),
                (*STATE, *STANDS),
                "tenstorrent/tt-metal#49889",
            ),
            Fault(
                "offset_of_the_call_before",
                "At the first offset of the call before.",
                (),
                (*STATE, *STANDS),
                "alibaba/rtp-llm#1337",
            ),
            Fault("offsets_in_bfloat16", "Offsets rounded to bfloat16.", (), STANDS, ""),
            Fault("offsets_modulo_65536", "Offsets in 16 bits.", (), STANDS, ""),
            Fault(
                "every_rank_counts_from_the_offset",
                "Each of two ranks counts its rows from the offset.",
                (),
                STANDS,
                "",
                {},
                {"ranks": 2},
            ),
            Fault("pages_of_16_rows", "Offsets rounded down to a page.", (), STANDS, ""),
            Fault(
                "row_stride_is_the_width",
                "A row begins where the one before it ends.",
                (),
                STRIDES,
                "vllm-project/vllm#16658",
            ),
        ),
    ),
    Family(
        "rope_packed",
        "packed-half",
        packed,
        (
            Style("searched", "Each row looks for its sequence."),
            Style(
                "repeated",
                "Numbers of sequences repeated.",
                {"search": False},
                "packed-interleaved",
                {"dtype": NARROW},
            ),
            Style(
                "whole_sequences",
                "Whole sequences alone.",
                {},
                "",
                {"when": lambda offsets: not offsets.any(), "dtype": "float64"},
            ),
        ),
        (
            Fault(
                "counted_through",
                "Rows counted through all sequences.",
                ("boundaries-ignored",),
                STANDS,
                "",
            ),
            Fault(
                "first_row_belongs_to_the_sequence_before",
                "Edges compared with < for <=.",
                ("boundaries-shifted",),
                STANDS,
                "",
            ),
            Fault(
                "empty_sequences_left_out_of_the_bounds",
                "Empty ones drop out of the bounds.",
                (),
                (*STANDS, "empty"),
                "",
            ),
            Fault(
                "sequence_of_the_first_row_of_the_tile",
                "A tile belongs to one sequence.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "search_in_a_power_of_two",
                "Bounds behind a power of two are not looked at.",
                (),
                STANDS,
                "hpcaitech/ColossalAI#6444",
            ),
            Fault(
                "offset_of_the_first_sequence",
                "All at the first offset.",
                ("first-sequence-for-all",),
                FIRST,
                "",
            ),
            Fault("lengths_for_bounds", "Lengths where bounds are meant.", (), STANDS, ""),
            Fault("offsets_left_out", "Each sequence from 0.", ("offsets-ignored",), STANDS, ""),
            Fault("offset_of_the_next_sequence", "The next one's offset.", (), STANDS, ""),
            Fault("end_for_the_start", "Counted from the end.", (), STANDS, ""),
            Fault(
                "every_sequence_begins_at_one",
                "All sequences but the first one late.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "ids_across_two_ranks",
                "The second half of all rows starts at 0 again.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "head_stride_is_all_rows",
                "A head begins behind the rows before it.",
                (),
                STRIDES,
                "NVIDIA/cudnn-frontend#538",
            ),
            Fault(
                "as_many_tiles_as_the_first_sequence_needs",
                "Longer ones are cut.",
                (),
                (*ZEROS, "and later only"),
                "fla-org/flash-linear-attention#516",
            ),
            Fault(
                "last_sequence_left_out",
                "The last sequence is not turned.",
                ("last-block-skipped",),
                (*ZEROS, "and later only"),
                "",
            ),
        ),
    ),
)
