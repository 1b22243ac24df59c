"""Position ids of padded, packed and cached batches and of images; M-RoPE's rotation."""

from typing import Any, Literal

import numpy as np

from posenc_lab.field.kernels.bench import ROW, STANDS, STATE, STRIDES, Family, Fault, Style
from posenc_lab.field.kernels.machine import (
    Pointer,
    by_heads,
    dense,
    grid,
    pairs,
    passed,
    pointer,
    restrided,
    sinks,
    tile,
)
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer, Array, omega

Side = Literal["left", "right"]


def padded(fault: str = "", kind: Any = np.int64) -> Answer:
    """Return a kernel that sums up the attention mask to position ids, with padding filled."""

    def padded_position_ids(attention_mask: Array, *, padded: str, **_: Any) -> Array:
        mask = attention_mask.astype(kind)
        ids = mask.cumsum(axis=-1, dtype=kind) - 1
        if fault == "places_in_the_row":
            ids = np.broadcast_to(np.arange(mask.shape[1]), mask.shape).copy()
        if fault == "ids_of_the_first_sequence":
            ids = np.broadcast_to(ids[:1], ids.shape).copy()
        if fault == "ids_from_the_last_token":
            ids = mask[:, ::-1].cumsum(axis=-1)[:, ::-1] - 1
        if fault == "sum_over_all_sequences":
            ids = (mask.ravel().cumsum() - 1).reshape(mask.shape)
        if fault == "left_padding_subtracted":
            first = mask.argmax(axis=1)[:, None] if mask.shape[1] else np.zeros((len(mask), 1), int)
            ids = np.maximum(np.arange(mask.shape[1]) - first, 0)
        if fault == "sum_in_bytes":
            ids = mask.cumsum(axis=-1).astype(np.uint8).astype(np.int64) - 1
        ids = ids.astype(np.int64)
        if fault != "padding_not_filled":
            ids[attention_mask == 0] = padded == "one"
        return ids

    return padded_position_ids


def cached(fault: str = "", kind: Any = np.int64) -> Answer:
    """Return a kernel for the position ids of new tokens after the KV cache."""
    count = [0]

    def cached_position_ids(past_length: int, q_len: int, **_: Any) -> Array:
        start, step = past_length, np.arange(q_len, dtype=kind)
        if fault == "counted_too_early":
            start = past_length + q_len
        if fault == "counted_too_late":
            start = max(past_length - 1, 0)
        if fault == "restart_while_decoding" and q_len == 1:
            start = 0
        if fault == "own_count_of_steps":
            start = count[0]
            count[0] += q_len
        if fault == "rows_that_were_kept":
            start = min(past_length, 256)
        if fault == "window_not_advanced":
            step = step * 0
        if fault == "prompt_counted_twice" and q_len == 1:
            start = 2 * past_length
        if fault == "half_by_two_ranks":
            step = step % max(-(-q_len // 2), 1)
        return np.asarray(start + step, dtype=kind)

    return cached_position_ids


def packed(fault: str = "", kind: Any = np.int64) -> Answer:
    """Return a kernel for position ids that count each packed sequence from 0."""

    def packed_position_ids(lengths: Array, **_: Any) -> Array:
        lengths = lengths.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        total = int(starts[-1])
        rows = np.arange(total)
        if fault == "counted_through":
            return rows
        edges = np.unique(starts) if fault == "sequence_by_unique_starts" else starts
        side: Side = "left" if fault == "edge_to_the_sequence_before" else "right"
        number = np.searchsorted(edges, rows, side=side) - 1
        ids = rows - starts[np.maximum(number, 0)]
        if fault == "restart_after_the_first_alone":
            ids = np.where(rows < lengths[:1].sum(), rows, rows - lengths[:1].sum())
        if fault == "padded_to_a_multiple_of_eight":
            padded_starts = np.concatenate([[0], np.cumsum(-(-lengths // 8) * 8)])
            ids = rows - padded_starts[np.maximum(number, 0)]
        if fault == "half_by_two_ranks":
            half = -(-total // 2)
            ids = np.where(rows < half, ids, rows - half)
        if fault == "last_sequence_counted_on" and len(lengths) > 1:
            ids = np.where(number == len(lengths) - 1, rows, ids)
        return ids.astype(kind)

    return packed_position_ids


def of_images(fault: str = "") -> Answer:
    """Return a kernel for the position ids of text and images, segment by segment."""
    last = {"start": 0}

    def m_rope_position_ids(
        segments: Array, *, merge_size: int, next_position: str, **_: Any
    ) -> Array:
        if (segments[:, 1:] % merge_size).any():
            raise ValueError("grids cannot be merged")
        parts: list[Array] = [np.zeros((3, 0), np.int64)]
        start = 0
        if fault == "start_of_the_request_before":
            start, last["start"] = last["start"] % 1000, 0
        for t, height, width in segments.tolist():
            h, w = height // merge_size, width // merge_size
            if not h:
                step = np.arange(t)
                if fault == "text_behind_an_image_not_advanced" and start:
                    step = step * 0
                parts.append(np.broadcast_to(step, (3, t)) + start)
                start += t
                continue
            mesh = np.stack(np.meshgrid(np.arange(t), np.arange(h), np.arange(w), indexing="ij"))
            if fault == "width_before_height":
                mesh = np.stack(
                    np.meshgrid(np.arange(t), np.arange(w), np.arange(h), indexing="ij")
                )[[0, 2, 1]]
            if fault == "frames_restart":
                mesh[0] = 0
            parts.append(mesh.reshape(3, -1) + start)
            taken = max(t, h, w) if next_position == "largest" else max(h, w)
            if fault == "grid_before_merging_is_taken":
                taken = max(height, width)
            if fault == "tokens_are_taken":
                taken = t * h * w
            start += taken
        last["start"] = start
        out = np.concatenate(parts, axis=1)
        if fault == "time_for_all_axes":
            out = np.repeat(out[:1], 3, axis=0)
        return out

    return m_rope_position_ids


def multimodal(fault: str = "", block: int = 16, sign: int = 1) -> Answer:
    """Return a rotation of each pair by one of three positions, in tiles."""
    first_sections: dict[Any, Any] = {}

    def rotate(
        x: Array, positions: Array, sections: Array, *, base: float, layout: str, **_: Any
    ) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        every = by_heads(x)
        heads, rows, width = every.shape
        source, target = pointer(every, True), pointer(by_heads(out))
        if fault == "row_stride_is_the_width":
            source = restrided(source, 1, width)
        if fault == "sections_of_the_first_call":
            sections = first_sections.setdefault(width, sections.copy())
        size = 2 * int(sections.sum())
        axis = np.repeat(np.arange(3), sections)
        if fault == "sections_from_the_last":
            axis = np.repeat(np.arange(3), sections[::-1])
        if fault == "axes_in_turns":
            axis = np.arange(size // 2) % 3
        memory = pointer(positions)
        if fault == "positions_as_if_dense":
            memory = Pointer(memory.memory, memory.start, dense(positions.shape))
        if fault == "positions_read_across":
            memory = Pointer(memory.memory, memory.start, (1, 3))
        chosen = layout
        if fault == "layout_of_the_default":
            chosen = "half"
        channels, frequencies = pairs(size, chosen), omega(size, base)
        others = np.arange(size, width)
        for head, number in grid(heads, -(-rows // block)):
            row = np.arange(number * block, min((number + 1) * block, rows))
            at = row
            if fault == "positions_of_the_tile":
                at = row % block
            if fault == "chunks_of_64_restart":
                at = row % 64
            places = memory.memory[
                (memory.of(0, at[:, None]) + axis * memory.strides[0]) % len(memory.memory)
            ].astype(np.float64)
            if fault == "rows_for_the_positions":
                places = np.broadcast_to(row[:, None], places.shape).astype(np.float64)
            if fault == "time_for_all_axes":
                places = np.broadcast_to(positions[0, row, None], places.shape).astype(np.float64)
            if fault == "one_row_at_the_time_alone" and rows == 1:
                places = np.broadcast_to(positions[0, row, None], places.shape).astype(np.float64)
            for pair in range(size // 2):
                channel_pair = channels[0][pair : pair + 1], channels[1][pair : pair + 1]
                signed = sign * places[:, pair]
                tile(source, target, head, row, signed, channel_pair, frequencies[pair : pair + 1])
            passed(source, target, head, row, others)
        return out

    return rotate


IDS = (
    Family(
        "padded_position_ids",
        "zero",
        padded,
        (
            Style("running_sum", "A running sum."),
            Style("running_sum_filled_with_one", "Padding has 1.", {"kind": np.int32}, "one"),
        ),
        (
            Fault(
                "places_in_the_row",
                "Places in the row, padding counted.",
                ("padding-counted",),
                (),
                "ndif-team/nnsight#672",
            ),
            Fault(
                "ids_of_the_first_sequence",
                "All sequences as the first.",
                ("row-shared",),
                (),
                "unslothai/unsloth#3699",
            ),
            Fault(
                "sum_over_all_sequences",
                "The sum runs on through all sequences.",
                (),
                (*STANDS, "sequence", ROW),
                "",
            ),
            Fault(
                "left_padding_subtracted",
                "Padding before the first token alone.",
                ("left-padding-only",),
                (),
                "",
            ),
            Fault("sum_in_bytes", "The sum in eight bits.", (), ("256", "255", *STANDS), ""),
            Fault("padding_not_filled", "Padding keeps the sum.", ("padding-unfilled",), (), ""),
            Fault(
                "ids_from_the_last_token",
                "Counted from the end.",
                (),
                (*STANDS, "from the end", "reverse"),
                "",
            ),
        ),
    ),
    Family(
        "cached_position_ids",
        "from-zero",
        cached,
        (
            Style("behind_the_cache", "Counted on."),
            Style("behind_the_cache_in_32_bits", "In 32 bits.", {"kind": np.int32}),
        ),
        (
            Fault(
                "counted_too_early",
                "New tokens are counted as cached.",
                (),
                ("cache-miscounted", *STANDS),
                "fla-org/flash-linear-attention#766",
            ),
            Fault(
                "counted_too_late",
                "One token of the cache is not counted.",
                ("cache-miscounted",),
                STANDS,
                "",
            ),
            Fault(
                "restart_while_decoding",
                "A single token is at 0.",
                ("from-zero",),
                STANDS,
                "Blaizzy/mlx-vlm#1983",
            ),
            Fault(
                "own_count_of_steps",
                "Its own count of tokens, not the one given.",
                (),
                (*STATE, *STANDS),
                "rajveer43/VeloxQuant-MLX#389",
            ),
            Fault(
                "rows_that_were_kept",
                "No more than the 256 that the cache keeps.",
                (),
                (*STANDS, "256"),
                "",
            ),
            Fault(
                "window_not_advanced",
                "All new tokens at the first place.",
                ("all-alike",),
                STANDS,
                "jundot/omlx#2363",
            ),
            Fault(
                "prompt_counted_twice",
                "Decoding counts the cache twice.",
                (),
                STANDS,
                "skyzh/tiny-llm#46",
            ),
            Fault(
                "half_by_two_ranks", "Each of two ranks starts behind the cache.", (), STANDS, ""
            ),
        ),
    ),
    Family(
        "packed_position_ids",
        "from-zero",
        packed,
        (
            Style("searched", "Each row looks for its sequence."),
            Style("searched_in_32_bits", "In 32 bits.", {"kind": np.int32}),
        ),
        (
            Fault("counted_through", "Counted through.", ("not-restarted",), (), ""),
            Fault(
                "sequence_by_unique_starts",
                "Empty sequences drop out of the starts.",
                (),
                ("empty", *STANDS),
                "",
            ),
            Fault(
                "edge_to_the_sequence_before",
                "A first token belongs to the one before.",
                ("restarted-beside",),
                STANDS,
                "",
            ),
            Fault("restart_after_the_first_alone", "Only the second one restarts.", (), STANDS, ""),
            Fault(
                "padded_to_a_multiple_of_eight",
                "Starts of padded sequences.",
                (),
                STANDS,
                "NVIDIA-NeMo/RL#4070",
            ),
            Fault("half_by_two_ranks", "The second rank begins at 0.", (), STANDS, ""),
            Fault("last_sequence_counted_on", "The last sequence is counted on.", (), STANDS, ""),
        ),
    ),
    Family(
        "m_rope_position_ids",
        "largest",
        of_images,
        (
            Style("segment_by_segment", "Segment by segment."),
            Style("segment_by_segment_spatial", "The other rule.", {}, "spatial"),
        ),
        (
            Fault(
                "start_of_the_request_before",
                "Begins where the call before ended.",
                (),
                (*STATE, *STANDS),
                "Blaizzy/mlx-vlm#1143",
            ),
            Fault(
                "text_behind_an_image_not_advanced",
                "All text behind an image at one place.",
                (),
                STANDS,
                "",
            ),
            Fault(
                "width_before_height",
                "Columns are counted before rows.",
                (),
                (*STANDS, "columns? (before|first)", "exchanged"),
                "",
            ),
            Fault(
                "frames_restart",
                "All frames at the time of the first.",
                (),
                (*STANDS, "time", "frame"),
                "",
            ),
            Fault(
                "grid_before_merging_is_taken",
                "Patches that were merged are counted.",
                (),
                (*STANDS, "merg", "start"),
                "",
            ),
            Fault(
                "tokens_are_taken",
                "What follows starts behind all tokens.",
                ("next-after-tokens",),
                (),
                "",
            ),
            Fault(
                "time_for_all_axes",
                "The time on all three axes.",
                (),
                (*STANDS, "axis", "axes", "height"),
                "",
            ),
        ),
    ),
    Family(
        "m_rope",
        "qwen2-vl",
        multimodal,
        (
            Style("by_tiles", "Each pair by its axis."),
            Style(
                "by_tiles_neighbours",
                "Neighbours, the rest passing.",
                {},
                "glm-4v",
                {"rotation": "partial"},
            ),
            Style("by_tiles_narrow", "Narrow dtypes.", {"block": 5}, "", {"dtype": NARROW}),
        ),
        (
            Fault(
                "row_stride_is_the_width",
                "A row begins where the one before it ends.",
                (),
                STRIDES,
                "",
            ),
            Fault(
                "sections_of_the_first_call",
                "Sections of the first call of a width.",
                (),
                (*STATE, "section"),
                "",
                {},
            ),
            Fault(
                "sections_from_the_last",
                "Sections in reverse.",
                ("axes-swapped",),
                ("section", "axes"),
                "",
            ),
            Fault(
                "axes_in_turns",
                "Axes take turns.",
                ("allocation-swapped", "interleaving-unbounded"),
                ("axes", "section"),
                "",
            ),
            Fault(
                "positions_as_if_dense",
                "Positions are read without their strides.",
                (),
                (*STRIDES, *STANDS),
                "",
            ),
            Fault(
                "positions_read_across",
                "Positions [3, n] are read as [n, 3].",
                (),
                (*STANDS, "transposed", "axes", "column-major"),
                "",
            ),
            Fault(
                "positions_of_the_tile",
                "The row within the tile looks up positions.",
                (),
                (*STANDS, "\\b16 and later"),
                "",
            ),
            Fault(
                "chunks_of_64_restart",
                "Each 64 rows at the positions of the first.",
                (),
                (*STANDS, "\\b64 and later"),
                "Blaizzy/mlx-vlm#1741",
            ),
            Fault(
                "rows_for_the_positions",
                "Rows are counted from 0.",
                (),
                (*STANDS, "(not read|ignored)", "row numbers"),
                "NVIDIA/Megatron-LM#453",
            ),
            Fault(
                "time_for_all_axes",
                "The time for all pairs.",
                ("one-axis-for-all",),
                STANDS,
                "linkedin/Liger-Kernel#276",
            ),
            Fault(
                "one_row_at_the_time_alone",
                "A single row by its time alone.",
                ("one-axis-for-all",),
                (*STANDS, "one row", "single"),
                "",
            ),
        ),
    ),
    Family(
        "m_rope",
        "glm-4v",
        multimodal,
        (),
        (
            Fault(
                "layout_of_the_default",
                "Halves, whatever the model has.",
                ("layout-swapped",),
                (),
                "vllm-project/vllm#49290",
            ),
        ),
    ),
)
