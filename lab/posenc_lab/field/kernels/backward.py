"""Gradients of the rotation: the same kernel with the sine negated."""

from typing import Any

import numpy as np

from posenc_lab.field.kernels.bench import (
    ALIASED,
    CHANNELS,
    PAIRS,
    STANDS,
    STATE,
    STRIDES,
    ZEROS,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.machine import (
    Pointer,
    by_heads,
    dense,
    launch,
    pairs,
    pointer,
    restrided,
    sinks,
)
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer, Array, bf16


def reversed_turn(fault: str = "", block: int = 32) -> Answer:
    """Return a kernel that rotates the upstream gradient by the opposite angles."""
    saved: dict[str, Any] = {}

    def rope_vjp(x: Array, positions: Array, *, base: float, layout: str, **_: Any) -> Array:
        out = sinks(x)
        if not x.size:
            return out
        gradient = by_heads(x)
        _, rows, width = gradient.shape
        source, target = pointer(gradient, fault != "expanded_as_if_dense"), pointer(by_heads(out))
        if fault == "guarded_at_the_last_axis_alone":
            source = Pointer(source.memory, source.start, (*dense(gradient.shape)[:2], 1))
        if fault == "rows_as_if_dense":
            source = restrided(source, 1, width)
        if fault == "expanded_as_if_dense" and 0 in gradient.strides:
            source = Pointer(source.memory, source.start, dense(gradient.shape))
        where = positions.astype(np.int64)
        if fault == "rows_for_the_positions":
            where = np.arange(rows)
        if fault == "positions_one_on":
            where = where + 1
        if fault == "from_the_first_position_on":
            where = where[:1] + np.arange(rows)
        if fault == "positions_of_the_first_pass":
            where = saved.setdefault("positions", where)[:rows]
            where = np.resize(where, rows)
        if fault == "base_of_the_default":
            base = 10000.0
        if fault == "other_pairs":
            layout = "interleaved" if layout == "half" else "half"
        if fault == "rounded_before_it_is_turned":
            source = Pointer(bf16(source.memory).astype(x.dtype), source.start, source.strides)
        sign = 1 if fault == "turned_on" else -1
        launch(
            source,
            target,
            gradient.shape,
            lambda _, row: sign * where[row],
            base,
            layout,
            block,
        )
        if fault == "no_gradient":
            out[...] = 0
        if fault == "first_half_alone":
            out[..., pairs(width, layout)[1]] = x[..., pairs(width, layout)[1]]
        if fault == "added_to_the_gradient":
            out[...] = out + x
        if fault == "summed_up_over_calls":
            key = f"{x.shape} {x.dtype}"
            out[...] = saved[key] = saved.get(key, 0) + out
        if fault == "last_row_left_out":
            out[..., -1, :] = 0
        if fault == "gradient_written_over" and x.flags.writeable:
            x[...] = out
        return out

    return rope_vjp


BACKWARD = (
    Family(
        "rope_vjp",
        "half",
        reversed_turn,
        (
            Style("turned_back", "Turned by the opposite angle."),
            Style("turned_back_neighbours", "Neighbours.", {}, "interleaved", {"dtype": NARROW}),
            Style("blocks_of_five", "Blocks of five rows.", {"block": 5}, "", {"dtype": "float64"}),
        ),
        (
            Fault("turned_on", "Turned forward.", ("backward-is-forward",), (), ""),
            Fault(
                "guarded_at_the_last_axis_alone",
                "Dense if its last axis is.",
                (),
                STRIDES,
                "NVIDIA/TransformerEngine#2746",
            ),
            Fault(
                "rows_as_if_dense", "A row begins where the one before it ends.", (), STRIDES, ""
            ),
            Fault(
                "expanded_as_if_dense",
                "Expanded gradients are read as if they were not.",
                (),
                (*STRIDES, "stride 0", "expanded", "broadcast", "repeat"),
                "ROCm/apex#334",
            ),
            Fault("rows_for_the_positions", "Backward counts from 0.", (), STANDS, ""),
            Fault(
                "positions_one_on", "Backward is one position on.", (), (*STANDS, "later than"), ""
            ),
            Fault("from_the_first_position_on", "Counted from the first position.", (), STANDS, ""),
            Fault(
                "positions_of_the_first_pass",
                "Positions of the first backward pass.",
                (),
                (*STATE, *STANDS),
                "",
                {},
            ),
            Fault(
                "base_of_the_default",
                "Angles are computed again, with 10000.",
                (),
                ("base", "10000"),
                "",
            ),
            Fault(
                "other_pairs",
                "The backward pass has the other layout.",
                ("backward-layout-not-reversed",),
                ("layout", "pairs"),
                "",
            ),
            Fault(
                "rounded_before_it_is_turned",
                "The gradient is rounded to bfloat16.",
                (),
                ("bfloat16", "rounded"),
                "",
            ),
            Fault(
                "no_gradient",
                "The graph is cut: zeros.",
                (),
                (*ZEROS, "no gradient"),
                "huggingface/candle#3612",
            ),
            Fault(
                "first_half_alone",
                "Second channels of pairs pass.",
                (),
                (
                    "second .* (pass|left)",
                    "only the first member",
                    CHANNELS,
                    PAIRS,
                ),
                "",
            ),
            Fault(
                "added_to_the_gradient",
                "What came is added.",
                (),
                ("added", "gradient itself", "sum of"),
                "",
            ),
            Fault("summed_up_over_calls", "Gradients of a shape add up.", (), STATE, ""),
            Fault(
                "last_row_left_out",
                "The last row has no gradient.",
                (),
                (*ZEROS, "last row"),
                "",
            ),
            Fault(
                "gradient_written_over",
                "The gradient that came is written over.",
                (),
                ("changed", "modified", "written", *ALIASED),
                "unslothai/unsloth#5001",
            ),
        ),
    ),
)
