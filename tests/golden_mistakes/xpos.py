"""The mistake that each golden of xPos alone catches."""

import numpy as np

from posenc_conformance.families.rotary import written_channels
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.xpos import scale
from tests.golden_mistakes.common import (
    Mistake,
    last_row_missing,
    right,
    turned_forward,
    zero_taken_for_one,
)


def scale_within(low: float, high: float) -> Mistake:
    """A scale that is kept from leaving a range."""

    def mistake(case: Case) -> Array:
        out, true = right(case), scale(case)
        for channel in written_channels(case):
            out[..., channel] *= np.clip(true, low, high) / true
        return out

    return mistake


def another_center(center: str) -> Mistake:
    """The result of another centre."""
    return lambda case: case.changed().under(center=center).truth


def scales_tiled(case: Case) -> Array:
    """Channel c has the scale of pair c modulo the number of pairs."""
    true = scale(case)
    return right(case) / np.repeat(true, 2, axis=-1) * np.tile(true, 2)


def scale_inverted(case: Case) -> Array:
    """The gradient of keys scaled as queries are."""
    return case.changed(downscale=1 - case.arguments["downscale"]).truth


def scale_left_out(case: Case) -> Array:
    """The gradient turned back, at the length that it came with."""
    out = right(case)
    for channels in written_channels(case):
        out[..., channels] /= scale(case)
    return out


MISTAKES: dict[str, Mistake] = {
    "uncentred-query-start": zero_taken_for_one,
    "uncentred-query-700": scale_within(0.5, np.inf),
    "uncentred-key-150": lambda case: case.changed(downscale=0).truth,
    "uncentred-131071": last_row_missing(131072),
    "torchscale-query-7": another_center("floor"),
    "torchscale-key-4001": scale_within(0, 100),
    "lucidrains-query-7": another_center("ceiling"),
    "lucidrains-key-head64": scales_tiled,
    "flash-attention-query-7": another_center("ceiling"),
    "flash-attention-key-head64": lambda case: case.changed().under(layout="interleaved").truth,
    "vjp-torchscale-key": scale_inverted,
    "vjp-lucidrains-query": turned_forward,
    "vjp-flash-attention-key": scale_left_out,
}
